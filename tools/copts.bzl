# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compiler options of the project's own targets."""

_ABSEIL = Label("@com_google_absl//absl:BUILD.bazel").workspace_root

WAITER_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Werror",
    # Abseil 2026 deprecates MutexLock(Mutex*), and Abseil 2022 has no other.
    "-Wno-deprecated-declarations",
    # Bazel gives Abseil's headers by -iquote, as if they were ours. g++ drops a directory from
    # that list when it is a system directory too, so its warnings stay out of our builds.
    "-isystem",
    _ABSEIL,
] + select({
    "@rules_cc//cc/compiler:clang": [
        "-Wthread-safety",
        # The same for clang, which does not drop it.
        "--system-header-prefix=absl/",
    ],
    "//conditions:default": [],
})
