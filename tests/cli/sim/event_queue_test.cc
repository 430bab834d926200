// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/event_queue.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"

namespace waiter::sim::event_queue_test {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;

TEST(EventQueueTest, EventsAreOrderedByTimeAndThenByClient) {
  EventQueue queue({nanoseconds(30), nanoseconds(10), nanoseconds(10)});
  std::vector<std::pair<size_t, int64_t>> seen;
  const auto see = [&] {
    seen.emplace_back(queue.client(), queue.time().count());
  };

  see();
  queue.Reschedule(nanoseconds(20));
  see();
  queue.Remove();
  see();
  queue.Reschedule(nanoseconds(30));
  see();
  queue.Remove();
  see();
  queue.Remove();

  EXPECT_THAT(seen,
              ElementsAre(std::pair(1, 10), std::pair(2, 10), std::pair(1, 20),
                          std::pair(0, 30), std::pair(1, 30)));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, QueueAgreesWithASortedSet) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SplitMix64 gen(seed);
    const auto clients = absl::Uniform<size_t>(gen, 1, 70);
    std::vector<nanoseconds> times(clients);
    std::set<std::pair<nanoseconds, size_t>> expected;
    for (size_t i = 0; i < clients; ++i) {
      times[i] = nanoseconds(absl::Uniform(gen, 0, 20));
      expected.emplace(times[i], i);
    }
    EventQueue queue(times);
    while (!expected.empty()) {
      const auto [time, client] = *expected.begin();
      expected.erase(expected.begin());
      ASSERT_FALSE(queue.empty()) << "seed " << seed;
      ASSERT_EQ(queue.time(), time) << "seed " << seed;
      ASSERT_EQ(queue.client(), client) << "seed " << seed;
      if (absl::Bernoulli(gen, 0.1)) {
        queue.Remove();
      } else {
        const nanoseconds next = time + nanoseconds(absl::Uniform(gen, 0, 20));
        queue.Reschedule(next);
        expected.emplace(next, client);
      }
    }
    EXPECT_TRUE(queue.empty()) << "seed " << seed;
  }
}

TEST(EventQueueTest, LatestTimeFits) {
  for (const size_t clients : std::vector<size_t>{1, 2, 3, 4, 5, 64, 1000}) {
    const nanoseconds latest = EventQueue::LatestTime(clients);
    EventQueue queue(std::vector<nanoseconds>(clients, latest));
    for (size_t i = 0; i < clients; ++i) {
      EXPECT_EQ(queue.time(), latest);
      EXPECT_EQ(queue.client(), i);
      queue.Remove();
    }
    EXPECT_TRUE(queue.empty());
  }
  EXPECT_GT(EventQueue::LatestTime(200), std::chrono::hours(833 * 24));
  EXPECT_GT(EventQueue::LatestTime(100'000), std::chrono::hours(39));
}

TEST(EventQueueTest, QueueWithoutClientsIsEmpty) {
  EXPECT_TRUE(EventQueue({}).empty());
}

}  // namespace
}  // namespace waiter::sim::event_queue_test
