# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# The Debian packages, which `cpack` makes of an installation into /usr: libwaiter-dev, and with
# WAITER_BUILD_COMMAND the package waiter.

find_program(WAITER_DPKG dpkg)
find_program(WAITER_GZIP gzip)
mark_as_advanced(WAITER_DPKG WAITER_GZIP)
if(NOT WAITER_DPKG OR NOT WAITER_GZIP OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  return()
endif()

# waiter_package_documents(PACKAGE COMPONENT): installs what each package must have in its folder of documents.
function(waiter_package_documents package component)
  set(folder ${PROJECT_BINARY_DIR}/packages/${package})
  file(MAKE_DIRECTORY ${folder})
  # The time of SOURCE_DATE_EPOCH if it is set, so that a build can be repeated.
  string(TIMESTAMP WAITER_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(cmake/debian/changelog.in ${folder}/changelog.Debian @ONLY)
  execute_process(
    COMMAND ${WAITER_GZIP} -9nc ${folder}/changelog.Debian
    OUTPUT_FILE ${folder}/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY
  )
  execute_process(
    COMMAND ${WAITER_GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    OUTPUT_FILE ${folder}/changelog.gz COMMAND_ERROR_IS_FATAL ANY
  )
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
  install(
    FILES ${folder}/changelog.Debian.gz ${folder}/changelog.gz cmake/debian/copyright
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT ${component}
  )
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME waiter)
set(CPACK_PACKAGE_VENDOR "The Waiter Authors")
set(CPACK_PACKAGE_CONTACT "The Waiter Authors <maintainers@waiter.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# As usual for packages that do not come from Debian, whose own would begin with 1.
set(CPACK_DEBIAN_PACKAGE_RELEASE 0waiter1)
# Each package has a description of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Whatever the umask of the build is.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)
set(CPACK_COMPONENTS_ALL library)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libwaiter-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
# A version of Abseil has names of its own for its symbols, so the library belongs to the one it was built with.
if(absl_VERSION)
  math(EXPR next "${absl_VERSION} + 1")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libabsl-dev (>= ${absl_VERSION}), libabsl-dev (<< ${next})")
else()
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libabsl-dev)
endif()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS libgmock-dev)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "C++ library that polls until an operation is done
A function checks once; Waiter decides when to check again and when to
give up. Delays grow and are jittered, throttling and server errors have
their own backoff, and deadlines are kept to the last poll.

This package has the headers, the static library, and the files for CMake
and pkg-config."
)
waiter_package_documents(libwaiter-dev library)

if(WAITER_BUILD_COMMAND)
  list(APPEND CPACK_COMPONENTS_ALL command)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME waiter)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
  # Targets of http and https load libcurl, durable waits SQLite or libpq, and expressions of jq libjq.
  set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libcurl4, libpq5, libsqlite3-0")
  if(WAITER_JQ_INCLUDE_DIR)
    set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS libjq1)
  endif()
  set(CPACK_COMPONENT_COMMAND_DESCRIPTION
      "wait until services, files or commands are ready
waiter blocks until its targets are ready, then replaces itself with a
program. Targets are ports, sockets, web pages, databases, names, files,
processes and shell commands. If they do not become ready, the exit code
says why, and the message says what was found last."
  )
  waiter_package_documents(waiter command)
endif()

include(CPack)
