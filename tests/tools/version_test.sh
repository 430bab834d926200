#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that all files state the version of version.h.
#
#   version_test.sh VERSION_H MODULE_BAZEL CHANGELOG QUICKSTART_BAZEL QUICKSTART_CMAKE
set -uo pipefail
failed=0

# expect VERSION FILE SCRIPT: the first line that the script of sed prints is the version.
expect() {
  local stated
  stated=$(sed -n "$3" "$2" | head -n 1)
  [[ $stated != "$1" ]] || return 0
  echo "FAILED: $2 states version ${stated:-none}, and include/waiter/version.h $1"
  failed=1
}

version=$(sed -n 's/^#define WAITER_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$1" | paste -sd .)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "FAILED: $1 states version '$version'"; exit 1; }
expect "$version" "$2" 's/^    version = "\(.*\)",$/\1/p'
expect "$version" "$3" 's/^## \([0-9.]*\).*/\1/p'
expect "$version" "$4" 's/^bazel_dep(name = "waiter", version = "\(.*\)")$/\1/p'
expect "${version%.*}" "$5" 's/^find_package(waiter \([0-9.]*\) .*/\1/p'
exit "$failed"
