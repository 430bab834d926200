# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

"""The recipe of the library for Conan 2. conandata.yml names the archive of each version."""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get

required_conan_version = ">=2.0"


class WaiterConan(ConanFile):
    name = "waiter"
    description = "Polls until an operation is done"
    homepage = "https://github.com/OWNER/waiter"
    license = "Apache-2.0"
    topics = ("polling", "retry", "wait")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "with_gtest": [True, False]}
    default_options = {"shared": False, "fPIC": True, "with_gtest": False}
    implements = ["auto_shared_fpic"]

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # Headers of the library include Abseil's.
        self.requires("abseil/[>=20220623.1]", transitive_headers=True)
        if self.options.with_gtest:
            self.requires("gtest/[>=1.12.1]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WAITER_INSTALL"] = True
        toolchain.cache_variables["WAITER_GTEST"] = "ON" if self.options.with_gtest else "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The library's own files for find_package().
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "waiter")]
