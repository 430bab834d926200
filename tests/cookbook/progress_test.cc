// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shows the progress of a wait.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/observer.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace progress_test {
namespace {

using ::testing::ElementsAre;

// Migrates a table at 20 s, the second at 200 s, and is done at 210 s.
class Database {
 public:
  explicit Database(waiter::SimulatedClock& clock) : clock_(clock) {}

  bool IsMigrated() const { return clock_.Elapsed() >= absl::Seconds(210); }
  int MigratedTables() const {
    if (clock_.Elapsed() < absl::Seconds(20)) return 0;
    return clock_.Elapsed() < absl::Seconds(200) ? 1 : 2;
  }

 private:
  waiter::SimulatedClock& clock_;
};

std::vector<std::string>& Printed() {
  static auto& printed = *new std::vector<std::string>;
  return printed;
}
void Print(std::string line) { Printed().push_back(std::move(line)); }

// Prints a line when the answer changes, and every minute.
class Progress : public waiter::WaitObserver {
 public:
  void AfterPoll(const waiter::PollEvent& poll) override {
    const bool is_new = poll.found.detail() != last_found_;
    if (!is_new && poll.elapsed < next_line_) return;
    last_found_ = std::string(poll.found.detail());
    next_line_ = poll.elapsed + absl::Minutes(1);
    Print(absl::StrCat(
        std::string(poll.wait.name), ": ", last_found_, " after ",
        absl::FormatDuration(absl::Trunc(poll.elapsed, absl::Seconds(1)))));
  }

 private:
  std::string last_found_;
  absl::Duration next_line_;
};

absl::Status Migrate(const Database& database, waiter::WaitOptions options) {
  options.name = "migration";
  options.hooks.observer = std::make_shared<Progress>();
  waiter::Waiter wait(
      [&]() -> waiter::Poll<> {
        if (database.IsMigrated()) return waiter::Success();
        return waiter::NotReady(
            absl::StrCat(database.MigratedTables(), " tables"));
      },
      std::move(options));
  return wait.Wait().status();
}

TEST(ProgressTest, PrintsWhatChangesAndALineAMinute) {
  waiter::SimulatedClock clock;

  EXPECT_TRUE(
      Migrate(Database(clock), {.timeout = absl::Minutes(5),
                                .backoff = {.initial_delay = absl::Seconds(10),
                                            .max_delay = absl::Seconds(10),
                                            .jitter = waiter::Jitter::None()},
                                .clock = &clock})
          .ok());

  EXPECT_THAT(Printed(), ElementsAre("migration: 0 tables after 0",
                                     "migration: 1 tables after 20s",
                                     "migration: 1 tables after 1m20s",
                                     "migration: 1 tables after 2m20s",
                                     "migration: 2 tables after 3m20s",
                                     "migration:  after 3m30s"));
}

}  // namespace
}  // namespace progress_test
