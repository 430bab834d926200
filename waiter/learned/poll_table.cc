// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/poll_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace waiter::internal {
namespace {

// With these orders, a reader that finds a value of a new table also finds that
// the version has changed. They need no fences, which ThreadSanitizer lacks
// (Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?",
// 2012).
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcquire = std::memory_order_acquire;

// Returns a number of [0, 1) from the lower or the upper half of `random`.
float LowerUnit(uint64_t random) {
  return static_cast<float>(random & 0xffffffU) * 0x1p-24F;
}
float UpperUnit(uint64_t random) {
  return static_cast<float>(random >> 40U) * 0x1p-24F;
}

}  // namespace

float ReachOf(float elapsed, const EarlyLooks& looks) {
  const float root = std::sqrt(elapsed) + looks.max_root_step;
  return std::min(elapsed * looks.max_ratio, root * root);
}

float NextEarlyLook(float elapsed, float latest, const EarlyLooks& looks) {
  // Steps of the root, each as long as the others.
  const float root = std::sqrt(elapsed);
  const float way = std::sqrt(latest) - root;
  const float next =
      root + way / std::max(std::ceil(way / looks.max_root_step), 1.0F);
  if (next * next <= elapsed * looks.max_ratio) return next * next;
  // Steps of the logarithm.
  const float octaves = std::log2(latest / elapsed);
  const float polls = std::ceil(octaves / std::log2(looks.max_ratio));
  return elapsed * std::exp2(octaves / std::max(polls, 1.0F));
}

void SharedPollTable::Store(const PollTable& table) {
  const uint32_t version = version_.load(kRelaxed);
  version_.store(version + 1, kRelaxed);
  weight_.store(table.weight, kRelease);
  exploration_.store(table.exploration, kRelease);
  max_ratio_.store(table.max_ratio, kRelease);
  first_.store(table.first, kRelease);
  max_root_step_.store(table.max_root_step, kRelease);
  wanted_earliest_.store(table.wanted_earliest, kRelease);
  wanted_latest_.store(table.wanted_latest, kRelease);
  last_delay_.store(table.last_delay, kRelease);
  end_.store(table.end, kRelease);
  const auto used = static_cast<size_t>(table.size);
  for (size_t i = 0; i < kRows; ++i) {
    rows_[i].from.store(
        i < used ? std::bit_cast<uint32_t>(table.rows[i].from) : kAfterAllPolls,
        kRelease);
    rows_[i].earliest.store(table.rows[i].earliest, kRelease);
    rows_[i].latest.store(table.rows[i].latest, kRelease);
  }
  StoreBuckets(used);
  version_.store(version + 2, kRelease);
}

void SharedPollTable::StoreBuckets(size_t used) {
  if (used == 0) return;
  const uint32_t first = rows_[0].from.load(kRelaxed);
  const uint32_t span = rows_[used - 1].from.load(kRelaxed) - first;
  uint32_t shift = 0;
  while ((span >> shift) >= kBuckets) ++shift;
  shift_.store(shift, kRelease);
  size_t row = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    const uint32_t start = first + (static_cast<uint32_t>(i) << shift);
    while (row + 1 < used && rows_[row + 1].from.load(kRelaxed) <= start) ++row;
    buckets_[i].store(static_cast<uint8_t>(row), kRelease);
  }
}

LearnedDelay SharedPollTable::Find(float elapsed, uint64_t random) const {
  for (;;) {
    const uint32_t before = version_.load(kAcquire);
    const LearnedDelay found = Read(elapsed, random);
    if (before % 2 == 0 && version_.load(kRelaxed) == before) return found;
  }
}

LearnedDelay SharedPollTable::Read(float elapsed, uint64_t random) const {
  float weight = weight_.load(kAcquire);
  if (weight <= 0) return {};
  float delay = 0;
  const float end = end_.load(kAcquire);
  if (elapsed >= end) {
    delay = last_delay_.load(kAcquire) * (0.75F + 0.25F * LowerUnit(random));
    // To the ordinary backoff within an octave.
    weight *= std::clamp(1 - std::log2(elapsed / end), 0.0F, 1.0F);
  } else {
    const float begin =
        std::max(first_.load(kAcquire),
                 std::bit_cast<float>(rows_[0].from.load(kAcquire)));
    const float next = elapsed < begin ? BeforeRows(elapsed, LowerUnit(random))
                                       : NextPoll(elapsed, LowerUnit(random));
    // Rounding may leave no time between two polls.
    delay = std::max(next - elapsed, elapsed * 1e-6F);
  }
  const float exploration = exploration_.load(kAcquire);
  if (UpperUnit(random) < exploration) delay *= UpperUnit(random) / exploration;
  return {.delay = delay, .weight = weight};
}

float SharedPollTable::NextPoll(float elapsed, float random) const {
  // The last row that begins at `elapsed` or before.
  const auto time = std::bit_cast<uint32_t>(elapsed);
  const uint32_t bucket =
      (time - rows_[0].from.load(kAcquire)) >> shift_.load(kAcquire);
  size_t row = buckets_[std::min<size_t>(bucket, kBuckets - 1)].load(kAcquire);
  // The first step has no branch, as it would be mispredicted.
  row += rows_[row + 1].from.load(kAcquire) <= time ? 1 : 0;
  while (rows_[row + 1].from.load(kAcquire) <= time) ++row;
  const float latest = std::min(rows_[row].latest.load(kAcquire),
                                elapsed * max_ratio_.load(kAcquire));
  const float earliest = std::min(rows_[row].earliest.load(kAcquire), latest);
  return earliest + random * (latest - earliest);
}

// Returns the next poll after one before the rows.
float SharedPollTable::BeforeRows(float elapsed, float random) const {
  // A poll a little earlier than `first` counts as a poll at `first`.
  constexpr float kAlmost = 0.99F;
  const float first = first_.load(kAcquire);
  if (elapsed < first * kAlmost) return first;
  const EarlyLooks looks = {.max_ratio = max_ratio_.load(kAcquire),
                            .max_root_step = max_root_step_.load(kAcquire)};
  const float earliest = wanted_earliest_.load(kAcquire);
  const float latest = wanted_latest_.load(kAcquire);
  const float farthest =
      first > 0 ? std::max(elapsed / kAlmost * looks.max_ratio, earliest)
                : latest;
  if (first == 0 || ReachOf(elapsed, looks) >= earliest * kAlmost) {
    const float next =
        earliest + random * (std::min(latest, farthest) - earliest);
    return first > 0
               ? std::min(next, std::max(first, elapsed * looks.max_ratio))
               : next;
  }
  return NextEarlyLook(elapsed, latest, looks);
}

}  // namespace waiter::internal
