# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""nlohmann_json: its archive, or the package of a Debian that cannot fetch that."""

_VERSION = "3.11.2"
_SHA256 = "d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273"

# As any user; nothing is installed.
_FROM_PACKAGE = """
apt-get -qq download nlohmann-json3-dev &&
dpkg-deb -x nlohmann-json3-dev_*.deb package &&
mkdir -p single_include &&
mv package/usr/include/nlohmann single_include/
"""

def _nlohmann_json_impl(repository_ctx):
    repository_ctx.symlink(repository_ctx.attr._build_file, "BUILD.bazel")
    download = repository_ctx.download_and_extract(
        allow_fail = True,
        sha256 = _SHA256,
        stripPrefix = "json-" + _VERSION,
        url = "https://github.com/nlohmann/json/archive/refs/tags/v{}.tar.gz".format(_VERSION),
    )
    if not download.success and repository_ctx.which("apt-get") != None:
        repository_ctx.execute(["sh", "-c", _FROM_PACKAGE])
    if not repository_ctx.path("single_include/nlohmann/json.hpp").exists:
        fail("nlohmann_json {} cannot be downloaded, and there is no package of it; ".format(_VERSION) +
             "check the network, or give --override_repository=nlohmann_json=FOLDER")

# `//:json` of it has the headers.
nlohmann_json = repository_rule(
    implementation = _nlohmann_json_impl,
    attrs = {"_build_file": attr.label(default = "//third_party/nlohmann_json:nlohmann_json.BUILD")},
    doc = "Fetches nlohmann_json. `bazelw` overrides it on Debian.",
)
