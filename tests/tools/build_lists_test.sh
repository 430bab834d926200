#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Plants differences between Bazel and CMake in a small project, and expects tools/build_lists to report each
# and nothing else.
#
#   build_lists_test.sh BUILD_LISTS
set -uo pipefail

build_lists=$PWD/$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# file PATH LINE...
file() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

# Writes a project whose lists agree.
begin() {
  rm -rf "${scratch:?}"/*
  file waiter/core/BUILD.bazel '    srcs = ["poll.cc"],' '    hdrs = ["poll.h", "step.h"],'
  file waiter/core/poll.cc
  file waiter/core/step.h
  file waiter/testing/BUILD.bazel '    srcs = ["clock.cc"],'
  file waiter/testing/clock.cc
  file cmake/library.cmake 'set(WAITER_SOURCES' '  waiter/core/poll.cc' '  waiter/core/step.h' ')' \
    'set(WAITER_TESTING_SOURCES' '  waiter/testing/clock.cc' ')'
  file cli/BUILD.bazel '    srcs = ["main.cc", "page_main.cc"],'
  file cli/main.cc
  file cli/page_main.cc
  file sim/BUILD.bazel '    hdrs = ["plan.h"],'
  file sim/plan.h
  file charts/page/BUILD.bazel '    hdrs = ["page_parts.h"],'
  file charts/page/page_parts.h
  file cmake/command.cmake 'set(WAITER_COMMAND_SOURCES' '  cli/main.cc' '  sim/plan.h' ')'
  for folder in budgets core distributed drivers durable engine interop learned loop observability presets telemetry testing; do
    file "tests/$folder/BUILD.bazel" 'cc_library(' '    name = "fixture",' ')'
  done
  file tests/core/BUILD.bazel 'cc_test(' '    name = "poll_test",' ')'
  file tests/CMakeLists.txt 'waiter_test(core/poll_test)'
  file include/waiter/poll.h
  file include/waiter/version.h '#define WAITER_VERSION_MAJOR 1' '#define WAITER_VERSION_MINOR 2' \
    '#define WAITER_VERSION_PATCH 3'
  file cmake/installed_files.txt 'include/waiter/poll.h' 'include/waiter/version.h' 'lib/libwaiter.a'
  file MODULE.bazel 'module(' '    name = "waiter",' '    version = "1.2.3",' ')'
  file CHANGELOG.md '# Changes' '' '## 1.2.3' '## 1.2.2'
}

# expect CASE MESSAGE: without a message, expects that the lists agree.
expect() {
  local status=0
  "$build_lists" . >out 2>&1 || status=$?
  if [[ -z ${2:-} ]]; then
    ((status == 0)) && grep -qx 'tools/build_lists: version 1.2.3: 5 sources, 2 headers and 1 tests agree' out && return
  else
    ((status == 1)) && [[ $(<out) == "tools/build_lists: $2" ]] && return
  fi
  echo "FAILED: $1"
  cat out
  failed=1
}

begin
expect 'a project without a difference'

begin
file waiter/core/BUILD.bazel '    srcs = ["poll.cc", "new.cc"],' '    hdrs = ["poll.h", "step.h"],'
file waiter/core/new.cc
expect 'a source that CMake does not build' 'sources of waiter::waiter: waiter/core/new.cc is missing in CMake'

begin
file waiter/testing/BUILD.bazel
expect 'a source that only CMake builds' 'sources of waiter::testing: waiter/testing/clock.cc is unknown to Bazel'

begin
file sim/BUILD.bazel '    srcs = ["plan.cc"],' '    hdrs = ["plan.h"],'
file sim/plan.cc
expect 'a source of the command that CMake does not build' 'sources of the command: sim/plan.cc is missing in CMake'

begin
file cli/BUILD.bazel '    srcs = ["page_main.cc"],'
expect 'a source of the command that only CMake builds' 'sources of the command: cli/main.cc is unknown to Bazel'

begin
file tests/engine/BUILD.bazel 'cc_test(' '    name = "engine_test",' ')'
expect 'a test that CMake does not run' 'tests: engine/engine_test is missing in CMake'

begin
file include/waiter/new.h
expect 'a header that is not installed' 'headers that are installed: include/waiter/new.h is missing in CMake'

begin
file MODULE.bazel 'module(' '    name = "waiter",' '    version = "1.2.4",' ')'
expect 'another version of the module' 'MODULE.bazel states version 1.2.4, and include/waiter/version.h 1.2.3'

begin
file CHANGELOG.md '# Changes'
expect 'a version without a section' 'CHANGELOG.md states version none, and include/waiter/version.h 1.2.3'

exit "$failed"
