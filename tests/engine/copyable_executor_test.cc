// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::copyable_executor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A pool that copies its functions, and runs them when the test tells it to.
class CopyableExecutorTest : public EngineFixture {
 protected:
  using Task = std::function<void()>;

  WaitEngineOptions Queued() {
    WaitEngineOptions options = Simulated();
    options.executor =
        CopyableExecutor([this](const Task& task) { tasks_.push_back(task); });
    return options;
  }

  std::vector<Task> tasks_;
};

TEST_F(CopyableExecutorTest, PollRunsOnceWhicheverCopyIsRun) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(true); }, EverySecond()), TakeHolding());
  engine.RunDue();
  ASSERT_THAT(tasks_, SizeIs(1));
  const Task copy = tasks_[0];
  tasks_.clear();

  copy();
  copy();
  engine.RunDue();

  EXPECT_EQ(polls_, 1);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(held(), 0) << "a copy that has run holds nothing";
}

TEST_F(CopyableExecutorTest, PollIsLostWithItsLastCopy) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(NeverReady(), results_.Take());
  engine.RunDue();
  Task copy = tasks_.at(0);
  tasks_.clear();
  engine.RunDue();
  EXPECT_THAT(results_.reports(), IsEmpty());

  copy = nullptr;
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  EXPECT_EQ(results_.reports()[0].status.code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(CopyableExecutorTest, ExceptionOfThePoolFailsTheWait) {
  WaitEngine engine(WithExecutor(CopyableExecutor(
      [](const Task&) { throw std::runtime_error("the pool is full"); })));
  const WaitHandle wait = engine.Start(NeverReady(), results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  EXPECT_EQ(results_.reports()[0].status.code(), absl::StatusCode::kUnknown);
}

TEST_F(CopyableExecutorTest, NoExecutorIsNone) {
  EXPECT_EQ(CopyableExecutor(nullptr), nullptr);
}

}  // namespace
}  // namespace waiter::copyable_executor_test
