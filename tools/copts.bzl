# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compiler options of the project's own targets.

Warnings are errors in this workspace alone, by .bazelrc: a newer compiler that warns of more must not break the
build of a project that depends on this one.
"""

_ABSEIL = Label("@com_google_absl//absl:BUILD.bazel").workspace_root

WAITER_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    # Abseil 2026 deprecates MutexLock(Mutex*), the only one that Abseil 2022 has.
    "-Wno-deprecated-declarations",
    # Bazel passes Abseil's headers by -iquote, like the project's own. g++ drops a directory from
    # that list if it is also a system directory, which silences warnings in Abseil's headers.
    "-isystem",
    _ABSEIL,
] + select({
    "@rules_cc//cc/compiler:clang": [
        "-Wthread-safety",
        # Silences the same warnings for clang, which does not drop the directory.
        "--system-header-prefix=absl/",
    ],
    "//conditions:default": [],
})
