# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""A substitute for rules_cc in Bazel 4 to 6, which have the C++ rules built in."""

load("//cc:native.bzl", "native_cc_info")

CcInfo = native_cc_info

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
