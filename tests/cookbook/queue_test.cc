// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests a queue with a worker thread.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/gtest.h"

namespace queue_test {
namespace {

// Saves documents on its own thread; one without text is damaged.
class Indexer {
 public:
  ~Indexer() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_one();
    }
    worker_.join();
  }

  void Push(std::string document) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(document));
    changed_.notify_one();
  }

  size_t pending() const {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }
  std::vector<std::string> saved() const {
    const std::lock_guard lock(mutex_);
    return saved_;
  }
  int damaged() const {
    const std::lock_guard lock(mutex_);
    return damaged_;
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ended_ || !pending_.empty(); });
      if (pending_.empty()) return;
      if (pending_.front().empty()) {
        ++damaged_;
      } else {
        saved_.push_back(std::move(pending_.front()));
      }
      pending_.pop_front();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::deque<std::string> pending_;
  std::vector<std::string> saved_;
  int damaged_ = 0;
  std::thread worker_{[this] { Work(); }};
};

using ::testing::ElementsAre;
using ::testing::Gt;

TEST(IndexerTest, SavesDocumentsInOrder) {
  Indexer indexer;

  indexer.Push("a");
  indexer.Push("b");

  EXPECT_EVENTUALLY(indexer.saved(), ElementsAre("a", "b"));
  EXPECT_NEVER(indexer.damaged(), Gt(0), {.hold_for = absl::Milliseconds(20)});
}

TEST(IndexerTest, SkipsDamagedDocument) {
  Indexer indexer;

  indexer.Push("");

  EXPECT_EVENTUALLY_PASSES({
    EXPECT_EQ(indexer.pending(), 0);
    EXPECT_EQ(indexer.damaged(), 1);
  });
}

}  // namespace
}  // namespace queue_test
