// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/free_list.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/interleavings.h"

namespace waiter::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kEmpty = FreeList::kNone;

// Objects with a plain list, for one thread.
class FreeListTest : public testing::Test {
 protected:
  auto NextOf() {
    return [this](uint32_t index) -> uint32_t& { return links_[index]; };
  }
  void Push(uint32_t index) { list_.Push(index, NextOf()); }
  uint32_t Pop() { return list_.Pop(NextOf()); }

  std::array<uint32_t, 8> links_ = {};
  FreeList list_;
};

TEST_F(FreeListTest, ReturnsTheLastOneFirst) {
  EXPECT_EQ(Pop(), kEmpty);
  for (const uint32_t index : {3U, 0U, 5U}) Push(index);

  EXPECT_EQ(Pop(), 5);
  Push(7);
  std::vector<uint32_t> rest(4);
  for (uint32_t& index : rest) index = Pop();
  EXPECT_THAT(rest, ElementsAre(7, 0, 3, kEmpty));
}

TEST_F(FreeListTest, PushIfEmptyAddsAllThatAreLinkedOrNothing) {
  links_[4] = 2;
  links_[2] = kEmpty;
  EXPECT_TRUE(list_.PushIfEmpty(4));
  links_[6] = kEmpty;
  EXPECT_FALSE(list_.PushIfEmpty(6));

  EXPECT_EQ(Pop(), 4);
  EXPECT_EQ(Pop(), 2);
  EXPECT_EQ(Pop(), kEmpty);
  EXPECT_TRUE(list_.PushIfEmpty(6));
  EXPECT_EQ(Pop(), 6);
}

// The scenarios run with a correct word, and with words that each have one
// defect, which they must find.
enum class Defect : uint8_t {
  kNone,
  kLosesTags,      // As if no push changed the tag.
  kNeverAcquires,  // Acquire is relaxed.
  kNeverReleases,  // Release is relaxed.
};

template <Defect kDefect>
class Word {
 public:
  Word(uint64_t value) : word_(value) {}  // NOLINT: as std::atomic

  uint64_t load(std::memory_order order) const {
    return word_.load(Weakened(order));
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t desired,
                             std::memory_order success,
                             std::memory_order failure) {
    if (kDefect == Defect::kLosesTags) desired &= 0xffffffff;
    return word_.compare_exchange_weak(expected, desired, Weakened(success),
                                       Weakened(failure));
  }

 private:
  static constexpr std::memory_order Weakened(std::memory_order order) {
    if ((kDefect == Defect::kNeverAcquires && Acquires(order)) ||
        (kDefect == Defect::kNeverReleases && Releases(order))) {
      return std::memory_order_relaxed;
    }
    return order;
  }

  ModelAtomic<uint64_t> word_;
};

// A link. Other threads may run between its reads and writes.
class Link {
 public:
  Link& operator=(uint32_t value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator uint32_t() const {  // NOLINT: as `RelaxedIndex`
    return value_.load(std::memory_order_relaxed);
  }

 private:
  ModelAtomic<uint32_t> value_{kEmpty};
};

// A few objects, which are all free at first.
template <Defect kDefect>
class Objects {
 public:
  Objects() {
    links_[0] = 1;
    links_[1] = 2;
    list_.PushIfEmpty(0);
  }

  uint32_t Take() {
    const uint32_t index = list_.Pop(NextOf());
    if (index == kEmpty) return index;
    Interleaving& run = Interleaving::Current();
    run.Expect(++users_[index] == 1, "two threads have one object");
    contents_[index].Write();
    // A user of an object may also write its link.
    links_[index] = kEmpty;
    return index;
  }
  void GiveBack(uint32_t index) {
    if (index == kEmpty) return;
    Use(index);
    list_.Push(index, NextOf());
  }
  void GiveBackIfEmpty(uint32_t index) {
    if (index == kEmpty) return;
    Use(index);
    if (!list_.PushIfEmpty(index)) list_.Push(index, NextOf());
  }

  // All objects must be free.
  void ExpectAll() {
    for (size_t i = 0; i < links_.size(); ++i) {
      Interleaving::Current().Expect(Take() != kEmpty, "an object is lost");
    }
    Interleaving::Current().Expect(Take() == kEmpty, "an object is free twice");
  }

 private:
  auto NextOf() {
    return [this](uint32_t index) -> Link& { return links_[index]; };
  }
  // The last use before the object is given back.
  void Use(uint32_t index) {
    contents_[index].Write();
    --users_[index];
  }

  BasicFreeList<Word<kDefect>> list_;
  std::array<Link, 3> links_;
  std::array<ModelData, 3> contents_;
  std::array<int, 3> users_ = {};
};

template <Defect kDefect>
std::string Explore(const ExplorationOptions& options = {
                        .max_preemptions = 3}) {
  const auto scenario = [](Interleaving& run) {
    const auto objects = std::make_shared<Objects<kDefect>>();
    run.AddThread([=] { objects->GiveBack(objects->Take()); });
    run.AddThread([=] {
      const uint32_t first = objects->Take();
      const uint32_t second = objects->Take();
      objects->GiveBack(first);
      objects->GiveBackIfEmpty(second);
    });
    run.AddThread([=] { objects->GiveBackIfEmpty(objects->Take()); });
    run.AtEnd([=] { objects->ExpectAll(); });
  };
  return ExploreInterleavings(options, scenario).failure;
}

TEST(FreeListInterleavingTest, AnObjectHasOneUserAndNoneIsLost) {
  EXPECT_EQ(Explore<Defect::kNone>(), "");
  EXPECT_EQ(
      Explore<Defect::kNone>({.max_preemptions = 1, .max_stale_loads = 1}), "");
}

TEST(FreeListInterleavingTest, FindsDefects) {
  EXPECT_NE(Explore<Defect::kLosesTags>(), "");
  EXPECT_THAT(Explore<Defect::kNeverAcquires>(), HasSubstr("race"));
  EXPECT_THAT(Explore<Defect::kNeverReleases>(), HasSubstr("race"));
}

// Threads hold one or two objects at a time, and write data that is not atomic
// into them.
TEST(FreeListThreadsTest, AnObjectHasOneUser) {
  struct Object {
    std::atomic<uint32_t> next = kEmpty;
    int64_t uses = 0;
  };
  struct Next {
    Next& operator=(uint32_t value) {
      object.next.store(value, std::memory_order_relaxed);
      return *this;
    }
    operator uint32_t() const {  // NOLINT: as `RelaxedIndex`
      return object.next.load(std::memory_order_relaxed);
    }
    Object& object;
  };
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  std::array<Object, 6> objects;
  FreeList list;
  const auto next_of = [&](uint32_t index) { return Next{objects[index]}; };
  for (uint32_t i = 0; i < objects.size(); ++i) list.Push(i, next_of);

  std::atomic<int64_t> uses = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const uint32_t first = list.Pop(next_of);
        const uint32_t second = list.Pop(next_of);
        for (const uint32_t index : {first, second}) {
          if (index == kEmpty) continue;
          ++objects[index].uses;
          ++uses;
          next_of(index) = kEmpty;
          if (!list.PushIfEmpty(index)) list.Push(index, next_of);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  int64_t sum = 0;
  for (const Object& object : objects) sum += object.uses;
  EXPECT_EQ(sum, uses);
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_NE(list.Pop(next_of), kEmpty);
  }
  EXPECT_EQ(list.Pop(next_of), kEmpty);
}

}  // namespace
}  // namespace waiter::internal
