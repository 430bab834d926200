// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/poll_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>

#include "gtest/gtest.h"
#include "tests/support/first_seed.h"

namespace waiter::internal::poll_table_test {
namespace {

using Gen = std::mt19937_64;

float UniformIn(float low, float high, Gen& gen) {
  return std::uniform_real_distribution<float>(low, high)(gen);
}

// Rows at times of up to 20 octaves, either spread or crowded around one of
// them, each with a window of its own.
PollTable RandomTable(Gen& gen) {
  PollTable table;
  table.weight = 1;
  table.max_ratio = UniformIn(1.1F, 4, gen);
  table.size = static_cast<int32_t>(1 + gen() % PollTable::kMaxSize);
  const float octaves = UniformIn(0.01F, 20, gen);
  const float crowd = UniformIn(0, octaves, gen);
  const bool is_crowded = gen() % 2 == 0;
  const std::span rows(table.rows.data(), static_cast<size_t>(table.size));
  std::generate(rows.begin(), rows.end(), [&] {
    const float place = is_crowded && gen() % 8 != 0
                            ? crowd + UniformIn(0, 1e-3F, gen)
                            : UniformIn(0, octaves, gen);
    const float from = 1e-3F * std::exp2(place);
    const float earliest = from * UniformIn(1.1F, 3, gen);
    return PollTable::Row{from, earliest, earliest * UniformIn(1, 2, gen)};
  });
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  table.end = 2 * rows.back().from;
  return table;
}

// The times between which the poll after one at `elapsed` may be, by the last
// row that does not begin after it.
std::pair<float, float> Window(float elapsed, const PollTable& table) {
  size_t row = 0;
  while (row + 1 < static_cast<size_t>(table.size) &&
         table.rows[row + 1].from <= elapsed) {
    ++row;
  }
  const float latest =
      std::min(table.rows[row].latest, elapsed * table.max_ratio);
  return {std::min(table.rows[row].earliest, latest), latest};
}

TEST(PollTableTest, NextPollIsWithinTheWindowOfTheLastRow) {
  constexpr uint64_t kLeast = 0;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  Gen gen(FirstSeed());
  SharedPollTable shared;
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    const PollTable table = RandomTable(gen);
    shared.Store(table);
    for (int32_t j = 0; j < table.size; ++j) {
      const float from = table.rows[static_cast<size_t>(j)].from;
      for (const float elapsed :
           {std::max(std::nextafter(from, 0.0F), table.rows[0].from), from,
            std::nextafter(from, table.end),
            UniformIn(from, 0.999F * table.end, gen)}) {
        SCOPED_TRACE(testing::Message() << "table " << i << " of " << table.size
                                        << " rows, at " << elapsed);
        const auto [earliest, latest] = Window(elapsed, table);
        // A poll is at least a millionth later than the one before.
        const float least = elapsed * 1e-6F;
        EXPECT_FLOAT_EQ(shared.Find(elapsed, kLeast).delay,
                        std::max(earliest - elapsed, least));
        EXPECT_NEAR(shared.Find(elapsed, kMost).delay,
                    std::max(latest - elapsed, least), least);
      }
    }
  }
}

TEST(EarlyLooksTest, ReachIsThatOfTheNearerLimit) {
  EXPECT_FLOAT_EQ(ReachOf(4, {.max_ratio = 2}), 8);
  EXPECT_FLOAT_EQ(ReachOf(4, {.max_ratio = 2, .max_root_step = 0.5F}), 6.25F);
  EXPECT_FLOAT_EQ(ReachOf(100, {.max_ratio = 2, .max_root_step = 1}), 121);
}

// There is at most one look more than if each went as far as the limits allow.
TEST(EarlyLooksTest, LooksAreAboutTheFewestWithinTheLimits) {
  Gen gen(FirstSeed());
  for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i) {
    const float start = UniformIn(0.1F, 10, gen);
    const float latest = start * std::exp2(UniformIn(0.1F, 10, gen));
    const EarlyLooks looks = {.max_ratio = UniformIn(1.2F, 4, gen),
                              .max_root_step = UniformIn(0.1F, 5, gen)};
    SCOPED_TRACE(testing::Message()
                 << start << " to " << latest << " by " << looks.max_ratio
                 << " or " << looks.max_root_step);
    int fewest = 0;
    for (float time = start; time < latest * 0.999F; ++fewest) {
      time = ReachOf(time, looks);
    }
    int count = 0;
    for (float time = start; time < latest * 0.999F && count < 1000; ++count) {
      const float next = NextEarlyLook(time, latest, looks);
      EXPECT_GT(next, time);
      EXPECT_LE(next, 1.001F * std::min(ReachOf(time, looks), latest));
      time = next;
    }
    EXPECT_LE(count, fewest + 1);
  }
}

}  // namespace
}  // namespace waiter::internal::poll_table_test
