// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#define BOOST_TEST_MODULE component
#include "waiter/testing/boost_test.h"

#include <boost/test/included/unit_test.hpp>

BOOST_AUTO_TEST_CASE(Polls) {
  int polls = 0;
  BOOST_CHECK_EVENTUALLY(++polls >= 2);
}
