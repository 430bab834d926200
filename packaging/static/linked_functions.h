// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions that `waiter` looks up in libraries, which the static
// executable links. linked_functions.awk writes the source, from the calls of
// FindSymbol.

#ifndef WAITER_PACKAGING_STATIC_LINKED_FUNCTIONS_H_
#define WAITER_PACKAGING_STATIC_LINKED_FUNCTIONS_H_

#include <span>
#include <string_view>

namespace waiter::cli {

struct LinkedFunction {
  std::string_view library;  // The file that is opened, such as "libjq.so.1".
  std::string_view name;
  void (*function)();
};

std::span<const LinkedFunction> LinkedFunctions();

}  // namespace waiter::cli

#endif  // WAITER_PACKAGING_STATIC_LINKED_FUNCTIONS_H_
