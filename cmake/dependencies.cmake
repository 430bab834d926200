# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Finds Abseil, threads and GoogleTest. Targets that exist already win: a project must not end up with
# two copies of Abseil.

if(NOT TARGET absl::base)
  find_package(absl QUIET CONFIG)
  if(NOT absl_FOUND)
    message(
      FATAL_ERROR
        "Waiter needs Abseil: install it (Debian: libabsl-dev), name its folder by "
        "-DCMAKE_PREFIX_PATH=..., or call add_subdirectory(abseil-cpp) before this project."
    )
  endif()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(wants_googletest "${WAITER_GTEST}")
if(NOT WAITER_TESTING)
  set(wants_googletest OFF)
endif()
if(WAITER_BUILD_TESTS)
  set(wants_googletest ON)
endif()
if(wants_googletest AND NOT TARGET GTest::gmock)
  find_package(GTest QUIET CONFIG)
endif()
if(wants_googletest AND NOT TARGET GTest::gmock AND NOT wants_googletest STREQUAL "AUTO")
  message(
    FATAL_ERROR
      "waiter::gtest and the tests need GoogleTest with gMock: install it (Debian: libgmock-dev), "
      "name its folder by -DCMAKE_PREFIX_PATH=..., or set WAITER_GTEST and WAITER_BUILD_TESTS to OFF."
  )
endif()
if(wants_googletest AND TARGET GTest::gmock)
  set(WAITER_GTEST ON)
else()
  set(WAITER_GTEST OFF)
endif()
