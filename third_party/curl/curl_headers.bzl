# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""A repository with the headers of libcurl, if this machine has them."""

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "curl",
    hdrs = {headers},
    defines = {defines},
    includes = {includes},
    visibility = ["//visibility:public"],
)
"""

def _find(repository_ctx):
    """Returns the directory that has curl/curl.h, or None."""
    roots = [
        repository_ctx.path(root)
        for root in ["/usr/include", "/usr/local/include", "/opt/homebrew/include"]
    ]

    # Debian has them in a directory that is named after the architecture.
    system = roots[0]
    if system.exists:
        for name in sorted([path.basename for path in system.readdir()]):
            roots.append(system.get_child(name))
    for root in roots:
        if root.get_child("curl").get_child("curl.h").exists:
            return root
    return None

def _curl_headers_impl(repository_ctx):
    root = _find(repository_ctx)
    if root == None:
        repository_ctx.file("BUILD.bazel", _BUILD.format(
            headers = "[]",
            defines = "[]",
            includes = "[]",
        ))
        return

    # Links to the headers of curl alone, as the directory also has those of other libraries.
    repository_ctx.symlink(root.get_child("curl"), "include/curl")
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        headers = 'glob(["include/curl/*.h"])',
        defines = '["WAITER_HAS_CURL"]',
        includes = '["include"]',
    ))

# The target `//:curl` of the repository has the headers, and defines WAITER_HAS_CURL. On a machine
# without the headers it is empty.
curl_headers = repository_rule(
    implementation = _curl_headers_impl,
    configure = True,
    doc = "Finds the headers of libcurl. Nothing is linked: see cli/probes/curl_library.h.",
    local = True,
)
