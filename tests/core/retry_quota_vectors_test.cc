// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the quota with the reference vectors of the AWS SDK for Kotlin.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/core/limiters.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"

namespace waiter::retry_quota_vectors_test {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::seconds;
using WhenSpent = RetryQuotaOptions::WhenSpent;

RetryQuotaOptions OptionsFrom(const Json& config, RetryQuotaOptions options) {
  options.capacity = config.number_or("max_capacity", options.capacity);
  options.initial_cost =
      config.number_or("initial_try_cost", options.initial_cost);
  options.success_increment = config.number_or("initial_try_success_increment",
                                               options.success_increment);
  options.refill_per_second =
      config.number_or("refill_units_per_second", options.refill_per_second);
  options.retry_cost = config.number_or("retry_cost", options.retry_cost);
  options.timeout_cost =
      config.number_or("timeout_retry_cost", options.timeout_cost);
  options.throttle_cost = options.timeout_cost;
  if (config.has("use_circuit_breaker_mode")) {
    options.when_spent = config["use_circuit_breaker_mode"].boolean()
                             ? WhenSpent::kRefuse
                             : WhenSpent::kWait;
  }
  options.compatible = true;
  return options;
}

// Charges a transient error like any other, as the rules of 2026 do.
RetryQuotaOptions OptionsOf2026From(const Json& config) {
  RetryQuotaOptions options = OptionsFrom(config, {});
  options.timeout_cost = options.retry_cost;
  return options;
}

QuotaUse UseFor(std::string_view error) {
  if (error == "Throttling") return QuotaUse::kThrottled;
  return error == "Transient" ? QuotaUse::kTimeout : QuotaUse::kRetry;
}

void PlaySteps(RetryQuota& quota, const Json& steps) {
  MonotonicTime now = kStart;
  QuotaToken token;
  for (const Json& step : steps.array()) {
    const std::string& op = step["op"].string();
    if (step.has("capacity_before")) {
      EXPECT_EQ(quota.Available(now), step["capacity_before"].number());
    }
    if (op == "advance_ms") {
      now += milliseconds(static_cast<int>(step["value"].number()));
    } else if (op == "success") {
      quota.Release(now, token);
    } else if (op == "failure") {
      token = {};
    } else {
      const std::optional<MonotonicTime> start =
          quota.Acquire(op == "acquire" ? QuotaUse::kFirstPoll
                                        : UseFor(step["error"].string()),
                        now, token);
      EXPECT_EQ(start.has_value(), !step.has("throws"));
      if (start.has_value()) {
        EXPECT_EQ(*start - now,
                  seconds(static_cast<int>(step.number_or("wait_s", 0))));
        now = *start;
      }
    }
    if (step.has("capacity_after")) {
      EXPECT_EQ(quota.Available(now), step["capacity_after"].number());
    }
  }
}

using RetryQuotaVectorsTest =
    VectorTest<"kotlin_token_bucket.json", /*cases=*/15>;

TEST_F(RetryQuotaVectorsTest, Cases) {
  File().Describes({"source", "test_config"});
  const RetryQuotaOptions base = OptionsFrom(File()["test_config"], {});
  for (const Json& test : File()["cases"].array()) {
    SCOPED_TRACE(test["name"].string());
    if (test.has("by_error")) {
      for (const auto& [error, cost] : test["by_error"].object()) {
        const auto quota = MakeQuota(base);
        QuotaToken token;
        quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
        EXPECT_EQ(quota->Available(kStart), test["capacity_before"].number());
        quota->Acquire(UseFor(error), kStart, token);
        EXPECT_EQ(quota->Available(kStart),
                  test["capacity_before"].number() - cost.number());
      }
    } else if (test.has("profile")) {
      PlaySteps(*MakeQuota(test["profile"].string() == "2026"
                               ? OptionsOf2026From(File()["defaults_2026"])
                               : OptionsFrom(File()["defaults_legacy"], {})),
                test["steps"]);
    } else {
      PlaySteps(*MakeQuota(OptionsFrom(test["config"], base)), test["steps"]);
    }
    File().Ran(test);
  }
}

TEST_F(RetryQuotaVectorsTest, Defaults) {
  for (const std::string_view name :
       {"defaults_legacy", "defaults_2026", "defaults_pre_2023"}) {
    SCOPED_TRACE(name);
    const Json& profile = File()[name];
    const double capacity = profile["max_capacity"].number();
    const auto quota = MakeQuota(OptionsFrom(profile, {}));
    QuotaToken first;
    QuotaToken token;

    ASSERT_TRUE(
        quota->Acquire(QuotaUse::kFirstPoll, kStart, first).has_value());
    EXPECT_EQ(quota->Available(kStart),
              capacity - profile["initial_try_cost"].number());
    // The success of a first poll adds the increment, as far as it fits.
    ASSERT_TRUE(quota->Acquire(QuotaUse::kRetry, kStart, token).has_value());
    quota->Release(kStart, first);
    double expected = capacity - profile["retry_cost"].number() +
                      profile["initial_try_success_increment"].number();
    EXPECT_EQ(quota->Available(kStart), expected);
    ASSERT_TRUE(quota->Acquire(QuotaUse::kTimeout, kStart, token).has_value());
    expected -= profile["timeout_retry_cost"].number();
    EXPECT_EQ(quota->Available(kStart), expected);
    EXPECT_EQ(quota->Available(kStart + seconds(1)),
              std::min(capacity,
                       expected + profile["refill_units_per_second"].number()));
    // A spent quota refuses, or says when it has refilled.
    std::optional<MonotonicTime> start = kStart;
    for (int i = 0; start == kStart && i < 1000; ++i) {
      start = quota->Acquire(QuotaUse::kRetry, kStart, token);
    }
    EXPECT_NE(start, kStart);
    EXPECT_EQ(start.has_value(),
              !profile["use_circuit_breaker_mode"].boolean());
    File().Ran(profile);
  }
}

TEST_F(RetryQuotaVectorsTest, DefaultsOf2026AreOurs) {
  const RetryQuotaOptions of_2026 = OptionsOf2026From(File()["defaults_2026"]);
  const RetryQuotaOptions ours;
  EXPECT_EQ(of_2026.capacity, ours.capacity);
  EXPECT_EQ(of_2026.initial_cost, ours.initial_cost);
  EXPECT_EQ(of_2026.success_increment, ours.success_increment);
  EXPECT_EQ(of_2026.retry_cost, ours.retry_cost);
  EXPECT_EQ(of_2026.timeout_cost, ours.timeout_cost);
  EXPECT_EQ(of_2026.throttle_cost, ours.throttle_cost);
  EXPECT_EQ(of_2026.refill_per_second, ours.refill_per_second);
  EXPECT_EQ(of_2026.when_spent, ours.when_spent);
}

TEST_F(RetryQuotaVectorsTest, Quirks) {
  const RetryQuotaOptions base = OptionsFrom(File()["test_config"], {});
  for (const Json& test : File()["derived"].array()) {
    const std::string& name = test["name"].string();
    SCOPED_TRACE(name);
    RetryQuotaOptions options = OptionsFrom(test["config"], base);
    MonotonicTime now = kStart;
    QuotaToken token;
    if (name == "DelayModeCeilSeconds") {
      options.initial_cost =
          options.capacity - test["state"]["capacity"].number();
      options.retry_cost = test["op"]["checkout"].number();
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      const MonotonicTime start = *quota->Acquire(QuotaUse::kRetry, now, token);
      EXPECT_EQ(start - now,
                seconds(static_cast<int>(test["wait_s"].number())));
      EXPECT_EQ(quota->Available(start), test["capacity_after"].number());
    } else if (name == "RefillFloor" || name == "RefillFractionLost") {
      options.initial_cost = 5;
      options.retry_cost = 0;
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      const bool once = test["elapsed_ms"].is_number();
      const size_t steps = once ? 1 : test["elapsed_ms"].array().size();
      for (size_t i = 0; i < steps; ++i) {
        const int index = static_cast<int>(i);
        const Json& elapsed =
            once ? test["elapsed_ms"] : test["elapsed_ms"][index];
        const Json& refill = once ? test["refill"] : test["refill"][index];
        const double before = quota->Available(now);
        now += milliseconds(static_cast<int>(elapsed.number()));
        quota->Acquire(QuotaUse::kRetry, now, token);
        EXPECT_EQ(quota->Available(now) - before, refill.number());
      }
    } else if (name == "CircuitBreakerRefillDoubleCount") {
      options.initial_cost = options.capacity;
      options.retry_cost = test["ops"][0]["checkout"].number();
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      ASSERT_EQ(quota->Available(now), test["state"]["capacity"].number());
      const double elapsed = test["state"]["elapsed_s"].number();
      now += seconds(static_cast<int>(elapsed));
      EXPECT_EQ(quota->Available(now),
                test["ops"][0]["capacity_after"].number());
      EXPECT_FALSE(quota->Acquire(QuotaUse::kRetry, now, token).has_value());
      // The next operation counts the same refill once more.
      EXPECT_EQ(quota->Available(now),
                test["ops"][0]["capacity_after"].number() + elapsed);
      EXPECT_TRUE(quota->Acquire(QuotaUse::kRetry, now, token).has_value());
      EXPECT_EQ(quota->Available(now),
                test["ops"][1]["capacity_after"].number());
    } else {
      ADD_FAILURE() << "unknown case";
    }
    File().Ran(test);
  }
}

}  // namespace
}  // namespace waiter::retry_quota_vectors_test
