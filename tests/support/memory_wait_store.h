// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store of durable waits on simulated time, with a network that delays, loses
// and doubles calls. Each process of a simulation has its own store, on one
// `WaitBook`:
//
//   SimulatedClock clock(SimulatedClock::Mode::kManual);
//   const auto book = std::make_shared<WaitBook>();
//   const auto store = std::make_shared<MemoryWaitStore>(clock, book);
//   store->set_network([&] { return MemoryWaitStore::Trip{.loses = true}; });

#ifndef WAITER_TESTS_SUPPORT_MEMORY_WAIT_STORE_H_
#define WAITER_TESTS_SUPPORT_MEMORY_WAIT_STORE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/support/wait_book.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// Use this only on the thread that moves the clock.
class MemoryWaitStore final : public WaitStore {
 public:
  // How the network handles one call.
  struct Trip {
    absl::Duration there = absl::Microseconds(150);
    absl::Duration back = absl::Microseconds(150);
    bool loses_call = false;    // Before its effect.
    bool loses_answer = false;  // After it.
    bool doubles = false;       // Carried out again later, except marks.
  };

  // A call without an answer fails after this time.
  static constexpr absl::Duration kTimeout = absl::Seconds(5);

  MemoryWaitStore(SimulatedClock& clock, std::shared_ptr<WaitBook> book)
      : clock_(clock), book_(std::move(book)) {}

  // Microseconds of the store's clock, which differs from the processes'
  // clocks.
  static int64_t StoreTime(SimulatedClock& clock) {
    return 1'790'000'000'000'000 + absl::ToInt64Microseconds(clock.Elapsed());
  }

  void set_network(std::function<Trip()> network) {
    network_ = std::move(network);
  }
  // Called after each callback and timer.
  void set_after(std::function<void()> after) { after_ = std::move(after); }
  // `Die` drops all later callbacks and timers, as if the process had died.
  // `StopUntil` delays them to that time, as if it had been stopped.
  void Die() { *is_dead_ = true; }
  void StopUntil(absl::Duration until) { stopped_until_ = until; }
  int64_t calls() const { return calls_; }

  // Mistakes that a store must not make. Claims use the time of this process,
  // which differs by `skew`. With `retries`, a settle without an answer is
  // repeated, and may find the store in the state that it asked for.
  void set_skew(absl::Duration skew) { skew_ = skew; }
  void set_retries(bool retries) { retries_ = retries; }

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override {
    Call<ClaimReply>(
        [request = std::move(request), skew = absl::ToInt64Microseconds(skew_)](
            WaitBook& book, int64_t now) {
          return book.Claim(request, now + skew);
        },
        std::move(callback));
  }
  void Settle(SettleRequest request, Callback<SettleReply> callback) override {
    Call<SettleReply>(
        [request = std::move(request)](WaitBook& book, int64_t now) {
          return book.Settle(request, now);
        },
        std::move(callback));
  }
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override {
    Call<EnqueueReply>(
        [request = std::move(request)](WaitBook& book, int64_t now) {
          return book.Enqueue(request, now);
        },
        std::move(callback));
  }
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override {
    Call<std::vector<StoredWait>>(
        [request = std::move(request)](WaitBook& book, int64_t now) {
          return book.Signal(request, now);
        },
        std::move(callback));
  }
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override {
    Call<std::vector<StoredWait>>(
        [partition = std::move(partition), keys = std::move(keys)](
            WaitBook& book, int64_t) { return book.Get(partition, keys); },
        std::move(callback));
  }
  void Scan(WaitPartition partition, std::string /*cursor*/,
            Callback<ScanReply> callback) override {
    Call<ScanReply>(
        [partition = std::move(partition)](WaitBook& book, int64_t) {
          return book.Scan(partition);
        },
        std::move(callback));
  }
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override {
    Call<WaitStats>(
        [partition = std::move(partition)](WaitBook& book, int64_t now) {
          return book.Stats(partition, now);
        },
        std::move(callback));
  }
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override {
    Call<int64_t>(
        [partition = std::move(partition), key = std::move(key), begins](
            WaitBook& book, int64_t) {
          return book.Mark(partition, key, begins);
        },
        std::move(callback));
  }
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override {
    Call<int64_t>(
        [space = std::move(space), name = std::move(name), partitions](
            WaitBook& book, int64_t) {
          return book.Open(space, name, partitions);
        },
        std::move(callback));
  }
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override {
    Call<std::vector<std::string>>(
        [request = std::move(request)](WaitBook& book, int64_t now) {
          return book.Heartbeat(request, now);
        },
        std::move(callback));
  }
  void Describe(std::string space, Callback<WaitSpace> callback) override {
    Call<WaitSpace>(
        [space = std::move(space)](WaitBook& book, int64_t now) {
          return book.Describe(space, now);
        },
        std::move(callback));
  }
  void Check(WaitPartition partition, std::string /*cursor*/,
             Callback<CheckReply> callback) override {
    Call<CheckReply>(
        [partition = std::move(partition)](WaitBook& book, int64_t) {
          return book.Check(partition);
        },
        std::move(callback));
  }
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override {
    Call<std::vector<FaultyWait>>(
        [request = std::move(request)](WaitBook& book, int64_t now) {
          return book.Examine(request, now);
        },
        std::move(callback));
  }
  void Inspect(WaitPartition /*partition*/,
               Callback<WaitServer> callback) override {
    Call<WaitServer>([](WaitBook& book, int64_t) { return book.server; },
                     std::move(callback));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    At(clock_.Elapsed() + absl::FromChrono(time - clock_.MonotonicNow()),
       std::move(timer));
  }
  Clock& clock() override { return clock_; }

 private:
  // Calls `function` in the process.
  void At(absl::Duration time, std::function<void()> function) {
    clock_.CallAt(std::max(time, stopped_until_),
                  [this, dead = is_dead_, function = std::move(function)] {
                    if (*dead) return;
                    if (clock_.Elapsed() < stopped_until_) {
                      return At(stopped_until_, function);
                    }
                    function();
                    if (after_ != nullptr) after_();
                  });
  }

  template <typename T, typename Run>
  void Call(Run run, Callback<T> callback) {
    if (*is_dead_) return;
    ++calls_;
    const Trip trip = network_ == nullptr ? Trip{} : network_();
    const auto begin = clock_.Elapsed();
    const auto arrival = begin + trip.there;
    const auto answer = std::make_shared<absl::StatusOr<T>>(
        absl::UnavailableError("no reply within 5s"));
    if (!trip.loses_call) {
      clock_.CallAt(arrival, [&clock = clock_, book = book_, run, answer] {
        *answer = run(*book, StoreTime(clock));
      });
    }
    if (trip.doubles && !std::is_same_v<T, int64_t>) {
      clock_.CallAt(arrival + trip.back, [&clock = clock_, book = book_, run] {
        (void)run(*book, StoreTime(clock));
      });
    }
    const bool is_lost = trip.loses_call || trip.loses_answer ||
                         trip.there + trip.back >= kTimeout;
    const auto reply = [is_lost, answer] {
      return is_lost ? absl::StatusOr<T>(
                           absl::UnavailableError("no reply within 5s"))
                     : *std::move(answer);
    };
    const absl::Duration end = is_lost ? begin + kTimeout : arrival + trip.back;
    if constexpr (std::is_same_v<T, SettleReply>) {
      At(end, [this, is_lost, reply, run, callback = std::move(callback)] {
        if (!is_lost || !retries_) return callback(reply());
        SettleReply settled = run(*book_, StoreTime(clock_));
        settled.lost.clear();
        callback(std::move(settled));
      });
    } else {
      At(end, [reply, callback = std::move(callback)] { callback(reply()); });
    }
  }

  SimulatedClock& clock_;
  const std::shared_ptr<WaitBook> book_;
  std::function<Trip()> network_;
  std::function<void()> after_;
  const std::shared_ptr<bool> is_dead_ = std::make_shared<bool>(false);
  absl::Duration stopped_until_;
  absl::Duration skew_;
  bool retries_ = false;
  int64_t calls_ = 0;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_MEMORY_WAIT_STORE_H_
