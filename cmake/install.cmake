# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs what cmake/installed_files.txt lists: headers, libraries, and the files by which
# find_package(waiter) and pkg-config find them.

include(CMakePackageConfigHelpers)

# The command has a component of its own.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/waiter)

install(
  TARGETS waiter
  EXPORT waiterTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
)
install(EXPORT waiterTargets NAMESPACE waiter:: DESTINATION ${config_folder})
install(
  DIRECTORY include/waiter
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h"
  PATTERN "include/waiter/testing" EXCLUDE
)

# Without GoogleTest there is no component `testing`.
if(WAITER_TESTING)
  install(
    TARGETS waiter_testing
    EXPORT waiterTestingTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  )
  install(EXPORT waiterTestingTargets NAMESPACE waiter:: DESTINATION ${config_folder})
  install(
    DIRECTORY include/waiter/testing
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/waiter
    FILES_MATCHING PATTERN "*.h"
  )
endif()

configure_package_config_file(
  cmake/waiterConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/waiterConfig.cmake INSTALL_DESTINATION ${config_folder}
)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/waiterConfigVersion.cmake
  # A minor version may change the interface before 1.0.
  COMPATIBILITY SameMinorVersion
)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/waiterConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/waiterConfigVersion.cmake
  DESTINATION ${config_folder}
)

# pkg-config knows Abseil's libraries by the names of their CMake targets.
list(TRANSFORM WAITER_ABSEIL REPLACE "^absl::" "absl_" OUTPUT_VARIABLE required)
list(JOIN required " " WAITER_PKG_CONFIG_REQUIRES)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(WAITER_PKG_CONFIG_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(WAITER_PKG_CONFIG_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(WAITER_PKG_CONFIG_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  # Relative to the file, so that what was installed can be moved.
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up ${up})
  set(WAITER_PKG_CONFIG_PREFIX "\${pcfiledir}/${up}")
  set(WAITER_PKG_CONFIG_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(WAITER_PKG_CONFIG_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/waiter.pc.in waiter.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/waiter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
