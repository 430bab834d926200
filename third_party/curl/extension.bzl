# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""The repository of curl_headers.bzl for MODULE.bazel. Its own file, as Bazel 4 has no extensions."""

load(":curl_headers.bzl", "curl_headers")

def _curl_impl(_module_ctx):
    curl_headers(name = "curl_headers")

curl = module_extension(implementation = _curl_impl)
