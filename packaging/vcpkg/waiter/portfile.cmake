# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO OWNER/waiter
  REF "v${VERSION}"
  SHA512 0
  HEAD_REF main
)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES gtest WAITER_GTEST)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DWAITER_INSTALL=ON ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/waiter)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
