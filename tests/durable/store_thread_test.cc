// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store_thread.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/forked_child.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/durable/blocking_store.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/poll.h"

namespace waiter::internal::store_thread_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Sets how a store answers, and records its calls. `Open` with the name "bad"
// breaks the transaction.
struct Script {
  std::function<void(const std::string& name)> on_open = [](const auto&) {};
  absl::Status begin;
  absl::Status commit;
  std::vector<std::string> log;  // Written by the store's thread.
};

class ScriptedStore final : public BlockingWaitStore {
 public:
  explicit ScriptedStore(std::shared_ptr<Script> script)
      : script_(std::move(script)) {}
  ~ScriptedStore() override { script_->log.emplace_back("destroyed"); }

  absl::Status Begin(bool writes) override {
    script_->log.emplace_back(writes ? "begin" : "begin to read");
    status_ = absl::OkStatus();
    return script_->begin;
  }
  absl::Status Commit() override {
    status_.Update(script_->commit);
    script_->log.emplace_back(status_.ok() ? "commit" : "roll back");
    return status_;
  }
  absl::StatusOr<int64_t> Open(const std::string& /*space*/,
                               const std::string& name,
                               int64_t partitions) override {
    script_->log.push_back(name);
    script_->on_open(name);
    if (name == "refused") return absl::InvalidArgumentError("refused");
    if (name == "bad") status_ = absl::DataLossError("bad");
    if (name == "bad") return status_;
    return partitions;
  }
  absl::StatusOr<WaitSpace> Describe(const std::string& /*space*/) override {
    return WaitSpace();
  }

  absl::StatusOr<ClaimReply> Claim(const ClaimRequest& /*r*/) override {
    return ClaimReply();
  }
  absl::StatusOr<SettleReply> Settle(const SettleRequest& /*r*/) override {
    return SettleReply();
  }
  absl::StatusOr<EnqueueReply> Enqueue(const EnqueueRequest& /*r*/) override {
    return EnqueueReply();
  }
  absl::StatusOr<std::vector<StoredWait>> Signal(
      const SignalRequest& r) override {
    return std::vector<StoredWait>(r.keys.size());
  }
  absl::StatusOr<std::vector<StoredWait>> Get(
      const WaitPartition& /*p*/, const std::vector<std::string>& k) override {
    return std::vector<StoredWait>(k.size());
  }
  absl::StatusOr<WaitStore::ScanReply> Scan(const WaitPartition& /*p*/,
                                            const std::string& /*c*/) override {
    return WaitStore::ScanReply();
  }
  absl::StatusOr<WaitStats> Stats(const WaitPartition& /*p*/) override {
    return WaitStats();
  }
  absl::StatusOr<int64_t> Mark(const WaitPartition& /*p*/,
                               const std::string& /*k*/,
                               bool /*begins*/) override {
    return 0;
  }
  absl::StatusOr<std::vector<std::string>> Heartbeat(
      const HeartbeatRequest& r) override {
    return std::vector<std::string>{r.worker};
  }
  absl::StatusOr<CheckReply> Check(const WaitPartition& /*p*/,
                                   const std::string& /*c*/) override {
    return CheckReply();
  }
  absl::StatusOr<std::vector<FaultyWait>> Examine(
      const ExamineRequest& /*r*/) override {
    return std::vector<FaultyWait>();
  }
  absl::StatusOr<WaitServer> Inspect(const WaitPartition& /*p*/) override {
    return WaitServer();
  }

 private:
  const std::shared_ptr<Script> script_;
  absl::Status status_;
};

class StoreThreadTest : public testing::Test {
 protected:
  void Start() {
    store_ =
        std::make_shared<StoreThread>(std::make_unique<ScriptedStore>(script_));
  }

  std::future<absl::StatusOr<int64_t>> Open(const std::string& name) {
    const auto promise =
        std::make_shared<std::promise<absl::StatusOr<int64_t>>>();
    store_->Open("space", name, 1, [promise](absl::StatusOr<int64_t> reply) {
      promise->set_value(std::move(reply));
    });
    return promise->get_future();
  }

  // Makes the store wait in its first `Open` until `Release`.
  void HoldFirst() {
    script_->on_open = [this, released = release_.get_future().share(),
                        is_first = true](const std::string&) mutable {
      if (!std::exchange(is_first, false)) return;
      entered_.set_value();
      released.wait();
    };
  }
  void AwaitFirst() { entered_.get_future().wait(); }
  void Release() { release_.set_value(); }

  // Starts the store, and opens two names while it opens "first". Returns the
  // replies in order.
  std::vector<absl::Status> OpenDuringFirst(const std::string& second,
                                            const std::string& third) {
    HoldFirst();
    Start();
    auto first = Open("first");
    AwaitFirst();
    auto next = Open(second);
    auto last = Open(third);
    Release();
    return {first.get().status(), next.get().status(), last.get().status()};
  }
  // Returns the calls of the store until its end.
  const std::vector<std::string>& LogToTheEnd() {
    store_ = nullptr;
    return script_->log;
  }

  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
  std::shared_ptr<StoreThread> store_;

 private:
  std::promise<void> entered_;
  std::promise<void> release_;
};

TEST_F(StoreThreadTest, RequestsThatArriveDuringATransactionShareTheNext) {
  EXPECT_THAT(OpenDuringFirst("second", "third"), Each(absl::OkStatus()));
  EXPECT_THAT(LogToTheEnd(),
              ElementsAre("begin", "first", "commit", "begin", "second",
                          "third", "commit", "destroyed"));
}

TEST_F(StoreThreadTest, RequestThatBreaksATransactionFailsAlone) {
  EXPECT_THAT(OpenDuringFirst("good", "bad"),
              ElementsAre(absl::OkStatus(), absl::OkStatus(),
                          StatusIs(absl::StatusCode::kDataLoss)));
  EXPECT_THAT(LogToTheEnd(),
              ElementsAre("begin", "first", "commit", "begin", "good", "bad",
                          "roll back", "begin", "good", "commit", "begin",
                          "bad", "roll back", "destroyed"));
}

TEST_F(StoreThreadTest, RefusedRequestLetsTheTransactionPass) {
  Start();
  EXPECT_THAT(Open("refused").get().status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(LogToTheEnd(),
              ElementsAre("begin", "refused", "commit", "destroyed"));
}

TEST_F(StoreThreadTest, UnknownOutcomeIsNotRepeated) {
  script_->commit = absl::UnavailableError("unknown");
  EXPECT_THAT(OpenDuringFirst("second", "third"),
              Each(StatusIs(absl::StatusCode::kUnavailable)));
  EXPECT_THAT(LogToTheEnd(),
              ElementsAre("begin", "first", "roll back", "begin", "second",
                          "third", "roll back", "destroyed"));
}

TEST_F(StoreThreadTest, TransactionThatDoesNotBeginIsAnErrorForAll) {
  script_->begin = absl::AbortedError("locked");
  Start();
  EXPECT_THAT(Open("a").get().status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(LogToTheEnd(), ElementsAre("begin", "destroyed"));
}

TEST_F(StoreThreadTest, OnlyReadsDoNotWrite) {
  Start();
  std::promise<bool> done;
  store_->Describe("space", [&](const absl::StatusOr<WaitSpace>& space) {
    done.set_value(space.ok());
  });
  EXPECT_TRUE(done.get_future().get());
  EXPECT_THAT(LogToTheEnd(),
              ElementsAre("begin to read", "commit", "destroyed"));
}

TEST_F(StoreThreadTest, CallbackThatDropsTheStoreCancelsWhatIsLeft) {
  HoldFirst();
  Start();
  StoreThread& store = *store_;
  store.Open("space", "a", 1,
             [last = std::exchange(store_, nullptr)](
                 const absl::StatusOr<int64_t>&) mutable { last = nullptr; });
  AwaitFirst();
  std::promise<absl::Status> second;
  store.Open("space", "b", 1, [&](const absl::StatusOr<int64_t>& reply) {
    second.set_value(reply.status());
  });
  Release();
  EXPECT_THAT(second.get_future().get(),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(StoreThreadTest, TimersRunInTheOrderOfTheirTimes) {
  Start();
  std::vector<int> order;
  std::promise<void> done;
  const MonotonicTime now = store_->clock().MonotonicNow();
  store_->RunAt(now + std::chrono::milliseconds(20), [&] {
    order.push_back(2);
    done.set_value();
  });
  store_->RunAt(now + std::chrono::milliseconds(10),
                [&] { order.push_back(1); });
  store_->RunAt(MonotonicTime(), [&] { order.push_back(0); });
  done.get_future().wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_GE(store_->clock().MonotonicNow(),
            now + std::chrono::milliseconds(20));
}

TEST_F(StoreThreadTest, ChildOfAForkExitsWithCopiesOfTheStoreAndItsUsers) {
  Start();
  static std::shared_ptr<StoreThread> store = store_;
  static auto alone = std::make_unique<StoreThread>(
      std::make_unique<ScriptedStore>(std::make_shared<Script>()));
  static std::unique_ptr<DurableWaits> waits = *DurableWaits::Make(store, {});
  static std::unique_ptr<DurableWaits> without_threads =
      *DurableWaits::Make(store, {.threads = 0});
  static std::unique_ptr<DurableClient> client =
      *DurableClient::Make(store, {});
  ASSERT_TRUE(Open("a").get().ok());
  for (auto* worker : {&waits, &without_threads}) {
    ASSERT_TRUE((*worker)
                    ->Register(
                        "name", {.timeout = absl::Hours(1)},
                        [](const DurablePoll&) -> Poll<std::string> {
                          return NotReady();
                        },
                        nullptr)
                    .ok());
    (*worker)->Start();
  }

  std::atomic<bool> ends = false;
  // This thread holds each lock during some of the forks.
  std::thread user([&] {
    while (!ends) {
      alone->RunAt(MonotonicTime(), [] {});
      static_cast<void>(waits->State());
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(ExitOfChild([&] {
                alone = nullptr;
                waits = nullptr;
              }),
              "exited with 0");
    if (HasFailure()) break;
  }
  ends = true;
  user.join();
  EXPECT_TRUE(Open("b").get().ok());
  without_threads = nullptr;
  waits = nullptr;
  client = nullptr;
  store = nullptr;
  alone = nullptr;
}

}  // namespace
}  // namespace waiter::internal::store_thread_test
