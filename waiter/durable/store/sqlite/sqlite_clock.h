// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time of a file: the machine's wall clock, except that it never goes back
// while the machine runs. Otherwise, after the wall clock is set back, no wait
// would be due for that long.
//
//   SqliteClock clock(offset_in_the_file);
//   int64_t now_us = clock.Now(wall_us, boot_us);
//   if (clock.offset_us() != offset_in_the_file) ...  // Store it.
//
// The file has the offset between its time and the time since the machine was
// started, so that all processes agree.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_CLOCK_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_CLOCK_H_

#include <algorithm>
#include <cstdint>

namespace waiter::internal {

class SqliteClock {
 public:
  // By how much the wall clock may be ahead before the offset follows.
  // Processes may differ by as much if the wall clock is then set back.
  static constexpr int64_t kToleranceUs = 1'000'000;

  explicit SqliteClock(int64_t offset_us) : offset_us_(offset_us) {}

  // Returns the time in microseconds since 1970. `boot_us` is the time since
  // the start of the machine, and begins again with each.
  int64_t Now(int64_t wall_us, int64_t boot_us) {
    const int64_t least = boot_us + offset_us_;
    if (wall_us > least + kToleranceUs) offset_us_ = wall_us - boot_us;
    return std::max(wall_us, least);
  }

  int64_t offset_us() const { return offset_us_; }

 private:
  int64_t offset_us_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_CLOCK_H_
