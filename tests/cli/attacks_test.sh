#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the tests exist that attacks.md names.
#
#   attacks_test.sh ATTACKS_MD SOURCE...
set -uo pipefail

page=$1 failed=0 count=0
shift
tests=$(cat "$@" | tr -s '\n ' ' ' | grep -oE 'TEST(_F|_P)?\([A-Za-z0-9]+, [A-Za-z0-9]+' | sed -E 's/^[^(]*\(//; s/, /./')
while read -r name; do
  ((++count))
  grep -qxF "$name" <<<"$tests" || { echo "FAILED: no test is called $name"; failed=1; }
done < <(grep -oE '`[A-Za-z0-9]+Test\.[A-Za-z0-9]+`' "$page" | tr -d '`')
echo "$count tests are named"
((count > 40 && failed == 0))
