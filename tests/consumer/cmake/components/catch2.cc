// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#define CATCH_CONFIG_MAIN
#include "waiter/testing/catch2.h"

#include "catch2/catch.hpp"

TEST_CASE("polls") {
  int polls = 0;
  CHECK_EVENTUALLY(++polls >= 2);
}
