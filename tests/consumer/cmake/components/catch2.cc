// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#define CATCH_CONFIG_MAIN
#include "catch2/catch.hpp"
#include "waiter/testing/catch2.h"

TEST_CASE("polls") {
  int polls = 0;
  CHECK_EVENTUALLY(++polls >= 2);
}
