// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the scripts on a real server at times that the test gives, and compares
// them with `BudgetBook`, which all simulations use.

#include "waiter/redis/budget_scripts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "tests/support/first_seed.h"
#include "tests/support/redis_server.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::budget_scripts_test {
namespace {

constexpr int64_t kStart = 1'790'000'000'000'000;

// Returns the same script, but with the time from its last two arguments.
RedisScript WithGivenTime(const RedisScript& script) {
  return RedisScript(absl::StrReplaceAll(
      script.text(),
      {{"redis.call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}"}}));
}

std::vector<std::string> WithTime(std::vector<std::string> arguments,
                                  int64_t now) {
  arguments.push_back(absl::StrCat(now / 1'000'000));
  arguments.push_back(absl::StrCat(now % 1'000'000));
  return arguments;
}

class BudgetScriptsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    client_ = *RedisClient::Make(server_->Url());
  }

  absl::StatusOr<RedisReply> Run(const RedisScript& script,
                                 std::vector<std::string> keys,
                                 std::vector<std::string> arguments) {
    std::promise<absl::StatusOr<RedisReply>> reply;
    client_->Call(script, std::move(keys), std::move(arguments),
                  [&](absl::StatusOr<RedisReply> got) {
                    reply.set_value(std::move(got));
                  });
    return reply.get_future().get();
  }

  RateGrant Grant(const RateRequest& request, int64_t now) {
    const absl::StatusOr<RateGrant> grant = internal::ToRateGrant(
        Run(WithGivenTime(internal::GetBudgetScripts().rate_grant),
            internal::RateKeys(request.member.budget),
            WithTime(internal::RateArguments(request), now)),
        request.member.leaves);
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.value_or(RateGrant{});
  }

  QuotaGrant Sync(const QuotaRequest& request, int64_t now) {
    const absl::StatusOr<QuotaGrant> grant = internal::ToQuotaGrant(
        Run(WithGivenTime(internal::GetBudgetScripts().quota_sync),
            internal::QuotaKeys(request.member.budget),
            WithTime(internal::QuotaArguments(request), now)));
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.value_or(QuotaGrant{});
  }

  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<RedisClient> client_;
  sim::BudgetBook book_;
};

void ExpectSame(const RateGrant& script, const RateGrant& book) {
  EXPECT_EQ(script.granted, book.granted);
  EXPECT_NEAR(static_cast<double>(script.first_in.count()),
              static_cast<double>(book.first_in.count()), 1000);
  EXPECT_NEAR(static_cast<double>(script.interval.count()),
              static_cast<double>(book.interval.count()), 1);
  ASSERT_EQ(script.rate.has_value(), book.rate.has_value());
  EXPECT_NEAR(script.rate.value_or(0), book.rate.value_or(0),
              1e-9 * book.rate.value_or(0));
  EXPECT_EQ(script.members, book.members);
  EXPECT_NEAR(static_cast<double>(script.ask_again.count()),
              static_cast<double>(book.ask_again.count()), 1000);
}

TEST_F(BudgetScriptsTest, RatesAreThoseOfTheBook) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    RateRequest request = {
        .member = {.budget = absl::StrCat("b", seed)},
        .burst = absl::Bernoulli(gen, 0.5) ? 1 : absl::Uniform(gen, 1.0, 90.0),
        .horizon = std::chrono::milliseconds(absl::Uniform(gen, 50, 2000))};
    if (absl::Bernoulli(gen, 0.5)) {
      request.rate = std::exp(absl::Uniform(gen, -3.0, 8.0));
    }
    int64_t now = kStart;
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
      now += static_cast<int64_t>(std::exp(absl::Uniform(gen, 0.0, 16.5)));
      // Now and then the server's clock steps back.
      if (absl::Bernoulli(gen, 0.01)) now -= 5'000'000;
      request.member.id = absl::StrCat("m", absl::Uniform(gen, 0, 8));
      request.member.leaves = absl::Bernoulli(gen, 0.05);
      request.want = absl::Uniform(gen, 0, 300);
      request.polls = absl::Uniform(gen, 0, 100);
      request.throttled = absl::Bernoulli(gen, 0.1);
      ExpectSame(Grant(request, now),
                 book_.Grant(request, static_cast<double>(now)));
    }
  }
}

TEST_F(BudgetScriptsTest, QuotasAreThoseOfTheBook) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    std::mt19937_64 gen(seed);
    QuotaRequest request = {.member = {.budget = absl::StrCat("b", seed)},
                            .capacity = absl::Uniform(gen, 50.0, 1000.0),
                            .refill_per_second = absl::Uniform(gen, 0.0, 10.0),
                            .min_chunk = 28,
                            .lease = std::chrono::seconds(10)};
    int64_t now = kStart;
    for (int i = 0; i < 300 && !HasFailure(); ++i) {
      now += absl::Uniform(gen, 0, 3'000'000);
      request.member.id = absl::StrCat("m", absl::Uniform(gen, 0, 8));
      request.member.leaves = absl::Bernoulli(gen, 0.05);
      request.has = absl::Uniform(gen, -20.0, 100.0);
      request.spent = absl::Uniform(gen, -20.0, 100.0);
      request.spent_in_all = absl::Uniform(gen, -100.0, 1000.0);
      const QuotaGrant script = Sync(request, now);
      const QuotaGrant book = book_.Sync(request, static_cast<double>(now));
      if (request.member.leaves) continue;
      EXPECT_NEAR(script.change, book.change, 1e-6);
      EXPECT_NEAR(script.held, book.held, 1e-6);
      EXPECT_NEAR(script.level, book.level, 1e-6);
      EXPECT_EQ(script.members, book.members);
    }
  }
}

TEST_F(BudgetScriptsTest, EveryKeyMayBeMissing) {
  const RateRequest rate = {.member = {.budget = "x", .id = "m"},
                            .want = 5,
                            .rate = 10,
                            .horizon = std::chrono::milliseconds(500)};
  RateRequest adaptive = rate;
  adaptive.member.budget = "y";
  adaptive.rate.reset();
  adaptive.throttled = true;
  adaptive.polls = 100;
  const QuotaRequest quota = {.member = {.budget = "x", .id = "m"},
                              .has = 28,
                              .capacity = 500,
                              .min_chunk = 28,
                              .lease = std::chrono::seconds(10)};
  int64_t now = kStart;
  std::vector<std::string> keys = internal::RateKeys("x");
  for (const std::string& key : internal::RateKeys("y")) keys.push_back(key);
  for (const std::string& key : internal::QuotaKeys("x")) keys.push_back(key);
  // Deletes each key alone, and then all keys.
  keys.emplace_back();
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    for (int i = 0; i < 3; ++i) {
      now += 1'000'000;
      EXPECT_GE(Grant(rate, now).granted, 1);
      EXPECT_NE(Grant(adaptive, now).rate, std::nullopt);
      EXPECT_GE(Sync(quota, now).held, 28);
      for (const bool leaves : {true, false}) {
        RateRequest other = rate;
        other.member.id = "other";
        other.member.leaves = leaves;
        Grant(other, now);
      }
    }
    if (key.empty()) {
      server_->Run({"FLUSHALL"});
    } else {
      server_->Run({"DEL", key});
    }
    now += 1'000'000;
    EXPECT_GE(Grant(rate, now).granted, 1);
    Grant(adaptive, now);
    EXPECT_GE(Sync(quota, now).held, 28);
  }
}

TEST_F(BudgetScriptsTest, KeysExpireAfterAnHour) {
  const RateRequest rate = {.member = {.budget = "x", .id = "m"},
                            .want = 5,
                            .rate = 10,
                            .horizon = std::chrono::milliseconds(500)};
  const QuotaRequest quota = {.member = {.budget = "x", .id = "m"},
                              .has = 28,
                              .capacity = 500,
                              .min_chunk = 28,
                              .lease = std::chrono::seconds(10)};
  for (int i = 0; i < 3; ++i) {
    Grant(rate, kStart + i * 1'000'000);
    Sync(quota, kStart + i * 1'000'000);
  }
  std::vector<std::string> keys = internal::RateKeys("x");
  for (const std::string& key : internal::QuotaKeys("x")) keys.push_back(key);
  for (const std::string& key : keys) {
    int seconds = 0;
    EXPECT_TRUE(absl::SimpleAtoi(server_->Run({"TTL", key}), &seconds)) << key;
    EXPECT_GT(seconds, 3500) << key;
    EXPECT_LE(seconds, 3600) << key;
  }
}

// `..` writes only 14 digits of a number; a time in microseconds has more.
TEST_F(BudgetScriptsTest, NoScriptJoinsTexts) {
  for (const RedisScript* script : {&internal::GetBudgetScripts().rate_grant,
                                    &internal::GetBudgetScripts().quota_sync}) {
    EXPECT_FALSE(absl::StrContains(script->text(), ".."));
    EXPECT_FALSE(absl::StrContains(script->text(), "tostring"));
    EXPECT_TRUE(absl::StartsWith(script->text(), "#!lua\n-- waiter "));
    EXPECT_EQ(server_->Run({"SCRIPT", "LOAD", script->text()}).size(), 40);
  }
}

}  // namespace
}  // namespace waiter::budget_scripts_test

#else

TEST(BudgetScriptsTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
