// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time of a store, known from its replies about partitions, whose servers
// may differ:
//
//   time.Observe(partition, sent, now, now_us);
//   absl::Time store_now = time.At(now);

#ifndef WAITER_DURABLE_STORE_TIME_H_
#define WAITER_DURABLE_STORE_TIME_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/redis/store_clock.h"

namespace waiter::internal {

// Thread-compatible.
class StoreTime {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  void Resize(size_t partitions) { ahead_.resize(partitions); }

  // Takes the server's time from the reply to a call that was made at `sent`.
  void Observe(size_t partition, MonotonicTime sent, MonotonicTime now,
               int64_t now_us) {
    const std::chrono::microseconds server(now_us);
    const Nanoseconds ahead = server - now.time_since_epoch();
    const Nanoseconds step =
        ahead - std::exchange(ahead_[partition], ahead).value_or(ahead);
    // A reply that took long may be read long after the server wrote it.
    const Nanoseconds tolerance = std::chrono::seconds(1) + (now - sent);
    if (step > tolerance || step < -tolerance) {
      last_step_ = step;
      clock_ = StoreClock();
    }
    clock_.Observe(sent, now, server);
  }

  // By how much a server's clock last jumped.
  Nanoseconds last_step() const { return last_step_; }

  // Returns 1970 before the first reply.
  absl::Time At(MonotonicTime now) const {
    return absl::FromUnixMicros(
        clock_.At(now).value_or(std::chrono::microseconds(0)).count());
  }

 private:
  StoreClock clock_;
  Nanoseconds last_step_{};
  // By partition: the server's clock minus this process's, when last seen.
  std::vector<std::optional<Nanoseconds>> ahead_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_TIME_H_
