#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Plants faults in a small project, and expects tools/layers to report each fault and nothing else.
#
#   layers_test.sh LAYERS
set -uo pipefail

layers=$PWD/$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# file PATH LINE...
file() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

# Writes a project without a fault.
begin() {
  rm -rf "${scratch:?}"/*
  file tools/layers.txt '# Lowest first.' 'waiter/core' 'waiter/loop waiter/presets # side by side' 'cli/text' 'cli' \
    'tests/core' '' 'white-box tests/core/step_test.cc waiter/core/step.h'
  file waiter/core/BUILD.bazel 'library_part(' '    srcs = ["step.h"],' '    hdrs = [' '        "poll.h",' \
    '        "internal/take.h",' '    ],' ')'
  file waiter/loop/BUILD.bazel '    hdrs = ["loop/wait_loop.h"],'
  file waiter/presets/BUILD.bazel '    hdrs = ["presets.h"],'
  file include/waiter/poll.h '#include <vector>' '' '#include "absl/status/status.h"' '#include "waiter/internal/take.h"'
  file include/waiter/internal/take.h
  file include/waiter/loop/wait_loop.h '#include "waiter/poll.h"'
  file include/waiter/presets.h '// #include "waiter/loop/wait_loop.h"' '#include "waiter/poll.h"'
  file waiter/core/step.h '#include "waiter/poll.h"'
  file waiter/loop/wait_loop.cc '#include "waiter/loop/wait_loop.h"' '#include "waiter/internal/take.h"' \
    '#include "waiter/core/step.h"'
  file cli/text/printable.h
  file cli/main.cc '#include "cli/text/printable.h"' '#include "waiter/loop/wait_loop.h"'
  file tests/core/step_test.cc '#include "waiter/core/step.h"' '#include "gtest/gtest.h"'
  file .bazelignore 'tests/other'
  file tests/other/other.cc '#include "waiter/internal/take.h"'
}

# expect_ok CASE
expect_ok() {
  if ! "$layers" . >out 2>&1 || ! grep -q 'no cycle, no arrow upwards' out; then
    echo "FAILED: $1"
    cat out
    failed=1
  fi
}

# expect_fault CASE LINE: expects LINE as the only complaint.
expect_fault() {
  if "$layers" . >out 2>err || [[ $(cat err) != "tools/layers: $2" ]]; then
    echo "FAILED: $1, expected: $2"
    cat err
    failed=1
  fi
}

begin
expect_ok 'a project in order'
grep -qx 'cli  *-> cli/text waiter/loop' out || { echo 'FAILED: the arrows of cli:'; cat out; failed=1; }

begin
file include/waiter/poll.h '#include "waiter/loop/wait_loop.h"'
file include/waiter/loop/wait_loop.h
file waiter/loop/wait_loop.cc
expect_fault 'an arrow upwards' \
  'include/waiter/poll.h:1: waiter/loop is not below waiter/core: waiter/loop/wait_loop.h'

begin
file include/waiter/presets.h '' '#include "waiter/loop/wait_loop.h"'
expect_fault 'an arrow to the side' \
  'include/waiter/presets.h:2: waiter/loop is not below waiter/presets: waiter/loop/wait_loop.h'

begin
file cli/text/printable.h '#  include "cli/text/fitted.h"'
file cli/text/fitted.h '#include "cli/text/wide.h"'
file cli/text/wide.h '#include "cli/text/fitted.h"'
expect_fault 'a cycle of files within a folder' 'cycle: cli/text/fitted.h cli/text/wide.h cli/text/fitted.h'

begin
file cli/text/wide.cc '#include "cli/flags.h"'
file cli/flags.h '#include "cli/text/printable.h"'
"$layers" . >out 2>err
for line in 'cli/text/wide.cc:1: cli is not below cli/text: cli/flags.h' 'cycle: cli/text cli cli/text'; do
  grep -qxF "tools/layers: $line" err || { echo "FAILED: a cycle of folders: $line"; cat err; failed=1; }
done

begin
file cli/main.cc '#include <waiter/internal/take.h>'
expect_fault 'an internal header in the command' 'cli/main.cc:1: include/waiter/internal/take.h is not public'

begin
file cli/main.cc '#include "waiter/core/step.h"'
expect_fault 'a header of the sources in the command' 'cli/main.cc:1: waiter/core/step.h is not public'

begin
file tests/core/step_test.cc
expect_fault 'a permission that nobody needs' 'tools/layers.txt: tests/core/step_test.cc does not include waiter/core/step.h'

begin
file include/waiter/poll.h '#include "waiter/core/step.h"'
file waiter/core/step.h
expect_fault 'a header that needs the sources' 'include/waiter/poll.h:1: include/waiter/ includes waiter/core/step.h'

begin
file include/waiter/clock.h
expect_fault 'a header without a folder' 'include/waiter/clock.h: in the hdrs of no folder of waiter/'

begin
file waiter/loop/BUILD.bazel '    hdrs = ["loop/wait_loop.h", "poll.h"],'
expect_fault 'a header of two folders' 'include/waiter/poll.h: in the hdrs of waiter/core and of waiter/loop'

begin
file sim/plan.cc
expect_fault 'a folder without a line' 'sim: no line of tools/layers.txt has this folder'

begin
rm -r cli/text
file cli/main.cc
expect_fault 'a line without a folder' 'tools/layers.txt: there is no folder cli/text'

begin
file cli/main.cc '#include "../cli/text/printable.h"'
expect_fault 'a path from elsewhere' 'cli/main.cc:1: not by its whole path: ../cli/text/printable.h'

begin
file docs/design.md "$("$layers" --table .)"
expect_ok 'the table in docs/design.md'
sed -i 's/poll/pole/' docs/design.md
expect_fault 'an old table in docs/design.md' "docs/design.md has no row: | \`waiter/core\` | \`poll.h\` |"

exit "$failed"
