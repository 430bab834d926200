// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests lists of the budgets that requests have made on a real server.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::budget_list_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class BudgetListTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    client_ = *RedisClient::Make(server_->Url());
  }

  absl::StatusOr<BudgetList> List() {
    std::promise<absl::StatusOr<BudgetList>> list;
    ListBudgets(client_, [&](absl::StatusOr<BudgetList> got) {
      list.set_value(std::move(got));
    });
    return list.get_future().get();
  }

  RateGrant Grant(RateRequest request) {
    RedisBudgetStore store(client_);
    std::promise<absl::StatusOr<RateGrant>> grant;
    store.Grant(std::move(request), [&](absl::StatusOr<RateGrant> got) {
      grant.set_value(std::move(got));
    });
    return *grant.get_future().get();
  }

  QuotaGrant Sync(QuotaRequest request) {
    RedisBudgetStore store(client_);
    std::promise<absl::StatusOr<QuotaGrant>> grant;
    store.Sync(std::move(request), [&](absl::StatusOr<QuotaGrant> got) {
      grant.set_value(std::move(got));
    });
    return *grant.get_future().get();
  }

  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<RedisClient> client_;
};

TEST_F(BudgetListTest, EmptyServerHasNone) {
  const BudgetList list = ValueOrFail(List());
  EXPECT_THAT(list.rates, IsEmpty());
  EXPECT_THAT(list.quotas, IsEmpty());
}

TEST_F(BudgetListTest, BudgetsAreListedByNameWithTheirUse) {
  const auto horizon = std::chrono::milliseconds(500);
  Grant({.member = {.budget = "b.fixed", .id = "1"},
         .want = 3,
         .rate = 20,
         .horizon = horizon});
  Grant({.member = {.budget = "b.fixed", .id = "2"},
         .polls = 12,
         .rate = 20,
         .horizon = horizon});
  Grant({.member = {.budget = "a.adaptive", .id = "1"}, .horizon = horizon});
  const QuotaGrant grant = Sync({.member = {.budget = "q", .id = "1"},
                                 .has = 10,
                                 .spent = 5,
                                 .capacity = 100,
                                 .min_chunk = 10,
                                 .lease = std::chrono::seconds(10)});

  const BudgetList list = ValueOrFail(List());
  ASSERT_THAT(list.rates, ElementsAre(Field(&RateBudget::name, "a.adaptive"),
                                      Field(&RateBudget::name, "b.fixed")));
  EXPECT_EQ(list.rates[0].rate, std::nullopt);
  EXPECT_EQ(list.rates[0].members, 1);
  EXPECT_EQ(list.rates[0].busy_members, 0);
  EXPECT_THAT(list.rates[1].rate, Optional(20));
  EXPECT_EQ(list.rates[1].members, 2);
  EXPECT_EQ(list.rates[1].busy_members, 1);
  ASSERT_THAT(list.quotas, ElementsAre(Field(&QuotaBudget::name, "q")));
  EXPECT_EQ(list.quotas[0].capacity, 100);
  EXPECT_THAT(list.quotas[0].leased, DoubleNear(grant.held, 1e-6));
  EXPECT_THAT(list.quotas[0].free + list.quotas[0].leased,
              DoubleNear(95, 1e-6));
  EXPECT_EQ(list.quotas[0].members, 1);
}

TEST_F(BudgetListTest, PollsPerSecondAreThoseOfLate) {
  Grant({.member = {.budget = "api", .id = "1"}, .rate = 20});
  const int64_t now =
      absl::ToUnixMicros(absl::Now());  // The server has the same clock.
  const auto polls = [&](absl::Duration ago) {
    server_->Run({"HSET", "waiter:rate:{api}", "measured", "18", "count", "30",
                  "window",
                  absl::StrCat(now - absl::ToInt64Microseconds(ago))});
    return List()->rates[0].polls_per_second;
  };
  EXPECT_EQ(polls(absl::ZeroDuration()), 18);
  EXPECT_THAT(polls(absl::Seconds(5)), DoubleNear(6, 1.5));
  EXPECT_EQ(polls(absl::Seconds(11)), 0);
}

TEST_F(BudgetListTest, ManyKeysAreReadToTheEnd) {
  Grant({.member = {.budget = "api", .id = "1"}, .rate = 20});
  server_->Run({"EVAL",
                "for i = 1, 5000 do redis.call('SET', KEYS[1] .. i, 1) end",
                "1", "waiter:other:{"});
  const BudgetList list = ValueOrFail(List());
  EXPECT_THAT(list.rates, ElementsAre(Field(&RateBudget::name, "api")));
}

TEST_F(BudgetListTest, KeysOfOthersAreNoBudgetsOrHaveAnError) {
  server_->Run({"SET", "waiter:rate:{text}", "x"});
  server_->Run({"SET", "waiter:rate:{no name}", "x"});
  server_->Run({"SET", "waiter:rate:{}", "x"});
  server_->Run({"SET", "waiter:rate:{a}:more", "x"});
  const BudgetList list = ValueOrFail(List());
  ASSERT_THAT(list.rates, ElementsAre(Field(&RateBudget::name, "text")));
  EXPECT_THAT(list.rates[0].error.message(), HasSubstr("WRONGTYPE"));
}

TEST_F(BudgetListTest, ServerThatIsGoneIsAnError) {
  server_->Kill();
  EXPECT_THAT(List().status(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(BudgetListTest, ClientThatIsDestroyedIsAnError) {
  std::promise<absl::StatusOr<BudgetList>> list;
  server_->Pause();
  ListBudgets(client_, [&](absl::StatusOr<BudgetList> got) {
    list.set_value(std::move(got));
  });
  client_ = nullptr;
  EXPECT_FALSE(list.get_future().get().ok());
  server_->Resume();
}

}  // namespace
}  // namespace waiter::budget_list_test

#else

TEST(BudgetListTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
