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
    # Copies instead of #include directives: these would make the sources inputs of whatever depends on the unit.
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [ctx.outputs.out],
        command = "out=$1; shift; for f; do echo \"#line 1 \\\"$f\\\"\"; cat \"$f\"; done >\"$out\"",
        arguments = [ctx.outputs.out.path] + [f.path for f in ctx.files.srcs],
        mnemonic = "JoinSources",
    )

_unit = rule(
    _unit_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"]), "out": attr.output()},
    doc = "A translation unit with the text of several sources.",
)

def _units(name, srcs, testonly = False):
    """Joins up to eight sources to a translation unit each.

    A source that is compiled alone spends two thirds of its time on the headers of Abseil and the standard library, and
    on what every source instantiates from their templates. Because they are joined, no two sources of a folder may
    define the same local name.

    Args:
      name: the start of the names of the units.
      srcs: the sources.
      testonly: whether they are for tests only.

    Returns:
      The units.
    """
    count = (len(srcs) + 7) // 8
    size = (len(srcs) + count - 1) // max(count, 1)
    units = []
    for i in range(count):
        units.append("%s_unit_%d.cc" % (name, i + 1))
        _unit(
            name = "%s_unit_%d" % (name, i + 1),
            testonly = testonly,
            srcs = srcs[i * size:(i + 1) * size],
            out = units[-1],
            visibility = ["//visibility:private"],
        )
    return units

def joined(name, srcs):
    """The sources of a library: joined, except with -c opt, where functions are inlined as in any other build.

    Args:
      name: the name of the library.
      srcs: the sources.

    Returns:
      The argument `srcs` of the library.
    """
    return select({
        "//tools:optimized": srcs,
        "//conditions:default": _units(name, srcs),
    })

def cc_test_module(name, srcs, **kwargs):
    """One program of the tests of a module. Each source has a namespace that is named after its file."""
    cc_test(name = name, srcs = _units(name, srcs, testonly = True), **kwargs)

def folder_library(name, srcs = [], **kwargs):
    """All headers and sources of a folder.

    Args:
      name: the name of the library.
      srcs: sources that the build makes.
      **kwargs: further arguments of the cc_library.
    """
    cc_library(
        name = name,
        srcs = joined(name, native.glob(["*.cc"]) + srcs),
        hdrs = native.glob(["*.h"]),
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
        srcs = joined(name, native.glob(["*.cc"]) + srcs) + native.glob(["*.h"]),
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
