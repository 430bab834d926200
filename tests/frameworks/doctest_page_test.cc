// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WAITER_HAS_DOCTEST
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN

#include "absl/time/time.h"
#include "doctest/doctest.h"
#include "tests/frameworks/job.h"
#include "waiter/testing/doctest.h"

namespace {

using ::waiter::Job;
using ::waiter::StartJob;

TEST_CASE("a job is done and has a log") {
  Job job = StartJob();

  REQUIRE_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Seconds(30)},
                     waiter::FailIf("FAILED"));
  CHECK_EVENTUALLY_PASSES({
    REQUIRE_POLLED(job.HasLog());
    CHECK_POLLED(job.LinesOfLog() == 7);
  });
  CHECK_NEVER(job.State(), "RUNNING");
}

}  // namespace

#else

int main() { return 0; }

#endif  // WAITER_HAS_DOCTEST
