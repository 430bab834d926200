// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the hooks of observers of durable waits, on simulated time. To an
// observer, each time that a worker holds a wait is a separate wait.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_world.h"
#include "tests/support/unowned.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::durable_observers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Records the hooks of the waits of some workers.
class Transcript : public WaitObserver {
 public:
  const std::vector<std::string>& lines() const { return lines_; }
  const std::set<uint64_t>& ids() const { return ids_; }
  absl::Duration elapsed() const { return elapsed_; }

  void OnStart(const StartEvent& start) override {
    Add(start.wait, "starts");
    ids_.insert(start.wait.id);
  }
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    Add(wait, absl::StrCat("polls ", attempt));
  }
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    Add(wait,
        absl::StrCat("is done: ", std::string(StopReasonName(report.reason)),
                     " after ", report.attempts));
    elapsed_ = report.elapsed;
  }

 private:
  void Add(const WaitIdentity& wait, const std::string& what) {
    lines_.push_back(absl::StrCat(std::string(wait.name), " ", what));
  }

  std::vector<std::string> lines_;
  std::set<uint64_t> ids_;
  absl::Duration elapsed_;
};

class DurableObserversTest : public testing::TestWithParam<Form> {
 protected:
  DurableObserversTest() { world.form = GetParam(); }

  // Polls find success from `ready` on.
  void SucceedFrom(absl::Duration ready) {
    world.function = [this, ready](const DurablePoll&) -> Poll<std::string> {
      if (world.clock.Elapsed() < ready) return NotReady();
      return Success("done");
    };
  }
  // Adds a worker whose waits `observer` watches.
  DurableWorld::Worker& AddWorker(Transcript& observer) {
    world.policy.hooks.observer = Unowned(observer);
    return world.AddWorker();
  }

  Transcript first;
  Transcript second;
  DurableWorld world;
};

INSTANTIATE_TEST_SUITE_P(Forms, DurableObserversTest,
                         testing::Values(Form::kOneByOne, Form::kAsync,
                                         Form::kBatch),
                         [](const auto& form) { return FormName(form.param); });

TEST_P(DurableObserversTest, WaitIsDoneForItsWorkerEachTimeItIsGivenBack) {
  // A sleep of 10 s is longer than a third of the lease.
  AddWorker(first);
  AddWorker(first);
  SucceedFrom(absl::Seconds(15));
  ASSERT_TRUE(*world.Enqueue({.key = "a"}));

  world.Run(absl::Minutes(1));

  EXPECT_THAT(
      first.lines(),
      ElementsAre("a starts", "a polls 1", "a is done: cancelled after 1",
                  "a starts", "a polls 2", "a is done: cancelled after 2",
                  "a starts", "a polls 3", "a is done: success after 3"));
  EXPECT_THAT(first.ids(), SizeIs(3)) << "each time has its own identity";
  EXPECT_GE(first.elapsed(), absl::Seconds(20)) << "counts from the enqueue";
}

TEST_P(DurableObserversTest, WorkerThatTakesOverGoesOnCounting) {
  world.policy.backoff = Every(absl::Seconds(2));
  DurableWorld::Worker& killed = AddWorker(first);
  SucceedFrom(absl::Seconds(40));
  ASSERT_TRUE(*world.Enqueue({.key = "a"}));
  world.Run(absl::Seconds(7));
  ASSERT_THAT(first.lines(), ElementsAre("a starts", "a polls 1", "a polls 2",
                                         "a polls 3", "a polls 4"));

  killed.Kill();
  AddWorker(second);
  world.Run(absl::Minutes(2));

  EXPECT_THAT(first.lines(), SizeIs(5)) << "the dead tell nothing";
  ASSERT_THAT(second.lines(), SizeIs(testing::Ge(3)));
  EXPECT_EQ(second.lines()[0], "a starts");
  EXPECT_THAT(second.lines()[1], testing::StartsWith("a polls "));
  EXPECT_NE(second.lines()[1], "a polls 1") << "a lease was renewed";
  EXPECT_THAT(second.lines().back(),
              testing::StartsWith("a is done: success after "));
}

TEST_P(DurableObserversTest, WorkerThatIsDestroyedGivesItsWaitsBack) {
  {
    DurableWorld short_lived;
    short_lived.form = GetParam();
    short_lived.policy.backoff = Every(absl::Seconds(2));
    short_lived.policy.hooks.observer = Unowned(first);
    short_lived.AddWorker();
    ASSERT_TRUE(*short_lived.Enqueue({.key = "a"}));
    short_lived.Run(absl::Seconds(1));
  }

  EXPECT_THAT(first.lines(), ElementsAre("a starts", "a polls 1",
                                         "a is done: cancelled after 1"));
}

// To an observer of the program, deliveries are not waits, and neither is the
// beginning of a wait that no worker has polled.
TEST_P(DurableObserversTest, ObserverOfTheProgramSeesNothingElse) {
  ObserveEveryWait(Unowned(second));
  AddWorker(first);
  SucceedFrom(absl::ZeroDuration());
  ASSERT_TRUE(*world.Enqueue({.key = "a"}));

  world.Run(absl::Minutes(1));
  ObserveEveryWait(nullptr);

  EXPECT_THAT(world.deliveries, SizeIs(1));
  EXPECT_THAT(first.lines(), ElementsAre("a starts", "a polls 1",
                                         "a is done: success after 1"));
  EXPECT_EQ(second.lines(), first.lines());
}

}  // namespace
}  // namespace waiter::durable_observers_test
