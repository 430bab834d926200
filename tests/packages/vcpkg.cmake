# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# The functions of vcpkg that the port calls, as far as it depends on them, for `cmake -P`: with PROJECT, VERSION,
# FEATURES, OPTIONS of this machine, CURRENT_PACKAGES_DIR, and the portfile PORT.

cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(must_exist)
  foreach(path IN LISTS ARGN)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "there is no ${path}")
    endif()
  endforeach()
endfunction()

function(vcpkg_from_github)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_SOURCE_PATH;REPO;REF;SHA512;HEAD_REF" "")
  if(NOT arg_REF STREQUAL "v${VERSION}" OR NOT DEFINED arg_REPO OR NOT DEFINED arg_SHA512)
    message(FATAL_ERROR "not the source of ${VERSION}: ${ARGN}")
  endif()
  set(${arg_OUT_SOURCE_PATH} ${PROJECT} PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" OUT_FEATURE_OPTIONS FEATURES)
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  run(-S ${arg_SOURCE_PATH} -B ${CURRENT_PACKAGES_DIR}/../build -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
      -DCMAKE_INSTALL_LIBDIR=lib ${OPTIONS} ${arg_OPTIONS}
  )
endfunction()

function(vcpkg_cmake_install)
  run(--build ${CURRENT_PACKAGES_DIR}/../build -j)
  run(--install ${CURRENT_PACKAGES_DIR}/../build)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  must_exist(${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/waiterConfig.cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
  must_exist(${CURRENT_PACKAGES_DIR}/lib/pkgconfig/waiter.pc)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  must_exist(${arg_FILE_LIST})
endfunction()

include(${PORT})
