# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""The rule of nlohmann_json.bzl for MODULE.bazel. Bazel 4 has no extensions."""

load(":nlohmann_json.bzl", _nlohmann_json = "nlohmann_json")

def _nlohmann_json_impl(_module_ctx):
    _nlohmann_json(name = "nlohmann_json")

nlohmann_json = module_extension(implementation = _nlohmann_json_impl)
