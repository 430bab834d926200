# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the public headers that the documented targets list."""

load("@rules_cc//cc:defs.bzl", "CcInfo")
load(":cc.bzl", "cc_library", "cc_test")

def _include_path(header):
    """The path by which users include `header`, a file of a CcInfo."""
    _, virtual, path = header.path.partition("/_virtual_includes/")
    return path.partition("/")[2] if virtual else header.short_path.partition("include/")[2]

def _documented(target):
    headers = target[CcInfo].compilation_context.direct_public_headers
    return {_include_path(header): True for header in headers}.keys()

_LONE_INCLUDE = """#include "{}"
#ifndef WAITER_VERSION
#error "The header does not include waiter/version.h."
#endif
"""

def _includes_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    ctx.actions.write(source, "".join(["#include \"{}\"\n".format(path) for path in _documented(ctx.attr.target)]))
    return [DefaultInfo(files = depset([source]))]

_includes = rule(
    implementation = _includes_impl,
    doc = "Writes a source file that includes all headers of `target`.",
    attrs = {"target": attr.label(mandatory = True, providers = [CcInfo])},
)

def _lone_includes_impl(ctx):
    sources = []
    for path in _documented(ctx.attr.target):
        source = ctx.actions.declare_file("{}/{}.cc".format(ctx.label.name, path))
        ctx.actions.write(source, _LONE_INCLUDE.format(path))
        sources.append(source)
    return [DefaultInfo(files = depset(sources))]

_lone_includes = rule(
    implementation = _lone_includes_impl,
    doc = "Writes a source file for each header of `target`, with this header as its only include.",
    attrs = {"target": attr.label(mandatory = True, providers = [CcInfo])},
)

def _listed_headers_test_impl(ctx):
    targets = {}
    for target in ctx.attr.targets:
        for path in _documented(target):
            targets.setdefault(path, []).append(str(target.label))
    faults = []
    for header in ctx.files.headers:
        path = header.short_path.partition("include/")[2]
        found = targets.pop(path, [])
        if len(found) != 1:
            faults.append("{} is in {}".format(path, " and ".join(found) or "no documented target"))
    for path, found in targets.items():
        faults.append("{} is in {}, but is not public".format(path, " and ".join(found)))

    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\n" + "".join(["echo '{}'\n".format(fault) for fault in faults]) +
        "exit {}\n".format(1 if faults else 0),
        is_executable = True,
    )
    return [DefaultInfo(executable = script)]

_listed_headers_test = rule(
    implementation = _listed_headers_test_impl,
    test = True,
    attrs = {
        "headers": attr.label(mandatory = True, allow_files = [".h"]),
        "targets": attr.label_list(mandatory = True, providers = [CcInfo]),
    },
)

def public_headers_tests(name, headers, targets, targets_with_libraries = []):
    """Defines tests that hold for all public headers.

    * `NAME_listed_test`: each of `headers` is in exactly one of `targets`, which have no other headers.
    * `NAME_alone_test`: each header compiles as the only include of a file that depends only on its target, and
      includes waiter/version.h. All headers of a target also compile without exceptions and RTTI, and with the
      macros of <windows.h>. Warnings are errors.

    Args:
      name: the prefix of the tests' names.
      headers: a filegroup of all public headers.
      targets: the documented targets.
      targets_with_libraries: further documented targets, whose headers include those of libraries that a user
        brings, so they do not compile alone.
    """
    libraries = []
    for target in targets:
        library = "{}_of_{}".format(name, target.partition(":")[2])
        _lone_includes(
            name = library + "_sources",
            testonly = True,
            target = target,
        )

        # The code is never run, so it needs no optimization.
        cc_library(
            name = library,
            testonly = True,
            srcs = [library + "_sources"],
            copts = ["-O0", "-g0", "-Werror"],
            deps = [target],
        )
        libraries.append(library)
        _includes(
            name = library + "_includes",
            testonly = True,
            target = target,
        )
        cc_library(
            name = library + "_without_exceptions",
            testonly = True,
            srcs = [library + "_includes"],
            copts = ["-O0", "-g0", "-Werror", "-fno-exceptions", "-fno-rtti", "-include", "tests/headers/windows_macros.h"],
            deps = [target, "//tests/headers:windows_macros"],
        )
        libraries.append(library + "_without_exceptions")

    cc_test(
        name = name + "_alone_test",
        size = "small",
        srcs = ["alone_test.cc"],
        tags = ["compile"],
        deps = libraries,
    )
    _listed_headers_test(
        name = name + "_listed_test",
        size = "small",
        headers = headers,
        targets = targets + targets_with_libraries,
    )
