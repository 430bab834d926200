// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the limiter with the reference vectors of the AWS SDKs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/limiters.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::rate_limiter_vectors_test {
namespace {

using internal::CubicRate;
using internal::RateBucket;
using internal::RateMeter;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;

// Matches a container that is not empty and whose elements all match.
template <typename Matcher>
auto EachOf(Matcher matcher) {
  return testing::AllOf(testing::Not(testing::IsEmpty()),
                        testing::Each(matcher));
}

// The vectors and the limiter compute with doubles; this many digits agree.
constexpr double kFullPrecision = 1e-14;

double SecondsUntil(MonotonicTime time) {
  return std::chrono::duration<double>(time - kStart).count();
}

PollStatus StatusFor(bool throttled) {
  return throttled ? PollStatus::kThrottled : PollStatus::kNotReady;
}

RateLimiterOptions OptionsFrom(const Json& parameters) {
  return {.beta = parameters["beta"].number(),
          .smoothing = parameters["smoothing"].number(),
          .scale_constant = parameters["scale_constant"].number(),
          .min_fill_rate = parameters["min_fill_rate"].number(),
          .min_capacity = parameters["min_capacity"].number(),
          .measurement_bucket =
              absl::Seconds(parameters["measurement_bucket_s"].number()),
          .growth_limit = parameters["max_rate_multiplier"].number()};
}

using AdaptiveEndToEndVectorsTest =
    VectorTest<"adaptive_e2e.json", /*cases=*/34>;

TEST_F(AdaptiveEndToEndVectorsTest, Published) {
  File().Describes({"source", "note", "initial", "parameters", "tolerance"});
  const double tolerance = File()["tolerance"].number();
  const auto limiter = MakeLimiter(OptionsFrom(File()["parameters"]));
  limiter->Acquire(At(File()["initial"]["time"].number()));
  for (const Json& row : File()["published_6_digits"].array()) {
    limiter->Update(At(row["timestamp"].number()),
                    StatusFor(row["throttled"].boolean()));
    const RateLimiterState state = limiter->State();
    EXPECT_NEAR(state.measured_rate, row["measured_tx_rate"].number(),
                tolerance);
    EXPECT_NEAR(state.fill_rate, row["new_token_bucket_rate"].number(),
                tolerance);
    File().Ran(row);
  }
}

TEST_F(AdaptiveEndToEndVectorsTest, FullPrecision) {
  const RateLimiterOptions options = OptionsFrom(File()["parameters"]);
  const auto limiter = MakeLimiter(options);
  limiter->Acquire(At(File()["initial"]["time"].number()));
  // Computes the rate before its limits, as the limiter does.
  CubicRate cubic(options);
  double fill_rate = 0;
  bool limiting = false;
  for (const Json& row : File()["full_precision"].array()) {
    const double time = row["timestamp"].number();
    SCOPED_TRACE(time);
    const bool throttled = row["throttled"].boolean();
    limiter->Update(At(time), StatusFor(throttled));
    const RateLimiterState state = limiter->State();
    const double calculated =
        throttled
            ? cubic.Throttle(limiting ? std::min(state.measured_rate, fill_rate)
                                      : state.measured_rate,
                             time)
            : cubic.Grow(time);
    limiting = limiting || throttled;
    fill_rate = state.fill_rate;

    const Json& derived = row["derived"];
    EXPECT_NEAR(state.measured_rate, row["measured_tx_rate"].number(),
                kFullPrecision);
    EXPECT_NEAR(state.fill_rate, row["fill_rate"].number(), kFullPrecision);
    EXPECT_NEAR(calculated, derived["calculated_rate"].number(),
                kFullPrecision);
    EXPECT_NEAR(state.max_capacity, derived["max_capacity"].number(),
                kFullPrecision);
    EXPECT_NEAR(state.capacity, derived["current_capacity"].number(),
                kFullPrecision);
    EXPECT_NEAR(state.last_max_rate, derived["last_max_rate"].number(),
                kFullPrecision);
    EXPECT_NEAR(state.time_window, derived["time_window"].number(),
                kFullPrecision);
    EXPECT_EQ(state.limiting, derived["enabled"].boolean());
    File().Ran(row);
  }
}

// Returns a cubic rate that was throttled at the given rate and time.
CubicRate CubicFrom(const RateLimiterOptions& options, const Json& given) {
  CubicRate cubic(options);
  cubic.Throttle(given["last_max_rate"].number(),
                 given["last_throttle_time"].number());
  return cubic;
}

using AdaptiveCubicVectorsTest =
    VectorTest<"adaptive_cubic.json", /*cases=*/54>;

TEST_F(AdaptiveCubicVectorsTest, Cases) {
  File().Describes({"source", "parameters"});
  const RateLimiterOptions options = OptionsFrom(File()["parameters"]);
  for (const Json& test : File()["cases"].array()) {
    const std::string& name = test["name"].string();
    SCOPED_TRACE(name);
    CubicRate cubic = CubicFrom(options, test["given"]);
    double rate = 0;
    int index = 0;
    for (const Json& row : test["cases"].array()) {
      const double time = row["timestamp"].number();
      rate = row["response"].string() == "throttle" ? cubic.Throttle(rate, time)
                                                    : cubic.Grow(time);
      EXPECT_NEAR(rate, row["calculated_rate"].number(), 1e-11);
      const Json& full = File()["full_precision"][name][index++];
      EXPECT_NEAR(rate, full.number(), 1e-11);
      File().Ran(row);
      File().Ran(full);
    }
    File().Describes(test["name"]);
    File().Describes(test["given"]);
  }
}

TEST_F(AdaptiveCubicVectorsTest, VariantOfGoAndRust) {
  const Json& variant = File()["variant_go_v2_rust"];
  const Json& rates = variant["calculated_rate"];
  // Its first four rows agree with the production code.
  constexpr int kSame = 4;
  CubicRate cubic =
      CubicFrom(OptionsFrom(File()["parameters"]), File()["cases"][1]["given"]);
  double rate = 0;
  for (int i = 0; i < std::ssize(rates.array()); ++i) {
    if (i >= kSame) {
      File().NotRun(
          rates[i],
          "that test stores the last rate after beta, which no update does");
      continue;
    }
    const double time = 5 + i;
    rate = i < 2 ? cubic.Grow(time) : cubic.Throttle(rate, time);
    EXPECT_NEAR(rate, rates[i].number(), 1e-11);
    File().Ran(rates[i]);
  }
  File().Describes(variant["source"]);
  File().Describes(variant["note"]);
}

TEST_F(AdaptiveCubicVectorsTest, VariantOfJavaScript) {
  constexpr double kRounded = 0.51e-8;
  const RateLimiterOptions options = OptionsFrom(File()["parameters"]);
  const Json& js = File()["js_rounded_8"];
  const CubicRate cubic = CubicFrom(options, File()["cases"][0]["given"]);
  int index = 0;
  for (const Json& time : js["timestamps"].array()) {
    // JavaScript also rounds the time window, which shifts the rates.
    const double slope =
        (cubic.Grow(time.number() + 1e-4) - cubic.Grow(time.number() - 1e-4)) /
        2e-4;
    const Json& success = js["cubic_success"][index++];
    EXPECT_NEAR(cubic.Grow(time.number()), success.number(),
                kRounded * (1 + slope));
    File().Ran(success);
  }
  index = 0;
  for (const Json& time : js["throttle_timestamps"].array()) {
    const auto limiter = MakeLimiter(options);
    limiter->Acquire(kStart);
    limiter->Update(At(time.number()), PollStatus::kThrottled);
    const Json& throttle = js["cubic_throttle"][index++];
    EXPECT_NEAR(limiter->State().last_max_rate * options.beta,
                throttle.number(), kRounded);
    File().Ran(throttle);
  }
  for (const char* text :
       {"source", "timestamps", "throttle_timestamps", "note"}) {
    File().Describes(js[text]);
  }
}

TEST_F(AdaptiveCubicVectorsTest, CasesOfBotocore) {
  const Json& botocore = File()["botocore"];
  CubicRate cubic(OptionsFrom(File()["parameters"]));
  cubic.Throttle(10, 0);
  EXPECT_NEAR(cubic.time_window(), botocore["w_max_10_k"].number(), 1e-15);
  File().Ran(botocore["w_max_10_k"]);
  EXPECT_NEAR(cubic.Grow(cubic.time_window()),
              botocore["success_at_k"].number(), kFullPrecision);
  File().Ran(botocore["success_at_k"]);
  const Json& error = botocore["error_at_rate_8"];
  EXPECT_NEAR(cubic.Throttle(8, error["last_fail"].number()),
              error["new_rate"].number(), kFullPrecision);
  EXPECT_NEAR(cubic.time_window(), error["k"].number(), 1e-15);
  EXPECT_EQ(cubic.last_max_rate(), error["w_max"].number());
  File().Ran(error);
  const Json& beta = botocore["beta_0_6"];
  CubicRate other({.beta = 0.6});
  EXPECT_NEAR(other.Throttle(beta["start_rate"].number(), 1),
              beta["new_rate"].number(), kFullPrecision);
  EXPECT_NEAR(other.Grow(1), beta["success_at_same_t"].number(),
              kFullPrecision);
  File().Ran(beta);
  File().Describes(botocore["source"]);
}

using BotocoreRateClockerVectorsTest =
    VectorTest<"botocore_rate_clocker.json", /*cases=*/10>;

// Returns the measurements of a meter at the times of a sequence of the file.
std::vector<double> Measure(const Json& sequence) {
  RateMeter meter({});
  std::vector<double> measured;
  for (const Json& time : sequence["times"].array()) {
    measured.push_back(meter.Measure(time.number()));
  }
  return measured;
}

TEST_F(BotocoreRateClockerVectorsTest, Sequences) {
  File().Describes({"source", "start_time"});
  for (const auto& [name, sequence] : File()["sequences"].object()) {
    SCOPED_TRACE(name);
    const std::vector<double> measured = Measure(sequence);
    ASSERT_EQ(measured.size(), sequence["measured"].array().size());
    for (size_t i = 0; i < measured.size(); ++i) {
      EXPECT_NEAR(measured[i],
                  sequence["measured"][static_cast<int>(i)].number(), 1e-15);
    }
    File().Ran(sequence);
  }
}

// The file states them in words.
TEST_F(BotocoreRateClockerVectorsTest, Assertions) {
  const auto measured = [](std::string_view name, std::string_view assertion) {
    EXPECT_EQ(File()["assertions"][name].string(), assertion);
    File().Ran(File()["assertions"][name]);
    return Measure(File()["sequences"][name]);
  };

  EXPECT_EQ(measured("single_at_1", "==0.8").at(0), 0.8);
  EXPECT_NEAR(measured("constant_1tps", "final almost 1 (7 places)").back(), 1,
              5e-8);
  const std::vector<double> smoothing =
      measured("smoothing", "1.99<=value[6]<=2.0; 0.1<=value[7]<=2.0");
  EXPECT_GE(smoothing.at(6), 1.99);
  EXPECT_LE(smoothing.at(6), 2.0);
  EXPECT_GE(smoothing.at(7), 0.1);
  EXPECT_LE(smoothing.at(7), 2.0);
  EXPECT_GE(measured("dt0", "final>=1.0").back(), 1.0);
  const std::vector<double> per_bucket =
      measured("per_bucket", "value[4]==0; value[5]==9.6");
  EXPECT_EQ(per_bucket.at(4), 0);
  EXPECT_NEAR(per_bucket.at(5), 9.6, 5e-8);
}

using AdaptiveAcquireVectorsTest =
    VectorTest<"adaptive_acquire.json", /*cases=*/20>;

TEST_F(AdaptiveAcquireVectorsTest, AsInJavaScript) {
  File().Describes({"source"});
  for (const Json& test : File()["js_get_send_token"].array()) {
    const auto limiter = MakeLimiter();
    limiter->Acquire(At(test["created_at"].number()));
    const double throttled_at = test["throttled_update_at"].number();
    limiter->Update(At(throttled_at), PollStatus::kThrottled);
    const MonotonicTime start =
        *limiter->Acquire(At(throttled_at), test["then_acquire"].number());
    // Sleeps end at the next nanosecond.
    EXPECT_NEAR((SecondsUntil(start) - throttled_at) * 1e3,
                test["delay_ms"].number(), 1e-6);
    File().Ran(test);
  }
}

TEST_F(AdaptiveAcquireVectorsTest, AsInRust) {
  const Json& rust = File()["rust"];
  const auto throttled_at_start = [] {
    auto limiter = MakeLimiter();
    limiter->Update(kStart, PollStatus::kThrottled);
    return limiter;
  };
  {
    const Json& test = rust[0];
    const auto limiter = throttled_at_start();
    EXPECT_EQ(limiter->State().fill_rate, test["fill_rate"].number());
    EXPECT_EQ(limiter->State().max_capacity, test["max_capacity"].number());
    const double time = test["acquire"]["t"].number();
    EXPECT_EQ(limiter->Acquire(At(time)), At(time + test["delay_s"].number()));
    EXPECT_NEAR(limiter->State().capacity, test["capacity"].number(), 1e-15);
    File().Ran(test);
  }
  {
    const Json& test = rust[1];
    const auto limiter = throttled_at_start();
    const double time = test["acquire"]["t"].number();
    ASSERT_EQ(test["acquire"]["times"].number(), 10);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(limiter->Acquire(At(time)),
                At(time + test["all_delays_s"].number()));
      EXPECT_GE(limiter->State().capacity, test["capacity_min"].number());
    }
    File().Ran(test);
  }
  {
    const Json& test = rust[2];
    const auto limiter = throttled_at_start();
    for (const Json& step : test["acquire"].array()) {
      const MonotonicTime now = At(step["t"].number());
      EXPECT_EQ(limiter->Acquire(now) == now, step["granted"].boolean());
    }
    EXPECT_NEAR(limiter->State().capacity, test["capacity_after"].number(),
                1e-15);
    File().Ran(test);
  }
  {
    const Json& test = rust[3];
    RateBucket bucket({});
    bucket.SetRate(0, 0);
    ASSERT_GT(bucket.Acquire(test["cost"].number(), 0), 0);
    const double time = test["capacity"].number() / bucket.fill_rate();
    EXPECT_EQ(bucket.Acquire(test["cost"].number(), time) == 0,
              test["granted"].boolean());
    File().Ran(test);
  }
}

TEST_F(AdaptiveAcquireVectorsTest, AsInKotlin) {
  for (const Json& test : File()["kotlin"].array()) {
    const std::string& name = test["name"].string();
    SCOPED_TRACE(name);
    if (name == "NoOpWhenDisabled") {
      EXPECT_EQ(SecondsUntil(MakeLimiter()->Acquire(kStart)),
                test["wait_s"].number());
    } else if (name == "Immediate" || name == "Sleeps") {
      const auto limiter = MakeThrottled(test["fill_rate"].number(),
                                         test["max_capacity"].number());
      const double time = test.number_or("advance_s", 0);
      EXPECT_EQ(*limiter->Acquire(At(time), test["cost"].number()),
                At(time + test["wait_s"].number()));
    } else if (name == "UpdateNotBlocked") {
      const auto limiter = MakeThrottled(test["fill_rate"].number(),
                                         test["max_capacity"].number());
      const double cost = test["cost"].number();
      const double time = test["advance_s"].number();
      ASSERT_GT(*limiter->Acquire(kStart, cost), At(time));
      limiter->Update(At(time), PollStatus::kNotReady);  // During the sleep.
      EXPECT_EQ(*limiter->Acquire(At(time), cost),
                At(time + test["remaining_wait_s"].number()));
    } else {
      ADD_FAILURE() << "unknown case";
    }
    File().Ran(test);
  }
}

TEST_F(AdaptiveAcquireVectorsTest, AsInBotocore) {
  const Json& botocore = File()["botocore_token_bucket"];
  File().Describes(botocore["source"]);
  for (const Json& test : botocore["cases"].array()) {
    const std::string& name = test["name"].string();
    SCOPED_TRACE(name);
    if (test.has("rate_set")) {
      RateBucket bucket({.min_fill_rate = test["min_rate"].number()});
      bucket.SetRate(test.number_or("initial_rate", 10), 0);
      bucket.SetRate(test["rate_set"].number(), 0);
      EXPECT_EQ(bucket.fill_rate(), test["fill_rate"].number());
      EXPECT_EQ(bucket.max_capacity(), test["max_capacity"].number());
    } else if (test.has("events")) {
      const auto limiter = MakeThrottled(test["rate"].number(), 10);
      // In botocore, the constructor reads the clock first.
      for (size_t i = 1; i < test["events"].array().size(); ++i) {
        const Json& event = test["events"][static_cast<int>(i)];
        MonotonicTime now = At(event["t"].number());
        if (event.has("waits_s")) {
          EXPECT_EQ(
              limiter->Acquire(now),
              now + nanoseconds(std::llround(event["waits_s"].number() * 1e9)));
          now = At(event["granted_at"].number());
        }
        EXPECT_EQ(limiter->Acquire(now), now);
        if (event.has("capacity_after")) {
          EXPECT_NEAR(limiter->State().capacity,
                      event["capacity_after"].number(), 1e-9);
        }
      }
    } else {
      const auto limiter = MakeThrottled(test.number_or("rate", 10), 10);
      const double cost = test.number_or("amount", 1);
      for (size_t i = 1; i < test["times"].array().size(); ++i) {
        const MonotonicTime now =
            At(test["times"][static_cast<int>(i)].number());
        const absl::StatusOr<MonotonicTime> start = limiter->Acquire(now, cost);
        EXPECT_EQ(start.ok(), !test.has("error"));
        if (start.ok()) {
          EXPECT_EQ(*start, now);
        }
      }
    }
    File().Ran(test);
  }
}

// Convergence.

// Workers that poll one service through one limiter, one poll at a time each.
// The service throttles polls above its rate after a burst of one second's
// worth, and answers within 5 ms.
class Fleet {
 public:
  explicit Fleet(int workers) {
    for (int i = 0; i < workers; ++i) events_.push({At(0), i, Step::kAcquire});
  }

  // Runs until `end`, with the service at `rate` from now on.
  void Run(double end, double rate) {
    rate_ = rate;
    tokens_ = std::min(tokens_, rate);
    while (events_.top().time < At(end)) {
      Event event = events_.top();
      events_.pop();
      if (event.step == Step::kAcquire) {
        const MonotonicTime start = limiter_->Acquire(event.time);
        if (start == event.time) {
          event = {event.time + milliseconds(5), event.worker,
                   Serve(event.time) ? Step::kServed : Step::kThrottled};
        } else {
          event.time = start;
        }
      } else {
        limiter_->Update(event.time, StatusFor(event.step == Step::kThrottled));
        event.step = Step::kAcquire;
      }
      events_.push(event);
    }
  }

  // Returns polls per second from `begin` to `end`.
  double Rate(double begin, double end) const {
    const auto first = std::lower_bound(polls_.begin(), polls_.end(), begin);
    const auto last = std::lower_bound(polls_.begin(), polls_.end(), end);
    return static_cast<double>(last - first) / (end - begin);
  }

  // Returns the rates of all windows of `width` from `begin` to `end`.
  std::vector<double> Rates(double begin, double end, double width) const {
    std::vector<double> rates;
    for (double time = begin; time + width <= end; time += width / 2) {
      rates.push_back(Rate(time, time + width));
    }
    return rates;
  }

 private:
  enum class Step { kAcquire, kServed, kThrottled };
  struct Event {
    MonotonicTime time;
    int worker;
    Step step;

    // Orders by time, the earliest first, then by worker.
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : worker > other.worker;
    }
  };

  bool Serve(MonotonicTime now) {
    const double time = SecondsUntil(now);
    tokens_ = std::min(rate_, tokens_ + (time - refilled_) * rate_);
    refilled_ = time;
    polls_.push_back(time);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  std::shared_ptr<AdaptiveRateLimiter> limiter_ = MakeLimiter();
  std::priority_queue<Event> events_;
  std::vector<double> polls_;
  double rate_ = 0;
  double tokens_ = std::numeric_limits<double>::infinity();
  double refilled_ = 0;
};

TEST_F(AdaptiveAcquireVectorsTest, TenWorkersSettleAtTwentyPerSecond) {
  const Json& test = File()["convergence"][0];
  Fleet fleet(10);

  fleet.Run(60, 20);

  EXPECT_THAT(fleet.Rates(10, 60, 2),
              EachOf(testing::AllOf(testing::Ge(15), testing::Le(25))));
  EXPECT_THAT(fleet.Rates(test["within_s"].number(), 60,
                          test["measure_window_s"].number()),
              EachOf(testing::AllOf(testing::Ge(test["rps_min"].number()),
                                    testing::Le(test["rps_max"].number()))));
  File().Ran(test);
}

TEST_F(AdaptiveAcquireVectorsTest, DropToTenPerSecondIsFollowed) {
  const Json& test = File()["convergence"][1];
  Fleet fleet(10);

  fleet.Run(3, 10'000);
  ASSERT_GT(fleet.Rate(1, 3), 1000);
  fleet.Run(60, 10);

  EXPECT_THAT(fleet.Rates(3 + 12, 60, 2),
              EachOf(testing::AllOf(testing::Ge(5), testing::Le(15))));
  EXPECT_THAT(fleet.Rates(test["within_s"].number(), 60, 2),
              EachOf(testing::AllOf(testing::Ge(test["rps_min"].number()),
                                    testing::Le(test["rps_max"].number()))));
  File().Ran(test);
}

TEST_F(AdaptiveAcquireVectorsTest, RateComesBackAfterABlip) {
  const Json& test = File()["convergence"][2];
  Fleet fleet(5);

  fleet.Run(2, 10'000);
  fleet.Run(4, 20);
  fleet.Run(15, 10'000);

  EXPECT_LT(fleet.Rate(3, 4), 100);
  EXPECT_GT(fleet.Rate(12, 15), test["rps_greater_than"].number());
  File().Ran(test);
}

TEST_F(AdaptiveAcquireVectorsTest, FiftyTasksRecoverFromTheLowestRate) {
  const Json& test = File()["convergence"][3];
  const auto limiter = MakeLimiter();
  limiter->Acquire(kStart);
  MonotonicTime now = kStart;
  for (int i = 0; i < 50; ++i) {
    limiter->Update(now, PollStatus::kThrottled);
    now += milliseconds(1);
  }
  EXPECT_EQ(limiter->State().fill_rate,
            test["fill_rate_after_throttles"].number());

  int acquired = 0;
  for (int round = 0; round < 200; ++round) {
    now += milliseconds(100);
    for (int task = 0; task < 50; ++task) {
      if (limiter->Acquire(now) != now) continue;
      ++acquired;
      limiter->Update(now, PollStatus::kSuccess);
    }
  }

  EXPECT_GT(acquired, test["total_acquired_greater_than"].number());
  File().Ran(test);
}

}  // namespace
}  // namespace waiter::rate_limiter_vectors_test
