// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Handling of exceptions that also compiles without them (`-fno-exceptions`):
//
//   WAITER_TRY {
//     function();
//   }
//   WAITER_CATCH(...) {
//     CleanUp();
//     WAITER_RETHROW;
//   }
//
// Without exceptions the block of WAITER_TRY runs, and a function that throws
// terminates the program. The block of WAITER_CATCH compiles, so it must not
// use a name for the exception; `std::current_exception()` and `WhatOf` serve
// instead. The macros differ from the keywords in nothing else.

#ifndef WAITER_INTERNAL_EXCEPTIONS_H_
#define WAITER_INTERNAL_EXCEPTIONS_H_

#include <exception>
#include <string>

#include "absl/base/config.h"
#include "waiter/version.h"

#ifdef ABSL_HAVE_EXCEPTIONS
#define WAITER_TRY try
#define WAITER_CATCH(declaration) catch (declaration)
#define WAITER_RETHROW throw
#else
#define WAITER_TRY if constexpr (true)
#define WAITER_CATCH(declaration) else
#define WAITER_RETHROW static_cast<void>(0)
#endif

namespace waiter::internal {

// Returns `what()` of a `std::exception`, and nothing for other types. Requires
// an exception.
std::string WhatOf(const std::exception_ptr& exception);

// Throws `std::bad_alloc`. Without exceptions, terminates the program.
[[noreturn]] void ThrowBadAlloc();

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_EXCEPTIONS_H_
