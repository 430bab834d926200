// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A project that compiles as C++17.
// says: Waiter needs C++20

#include "waiter/waiter.h"

int main() {
  return waiter::Waiter([] { return true; }).Wait().ok() ? 0 : 1;
}
