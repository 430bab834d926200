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
  file tools/layers.txt '# Lowest first.' 'waiter' 'waiter/engine waiter/redis # side by side' 'cli/text' 'cli' \
    'tests/core tests/drivers tests/engine' '' \
    'white-box tests/drivers/driver_test.cc include/waiter/engine/internal/record.h'
  file include/waiter/poll.h '#include <vector>' '' '#include "absl/status/status.h"' '#include "waiter/internal/take.h"'
  file include/waiter/internal/take.h
  file include/waiter/engine/engine.h '#include "waiter/poll.h"' '#include "waiter/engine/internal/record.h"'
  file include/waiter/engine/internal/record.h
  file include/waiter/redis/client.h '// #include "waiter/engine/engine.h"' '#include "waiter/poll.h"'
  file waiter/step.h '#include "waiter/poll.h"'
  file waiter/engine/worker.h
  file waiter/engine/engine.cc '#include "waiter/engine/engine.h"' '#include "waiter/internal/take.h"' \
    '#include "waiter/engine/worker.h"' '#include "waiter/step.h"'
  file cli/text/printable.h
  file cli/main.cc '#include "cli/text/printable.h"' '#include "waiter/engine/engine.h"'
  file tests/core/step_test.cc '#include "waiter/step.h"' '#include "waiter/internal/take.h"' '#include "gtest/gtest.h"'
  file tests/engine/worker_test.cc '#include "waiter/engine/worker.h"' '#include "waiter/engine/internal/record.h"'
  file tests/drivers/driver_test.cc '#include "waiter/engine/internal/record.h"'
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

# expect_arrows FOLDER FOLDERS: expects that the arrows of FOLDER lead to FOLDERS.
expect_arrows() {
  grep -qxE "$1 +-> $2" out || { echo "FAILED: the arrows of $1"; cat out; failed=1; }
}

begin
expect_ok 'a project in order'
expect_arrows cli 'cli/text waiter/engine'
expect_arrows waiter/engine waiter
expect_arrows tests/engine waiter/engine

begin
file include/waiter/poll.h '#include "waiter/redis/client.h"'
file include/waiter/redis/client.h
expect_fault 'an arrow upwards' 'include/waiter/poll.h:1: waiter/redis is not below waiter: waiter/redis/client.h'

begin
file include/waiter/redis/client.h '' '#include "waiter/engine/engine.h"'
expect_fault 'an arrow to the side' \
  'include/waiter/redis/client.h:2: waiter/engine is not below waiter/redis: waiter/engine/engine.h'

begin
file include/waiter/redis/client.h '#include "waiter/engine/internal/record.h"'
expect_fault 'an arrow to an internal header' \
  'include/waiter/redis/client.h:1: waiter/engine is not below waiter/redis: waiter/engine/internal/record.h'

begin
file cli/text/printable.h '#  include "cli/text/fitted.h"'
file cli/text/fitted.h '#include "cli/text/wide.h"'
file cli/text/wide.h '#include "cli/text/fitted.h"'
expect_fault 'a cycle of files within a folder' 'cycle: cli/text/fitted.h cli/text/wide.h cli/text/fitted.h'

begin
file include/waiter/internal/take.h '#include "waiter/poll.h"'
expect_fault 'a cycle of files within a module' \
  'cycle: include/waiter/poll.h include/waiter/internal/take.h include/waiter/poll.h'

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
file cli/main.cc '#include "waiter/step.h"'
expect_fault 'a header of the sources in the command' 'cli/main.cc:1: waiter/step.h is not public'

begin
file tests/engine/worker_test.cc '#include "waiter/step.h"'
expect_fault 'a private header of the core in a test of a module' \
  'tests/engine/worker_test.cc:1: waiter/step.h is not public'

begin
file tests/core/step_test.cc '#include "waiter/engine/worker.h"'
expect_fault 'a private header of a module in a test of the core' \
  'tests/core/step_test.cc:1: waiter/engine/worker.h is not public'

begin
file tests/drivers/driver_test.cc '#include "waiter/engine/internal/record.h"' '#include "waiter/engine/worker.h"'
expect_fault 'a private header in a test of no module' \
  'tests/drivers/driver_test.cc:2: waiter/engine/worker.h is not public'

begin
file tests/drivers/driver_test.cc
expect_fault 'a permission that no file needs' \
  'tools/layers.txt: tests/drivers/driver_test.cc does not include include/waiter/engine/internal/record.h'

begin
file include/waiter/poll.h '#include "waiter/step.h"'
file waiter/step.h
expect_fault 'a header that needs the sources' 'include/waiter/poll.h:1: include/waiter/ includes waiter/step.h'

begin
file include/waiter/durable/store.h
expect_fault 'a module without a line' 'waiter/durable: no line of tools/layers.txt has this folder'

begin
file sim/plan.cc
expect_fault 'a folder without a line' 'sim: no line of tools/layers.txt has this folder'

begin
rm -r cli/text
file cli/main.cc
expect_fault 'a line without a folder' 'tools/layers.txt: there is no folder cli/text'

begin
sed -i 's/^cli$/cli waiter/' tools/layers.txt
"$layers" . >out 2>err
grep -qxF 'tools/layers: tools/layers.txt: waiter is there twice' err || { echo 'FAILED: a folder twice'; cat err; failed=1; }

begin
file cli/main.cc '#include "../cli/text/printable.h"'
expect_fault 'a path from elsewhere' 'cli/main.cc:1: not by its whole path: ../cli/text/printable.h'

begin
file docs/design.md "$("$layers" --table .)"
expect_ok 'the table in docs/design.md'
[[ $(grep -c '' docs/design.md) == 3 ]] || { echo 'FAILED: the rows of the table'; cat docs/design.md; failed=1; }
sed -i 's,engine/engine,engine/motor,' docs/design.md
expect_fault 'an old table in docs/design.md' "docs/design.md has no row: | \`waiter/engine\` | \`engine/engine.h\` |"

exit "$failed"
