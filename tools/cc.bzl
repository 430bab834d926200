# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""The C++ rules of this project: the rules of rules_cc with the project's options."""

load(
    "@rules_cc//cc:defs.bzl",
    _cc_binary = "cc_binary",
    _cc_library = "cc_library",
    _cc_test = "cc_test",
)
load(":copts.bzl", "WAITER_COPTS")

_FEATURES = [
    "layering_check",
    "parse_headers",
]

def cc_library(copts = [], features = [], **kwargs):
    """A cc_library that compiles with the project's options, then `copts`."""
    _cc_library(copts = WAITER_COPTS + copts, features = _FEATURES + features, **kwargs)

def cc_binary(copts = [], **kwargs):
    """A cc_binary that compiles with the project's options, then `copts`."""
    _cc_binary(copts = WAITER_COPTS + copts, features = _FEATURES, **kwargs)

def cc_test(copts = [], **kwargs):
    """A cc_test that compiles with the project's options, then `copts`."""
    _cc_test(copts = WAITER_COPTS + copts, features = _FEATURES, **kwargs)

def public_library(hdrs, deps, **kwargs):
    """A documented target: `hdrs` of include/waiter/, implemented by the parts in `deps`."""
    cc_library(
        hdrs = ["//:include/waiter/" + header for header in hdrs],
        strip_include_prefix = "/include",
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )

def library_part(name, hdrs = [], **kwargs):
    """A part of the library: sources of its own folder, and `hdrs` of include/waiter/."""
    cc_library(
        name = name,
        hdrs = ["//:include/waiter/" + header for header in hdrs],
        strip_include_prefix = "/include",
        **kwargs
    )
