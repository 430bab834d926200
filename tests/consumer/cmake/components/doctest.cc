// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "doctest/doctest.h"

#include "waiter/testing/doctest.h"

TEST_CASE("polls") {
  int polls = 0;
  CHECK_EVENTUALLY(++polls >= 2);
}
