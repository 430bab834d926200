// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/poll_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "tests/support/first_seed.h"

namespace waiter::internal::poll_table_test {
namespace {

using Gen = std::mt19937_64;

float UniformIn(float low, float high, Gen& gen) {
  return std::uniform_real_distribution<float>(low, high)(gen);
}

// Rows at times of up to 20 octaves, either spread or crowded around a few
// times. The window of a row is a single time, so that the delay names the row.
PollTable RandomTable(Gen& gen) {
  PollTable table;
  table.weight = 1;
  table.max_ratio = std::numeric_limits<float>::infinity();
  table.size = static_cast<int32_t>(1 + gen() % PollTable::kMaxSize);
  const float octaves = UniformIn(0.01F, 20, gen);
  const float crowd = UniformIn(0, octaves, gen);
  const bool is_crowded = gen() % 2 == 0;
  const auto last = table.rows.begin() + table.size;
  std::generate(table.rows.begin(), last, [&] {
    const float place = is_crowded && gen() % 8 != 0
                            ? crowd + UniformIn(0, 1e-3F, gen)
                            : UniformIn(0, octaves, gen);
    return PollTable::Row{.from = 1e-3F * std::exp2(place)};
  });
  std::sort(table.rows.begin(), last,
            [](const auto& a, const auto& b) { return a.from < b.from; });
  table.end = 2 * (last - 1)->from;
  for (int32_t i = 0; i < table.size; ++i) {
    PollTable::Row& row = table.rows[static_cast<size_t>(i)];
    row.earliest = row.latest = table.end * static_cast<float>(2 + i);
  }
  return table;
}

// Returns the row that holds at `elapsed`.
int32_t RowAt(float elapsed, const PollTable& table) {
  int32_t row = 0;
  while (row + 1 < table.size &&
         table.rows[static_cast<size_t>(row) + 1].from <= elapsed) {
    ++row;
  }
  return row;
}

int32_t RowFound(float elapsed, const PollTable& table,
                 const SharedPollTable& shared) {
  const float next = elapsed + shared.Find(elapsed, 0).delay;
  return static_cast<int32_t>(std::lround(next / table.end)) - 2;
}

TEST(PollTableTest, RowOfEveryTimeIsFound) {
  Gen gen(FirstSeed());
  SharedPollTable shared;
  for (int i = 0; i < 300; ++i) {
    const PollTable table = RandomTable(gen);
    shared.Store(table);
    const float infinity = std::numeric_limits<float>::infinity();
    for (int32_t j = 0; j < table.size; ++j) {
      const float from = table.rows[static_cast<size_t>(j)].from;
      for (const float elapsed :
           {std::max(std::nextafter(from, 0.0F), table.rows[0].from), from,
            std::nextafter(from, infinity),
            UniformIn(from, 0.999F * table.end, gen)}) {
        ASSERT_EQ(RowFound(elapsed, table, shared), RowAt(elapsed, table))
            << "table " << i << " of " << table.size << " rows, at " << elapsed;
      }
    }
  }
}

}  // namespace
}  // namespace waiter::internal::poll_table_test
