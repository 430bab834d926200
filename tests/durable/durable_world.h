// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Workers, a client and a store of durable waits on simulated time:
//
//   DurableWorld world;
//   world.function = [](const DurablePoll& poll) { return Success("done"); };
//   DurableWorld::Worker& worker = world.AddWorker();
//   world.Enqueue({.key = "a"});
//   world.Run(absl::Seconds(10));
//   EXPECT_EQ(world.results.size(), 1);
//   worker.Kill();

#ifndef WAITER_TESTS_DURABLE_DURABLE_WORLD_H_
#define WAITER_TESTS_DURABLE_DURABLE_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/wait_book.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// The kind of status function that workers register.
enum class Form { kOneByOne, kAsync, kBatch };

inline const char* FormName(Form form) {
  switch (form) {
    case Form::kOneByOne:
      return "OneByOne";
    case Form::kAsync:
      return "Async";
    case Form::kBatch:
      return "Batch";
  }
  return "";
}

// Returns a backoff with equal delays.
inline BackoffOptions Every(absl::Duration delay) {
  return {.initial_delay = delay, .max_delay = delay, .jitter = Jitter::None()};
}

// Returns requests with the keys k0, k1, ...
inline std::vector<DurableRequest> Requests(int count) {
  std::vector<DurableRequest> requests(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    requests[static_cast<size_t>(i)].key = absl::StrCat("k", i);
  }
  return requests;
}

class DurableWorld {
 public:
  static constexpr const char* kName = "job";

  // One process.
  class Worker {
   public:
    Worker(DurableWorld& world, int index, const DurableWaitsOptions& options)
        : world_(world),
          index_(index),
          store_(std::make_shared<MemoryWaitStore>(world.clock, world.book)),
          waits_(*DurableWaits::Make(
              world.wrap == nullptr ? store_ : world.wrap(index, store_),
              options)) {
      store_->set_after([this] { Pump(); });
      const absl::Status status = Register();
      EXPECT_TRUE(status.ok()) << status;
      waits_->Start();
    }

    // Ends the process immediately, as kill -9 does.
    void Kill() {
      is_dead_ = true;
      store_->Die();
    }
    // Ends the process in an orderly way.
    void Leave() {
      is_dead_ = true;
      waits_ = nullptr;
    }
    // Stops the process, which continues at `time`.
    void StopUntil(absl::Duration time) {
      stopped_until_ = time;
      store_->StopUntil(time);
      world_.clock.CallAt(time, [this] { Pump(); });
    }

    bool is_dead() const { return is_dead_; }
    DurableWaits& waits() { return *waits_; }
    MemoryWaitStore& store() { return *store_; }

    // Runs the work that is due on the engine, and schedules the next call.
    void Pump() {
      if (is_dead_ || is_pumping_ || world_.clock.Elapsed() < stopped_until_) {
        return;
      }
      is_pumping_ = true;
      const MonotonicTime next = waits_->RunDue();
      is_pumping_ = false;
      if (is_dead_ || next >= next_pump_) return;
      next_pump_ = next;
      world_.clock.CallAt(
          world_.clock.Elapsed() +
              absl::FromChrono(next - world_.clock.MonotonicNow()),
          [this, next] {
            if (next != next_pump_) return;
            next_pump_ = MonotonicTime::max();
            Pump();
          });
    }

   private:
    absl::Status Register() {
      const DurableHandler deliver = [this](const DurableResult& result) {
        world_.deliveries.push_back({world_.clock.Elapsed(), index_, result});
        const size_t delivery = world_.deliveries.size() - 1;
        absl::Status status = world_.handler(result);
        world_.deliveries[delivery].is_accepted = status.ok();
        return status;
      };
      switch (world_.form) {
        case Form::kOneByOne:
          break;
        case Form::kAsync:
          return waits_->RegisterAsync(
              kName, world_.policy,
              [this](const DurablePoll& poll,
                     const PollCompletion<std::string>& done) {
                Answer(done, Ask(poll));
              },
              deliver, world_.name_options);
        case Form::kBatch:
          return waits_->RegisterBatch(
              kName, world_.policy,
              [this](absl::Span<const DurableKey> keys) {
                return AskForAll(keys);
              },
              world_.batches, deliver, world_.name_options);
      }
      return waits_->Register(
          kName, world_.policy,
          [this](const DurablePoll& poll) { return Ask(poll); }, deliver,
          world_.name_options);
    }

    Poll<std::string> Ask(const DurablePoll& poll) {
      world_.polls.push_back(
          {world_.clock.Elapsed(), index_, std::string(poll.key), poll.fence});
      return world_.function(poll);
    }

    void Answer(const PollCompletion<std::string>& done,
                const Poll<std::string>& found) {
      if (world_.answer_time == absl::ZeroDuration()) return done(found);
      world_.clock.CallAt(world_.clock.Elapsed() + world_.answer_time,
                          [this, done, found] {
                            done(found);
                            Pump();
                          });
    }

    BatchAnswer<std::string, std::string> AskForAll(
        absl::Span<const DurableKey> keys) {
      world_.calls.push_back(keys.size());
      BatchAnswer<std::string, std::string> found;
      const PollContext context;
      for (const DurableKey& key : keys) {
        found.emplace(key.key, Ask({.name = kName,
                                    .key = key.key,
                                    .args = key.args,
                                    .context = context,
                                    .fence = key.fence}));
      }
      return found;
    }

    DurableWorld& world_;
    const int index_;
    const std::shared_ptr<MemoryWaitStore> store_;
    std::unique_ptr<DurableWaits> waits_;
    absl::Duration stopped_until_;
    MonotonicTime next_pump_ = MonotonicTime::max();
    bool is_dead_ = false;
    bool is_pumping_ = false;
  };

  struct PollSeen {
    absl::Duration time;
    int worker;
    std::string key;
    int64_t fence;
  };
  struct Delivery {
    absl::Duration time;
    int worker;
    DurableResult result;
    bool is_accepted = false;  // The handler returned OK.
  };

  DurableWorld()
      : client_store_(std::make_shared<MemoryWaitStore>(clock, book)),
        client(*DurableClient::Make(client_store_, {.partitions = 2})) {}
  ~DurableWorld() {
    // The workers' engines must no longer call back into this.
    for (const auto& worker : workers_) worker->Kill();
    workers_.clear();
  }

  // Numbers the ids of workers, so that a seed repeats its run.
  Worker& AddWorker() {
    options.worker = absl::StrCat("worker", workers_.size());
    workers_.push_back(std::make_unique<Worker>(
        *this, static_cast<int>(workers_.size()), options));
    return *workers_.back();
  }
  size_t size() const { return workers_.size(); }
  Worker& worker(size_t index) { return *workers_[index]; }

  void Run(absl::Duration time) { clock.AdvanceTime(time); }

  // Makes a call, and runs the clock until its reply has come.
  template <typename T, typename Call>
  absl::StatusOr<T> Await(const Call& call) {
    // The callback may come after this has returned.
    const auto got = std::make_shared<std::optional<absl::StatusOr<T>>>();
    call([got](absl::StatusOr<T> reply) {
      EXPECT_FALSE(got->has_value());
      *got = std::move(reply);
    });
    EXPECT_FALSE(got->has_value()) << "called back inside the call";
    for (int i = 0; i < 100'000 && !got->has_value(); ++i) {
      Run(absl::Microseconds(100));
    }
    EXPECT_TRUE(got->has_value()) << "no answer";
    return got->value_or(absl::UnknownError("no answer"));
  }
  absl::StatusOr<bool> Enqueue(DurableRequest request,
                               const std::string& name = kName) {
    return Await<bool>([&](auto callback) {
      client->Enqueue(name, std::move(request), std::move(callback));
    });
  }
  // Adds `Requests(count)`.
  void EnqueueMany(int count) {
    for (const DurableRequest& request : Requests(count)) {
      EXPECT_EQ(Enqueue(request).status(), absl::OkStatus());
    }
  }
  DurableStatus Get(const std::string& key) {
    return *Await<DurableStatus>(
        [&](auto callback) { client->Get(kName, key, std::move(callback)); });
  }
  DurableStatus Cancel(const std::string& key) {
    return Signal(&DurableClient::Cancel, key);
  }
  DurableStatus Notify(const std::string& key) {
    return Signal(&DurableClient::Notify, key);
  }
  DurableStatus Signal(decltype(&DurableClient::Cancel) signal,
                       const std::string& key) {
    return *Await<DurableStatus>([&](auto callback) {
      ((*client).*signal)(kName, key, std::move(callback));
    });
  }
  DurableStats Stats(const std::string& name = kName) {
    return *Await<DurableStats>(
        [&](auto callback) { client->Stats(name, std::move(callback)); });
  }

  SimulatedClock clock{SimulatedClock::Mode::kManual};
  const std::shared_ptr<WaitBook> book = std::make_shared<WaitBook>();

  // The options of workers that are added later.
  DurableWaitsOptions options = {
      .threads = 0, .partitions = 2, .lease = absl::Seconds(15)};
  WaitOptions policy = {.timeout = absl::Hours(1),
                        .backoff = Every(absl::Seconds(10))};
  Form form = Form::kOneByOne;
  DurableNameOptions name_options = {};
  BatchOptions batches = {};
  absl::Duration answer_time;  // Time of a poll of `Form::kAsync`.
  // If set, wraps the store of each worker.
  std::function<std::shared_ptr<WaitStore>(int worker,
                                           std::shared_ptr<WaitStore> store)>
      wrap;
  // The status function and the handler of all workers.
  std::function<Poll<std::string>(const DurablePoll&)> function =
      [](const DurablePoll&) -> Poll<std::string> { return NotReady(); };
  std::function<absl::Status(const DurableResult&)> handler =
      [](const DurableResult&) { return absl::OkStatus(); };

  std::vector<PollSeen> polls;
  std::vector<Delivery> deliveries;
  std::vector<size_t> calls;  // Sizes of the batches of `Form::kBatch`.

 private:
  const std::shared_ptr<MemoryWaitStore> client_store_;

 public:
  const std::unique_ptr<DurableClient> client;

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_DURABLE_WORLD_H_
