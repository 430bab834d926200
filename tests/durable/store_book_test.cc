// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares stores with the book, which is the specification. The calls are
// random; WAITER_TEST_SEED repeats a run.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/store_calls.h"
#include "tests/durable/wait_store_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/unowned.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/store.h"

namespace waiter {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr int kKeys = 12;

// Returns a wait as its holder sees it.
std::string Text(const ClaimedWait& wait) {
  return absl::StrCat(wait.key, " ", wait.record, " ", wait.args, " ",
                      wait.crashes, " ", wait.marks, " ", wait.is_cancelled,
                      wait.is_notified);
}

std::vector<std::string> Texts(const std::vector<ClaimedWait>& waits) {
  std::vector<std::string> texts;
  texts.reserve(waits.size());
  for (const ClaimedWait& wait : waits) texts.push_back(Text(wait));
  return texts;
}

// Returns a wait as a client sees it, without the time of a cancel, which the
// test does not know to the microsecond.
std::string Text(const StoredWait& wait) {
  return absl::StrCat(wait.key, " ", wait.record, " ", wait.args, " ",
                      wait.value, " ", wait.is_cancelled, " ",
                      wait.is_cancelled ? int64_t{1} : wait.due_us.value_or(0));
}

// The stores on real time that have one implementation each.
std::vector<StoreKind> Kinds() {
  std::vector<StoreKind> kinds;
  for (const StoreKind& kind : kStoreKinds) {
    const std::string_view name = kind.name;
    if (name == "Sqlite" || name == "Postgres" || name == "Redis") {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

class StoreBookTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (subject_->store() == nullptr) GTEST_SKIP() << subject_->why_not();
    store_.emplace(Unowned(*subject_->store()));
  }

  void RunSeed(uint64_t seed, int steps) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    random_.seed(seed);
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "step " << i);
      Step();
      Compare();
    }
    EXPECT_THAT(store_->Faults(false), IsEmpty());
  }

 private:
  int64_t Pick(int64_t most) {
    return absl::Uniform<int64_t>(absl::IntervalClosed, random_, 0, most);
  }
  std::string Some(char c) {
    std::string text(static_cast<size_t>(Pick(2)), c);
    return text;
  }
  std::string Key() { return absl::StrCat("k", Pick(kKeys - 1)); }

  void Step() {
    switch (Pick(6)) {
      case 0:
        return Enqueue();
      case 1:
      case 2:
        return Claim();
      case 3:
      case 4:
        return Settle();
      case 5:
        return Pick(2) == 0 ? Mark() : Signal();
      default:
        std::this_thread::sleep_for(std::chrono::milliseconds(Pick(8)));
    }
  }

  void Enqueue() {
    EnqueueRequest request = {.partition = partition_,
                              .most_pending = kKeys - 2};
    for (int64_t i = Pick(3); i >= 0; --i) {
      request.items.push_back({.key = Key(),
                               .delay_us = 2 * Pick(4000),
                               .record = absl::StrCat("r", Pick(9)),
                               .args = Some('x')});
    }
    const auto reply = AnswerOf<EnqueueReply>([&](auto callback) {
      store_->get()->Enqueue(request, std::move(callback));
    });
    const auto expected =
        book_.Enqueue(request, reply.ok() ? reply->now_us : Now());
    ASSERT_EQ(reply.status().code(), expected.status().code());
    if (reply.ok()) {
      EXPECT_EQ(reply->created, expected->created);
    }
  }

  void Claim() {
    const ClaimRequest request = {
        .partition = partition_, .most = kKeys, .lease_us = 1000 + Pick(9000)};
    const auto reply = AnswerOf<ClaimReply>([&](auto callback) {
      store_->get()->Claim(request, std::move(callback));
    });
    ASSERT_TRUE(reply.ok()) << reply.status();
    const ClaimReply expected = book_.Claim(request, reply->now_us);
    EXPECT_THAT(Texts(reply->waits),
                UnorderedElementsAreArray(Texts(expected.waits)));
    if (reply->waits.empty()) return;
    EXPECT_EQ(reply->fence, expected.fence);
    for (const ClaimedWait& wait : reply->waits) {
      fences_[wait.key].push_back(reply->fence);
    }
  }

  SettleItem Item(const std::string& key) {
    SettleItem item = {.key = key, .delay_us = 2 * Pick(4000)};
    const std::vector<int64_t>& known = fences_[key];
    // Usually the newest fence.
    item.fence = known.empty() ? 1
                 : Pick(4) > 0 ? known.back()
                               : known[static_cast<size_t>(Pick(
                                     static_cast<int64_t>(known.size()) - 1))];
    const bool is_over = store_->Get(key).record.substr(0, 1) != "0";
    item.action =
        is_over
            ? (Pick(1) == 0 ? SettleAction::kRelease : SettleAction::kDelivered)
            : std::vector{SettleAction::kRelease, SettleAction::kHold,
                          SettleAction::kEnd, SettleAction::kEndUnheard}
                  .at(static_cast<size_t>(Pick(3)));
    switch (item.action) {
      case SettleAction::kRelease:
      case SettleAction::kHold:
        if (!is_over && Pick(1) == 0) item.record = absl::StrCat("0s", Pick(9));
        break;
      case SettleAction::kDelivered:
        item.record = "2over";
        break;
      default:
        item.record = item.action == SettleAction::kEnd ? "1ended" : "2unheard";
        item.value = Some('v');
        item.reason = Pick(1) == 0 ? "success" : "deadline";
    }
    return item;
  }

  void Settle() {
    SettleRequest request = {.partition = partition_,
                             .lease_us = 1000 + Pick(9000),
                             .retain_us = Pick(2) * 10'000,
                             .polls = Pick(3)};
    std::set<std::string> keys;
    for (int64_t i = Pick(5); i >= 0; --i) keys.insert(Key());
    int results = 0;
    for (const std::string& key : keys) {
      request.items.push_back(Item(key));
      const SettleAction action = request.items.back().action;
      if (action == SettleAction::kDelivered ||
          action == SettleAction::kEndUnheard) {
        ++results;
      }
    }
    // If a request keeps several results, they may be forgotten in any order.
    if (results > 1) request.retain_us = 0;
    const auto reply = AnswerOf<SettleReply>([&](auto callback) {
      store_->get()->Settle(request, std::move(callback));
    });
    ASSERT_TRUE(reply.ok()) << reply.status();
    const SettleReply expected = book_.Settle(request, reply->now_us);
    EXPECT_EQ(reply->fence, expected.fence);
    EXPECT_THAT(reply->lost, UnorderedElementsAreArray(expected.lost));
    EXPECT_THAT(reply->cancelled,
                UnorderedElementsAreArray(expected.cancelled));
    for (const std::string& key : keys) fences_[key].push_back(reply->fence);
  }

  void Signal() {
    constexpr std::array kSignals = {WaitSignal::kCancel, WaitSignal::kNotify,
                                     WaitSignal::kForget};
    const SignalRequest request = {
        .partition = partition_,
        .keys = {Key()},
        .signal = kSignals.at(static_cast<size_t>(Pick(2)))};
    const int64_t before = Now();
    const auto rows = AnswerOf<std::vector<StoredWait>>([&](auto callback) {
      store_->get()->Signal(request, std::move(callback));
    });
    ASSERT_TRUE(rows.ok()) << rows.status();
    // A wait that was due later is due when the server got the signal.
    const int64_t now =
        std::clamp(rows->at(0).due_us.value_or(before), before, Now());
    EXPECT_EQ(Text(rows->at(0)), Text(book_.Signal(request, now).at(0)));
  }

  void Mark() {
    const std::string key = Key();
    const bool begins = Pick(1) == 0;
    if (!store_->Get(key).due_us.has_value()) return;
    const auto marks = AnswerOf<int64_t>([&](auto callback) {
      store_->get()->Mark(partition_, key, begins, std::move(callback));
    });
    ASSERT_TRUE(marks.ok()) << marks.status();
    EXPECT_EQ(*marks, book_.Mark(partition_, key, begins));
  }

  int64_t Now() { return store_->Stats()->now_us; }

  void Compare() {
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = absl::StrCat("k", i);
      EXPECT_EQ(Text(store_->Get(key)),
                Text(book_.Get(partition_, {key}).at(0)));
    }
    const auto stats = store_->Stats();
    ASSERT_TRUE(stats.ok()) << stats.status();
    const WaitStats expected = book_.Stats(partition_, stats->now_us);
    EXPECT_EQ(stats->pending, expected.pending);
    EXPECT_EQ(stats->kept, expected.kept);
    EXPECT_EQ(stats->polls, expected.polls);
    EXPECT_THAT(stats->counters, UnorderedElementsAreArray(expected.counters));
  }

  const std::unique_ptr<Subject> subject_ = GetParam().make();
  std::mt19937_64 random_;
  std::optional<StoreCalls> store_;
  WaitBook book_;
  const WaitPartition partition_ = {
      .space = "default", .name = "n", .index = 0};
  // The fences that each key has had or might have now.
  std::map<std::string, std::vector<int64_t>> fences_;
};

// A build may have none of the stores' libraries.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreBookTest);

INSTANTIATE_TEST_SUITE_P(Stores, StoreBookTest, testing::ValuesIn(Kinds()),
                         [](const testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

TEST_P(StoreBookTest, AllAreThoseOfTheBook) {
  const uint64_t seed = FirstSeed();
  RunSeed(seed, 400);
}

}  // namespace
}  // namespace waiter
