// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counters of one worker, which its thread writes and any thread reads.

#ifndef WAITER_ENGINE_ENGINE_COUNTERS_H_
#define WAITER_ENGINE_ENGINE_COUNTERS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "waiter/engine/engine.h"

namespace waiter::internal {

// A number with one writer, so that writing needs no atomic operation except
// stores.
class OwnedNumber {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t value) { Set(this->value() + value); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_ = 0;
};

class EngineCounters {
 public:
  OwnedNumber pending;
  OwnedNumber due;
  OwnedNumber polls;

  // Counts a round that began this long after its time.
  void CountRound(std::chrono::nanoseconds lateness) {
    const double seconds = std::chrono::duration<double>(lateness).count();
    size_t i = 0;
    while (i < EngineStatistics::kLatenessBounds.size() &&
           seconds > EngineStatistics::kLatenessBounds[i]) {
      ++i;
    }
    late_rounds_[i].Add(1);
    lateness_.Add(lateness.count());
  }

  void AddTo(EngineStatistics& sum) const {
    sum.pending += pending.value();
    sum.due += due.value();
    sum.polls += polls.value();
    for (size_t i = 0; i < late_rounds_.size(); ++i) {
      sum.late_rounds[i] += late_rounds_[i].value();
    }
    sum.lateness += absl::Nanoseconds(lateness_.value());
  }

 private:
  std::array<OwnedNumber, EngineStatistics::kLatenessBounds.size() + 1>
      late_rounds_;
  OwnedNumber lateness_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_COUNTERS_H_
