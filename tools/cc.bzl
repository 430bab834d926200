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

def _unit_impl(ctx):
    ctx.actions.write(
        ctx.outputs.out,
        "".join(['#include "%s"\n' % source.short_path for source in ctx.files.srcs]),
    )

_unit = rule(
    _unit_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"]), "out": attr.output()},
    doc = "A translation unit that includes other ones.",
)

def cc_test_module(name, srcs, deps, **kwargs):
    """One program of the tests of a module.

    Compiles several sources as one translation unit: without that, two thirds of the time go to the headers of
    GoogleTest, Abseil and the standard library, and to what all tests instantiate from their templates. So each source
    has a namespace that is named after its file.

    Args:
      name: the name of the program.
      srcs: the sources with the tests.
      deps: the libraries of the sources, and the main function.
      **kwargs: further arguments of the cc_test.
    """
    count = (len(srcs) + 7) // 8
    size = (len(srcs) + count - 1) // count
    units = []
    for i in range(count):
        units.append("%s_unit_%d.cc" % (name, i + 1))
        _unit(
            name = "%s_unit_%d" % (name, i + 1),
            testonly = True,
            srcs = srcs[i * size:(i + 1) * size],
            out = units[-1],
        )
    cc_library(
        name = name + "_sources",
        testonly = True,
        textual_hdrs = srcs,
        deps = deps,
    )
    cc_test(
        name = name,
        srcs = units,
        deps = deps + [name + "_sources"],
        **kwargs
    )

def public_library(name, hdrs, deps, **kwargs):
    """A documented target: `hdrs` of include/waiter/, implemented by the modules in `deps`."""
    cc_library(
        name = name,
        hdrs = hdrs,
        strip_include_prefix = "/include",
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )

def library_part(name, hdrs = [], **kwargs):
    """A part of a module: `hdrs` of include/waiter/, with sources of its folder."""
    cc_library(
        name = name,
        hdrs = ["//:include/waiter/" + header for header in hdrs],
        strip_include_prefix = "/include",
        **kwargs
    )

def library_module(name, headers, deps, features = [], srcs = [], **kwargs):
    """A module: all sources of its folder, and the folder of the same name in include/waiter/.

    `:internals` has the private headers, for tests of them.

    Args:
      name: the name of the library.
      headers: the headers of include/waiter/, public and internal.
      deps: what sources and headers include.
      features: features that the headers need off.
      srcs: sources that the build makes.
      **kwargs: further arguments of both libraries.
    """
    cc_library(
        name = name,
        srcs = native.glob(["*.cc", "*.h"]) + srcs,
        hdrs = [headers],
        features = features,
        strip_include_prefix = "/include",
        deps = deps,
        **kwargs
    )
    cc_library(
        name = "internals",
        testonly = True,
        hdrs = native.glob(["*.h"], allow_empty = True),
        features = features,
        visibility = ["//tests:__subpackages__", "//waiter:__subpackages__"],
        deps = [":" + name] + deps,
        **{key: value for key, value in kwargs.items() if key != "linkopts"}
    )
