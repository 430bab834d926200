// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WAITER_HAS_CATCH2
#define CATCH_CONFIG_MAIN

#include "absl/time/time.h"
#include "catch2/catch.hpp"
#include "tests/frameworks/job.h"
#include "waiter/testing/catch2.h"

namespace {

using ::waiter::Job;
using ::waiter::StartJob;

TEST_CASE("a job is done and has a log") {
  Job job = StartJob();

  REQUIRE_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Seconds(30)},
                     waiter::FailIf("FAILED"));
  CHECK_EVENTUALLY_PASSES({
    REQUIRE(job.HasLog());
    CHECK(job.LinesOfLog() == 7);
  });
  CHECK_NEVER(job.State(), "RUNNING");
}

}  // namespace

#else

int main() { return 0; }

#endif  // WAITER_HAS_CATCH2
