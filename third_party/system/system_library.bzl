# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""A repository with a library of this machine, if it has the library's headers."""

_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "library",
    hdrs = {headers},
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

# Where compilers look by themselves.
_SYSTEM = "/usr/include"

def _find(repository_ctx):
    """Returns the directory that has the header, or None."""
    roots = [
        repository_ctx.path(root)
        for root in [_SYSTEM, "/usr/local/include", "/opt/homebrew/include"]
    ]

    # Debian has some in a directory that is named after the architecture.
    if roots[0].exists:
        for name in sorted([path.basename for path in roots[0].readdir()]):
            roots.append(roots[0].get_child(name))
    for root in roots:
        header = root
        for part in repository_ctx.attr.header.split("/"):
            header = header.get_child(part)
        if header.exists:
            return root
    return None

def _linkopts(repository_ctx):
    """Links archives where all of them are there, as they load faster than libraries."""
    libraries = repository_ctx.attr.libraries
    folders = [repository_ctx.path("/usr/lib")]
    if repository_ctx.attr.archives and folders[0].exists:
        folders += [path for path in folders[0].readdir() if path.basename.endswith("-linux-gnu")]
        names = ["lib" + name + ".a" for name in libraries]
        for folder in folders:
            if not [name for name in names if not folder.get_child(name).exists]:
                return ["-l:" + name for name in names]
    return ["-l" + name for name in libraries]

def _system_library_impl(repository_ctx):
    root = _find(repository_ctx)
    headers, includes = "[]", []
    if root != None and str(root) != _SYSTEM:
        # Links to the headers of this library alone, as the directory also has those of others.
        for header in [repository_ctx.attr.header] + repository_ctx.attr.included:
            directory = header.split("/")[0]
            repository_ctx.symlink(root.get_child(directory), "include/" + directory)
        headers, includes = 'glob(["include/**/*.h"])', ["include"]
    found = root != None
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        headers = headers,
        defines = repr([repository_ctx.attr.macro] if found else []),
        includes = repr(includes),
        linkopts = repr(_linkopts(repository_ctx) if found else []),
    ))

# The target `//:library` of the repository has the headers, links the libraries and defines the macro. On a
# machine without the header it is empty.
system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "archives": attr.bool(doc = "Whether to link archives, which then need no other library."),
        "header": attr.string(doc = "A header of the library, such as \"curl/curl.h\".", mandatory = True),
        "included": attr.string_list(doc = "Other headers beside it, which it includes."),
        "libraries": attr.string_list(doc = "What to link. The machine must have it, too."),
        "macro": attr.string(doc = "What to define, such as \"WAITER_HAS_CURL\".", mandatory = True),
    },
    configure = True,
    doc = "Finds a library of this machine.",
    local = True,
)

def system_libraries():
    """Makes the repositories of all libraries that tests, examples and the command use where they are."""

    # Nothing is linked of these two: see curl_library.h and jq_library.h in cli/probes/http/.
    system_library(name = "curl_headers", header = "curl/curl.h", macro = "WAITER_HAS_CURL")
    system_library(name = "jq_headers", header = "jq.h", macro = "WAITER_HAS_JQ")
    system_library(name = "system_curl", header = "curl/curl.h", libraries = ["curl"], macro = "WAITER_HAS_CURL")
    system_library(
        name = "system_prometheus_cpp",
        header = "prometheus/exposer.h",
        libraries = ["prometheus-cpp-pull", "prometheus-cpp-core"],
        macro = "WAITER_HAS_PROMETHEUS_CPP",
    )
    system_library(
        name = "system_hiredis",
        header = "hiredis/async.h",
        archives = True,
        libraries = ["hiredis"],
        macro = "WAITER_HAS_HIREDIS",
    )
    system_library(
        name = "system_libpq",
        header = "libpq-fe.h",
        included = [
            "pg_config_ext.h",
            "postgres_ext.h",
        ],
        libraries = ["pq"],
        macro = "WAITER_HAS_LIBPQ",
    )
    system_library(
        name = "system_sqlite",
        header = "sqlite3.h",
        libraries = ["sqlite3"],
        macro = "WAITER_HAS_SQLITE",
    )
    system_library(name = "system_catch2", header = "catch2/catch.hpp", libraries = [], macro = "WAITER_HAS_CATCH2")
    system_library(name = "system_doctest", header = "doctest/doctest.h", libraries = [], macro = "WAITER_HAS_DOCTEST")
    system_library(name = "system_boost", header = "boost/asio.hpp", libraries = [], macro = "WAITER_HAS_BOOST")
    system_library(
        name = "system_grpc",
        header = "grpcpp/support/status.h",
        libraries = ["grpc++", "grpc", "gpr"],
        macro = "WAITER_HAS_GRPC",
    )
