// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds the stores of durable waits that several processes can use to the same
// contract: waits of two processes, and waits that programs enqueue in their
// own transactions.

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/store_calls.h"
#include "tests/durable/wait_store_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/poll.h"

namespace waiter::wait_store_processes_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WaitStoreProcessesTest : public WaitStoreTest {};

// The first is in memory.
INSTANTIATE_TEST_SUITE_P(Stores, WaitStoreProcessesTest,
                         testing::ValuesIn(kStoreKinds.begin() + 1,
                                           kStoreKinds.end()),
                         [](const testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

TEST_P(WaitStoreProcessesTest, ProcessesShareTheWaits) {
  const std::shared_ptr<WaitStore> other = subject_->MakeStore();
  Add({"a"});
  const auto claimed = AnswerOf<ClaimReply>([&](auto callback) {
    other->Claim({.partition = partition_, .most = 100, .lease_us = kMinute},
                 callback);
  });
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_THAT(claimed->waits, SizeIs(1));
  EXPECT_THAT(Claim().waits, IsEmpty());
  const SettleReply settled = Settle({{.key = "a", .fence = claimed->fence}});
  EXPECT_THAT(settled.lost, IsEmpty());
  EXPECT_GT(settled.fence, claimed->fence);
}

TEST_P(WaitStoreProcessesTest, WorkersOfTwoProcessesEndEachWaitOnce) {
  constexpr int64_t kWaits = 200;
  std::atomic<int64_t> results = 0;
  std::vector<std::unique_ptr<DurableWaits>> workers;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(*DurableWaits::Make(subject_->MakeStore(),
                                          {.space = partition_.space}));
    ASSERT_TRUE(workers.back()
                    ->Register(
                        "n",
                        {.timeout = absl::Minutes(5),
                         .backoff = {.initial_delay = absl::Milliseconds(5)}},
                        [](const DurablePoll& poll) -> Poll<std::string> {
                          if (poll.context.attempt < 3) return NotReady();
                          return Success("done");
                        },
                        [&](const DurableResult& result) {
                          EXPECT_EQ(result.attempts, 3);
                          ++results;
                          return absl::OkStatus();
                        })
                    .ok());
    workers.back()->Start();
  }
  const auto client =
      *DurableClient::Make(subject_->MakeStore(), {.space = partition_.space});
  std::vector<DurableRequest> requests;
  for (int64_t i = 0; i < kWaits; ++i) {
    requests.push_back({.key = absl::StrCat("k", i)});
  }
  EXPECT_EQ(*AnswerOf<int64_t>([&](auto callback) {
    client->EnqueueMany("n", requests, callback);
  }),
            kWaits);
  const auto stats = [&] {
    DurableStats unknown;
    unknown.pending = kWaits;
    return AnswerOf<DurableStats>(
               [&](auto callback) { client->Stats("n", callback); })
        .value_or(unknown);
  };
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (stats().pending > 0 && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(stats().kept, kWaits);
  EXPECT_EQ(results, kWaits);
}

#if defined(WAITER_HAS_SQLITE) || defined(WAITER_HAS_LIBPQ)

class WaitInboxTest : public WaitStoreTest {
 protected:
  void SetUp() override {
    WaitStoreTest::SetUp();
    if (!IsSkipped()) program_ = subject_->MakeProgram();
  }

  // After this, stores move rows of the name.
  void Open() {
    const auto count = AnswerOf<int64_t>([&](auto callback) {
      subject_->store()->Open(partition_.space, partition_.name, 1, callback);
    });
    ASSERT_TRUE(count.ok()) << count.status();
  }
  absl::Status EnqueueInProgram(const DurableRequest& request) {
    return program_->Enqueue(partition_, request);
  }
  int64_t CountFaults() {
    const auto report = AnswerOf<DurableCheckReport>([&](auto callback) {
      CheckDurableWaits(subject_->MakeStore(), partition_.name,
                        {.space = partition_.space, .partitions = 1}, callback);
    });
    EXPECT_EQ(report.status(), absl::OkStatus());
    return report.ok() ? std::ssize(report->findings) : -1;
  }

  std::unique_ptr<InboxProgram> program_;
};

std::vector<StoreKind> KindsWithAnInbox() {
  std::vector<StoreKind> kinds;
  for (const StoreKind& kind : kStoreKinds) {
    if (kind.has_inbox) kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Stores, WaitInboxTest,
                         testing::ValuesIn(KindsWithAnInbox()),
                         [](const testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

TEST_P(WaitInboxTest, WaitExistsIfAndOnlyIfTheTransactionIsCommitted) {
  Open();
  const std::string orders = "orders_of_" + partition_.space;
  EXPECT_EQ(program_->Run(absl::StrCat("CREATE TABLE ", orders, "(id int)")),
            "");
  for (const bool commits : {false, true}) {
    EXPECT_EQ(program_->Run(
                  absl::StrCat("BEGIN; INSERT INTO ", orders, " VALUES (1)")),
              "");
    ASSERT_EQ(EnqueueInProgram({.key = "a", .args = "x"}), absl::OkStatus());
    EXPECT_FALSE(Get("a").exists());
    EXPECT_EQ(program_->Run(commits ? "COMMIT" : "ROLLBACK"), "");
    EXPECT_EQ(Get("a").exists(), commits);
  }
  EXPECT_EQ(program_->Run("SELECT COUNT(*) FROM " + orders), "1");
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits[0].args, "x");
  EXPECT_EQ(CountFaults(), 0);
}

TEST_P(WaitInboxTest, WaitIsTheSameAsOneOfAClient) {
  Open();
  const auto client = *DurableClient::Make(
      subject_->MakeStore(), {.space = partition_.space, .partitions = 1});
  for (DurableRequest request :
       {DurableRequest{.key = "",
       .args = std::string("\0a", 2),
       .timeout = absl::Minutes(3),
       .first_delay = absl::Hours(1)},
        DurableRequest{.key = "",
        .timeout = absl::Hours(876'000),
        .first_delay = absl::Hours(876'000)},
        DurableRequest{.key = "", .timeout = absl::Microseconds(1)},
        DurableRequest{.key = ""}}) {
    request.key = absl::StrCat(
        "client", absl::FormatDuration(request.first_delay),
        absl::FormatDuration(request.timeout.value_or(absl::Seconds(0))));
    ASSERT_TRUE(AnswerOf<bool>([&](auto callback) {
                  client->Enqueue("n", request, callback);
                }).ok());
    const StoredWait one = Get(request.key);
    request.key = absl::StrCat("program\\x", request.key);
    ASSERT_EQ(EnqueueInProgram(request), absl::OkStatus());
    const StoredWait other = Get(request.key);
    EXPECT_EQ(one.args, other.args);
    EXPECT_EQ(one.record.substr(one.record.find(' ')),
              other.record.substr(other.record.find(' ')));
    EXPECT_NEAR(static_cast<double>(*other.due_us - *one.due_us), 0, kMinute);
  }
}

TEST_P(WaitInboxTest, KnownKeysAreLeftAlone) {
  Open();
  ASSERT_TRUE(Enqueue({{.key = "a", .args = "first"}}).ok());
  ASSERT_EQ(EnqueueInProgram({.key = "a", .args = "second"}), absl::OkStatus());
  ASSERT_EQ(EnqueueInProgram({.key = "b", .args = "third"}), absl::OkStatus());
  ASSERT_EQ(EnqueueInProgram({.key = "b", .args = "fourth"}), absl::OkStatus());
  EXPECT_EQ(Get("a").args, "first");
  EXPECT_EQ(Get("b").args, "third");
  EXPECT_EQ(program_->CountInbox(), "0");
  EXPECT_EQ(CountFaults(), 0);
}

TEST_P(WaitInboxTest, WaitsOfANameThatNobodyHasUsedStay) {
  ASSERT_EQ(EnqueueInProgram({.key = "a"}), absl::OkStatus());
  EXPECT_FALSE(Get("a").exists());
  EXPECT_EQ(program_->CountInbox(), "1");
  Open();
  EXPECT_TRUE(Get("a").exists());
}

TEST_P(WaitInboxTest, RequestOutOfRangeBreaksNoTransaction) {
  Open();
  EXPECT_EQ(program_->Run("BEGIN"), "");
  for (const DurableRequest& request :
       {DurableRequest{.key = ""}, DurableRequest{.key = std::string(129, 'k')},
        DurableRequest{.key = "a", .args = std::string(16385, 'a')},
        DurableRequest{.key = "a", .timeout = absl::InfiniteDuration()},
        DurableRequest{.key = "a", .first_delay = -absl::Seconds(1)}}) {
    EXPECT_THAT(EnqueueInProgram(request),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  for (const WaitPartition& wrong :
       {WaitPartition{.space = partition_.space, .name = "a name"},
        WaitPartition{.space = "a space", .name = "n"}}) {
    EXPECT_THAT(program_->Enqueue(wrong, {.key = "a"}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(EnqueueInProgram({.key = "a"}), absl::OkStatus());
  EXPECT_EQ(program_->CountInbox(), "1");
  EXPECT_EQ(program_->Run("COMMIT"), "");
  EXPECT_TRUE(Get("a").exists());
}

#endif

}  // namespace
}  // namespace waiter::wait_store_processes_test
