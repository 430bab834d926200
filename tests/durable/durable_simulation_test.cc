// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Workers that are killed and stopped, on a network that loses, delays and
// doubles calls: whatever happens, the history of the waits is flawless. More
// seeds: --test_env=WAITER_TEST_SEEDS=1000000.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_history.h"
#include "tests/durable/durable_world.h"
#include "tests/support/first_seed.h"
#include "tests/support/memory_wait_store.h"
#include "waiter/distributed/durable_client.h"
#include "waiter/distributed/durable_waits.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

uint64_t SeedCount() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
  const char* given = std::getenv("WAITER_TEST_SEEDS");
  uint64_t count = 0;
  return given != nullptr && absl::SimpleAtoi(given, &count) ? count : 50;
}

// Runs one world to its end, and returns what is wrong with its history.
class Chaos {
 public:
  explicit Chaos(uint64_t seed) : gen_(seed) {
    world_.options.lease = Between(absl::Seconds(2), absl::Seconds(20));
    world_.options.max_held = absl::Uniform(gen_, 3, 40);
    world_.options.claim_batch = absl::Uniform(gen_, 1, 20);
    world_.policy = {.timeout = absl::Minutes(3),
                     .max_attempts = 12,
                     .backoff = {.initial_delay = Between(
                                     absl::Milliseconds(50), absl::Seconds(8)),
                                 .max_delay = absl::Seconds(30)}};
    world_.function = [this](const DurablePoll& poll) { return Ask(poll); };
    constexpr std::array kForms = {Form::kOneByOne, Form::kAsync, Form::kBatch};
    world_.form = kForms.at(seed % kForms.size());
    world_.answer_time = Between(absl::Milliseconds(1), absl::Seconds(1));
    world_.batches = {
        .max_batch = absl::Uniform(gen_, 1, 10),
        .window = Between(absl::Milliseconds(1), absl::Milliseconds(500))};
    world_.name_options.max_held = absl::Uniform(gen_, 1, 40);
    world_.handler = [this](const DurableResult&) {
      return absl::Bernoulli(gen_, 0.2) ? absl::UnavailableError("busy")
                                        : absl::OkStatus();
    };
    history_.lease = world_.options.lease;
    history_.slack = absl::Seconds(3);
    history_.max_attempts = *world_.policy.max_attempts;
  }

  std::vector<std::string> Run() {
    for (int i = 0; i < 30; ++i) EnqueueOne(i);
    for (int i = absl::Uniform(gen_, 1, 4); i > 0; --i) AddWorker();
    const absl::Duration end = world_.clock.Elapsed() + absl::Minutes(3);
    while (world_.clock.Elapsed() < end) {
      world_.Run(Between(absl::Milliseconds(10), absl::Seconds(5)));
      BreakSomething();
    }
    Heal();
    world_.Run(absl::Minutes(5) + 20 * world_.options.lease);
    return Violations(Result());
  }

 private:
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    // Clocks have whole nanoseconds.
    return absl::Floor(std::exp(absl::Uniform(gen_, 0.0, 1.0) *
                                std::log(absl::FDivDuration(most, least))) *
                           least,
                       absl::Nanoseconds(1));
  }

  void EnqueueOne(int i) {
    const std::string key = absl::StrCat("k", i);
    DurableRequest request = {.key = key};
    DurableHistory::Wait wait = {
        .enqueued = world_.clock.Elapsed(),
        .timeout = *world_.policy.timeout,
        .ready = world_.clock.Elapsed() +
                 Between(absl::Milliseconds(100), absl::Minutes(10))};
    if (absl::Bernoulli(gen_, 0.3)) {
      wait.timeout = Between(absl::Seconds(1), absl::Minutes(4));
      request.timeout = wait.timeout;
    }
    if (absl::Bernoulli(gen_, 0.3)) {
      request.first_delay = Between(absl::Seconds(1), absl::Seconds(40));
    }
    if (world_.Enqueue(request).ok()) history_.waits[key] = wait;
  }

  void AddWorker() {
    DurableWorld::Worker& worker = world_.AddWorker();
    worker.store().set_network([this] { return NextTrip(); });
  }

  MemoryWaitStore::Trip NextTrip() {
    MemoryWaitStore::Trip trip;
    if (healed_) return trip;
    if (absl::Bernoulli(gen_, 0.1)) {
      trip.there = Between(absl::Milliseconds(1), absl::Seconds(6));
    }
    if (absl::Bernoulli(gen_, 0.1)) {
      trip.back = Between(absl::Milliseconds(1), absl::Seconds(6));
    }
    trip.loses_call = absl::Bernoulli(gen_, 0.03);
    trip.loses_answer = absl::Bernoulli(gen_, 0.03);
    trip.doubles = absl::Bernoulli(gen_, 0.03);
    return trip;
  }

  Poll<std::string> Ask(const DurablePoll& poll) {
    const std::string key(poll.key);
    const bool is_ready = world_.clock.Elapsed() >= history_.waits[key].ready;
    history_.polls.push_back({world_.clock.Elapsed(),
                              world_.polls.back().worker, key, poll.fence,
                              is_ready});
    if (!healed_ && absl::Bernoulli(gen_, 0.005)) {
      Worker(world_.polls.back().worker).Kill();
    }
    if (!is_ready) return NotReady();
    return Success(absl::StrCat(key, " at ", poll.fence));
  }

  DurableWorld::Worker& Worker(int index) {
    return world_.worker(static_cast<size_t>(index));
  }

  DurableWorld::Worker& AnyWorker() {
    return Worker(absl::Uniform(gen_, 0, static_cast<int>(world_.size())));
  }

  void BreakSomething() {
    switch (absl::Uniform(gen_, 0, 8)) {
      case 0:
        AnyWorker().Kill();
        break;
      case 1:
      case 2:
        if (world_.size() < 12) AddWorker();
        break;
      case 3:
      case 4:
        AnyWorker().StopUntil(
            world_.clock.Elapsed() +
            Between(absl::Milliseconds(10), absl::Minutes(1)));
        break;
      case 5: {
        const std::string key = absl::StrCat("k", absl::Uniform(gen_, 0, 30));
        const DurableStatus status = world_.Cancel(key);
        if (status.phase == DurableStatus::Phase::kPending &&
            !history_.waits[key].cancelled.has_value()) {
          history_.waits[key].cancelled = world_.clock.Elapsed();
        }
        break;
      }
      case 6:
        (void)world_.Enqueue(
            {.key = absl::StrCat("k", absl::Uniform(gen_, 0, 30))});
        break;
      default:
        AnyWorker().waits().Drain(absl::ZeroDuration());
        break;
    }
  }

  void Heal() {
    healed_ = true;
    AddWorker();
  }

  DurableHistory Result() {
    history_.deliveries.clear();
    for (const auto& delivery : world_.deliveries) {
      history_.deliveries.push_back({delivery.time, delivery.result});
    }
    const DurableStats stats = world_.Stats();
    history_.rest.pending = stats.pending;
    for (const auto& [counter, count] : stats.counters) {
      if (counter == "enqueued") {
        history_.rest.enqueued = count;
      } else {
        history_.rest.ended += count;
      }
    }
    for (size_t i = 0; i < world_.size(); ++i) {
      if (world_.worker(i).is_dead()) continue;
      history_.rest.held += world_.worker(i).waits().State().held;
    }
    for (const auto& [key, wait] : history_.waits) {
      const DurableStatus status = world_.Get(key);
      if (status.phase == DurableStatus::Phase::kDelivered) {
        history_.rest.results[key] = *status.result;
      }
    }
    return history_;
  }

  std::mt19937_64 gen_;
  DurableWorld world_;
  DurableHistory history_;
  bool healed_ = false;
};

TEST(DurableSimulationTest, HistoryIsFlawlessWhateverBreaks) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + SeedCount(); ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    EXPECT_THAT(Chaos(seed).Run(), testing::IsEmpty());
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace waiter
