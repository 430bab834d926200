// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Among how many members a process divides a budget while the store is away.

#ifndef WAITER_REDIS_MEMBER_COUNT_H_
#define WAITER_REDIS_MEMBER_COUNT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "waiter/clock.h"

namespace waiter::internal {

// Thread-compatible. A store that was emptied, or away for long, knows only the
// members that have come back since. If it went away again just then, each of
// them would take the part of all others. So the maximum of the last 10 s
// counts.
class MemberCount {
 public:
  static constexpr std::chrono::nanoseconds kMemory = std::chrono::seconds(10);

  // Takes the number of an answer. With `was_away`, it is the first answer
  // after a time without the store. That time is not part of the 10 s.
  void Observe(int64_t members, MonotonicTime now, bool was_away) {
    last_ = std::max<int64_t>(1, members);
    if (was_away) most_seen_ = now;
    if (last_ >= most_ || now - most_seen_ >= kMemory) {
      most_ = last_;
      most_seen_ = now;
    }
  }

  int64_t last() const { return last_; }
  double most() const { return static_cast<double>(most_); }

 private:
  int64_t last_ = 1;
  int64_t most_ = 1;
  MonotonicTime most_seen_{};
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_MEMBER_COUNT_H_
