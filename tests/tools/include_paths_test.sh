#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that docs/from-0.9.sed changes include paths as the table in CHANGELOG.md says, and to headers that exist.
set -uo pipefail

failed=0
fail() { echo "FAILED: $1"; failed=1; }

# The pairs of an old header and the new one, by the table.
declare -A renamed
while read -r new olds; do
  [[ -e include/waiter/$new ]] || fail "there is no $new"
  for old in $olds; do renamed[$old]=$new; done
done < <(awk '/^## / { inside = $2 == "0.10.0" } inside && /^\| `[a-z_\/]*\.h` / { gsub(/[|`,]/, " "); print }' CHANGELOG.md)
((${#renamed[@]} == 74)) || fail "the table has ${#renamed[@]} old headers"

# What stands on a line, and what must become of it.
before=() after=()
expect() { before+=("$1") after+=("$2"); }
for old in "${!renamed[@]}"; do
  expect "#include \"waiter/$old\"" "#include \"waiter/${renamed[$old]}\""
  expect "#include <waiter/$old>" "#include <waiter/${renamed[$old]}>"
done
for header in include/waiter/*.h include/waiter/*/*.h; do
  new=${header#include/waiter/}
  [[ -n ${renamed[$new]:-} ]] || expect "#include \"waiter/$new\"" "#include \"waiter/$new\""
done
expect '#include "my_waiter/poll_status.h"' '#include "my_waiter/poll_status.h"'

mapfile -t changed < <(printf '%s\n' "${before[@]}" | sed -E -f docs/from-0.9.sed)
for i in "${!before[@]}"; do
  [[ ${changed[i]} == "${after[i]}" ]] || fail "${before[i]} becomes ${changed[i]}"
done

known=$(sed -n 's/^s,[^|]*waiter\/(\([^)]*\)).*/\1/p' docs/from-0.9.sed | tr '|' '\n' | grep -c .)
((known == ${#renamed[@]})) || fail "the script has $known old headers"

exit "$failed"
