// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The durations that waits of every kind record.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/engine_fixture.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::recorded_durations_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// Matches what a wait records that ended before its operation.
auto AtLeast(int seconds) {
  return AllOf(Field(&ObservedDuration::after, absl::Seconds(seconds)),
               Field(&ObservedDuration::by, absl::InfiniteDuration()));
}

// Returns a function whose third call throws.
auto ThirdThrows() {
  return [calls = 0]() mutable -> bool {
    if (++calls == 3) throw std::runtime_error("no");
    return false;
  };
}

// Learned delays that a function changes.
class ChangedDelays : public DelaySource {
 public:
  using Change = std::function<std::optional<absl::Duration>(
      const DelayRequest& request, std::optional<absl::Duration> learned)>;

  ChangedDelays(std::shared_ptr<DelaySource> learned, Change change)
      : learned_(std::move(learned)), change_(std::move(change)) {}

  std::shared_ptr<DelaySource> ForOperation(std::string_view operation,
                                            Clock& clock) override {
    return std::make_shared<ChangedDelays>(
        learned_->ForOperation(operation, clock), change_);
  }
  std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                          absl::BitGenRef gen) override {
    return change_(request, learned_->NextDelay(request, gen));
  }
  bool records_durations() const override { return true; }
  void RecordDuration(const ObservedDuration& duration,
                      MonotonicTime now) override {
    learned_->RecordDuration(duration, now);
  }

 private:
  const std::shared_ptr<DelaySource> learned_;
  const Change change_;
};

class RecordedDurationsTest : public EngineFixture {
 protected:
  // Returns the options of a wait that polls every 10 s as long as nothing is
  // known.
  WaitOptions Options() {
    return {.operation = "create",
            .timeout = absl::Minutes(10),
            .backoff = Every(absl::Seconds(10)),
            .delay_source = learned_,
            .hooks = {.seed = 1},
            .clock = &clock_};
  }

  // Fills the model with 20 durations of a minute, so that the next poll is
  // late.
  void Learn() {
    Fill(*model_, "create", 60, /*spread=*/0, 20);
    known_ = 20;
  }

  std::vector<ObservedDuration> Recorded() const {
    return model_->Durations("create");
  }

  // Returns the only duration that was recorded since `Learn`.
  ObservedDuration Last() const {
    EXPECT_THAT(Recorded(), SizeIs(known_ + 1));
    return Recorded().empty() ? ObservedDuration() : Recorded().back();
  }

  // Runs what is due at each of `seconds` seconds.
  void RunFor(WaitEngine& engine, int seconds) {
    engine.RunDue();
    for (int i = 0; i < seconds; ++i) {
      clock_.AdvanceTime(absl::Seconds(1));
      engine.RunDue();
    }
  }

  size_t known_ = 0;
  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
  std::shared_ptr<LearnedDelays> learned_ = Learned(model_);
};

TEST_F(RecordedDurationsTest, EndLiesBetweenTheLastPollWithoutAndTheFirstWith) {
  WaitOptions without_operation = Options();
  without_operation.operation = "";
  WaitOptions confirmed = Options();
  confirmed.confirm.successes = 3;
  WaitOptions held = Options();
  held.confirm.hold_for = absl::Minutes(2);
  for (const WaitOptions& options :
       {Options(), without_operation, confirmed, held}) {
    const absl::Duration start = clock_.Elapsed();
    Waiter wait([&] { return clock_.Elapsed() >= start + absl::Seconds(25); },
                options);
    EXPECT_TRUE(wait.Wait().ok());
    const ObservedDuration last = model_->Durations(options.operation).back();
    EXPECT_EQ(last.after, absl::Seconds(20));
    EXPECT_EQ(last.by, absl::Seconds(30));
  }
  EXPECT_THAT(Recorded(), SizeIs(3));
}

TEST_F(RecordedDurationsTest, FirstDelayCountsAsTimeOfTheOperation) {
  WaitOptions options = Options();
  options.polls.first_delay = absl::Seconds(40);
  Waiter wait([&] { return clock_.Elapsed() >= absl::Seconds(55); }, options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_EQ(Last().after, absl::Seconds(50));
  EXPECT_EQ(Last().by, absl::Seconds(60));
}

TEST_F(RecordedDurationsTest, WaitWhoseFirstPollSucceedsIsNotRecorded) {
  EXPECT_TRUE(Waiter([] { return true; }, Options()).Wait().ok());
  EXPECT_THAT(model_->Operations(), IsEmpty());
}

TEST_F(RecordedDurationsTest, ErrorsSayNothingOfTheEndAndLeaveTheLowerBound) {
  WaitOptions options = Options();
  options.errors.server_error_backoff = options.backoff;
  ScriptedPoll<> script(
      clock_, {NotReady(), ServerError(absl::UnavailableError("down")),
               ServerError(absl::UnavailableError("down")), Success()});
  EXPECT_TRUE(Waiter(std::ref(script), options).Wait().ok());
  EXPECT_LT(Last().after, absl::Microseconds(1));
  EXPECT_EQ(Last().by, absl::Seconds(30));
}

// The waits below poll without success at 0 s, 10 s and so on.

TEST_F(RecordedDurationsTest, EndOfTheWaitAloneCountsAsAtLeastThatLong) {
  const auto never = [] { return false; };
  WaitOptions two_polls = Options();
  two_polls.delay_source = std::make_shared<ChangedDelays>(
      learned_, [](const DelayRequest& request, auto /*learned*/) {
        return request.attempt == 2 ? std::nullopt
                                    : std::optional(absl::Seconds(16));
      });
  WaitOptions three_polls = Options();
  three_polls.max_attempts = 3;
  WaitOptions short_wait = Options();
  short_wait.timeout = absl::Seconds(100);
  EXPECT_EQ(Waiter(never, two_polls).Wait().reason(), StopReason::kDelaySource);
  EXPECT_EQ(Waiter(never, three_polls).Wait().reason(), StopReason::kAttempts);
  EXPECT_EQ(Waiter(never, short_wait).Wait().reason(), StopReason::kDeadline);
  EXPECT_THROW((void)Waiter(ThirdThrows(), Options()).Wait(),
               std::runtime_error);
  EXPECT_THAT(Recorded(),
              ElementsAre(AtLeast(16), AtLeast(20), AtLeast(100), AtLeast(10)));
}

TEST_F(RecordedDurationsTest, EndInAnEngineCountsAsAtLeastThatLong) {
  const auto ignore = [](const WaitResult<>&) {};
  WaitEngine engine(Simulated());
  WaitHandle cancelled =
      engine.Start(Waiter([] { return false; }, Options()), ignore);
  WaitHandle destroyed =
      engine.Start(Waiter([] { return false; }, Options()), ignore);
  engine.Start(Waiter(ThirdThrows(), Options()), ignore).Detach();
  RunFor(engine, 25);
  cancelled.Cancel();
  engine.RunDue();
  destroyed = WaitHandle();
  engine
      .Start(AsyncWaiter(
                 [polls = 0](const PollCompletion<>& done) mutable {
                   if (++polls < 3) done(PollStatus::kNotReady);
                 },
                 Options()),
             results_.Take())
      .Detach();
  engine.Run();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_THAT(Recorded(),
              ElementsAre(AtLeast(10), AtLeast(20), AtLeast(20), AtLeast(10)));
}

TEST_F(RecordedDurationsTest, AnotherSourceMayAskForLearnedDelays) {
  Learn();
  WaitOptions options = Options();
  std::vector<absl::Duration> asked_for;
  options.delay_source = std::make_shared<ChangedDelays>(
      learned_,
      [&](const DelayRequest&, std::optional<absl::Duration> learned) {
        asked_for.push_back(learned.value());
        return absl::Seconds(7);
      });
  Waiter wait([&] { return clock_.Elapsed() >= absl::Seconds(20); }, options);
  EXPECT_TRUE(wait.Wait().ok());
  ASSERT_THAT(asked_for, SizeIs(3));
  EXPECT_GT(asked_for[0], absl::Seconds(10));
  EXPECT_EQ(Last().after, absl::Seconds(14));
  EXPECT_EQ(Last().by, absl::Seconds(21));
}

TEST_F(RecordedDurationsTest, PollNowCutsALearnedSleepShort) {
  Learn();
  WaitEngine engine(Simulated());
  bool done = false;
  std::vector<absl::Duration> polls;
  WaitHandle wait = engine.Start(Waiter(
                                     [&] {
                                       polls.push_back(clock_.Elapsed());
                                       return done;
                                     },
                                     Options()),
                                 [](const WaitResult<>&) {});
  // This is well before the first poll that the model wants.
  RunFor(engine, 2);
  wait.PollNow();
  RunFor(engine, 1);
  done = true;
  wait.PollNow();
  engine.RunDue();
  EXPECT_THAT(polls, ElementsAre(absl::ZeroDuration(), absl::Seconds(2),
                                 absl::Seconds(3)));
  EXPECT_EQ(Last().after, absl::Seconds(2));
  EXPECT_EQ(Last().by, absl::Seconds(3));
}

TEST_F(RecordedDurationsTest, KeysOfABatchAreRecordedAsWaits) {
  Learn();
  WaitEngine engine(Simulated());
  BatchPoller<std::string> poller(
      engine,
      [&](absl::Span<const std::string> keys)
          -> absl::StatusOr<BatchAnswer<std::string>> {
        BatchAnswer<std::string> answer;
        for (const std::string& key : keys) {
          if (clock_.Elapsed() >= absl::Seconds(key == "a" ? 60 : 65)) {
            answer.emplace(key, PollStatus::kSuccess);
          }
        }
        return answer;
      },
      {.window = absl::Milliseconds(200)});
  const auto policy = WaitPolicy::Make(Options());
  std::vector<WaitHandle> waits;
  for (const char* key : {"a", "b"}) {
    waits.push_back(poller.Start(
        key, policy,
        [this](const WaitResult<>& result) { polls_ += result.ok() ? 1 : 0; }));
  }
  engine.Run();
  EXPECT_EQ(polls_, 2);
  ASSERT_THAT(Recorded(), SizeIs(22));
  for (const size_t i : {size_t{20}, size_t{21}}) {
    EXPECT_GT(Recorded()[i].after, absl::Seconds(10));
    EXPECT_THAT(absl::ToDoubleSeconds(Recorded()[i].by),
                AllOf(Ge(60), Le(131)));
  }
}

TEST_F(RecordedDurationsTest, ResumedWaitIsRecordedFromItsStart) {
  std::optional<WaitToken> token;
  WaitOptions options = Options();
  options.hooks.on_checkpoint = [&](const WaitToken& saved) { token = saved; };
  options.max_attempts = 5;
  EXPECT_FALSE(Waiter([] { return false; }, options).Wait().ok());
  ASSERT_TRUE(token.has_value());
  const auto at_60s = [&] { return clock_.Elapsed() >= absl::Seconds(60); };
  EXPECT_TRUE(Waiter(at_60s, Options()).Wait({.resume = *token}).ok());
  ASSERT_THAT(Recorded(), SizeIs(2));
  EXPECT_EQ(Recorded()[1].after, absl::Seconds(50));
  EXPECT_EQ(Recorded()[1].by, absl::Seconds(60));

  clock_.AdvanceTime(absl::Seconds(10));
  WaitEngine engine(Simulated());
  engine.Start(Waiter(at_60s, Options()), results_.Take(), {.resume = *token})
      .Detach();
  engine.Run();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  ASSERT_THAT(Recorded(), SizeIs(3));
  EXPECT_EQ(Recorded()[2].by, absl::Seconds(70));
}

TEST_F(RecordedDurationsTest, OnlyTheWaitNeedsDelaysAndModel) {
  const std::weak_ptr<DurationModel> model = model_;
  const std::weak_ptr<LearnedDelays> delays = learned_;
  {
    Waiter wait([&] { return clock_.Elapsed() >= absl::Minutes(1); },
                Options());
    learned_ = nullptr;
    model_ = nullptr;
    EXPECT_TRUE(wait.Wait().ok());
    ASSERT_FALSE(model.expired());
    EXPECT_THAT(model.lock()->Durations("create"), SizeIs(1));
  }
  EXPECT_TRUE(delays.expired());
  EXPECT_TRUE(model.expired());
}

}  // namespace
}  // namespace waiter::recorded_durations_test
