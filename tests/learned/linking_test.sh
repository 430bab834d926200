#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A program that depends on //:waiter alone links no code of learned delays.
#
#   linking_test.sh WAITS LEARNS: two programs, of which only the second one uses learned delays
set -uo pipefail

# learned PROGRAM: prints the functions of waiter/learned that the program has.
learned() {
  nm --demangle --defined-only "$1" |
    grep -E ' [TtWw] waiter::(LearnedDelays|Duration(Model|File)|internal::(LearnedOperation|SharedPollTable|PlanPolls|EstimateDurations))'
}

waits=$1 learns=$2
"$waits" || { echo "FAIL: $waits exited with $?"; exit 1; }
"$learns" || { echo "FAIL: $learns exited with $?"; exit 1; }
nm "$waits" | grep WaitLoop >/dev/null || { echo "FAIL: nm finds no symbols in $waits"; exit 1; }
learned "$learns" >/dev/null || { echo "FAIL: the names of learned delays are not those of this test"; exit 1; }
if found=$(learned "$waits"); then
  echo "FAIL: //:waiter links learned delays:"
  echo "$found"
  exit 1
fi
echo PASS
