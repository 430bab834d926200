// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace {

TEST(BatchTest, AsksForAllKeysInOneCall) {
  waiter::WaitEngine engine({.threads = 0});
  int calls = 0;
  waiter::BatchPoller<std::string> jobs(
      engine,
      [&](absl::Span<const std::string> names)
          -> absl::StatusOr<waiter::BatchAnswer<std::string>> {
        ++calls;
        waiter::BatchAnswer<std::string> answer;
        for (const std::string& name : names) {
          answer.emplace(name, waiter::Success());
        }
        return answer;
      });

  const auto policy = waiter::WaitPolicy::Make({.timeout = absl::Minutes(1)});
  std::set<std::string> ready;
  std::vector<waiter::WaitHandle> waits;
  for (const char* const name : {"a", "b", "c"}) {
    waits.push_back(
        jobs.Start(name, policy, [&ready, name](waiter::WaitResult<> result) {
          if (result.ok()) ready.insert(name);
        }));
  }
  engine.Run();
  EXPECT_EQ(ready.size(), 3U);
  EXPECT_EQ(calls, 1);
}

}  // namespace
