#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Changes files of a small project, and expects tools/lint to check those and nothing else.
#
#   lint_test.sh LINT
set -uo pipefail

lint=$PWD/$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch LINT_LOG=$scratch/log
export PATH=$scratch/bin:$PATH
cd "$scratch" || exit 1
failed=0

# program PATH LINE...
program() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' '#!/usr/bin/env bash' "${@:2}" >"$1"
  chmod +x "$1"
}

# The tools write down for which files they were called, and refuse an empty name and files with the word FAULT.
# shellcheck disable=SC2016
note='for file; do [[ $file != *.cc && $file != *.h && $file != *BUILD* ]] || echo "${0##*/} $file"; done >>"$LINT_LOG"'
# shellcheck disable=SC2016
for tool in clang-format clang-tidy buildifier; do
  program "bin/$tool" "$note" 'for file; do [[ -n $file ]] && { [[ ! -f $file ]] || ! grep -q FAULT "$file"; } || exit 1; done'
done

# Begins a project without a change.
begin() {
  rm -rf project
  mkdir -p project/{tools,docs,include/waiter,waiter,tests/consumer/mistakes} && cd project || exit 1
  cp "$lint" tools/lint
  program bazelw pwd
  echo '#include "waiter/poll.h"' | tee waiter/poll.cc tests/poll_test.cc tests/consumer/mistakes/wrong.cc >waiter/other.cc
  touch include/waiter/poll.h waiter/BUILD.bazel docs/faq.md
  git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm 'Begin'
  : >"$LINT_LOG"
}

# expect CASE STATUS CALL...: runs the check of what changed.
expect() {
  local status=0
  tools/lint --changed HEAD >out 2>&1 || status=$?
  if ((status != $2)) || [[ "$(grep -v '^bazelw' "$LINT_LOG" | sort)" != "$(printf '%s\n' "${@:3}" | sort)" ]]; then
    echo "FAILED: $1: exit $status, and these calls:"
    cat "$LINT_LOG" out
    failed=1
  fi
  cd "$scratch" || exit 1
}

begin
echo 'text' >>docs/faq.md
expect 'a document needs no tool' 0

begin
echo '//' >>waiter/poll.cc
expect 'a source is checked' 0 'clang-format waiter/poll.cc' 'clang-tidy waiter/poll.cc'

begin
echo '//' >>include/waiter/poll.h
expect 'a header is checked by the source of its name' 0 'clang-format include/waiter/poll.h' 'clang-tidy waiter/poll.cc'

begin
mkdir -p include/waiter/redis waiter/{engine,redis}
touch include/waiter/redis/client.h waiter/{engine,redis}/client.cc
git add . && git -c user.name=x -c user.email=x commit -qm 'Add modules'
echo '//' >>include/waiter/redis/client.h
expect 'a header is checked by the source of its module' 0 \
  'clang-format include/waiter/redis/client.h' 'clang-tidy waiter/redis/client.cc'

begin
echo '// FAULT' >>waiter/other.cc
expect 'a fault is found' 1 'clang-format waiter/other.cc' 'clang-tidy waiter/other.cc'

begin
echo '//' >>tests/consumer/mistakes/wrong.cc
expect 'a mistake is formatted, and does not compile' 0 'clang-format tests/consumer/mistakes/wrong.cc'

begin
echo '#' >>waiter/BUILD.bazel
expect 'a BUILD file is sorted' 0 'buildifier waiter/BUILD.bazel'

begin
git rm -q waiter/other.cc
expect 'a file that is gone is not checked' 0

exit "$failed"
