# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs the headers, and what cmake/installed_files.txt lists: libraries, and the files by which
# find_package(waiter) and pkg-config find them.

include(CMakePackageConfigHelpers)

# The command has its own component.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/waiter)

install(
  DIRECTORY include/waiter
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h"
  PATTERN "include/waiter/testing" EXCLUDE
)
if(WAITER_TESTING)
  install(
    DIRECTORY include/waiter/testing
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/waiter
    FILES_MATCHING PATTERN "*.h"
  )
endif()

# What waiterConfig.cmake knows of the components.
list(JOIN WAITER_MODULES " " WAITER_COMPONENTS)
set(WAITER_COMPONENT_DEPENDENCIES "")
foreach(module IN LISTS WAITER_MODULES)
  list(JOIN WAITER_MODULES_OF_${module} " " modules)
  string(APPEND WAITER_COMPONENT_DEPENDENCIES "set(waiter_DEPENDENCIES_OF_${module} ${modules})\n")
endforeach()
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

# waiter_install_module(NAME): installs the library waiter::NAME, its targets for find_package(), and its file for
# pkg-config.
function(waiter_install_module name)
  waiter_module_target(target ${name})
  string(REPLACE _ - file ${target})
  install(
    TARGETS ${target}
    EXPORT ${target}_targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  )
  install(EXPORT ${target}_targets FILE ${name}-targets.cmake NAMESPACE waiter:: DESTINATION ${config_folder})

  set(modules ${WAITER_MODULES_OF_${name}})
  list(TRANSFORM modules REPLACE "(.+)" "waiter-\\1 = ${PROJECT_VERSION}")
  list(TRANSFORM modules REPLACE "^waiter-waiter" waiter)
  # pkg-config knows the libraries of Abseil and GoogleTest by the names of their CMake targets.
  set(libraries ${WAITER_LIBRARIES_OF_${name}})
  list(FILTER libraries EXCLUDE REGEX "^Threads::")
  list(TRANSFORM libraries REPLACE "^absl::" absl_)
  list(TRANSFORM libraries REPLACE "^GTest::" "")
  list(JOIN modules ", " modules)
  list(JOIN libraries " " libraries)
  string(STRIP "${modules} ${libraries}" WAITER_PKG_CONFIG_REQUIRES)
  set(WAITER_PKG_CONFIG_NAME ${file})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(WAITER_PKG_CONFIG_LIBS "")
  else()
    set(WAITER_PKG_CONFIG_LIBS "-L\${libdir} -l${target} -pthread")
  endif()
  configure_file(cmake/waiter.pc.in ${file}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
foreach(module IN LISTS WAITER_MODULES)
  waiter_install_module(${module})
endforeach()
