// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Conversions between the string_view of the standard, which the interface
// uses, and Abseil's.
//
// They are one type, unless Abseil was built so that programs in C++14 can use
// it, as the packages of Debian and Ubuntu are. Its own type then converts
// neither from nor to the standard's.

#ifndef WAITER_INTERNAL_STRING_VIEWS_H_
#define WAITER_INTERNAL_STRING_VIEWS_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace waiter::internal {

constexpr absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

constexpr std::string_view ToStd(absl::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_STRING_VIEWS_H_
