// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WAITER_HAS_BOOST
#define BOOST_TEST_MODULE boost_test_page

#include <boost/test/included/unit_test.hpp>

#include "absl/time/time.h"
#include "tests/frameworks/job.h"
#include "waiter/testing/boost_test.h"

namespace {

using ::waiter::Job;
using ::waiter::StartJob;

BOOST_AUTO_TEST_CASE(JobIsDoneAndHasALog) {
  Job job = StartJob();

  BOOST_REQUIRE_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Seconds(30)},
                           waiter::FailIf("FAILED"));
  BOOST_CHECK_EVENTUALLY_PASSES({
    BOOST_REQUIRE(job.HasLog());
    BOOST_TEST(job.LinesOfLog() == 7);
  });
  BOOST_CHECK_NEVER(job.State(), "RUNNING");
}

}  // namespace

#else

int main() { return 0; }

#endif  // WAITER_HAS_BOOST
