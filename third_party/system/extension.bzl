# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""The repositories of system_library.bzl for MODULE.bazel. Its own file, as Bazel 4 has no extensions."""

load(":system_library.bzl", _system_libraries = "system_libraries")

def _system_libraries_impl(_module_ctx):
    _system_libraries()

system_libraries = module_extension(implementation = _system_libraries_impl)
