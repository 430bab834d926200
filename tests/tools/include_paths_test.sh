#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that docs/from-0.9.sed changes include paths as the table in CHANGELOG.md says, and to headers that exist.
set -uo pipefail

failed=0
fail() { echo "FAILED: $1"; failed=1; }

# Prints the new and an old header of each pair in the table.
pairs() {
  awk '/^## / { inside = $2 == "0.10.0" } inside && /^\| `[a-z_\/]*\.h` / { gsub(/[|`,]/, " "); print }' CHANGELOG.md |
    while read -r new old; do
      for header in $old; do echo "$new $header"; done
    done
}

# upgraded LINE: prints what the script makes of a line.
upgraded() { sed -E -f docs/from-0.9.sed <<<"$1"; }

count=0
while read -r new old; do
  ((++count))
  [[ -e include/waiter/$new ]] || fail "there is no $new"
  [[ $(upgraded "#include \"waiter/$old\"") == "#include \"waiter/$new\"" ]] || fail "$old does not become $new"
  [[ $(upgraded "#include <waiter/$old>") == "#include <waiter/$new>" ]] || fail "<$old> does not become <$new>"
done < <(pairs)
((count == 72)) || fail "the table has $count old headers"

[[ $(sed -n 's/^s,[^|]*waiter\/(\([^)]*\)).*/\1/p' docs/from-0.9.sed | tr '|' '\n' | grep -c .) == "$count" ]] ||
  fail 'the script has other headers than the table'

# New paths and other files stay as they are.
for header in include/waiter/*.h include/waiter/*/*.h; do
  line="#include \"${header#include/}\""
  old=${header#include/waiter/}
  pairs | grep -q " $old\$" || [[ $(upgraded "$line") == "$line" ]] || fail "$line becomes $(upgraded "$line")"
done
line='#include "my_waiter/poll_status.h"'
[[ $(upgraded "$line") == "$line" ]] || fail "$line is changed"

exit "$failed"
