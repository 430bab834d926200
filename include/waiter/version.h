// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The version of Waiter, as numbers that the preprocessor compares:
//
//   #if WAITER_VERSION >= 10200
//   ...  // what 1.2.0 added
//   #endif
//
// Versions follow semver.org. Before 1.0.0, a new minor version may change the
// interface; CHANGELOG.md says how. Like Abseil, Waiter does not promise binary
// compatibility between any two versions.
//
// Every public header includes this one, which ends the compilation with one
// message if the language is older than C++20.

#ifndef WAITER_VERSION_H_
#define WAITER_VERSION_H_

// Microsoft's compiler reports its language in another macro.
#if defined(_MSVC_LANG)
#define WAITER_INTERNAL_LANGUAGE _MSVC_LANG
#else
#define WAITER_INTERNAL_LANGUAGE __cplusplus
#endif

#if WAITER_INTERNAL_LANGUAGE < 202002L
#error "Waiter needs C++20: compile with -std=c++20, or a newer standard."
// This file does not exist: only that ends a compilation immediately, without
// pages of errors that follow from the first.
#include "waiter_needs_cpp20"
#endif

#undef WAITER_INTERNAL_LANGUAGE

#define WAITER_VERSION_MAJOR 0
#define WAITER_VERSION_MINOR 10
#define WAITER_VERSION_PATCH 0

// The three parts as one number, two digits each: 10203 is version 1.2.3.
#define WAITER_VERSION                                         \
  (WAITER_VERSION_MAJOR * 10000 + WAITER_VERSION_MINOR * 100 + \
   WAITER_VERSION_PATCH)

#endif  // WAITER_VERSION_H_
