// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A client and workers of one name on one store whose replies a test may
// change, on simulated time:
//
//   DurableBench bench;
//   bench.AddWorker();
//   ASSERT_TRUE(*bench.Enqueue({.key = "a"}));
//   bench.Run(absl::Seconds(2));
//   EXPECT_THAT(bench.polls, SizeIs(1));

#ifndef WAITER_TESTS_DURABLE_DURABLE_BENCH_H_
#define WAITER_TESTS_DURABLE_DURABLE_BENCH_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/durable/bent_wait_store.h"
#include "tests/durable/durable_world.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

class DurableBench {
 public:
  DurableClient& client() {
    if (client_ == nullptr) {
      client_ = *DurableClient::Make(store, {.partitions = options.partitions,
                                             .max_pending = max_pending});
    }
    return *client_;
  }

  DurableWaits& AddWorker() {
    workers.push_back(*DurableWaits::Make(store, options));
    EXPECT_TRUE(workers.back()
                    ->Register(
                        "job", policy,
                        [this](const DurablePoll& poll) {
                          polls.push_back(clock.Elapsed());
                          return function(poll);
                        },
                        handler == nullptr
                            ? DurableHandler()
                            : [this](const DurableResult& result) {
                                results.push_back(result);
                                result_times.push_back(clock.Elapsed());
                                return handler(result);
                              })
                    .ok());
    workers.back()->Start();
    return *workers.back();
  }

  void Run(absl::Duration time, absl::Duration step = absl::Milliseconds(20)) {
    const absl::Duration end = clock.Elapsed() + time;
    while (clock.Elapsed() < end) {
      clock.AdvanceTime(std::min(step, end - clock.Elapsed()));
      for (const auto& worker : workers) {
        if (worker != nullptr) (void)worker->RunDue();
      }
    }
  }

  // Runs the clock until `ask` has called back.
  template <typename T>
  absl::StatusOr<T> Ask(
      const std::function<void(DurableClient::Callback<T>)>& ask) {
    struct Answer {
      int count = 0;
      absl::StatusOr<T> got = absl::UnknownError("no answer");
    };
    const auto answer = std::make_shared<Answer>();
    ask([answer](absl::StatusOr<T> got) {
      ++answer->count;
      answer->got = std::move(got);
    });
    EXPECT_EQ(answer->count, 0) << "called back inside the call";
    for (int i = 0; i < 10'000 && answer->count == 0; ++i) {
      Run(absl::Milliseconds(1));
    }
    Run(absl::Milliseconds(10));
    EXPECT_EQ(answer->count, 1);
    return answer->got;
  }

  absl::StatusOr<bool> Enqueue(DurableRequest request,
                               const std::string& name = "job") {
    return Ask<bool>([&](auto callback) {
      client().Enqueue(name, std::move(request), std::move(callback));
    });
  }
  absl::StatusOr<int64_t> EnqueueMany(std::vector<DurableRequest> requests,
                                      const std::string& name = "job") {
    return Ask<int64_t>([&](auto callback) {
      client().EnqueueMany(name, std::move(requests), std::move(callback));
    });
  }
  absl::StatusOr<DurableStatus> Get(const std::string& key,
                                    const std::string& name = "job") {
    return Ask<DurableStatus>(
        [&](auto callback) { client().Get(name, key, std::move(callback)); });
  }
  absl::StatusOr<DurableStatus> Cancel(const std::string& key,
                                       const std::string& name = "job") {
    return Ask<DurableStatus>([&](auto callback) {
      client().Cancel(name, key, std::move(callback));
    });
  }
  absl::StatusOr<DurableClient::Listed> List(const std::string& cursor,
                                             const std::string& name = "job") {
    return Ask<DurableClient::Listed>([&](auto callback) {
      client().List(name, cursor, std::move(callback));
    });
  }
  absl::StatusOr<DurableStats> Stats(const std::string& name = "job") {
    return Ask<DurableStats>(
        [&](auto callback) { client().Stats(name, std::move(callback)); });
  }

  // Returns the errors of all calls with this name and key.
  std::vector<absl::Status> Errors(const std::string& name,
                                   const std::string& key) {
    return {Enqueue({.key = key}, name).status(),
            EnqueueMany({{.key = key}}, name).status(), Get(key, name).status(),
            Cancel(key, name).status()};
  }

  SimulatedClock clock{SimulatedClock::Mode::kManual};
  const std::shared_ptr<WaitBook> book = std::make_shared<WaitBook>();
  const std::shared_ptr<MemoryWaitStore> memory =
      std::make_shared<MemoryWaitStore>(clock, book);
  const std::shared_ptr<BentWaitStore> store =
      std::make_shared<BentWaitStore>(memory);
  DurableWaitsOptions options = {.threads = 0, .partitions = 2};
  int64_t max_pending = 1'000'000;
  WaitOptions policy = {.timeout = absl::Hours(1),
                        .backoff = Every(absl::Seconds(10))};
  std::function<Poll<std::string>(const DurablePoll&)> function =
      [](const DurablePoll&) -> Poll<std::string> { return NotReady(); };
  std::function<absl::Status(const DurableResult&)> handler =
      [](const DurableResult&) { return absl::OkStatus(); };

  std::vector<absl::Duration> polls;
  std::vector<DurableResult> results;
  std::vector<absl::Duration> result_times;
  std::vector<std::unique_ptr<DurableWaits>> workers;

 private:
  std::unique_ptr<DurableClient> client_;
};

// A status function.
inline Poll<std::string> Done(const DurablePoll& /*poll*/) {
  return Success(std::string("done"));
}

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_DURABLE_BENCH_H_
