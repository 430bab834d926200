// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A model with durations, and learned delays from it.

#ifndef WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_
#define WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

namespace waiter {

// Fills a model with `count` durations of about `seconds`, spread evenly by
// `spread` to both sides, in an order without a trend.
inline void Fill(DurationModel& model, const std::string& operation,
                 double seconds, double spread, int count) {
  for (int i = 0; i < count; ++i) {
    // 37 has no divisor in common with the counts of these tests.
    const int place = i * 37 % count;
    const double part = count > 1 ? 2.0 * place / (count - 1) - 1 : 0;
    const absl::Duration exact = absl::Seconds(seconds * (1 + spread * part));
    model.Record(operation, {.after = exact, .by = exact});
  }
}

class LearnedFixture : public testing::Test {
 protected:
  std::shared_ptr<LearnedDelays> Make(
      const LearnedDelaysOptions& options = {}) {
    auto made = LearnedDelays::Make(model_, options);
    EXPECT_EQ(made.status(), absl::OkStatus());
    return *made;
  }

  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
};

}  // namespace waiter

#endif  // WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_
