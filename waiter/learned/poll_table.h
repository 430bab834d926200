// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The poll times of a learned schedule, for every time at which the last poll
// may have been. A wait has no position in a schedule. After any poll, even one
// moved by jitter, a slow answer or a `retry_after`, the table says when the
// next one pays best.

#ifndef WAITER_LEARNED_POLL_TABLE_H_
#define WAITER_LEARNED_POLL_TABLE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace waiter::internal {

// Times are in seconds from the start of a wait.
struct PollTable {
  static constexpr int32_t kMaxSize = 256;

  // After a poll at `from` or later, and before the next row's time, the next
  // poll is drawn from the window.
  struct Row {
    float from = 0;
    float earliest = 0;
    float latest = 0;
  };

  // The table's part of the decision; the rest is the ordinary backoff's.
  float weight = 0;
  // Probability that a poll comes early, to see how early the end is.
  float exploration = 0;
  // Largest ratio of the times of two polls; infinite if there is no limit.
  float max_ratio = 2;
  // Time of the second poll, after the one at the start of the wait; 0 if that
  // is the poll that the model wants.
  float first = 0;
  // As in `EarlyLooks`, for the polls from `first` to the poll that the model
  // wants.
  float max_root_step = std::numeric_limits<float>::infinity();
  // The first poll that the model wants.
  float wanted_earliest = 0;
  float wanted_latest = 0;
  // Delay at the end of the known durations, and that end.
  float last_delay = 0;
  float end = 0;
  // In the order of their times.
  int32_t size = 0;
  std::array<Row, kMaxSize> rows = {};
};

// Limits of the distance between two polls before all expected ends. If all
// orders of magnitude of the end are equally probable, distances that grow with
// the square root of the time cost least. The density of polls is then
// proportional to the square root of the density of ends (Keller, "Optimum
// Checking Schedules for Systems Subject to Random Failure", 1974).
struct EarlyLooks {
  float max_ratio = 2;
  // Difference of the square roots of their times.
  float max_root_step = std::numeric_limits<float>::infinity();
};

// Returns the latest time of a poll that follows one at `elapsed`.
float ReachOf(float elapsed, const EarlyLooks& looks);

// Returns the next poll after one at `elapsed`, if no end is expected before
// `latest`. It is one of about the fewest possible polls until then.
float NextEarlyLook(float elapsed, float latest, const EarlyLooks& looks);

// Decision of a table about one poll.
struct LearnedDelay {
  float delay = 0;   // Seconds.
  float weight = 0;  // The table's; falls to 0 beyond the rows.
};

// A table that one thread at a time replaces while any number of others read
// it: a sequence lock. Readers take no lock and write nothing, so they do not
// slow each other down.
class SharedPollTable {
 public:
  // Calls of `Store` must not overlap.
  void Store(const PollTable& table);

  // Returns the delay after a poll at `elapsed` seconds. `random` is uniform on
  // all 64-bit numbers. About 10 ns.
  LearnedDelay Find(float elapsed, uint64_t random) const;

 private:
  using Word = std::atomic<float>;

  static constexpr size_t kRows = PollTable::kMaxSize;
  static constexpr size_t kBuckets = 1024;
  static_assert(kRows <= 256, "a bucket has the number of a row in a byte");

  // Time from which a row holds that is not in use.
  static constexpr uint32_t kAfterAllPolls =
      std::numeric_limits<uint32_t>::max();

  // `from` is the bits of a float. They have the order of integers, as it is
  // not below zero, and grow with its logarithm.
  struct Row {
    std::atomic<uint32_t> from = kAfterAllPolls;
    Word earliest = 0;
    Word latest = 0;
  };

  // Prepares the search in the first `used` rows.
  void StoreBuckets(size_t used);
  LearnedDelay Read(float elapsed, uint64_t random) const;
  float NextPoll(float elapsed, float random) const;
  float BeforeRows(float elapsed, float random) const;

  std::atomic<uint32_t> version_ = 0;  // Odd while a thread stores.
  // As in `PollTable`.
  Word weight_ = 0;
  Word exploration_ = 0;
  Word max_ratio_ = 2;
  Word first_ = 0;
  Word max_root_step_ = 0;
  Word wanted_earliest_ = 0;
  Word wanted_latest_ = 0;
  Word last_delay_ = 0;
  Word end_ = 0;
  std::array<Row, kRows + 1> rows_ = {};  // The last one is never in use.
  // Equal parts of the bits of the times from the first row to the last. Each
  // has the last row that holds at its start, which is mostly the row that is
  // looked for or the one before it.
  std::atomic<uint32_t> shift_ = 0;
  std::array<std::atomic<uint8_t>, kBuckets> buckets_ = {};
};

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_POLL_TABLE_H_
