// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Threads that use learned delays, their models and their files, and objects
// destroyed while another thread still uses them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::learned_threads_test {
namespace {

using ::testing::Ge;
using ::testing::SizeIs;

struct Call {
  std::string name;
  std::function<void()> call;
};

// Calls each pair of `calls` on two threads simultaneously.
void CallInPairs(const std::vector<Call>& calls, int times) {
  for (size_t one = 0; one < calls.size(); ++one) {
    for (size_t two = one; two < calls.size(); ++two) {
      RunThreads(/*count=*/2, [&](int thread) {
        SCOPED_TRACE(absl::StrCat(calls[one].name, " and ", calls[two].name));
        const Call& call = calls[thread == 0 ? one : two];
        for (int i = 0; i < times; ++i) call.call();
      });
    }
  }
}

class LearnedThreadsTest : public DurationFileFixture {
 protected:
  // Waits for an operation of about `seconds`, on its own clock.
  static void WaitFor(const std::shared_ptr<LearnedDelays>& learned,
                      const std::string& operation, int seconds) {
    SimulatedClock clock;
    Waiter wait([&] { return clock.Elapsed() >= absl::Seconds(seconds); },
                {.operation = operation,
                 .timeout = absl::Minutes(10),
                 .delay_source = learned,
                 .clock = &clock});
    EXPECT_TRUE(wait.Wait().ok());
  }
};

TEST_F(LearnedThreadsTest, WaitsOfManyThreadsReadATableThatIsReplaced) {
  const auto model = std::make_shared<DurationModel>();
  const auto learned = Learned(model);
  RunThreads(/*count=*/4, [&](int thread) {
    for (int i = 0; i < 60; ++i) {
      WaitFor(learned, "shared", 20 + (i * 7 + thread) % 30);
    }
  });
  EXPECT_THAT(model->Durations("shared"), SizeIs(128));
}

TEST_F(LearnedThreadsTest, EveryPairOfCallsOfAModel) {
  const auto model = std::make_shared<DurationModel>(
      DurationModelOptions{.max_operations = 2});
  const auto learned = Learned(model);
  const auto played = learned->WithoutRecording();
  std::atomic<int64_t> recorded = 0;
  std::atomic<int> next = 0;
  CallInPairs(
      {{"Record",
        [&] { model->Record(absl::StrCat("a", next++ % 3), Exactly(60)); }},
       {"Durations", [&] { (void)model->Durations("a1"); }},
       {"Operations", [&] { (void)model->Operations(); }},
       {"forgotten_operations", [&] { (void)model->forgotten_operations(); }},
       {"ToText", [&] { (void)model->ToText(); }},
       {"Merge",
        [&] {
          int64_t damaged = 0;
          EXPECT_EQ(
              model->Merge("waiter durations 1\n5\t5\ta1\t.\nx\n", &damaged),
              absl::OkStatus());
        }},
       {"SetRecorder",
        [&] { model->SetRecorder([&](auto, const auto&) { ++recorded; }); }},
       {"Schedule", [&] { (void)learned->Schedule("a1"); }},
       {"WithoutRecording",
        [&] { (void)learned->WithoutRecording()->Schedule("a0"); }},
       {"a wait", [&] { WaitFor(learned, "a1", 60); }},
       {"a wait that is played", [&] { WaitFor(played, "a1", 30); }}},
      10);
  EXPECT_THAT(model->Operations(), SizeIs(2));
  EXPECT_GT(model->forgotten_operations(), 0);
}

TEST_F(LearnedThreadsTest, EveryPairOfCallsOfAFile) {
  const auto model = std::make_shared<DurationModel>();
  const auto other_model = std::make_shared<DurationModel>();
  const auto learned = Learned(model);
  const auto file = Open(model);
  const auto other = Open(other_model);
  CallInPairs(
      {{"Record", [&] { model->Record("a", Exactly(60)); }},
       {"Record of another", [&] { other_model->Record("a", Exactly(50)); }},
       {"Sync", [&] { EXPECT_EQ(file->Sync(), absl::OkStatus()); }},
       {"status", [&] { EXPECT_EQ(file->status(), absl::OkStatus()); }},
       {"damaged_lines", [&] { EXPECT_EQ(file->damaged_lines(), 0); }},
       {"Read", [&] { (void)Saved("a"); }},
       {"Open and close",
        [&] { (void)Open(std::make_shared<DurationModel>()); }},
       {"Merge",
        [&] {
          EXPECT_EQ(model->Merge("waiter durations 1\n5\t5\tb\t.\n"),
                    absl::OkStatus());
        }},
       {"Schedule", [&] { (void)learned->Schedule("a"); }},
       {"a wait", [&] { WaitFor(learned, "a", 60); }}},
      5);
  EXPECT_THAT(Saved("a"), SizeIs(128));
}

TEST_F(LearnedThreadsTest, FilesOfOnePathLearnEverythingOfEachOther) {
  constexpr int kEach = 60;
  const std::vector<std::shared_ptr<DurationModel>> models = {
      std::make_shared<DurationModel>(), std::make_shared<DurationModel>()};
  std::vector<std::unique_ptr<DurationFile>> files;
  files.reserve(models.size());
  for (const auto& model : models) files.push_back(Open(model));
  RunThreads(/*count=*/2, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      models[static_cast<size_t>(thread)]->Record(
          absl::StrCat("operation ", thread), Exactly(i + 1));
    }
  });
  // The last recording may have waited for the lock in vain.
  for (const auto& file : files) EXPECT_EQ(file->Sync(), absl::OkStatus());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(files[i]->Sync(), absl::OkStatus());
    EXPECT_EQ(files[i]->status(), absl::OkStatus());
    EXPECT_THAT(models[i]->Durations("operation 0"), SizeIs(kEach));
    EXPECT_THAT(models[i]->Durations("operation 1"), SizeIs(kEach));
  }
  EXPECT_THAT(Saved("operation 0"), SizeIs(kEach));
  EXPECT_THAT(Saved("operation 1"), SizeIs(kEach));
}

TEST_F(LearnedThreadsTest, TwoFilesOfOneModelGiveWayToEachOther) {
  const auto model = std::make_shared<DurationModel>();
  std::atomic<bool> ends = false;
  const JoiningThread other([&] {
    while (!ends) model->Record("a", Exactly(60));
  });
  for (int i = 0; i < 20; ++i) {
    const auto one = Open(model);
    const auto two = Open(model);
    EXPECT_EQ(one->Sync(), absl::OkStatus());
    EXPECT_EQ(two->status(), absl::OkStatus());
  }
  ends = true;
}

TEST_F(LearnedThreadsTest, NothingIsLostOfAFileDestroyedMeanwhile) {
  const auto model = std::make_shared<DurationModel>();
  std::atomic<int> recorded = 0;
  std::atomic<bool> ends = false;
  std::optional<JoiningThread> other(std::in_place, [&] {
    while (!ends) {
      model->Record(absl::StrCat("operation ", recorded + 1), Exactly(60));
      ++recorded;
    }
  });
  for (int round = 0; round < 10; ++round) {
    auto file = Open(model);
    // All operations from here to `to` are recorded while the file is open.
    const int from = recorded + 2;
    while (recorded < from + 3) std::this_thread::yield();
    const int to = recorded;
    file.reset();
    for (int i = from; i <= to; ++i) {
      EXPECT_THAT(Saved(absl::StrCat("operation ", i)), SizeIs(Ge(1))) << i;
    }
    model->SetRecorder(nullptr);
    std::filesystem::remove(path_);
  }
  ends = true;
}

TEST_F(LearnedThreadsTest, ReplacedRecorderHasReturnedAndIsNotCalledAgain) {
  DurationModel model;
  std::atomic<bool> entered = false;
  std::atomic<bool> replaced = false;
  std::atomic<bool> replaced_during_call = false;
  std::atomic<int> calls = 0;
  auto captured = std::make_unique<std::string>("destroyed afterwards");
  model.SetRecorder([&, text = captured.get()](auto, const auto&) {
    ++calls;
    entered = true;
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    replaced_during_call = replaced.load();
    EXPECT_EQ(text->size(), 20);
  });
  {
    const JoiningThread other([&] {
      model.Record("a", Exactly(1));
      while (!replaced) std::this_thread::yield();
      model.Record("a", Exactly(2));
    });
    while (!entered) std::this_thread::yield();
    model.SetRecorder([](auto, const auto&) {});
    captured.reset();
    replaced = true;
  }
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(replaced_during_call);
}

TEST_F(LearnedThreadsTest, OneRecorderRunsAtATime) {
  DurationModel model;
  int unguarded = 0;
  model.SetRecorder([&](auto, const auto&) { ++unguarded; });
  RunThreads(/*count=*/2, [&](int) {
    for (int i = 0; i < 200; ++i) model.Record("a", Exactly(1));
  });
  EXPECT_EQ(unguarded, 400);
}

// Starts `count` waits of ten operations that end after 20 s to 50 s. They have
// no deadline, because a test may advance the clock faster than threads poll.
void StartMany(WaitEngine& engine, SimulatedClock& clock,
               const std::shared_ptr<LearnedDelays>& learned, int count,
               std::atomic<int>& succeeded) {
  std::vector<std::shared_ptr<const WaitPolicy>> policies;
  policies.reserve(10);
  for (int i = 0; i < 10; ++i) {
    policies.push_back(
        WaitPolicy::Make({.operation = absl::StrCat("operation ", i),
                          .timeout = absl::InfiniteDuration(),
                          .delay_source = learned,
                          .clock = &clock}));
  }
  for (int i = 0; i < count; ++i) {
    engine
        .Start(Waiter(
                   [&clock, length = absl::Seconds(20 + i % 31),
                    end = absl::InfiniteDuration()]() mutable {
                     const absl::Duration now = clock.Elapsed();
                     if (end == absl::InfiniteDuration()) end = now + length;
                     return now >= end;
                   },
                   policies[static_cast<size_t>(i % 10)]),
               [&](const WaitResult<>& result) {
                 if (result.ok()) ++succeeded;
               })
        .Detach();
  }
}

TEST_F(LearnedThreadsTest, EngineOfTwoThreadsRecordsEveryWaitOnce) {
  SimulatedClock clock;
  const auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  const auto learned = Learned(model);
  std::atomic<int> succeeded = 0;
  {
    WaitEngine engine(
        {.threads = 2, .tick = absl::Seconds(1), .clock = &clock});
    StartMany(engine, clock, learned, 1000, succeeded);
    while (succeeded < 1000) {
      (void)learned->Schedule("operation 3");
      EXPECT_EQ(file->Sync(), absl::OkStatus());
    }
  }
  EXPECT_EQ(file->status(), absl::OkStatus());
  for (int i = 0; i < 10; ++i) {
    const std::string operation = absl::StrCat("operation ", i);
    EXPECT_THAT(model->Durations(operation), SizeIs(100)) << i;
    EXPECT_THAT(Saved(operation), SizeIs(100)) << i;
  }
}

TEST_F(LearnedThreadsTest, EverybodyButTheWaitsDestroysDelaysAndModel) {
  SimulatedClock clock(SimulatedClock::Mode::kManual);
  auto model = std::make_shared<DurationModel>();
  auto learned = Learned(model);
  const std::weak_ptr<DurationModel> alive = model;
  std::atomic<int> succeeded = 0;
  {
    WaitEngine engine(
        {.threads = 2, .tick = absl::Seconds(1), .clock = &clock});
    StartMany(engine, clock, learned, 100, succeeded);
    clock.AwaitSleepers(2);
    learned = nullptr;
    model = nullptr;
    while (succeeded < 100) {
      clock.AdvanceTime(absl::Seconds(1));
      std::this_thread::yield();
    }
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(LearnedThreadsTest, DelaysFileAndModelGoWhileWaitsEnd) {
  for (int round = 0; round < 2; ++round) {
    SimulatedClock clock;
    auto model = std::make_shared<DurationModel>();
    auto file = Open(model);
    auto learned = Learned(model);
    std::atomic<int> succeeded = 0;
    WaitEngine engine(
        {.threads = 2, .tick = absl::Seconds(1), .clock = &clock});
    StartMany(engine, clock, learned, 100, succeeded);
    learned = nullptr;
    while (succeeded < 20) std::this_thread::yield();
    file = nullptr;
    model = nullptr;
    while (succeeded < 100) std::this_thread::yield();
  }
}

TEST_F(LearnedThreadsTest, FileIsOpenedAndClosedWhileWaitsRecord) {
  SimulatedClock clock;
  const auto model = std::make_shared<DurationModel>();
  std::atomic<int> succeeded = 0;
  WaitEngine engine({.threads = 2, .tick = absl::Seconds(1), .clock = &clock});
  StartMany(engine, clock, Learned(model), 200, succeeded);
  while (succeeded < 200) {
    const auto file = Open(model);
    EXPECT_EQ(file->Sync(), absl::OkStatus());
    EXPECT_EQ(file->status(), absl::OkStatus());
    EXPECT_EQ(file->damaged_lines(), 0);
  }
}

}  // namespace
}  // namespace waiter::learned_threads_test
