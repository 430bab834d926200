// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/exceptions.h"

#include <exception>
#include <new>
#include <string>

#include "absl/base/config.h"

namespace waiter::internal {

#ifdef ABSL_HAVE_EXCEPTIONS

std::string WhatOf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "";
  }
}

void ThrowBadAlloc() { throw std::bad_alloc(); }

#else

// Nothing in this library makes an exception.
std::string WhatOf(const std::exception_ptr& /*exception*/) { return ""; }

void ThrowBadAlloc() { std::terminate(); }

#endif

}  // namespace waiter::internal
