// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/internal/poll_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace waiter::internal {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Returns a number of [0, 1) from the lower or the upper half of `random`.
float LowerUnit(uint64_t random) {
  return static_cast<float>(random & 0xffffffU) * 0x1p-24F;
}
float UpperUnit(uint64_t random) {
  return static_cast<float>(random >> 40U) * 0x1p-24F;
}

}  // namespace

void SharedPollTable::Store(const PollTable& table) {
  const uint32_t version = version_.load(kRelaxed);
  version_.store(version + 1, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  weight_.store(table.weight, kRelaxed);
  exploration_.store(table.exploration, kRelaxed);
  max_ratio_.store(table.max_ratio, kRelaxed);
  first_.store(table.first, kRelaxed);
  wanted_earliest_.store(table.wanted_earliest, kRelaxed);
  wanted_latest_.store(table.wanted_latest, kRelaxed);
  last_delay_.store(table.last_delay, kRelaxed);
  end_.store(table.end, kRelaxed);
  size_.store(table.size, kRelaxed);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    from_[i].store(std::bit_cast<uint32_t>(table.rows[i].from), kRelaxed);
    windows_[i].earliest.store(table.rows[i].earliest, kRelaxed);
    windows_[i].latest.store(table.rows[i].latest, kRelaxed);
  }
  version_.store(version + 2, std::memory_order_release);
}

LearnedDelay SharedPollTable::Find(float elapsed, uint64_t random) const {
  for (;;) {
    const uint32_t before = version_.load(std::memory_order_acquire);
    const LearnedDelay found = Read(elapsed, random);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && version_.load(kRelaxed) == before) return found;
  }
}

LearnedDelay SharedPollTable::Read(float elapsed, uint64_t random) const {
  float weight = weight_.load(kRelaxed);
  if (weight <= 0) return {};
  float delay = 0;
  const float end = end_.load(kRelaxed);
  if (elapsed >= end) {
    delay = last_delay_.load(kRelaxed) * (0.75F + 0.25F * LowerUnit(random));
    // To the ordinary curve within an octave.
    weight *= std::clamp(1 - std::log2(elapsed / end), 0.0F, 1.0F);
  } else {
    const float begin = std::max(first_.load(kRelaxed),
                                 std::bit_cast<float>(from_[0].load(kRelaxed)));
    const float next = elapsed < begin ? BeforeRows(elapsed, LowerUnit(random))
                                       : NextPoll(elapsed, LowerUnit(random));
    // Rounding may leave no time between two polls.
    delay = std::max(next - elapsed, elapsed * 1e-6F);
  }
  const float exploration = exploration_.load(kRelaxed);
  if (UpperUnit(random) < exploration) delay *= UpperUnit(random) / exploration;
  return {.delay = delay, .weight = weight};
}

float SharedPollTable::NextPoll(float elapsed, float random) const {
  // While a table is stored, its size and its rows may not belong together.
  const auto size = static_cast<size_t>(
      std::clamp(size_.load(kRelaxed), 1, PollTable::kMaxSize));
  // The last row that begins at `elapsed` or before.
  const auto time = std::bit_cast<uint32_t>(elapsed);
  size_t row = 0;
  for (size_t count = size; count > 1;) {
    const size_t half = count / 2;
    row = from_[row + half].load(kRelaxed) <= time ? row + half : row;
    count -= half;
  }
  const float latest = std::min(windows_[row].latest.load(kRelaxed),
                                elapsed * max_ratio_.load(kRelaxed));
  const float earliest =
      std::min(windows_[row].earliest.load(kRelaxed), latest);
  return earliest + random * (latest - earliest);
}

// Returns the next poll after one before the rows, where no end is expected:
// the fewest polls that the limit of their ratio allows.
float SharedPollTable::BeforeRows(float elapsed, float random) const {
  // A little earlier than `first` is still a poll at `first`.
  constexpr float kAlmost = 0.99F;
  const float first = first_.load(kRelaxed);
  if (elapsed < first * kAlmost) return first;
  const float max_ratio = max_ratio_.load(kRelaxed);
  const float earliest = wanted_earliest_.load(kRelaxed);
  const float latest = wanted_latest_.load(kRelaxed);
  const float farthest =
      first > 0 ? std::max(elapsed / kAlmost * max_ratio, earliest) : latest;
  if (elapsed * max_ratio >= earliest * kAlmost || first == 0) {
    const float next =
        earliest + random * (std::min(latest, farthest) - earliest);
    return first > 0 ? std::min(next, std::max(first, elapsed * max_ratio))
                     : next;
  }
  const float polls =
      std::ceil(std::log(latest / elapsed) / std::log(max_ratio));
  return elapsed * std::pow(latest / elapsed, 1 / std::max(polls, 1.0F));
}

}  // namespace waiter::internal
