// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/distributed/redis_budget_store.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/distributed/budget_scripts.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_reply.h"

namespace waiter {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1e3;
// 292 years in nanoseconds do not fit; this does.
constexpr double kMostMicroseconds = 9e15;

// With all digits of a double.
std::string Text(double value) { return absl::StrFormat("%.17g", value); }

std::string Micros(std::chrono::nanoseconds duration) {
  return Text(static_cast<double>(duration.count()) /
              kNanosecondsPerMicrosecond);
}

// Rounded up, so that no slot is early.
std::chrono::nanoseconds FromMicros(double micros) {
  const double bounded =
      std::clamp(micros, -kMostMicroseconds, kMostMicroseconds);
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::ceil(bounded * kNanosecondsPerMicrosecond)));
}

const char* Flag(bool flag) { return flag ? "1" : "0"; }

// Returns the numbers of a reply, or nullopt if it is not `count` of them.
std::optional<std::vector<double>> Numbers(const RedisReply& reply,
                                           size_t count) {
  if (reply.elements.size() != count) return std::nullopt;
  std::vector<double> numbers;
  for (const RedisReply& element : reply.elements) {
    double number = 0;
    if (!absl::SimpleAtod(element.text, &number) || !std::isfinite(number)) {
      return std::nullopt;
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::Status Unexpected() {
  return absl::InternalError("Redis: a script returned something else");
}

absl::StatusOr<RateGrant> ToRateGrant(const absl::StatusOr<RedisReply>& reply,
                                      bool leaves) {
  if (!reply.ok()) return reply.status();
  if (leaves) return RateGrant{};
  const std::optional<std::vector<double>> numbers = Numbers(*reply, 6);
  if (!numbers.has_value()) return Unexpected();
  const std::vector<double>& n = *numbers;
  return RateGrant{
      .granted = static_cast<int64_t>(n[0]),
      .first_in = FromMicros(n[1]),
      .interval = FromMicros(n[2]),
      .rate = n[3] > 0 ? std::optional<double>(n[3]) : std::nullopt,
      .members = static_cast<int64_t>(n[4]),
      .ask_again = FromMicros(n[5])};
}

absl::StatusOr<QuotaGrant> ToQuotaGrant(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  const std::optional<std::vector<double>> numbers = Numbers(*reply, 4);
  if (!numbers.has_value()) return Unexpected();
  const std::vector<double>& n = *numbers;
  return QuotaGrant{.change = n[0],
                    .held = n[1],
                    .level = n[2],
                    .members = static_cast<int64_t>(n[3])};
}

}  // namespace

RedisBudgetStore::RedisBudgetStore(std::shared_ptr<RedisClient> client)
    : client_(std::move(client)) {}

void RedisBudgetStore::Grant(RateRequest request, RateCallback callback) {
  // The braces let a cluster keep all of them on one node.
  const std::string key =
      absl::StrCat("waiter:rate:{", request.member.budget, "}");
  const bool leaves = request.member.leaves;
  const RateLimiterOptions& adaptive = request.adaptive;
  client_->Call(
      internal::RateGrantScript(),
      {key, absl::StrCat(key, ":seen"), absl::StrCat(key, ":busy"),
       absl::StrCat(key, ":taken")},
      {request.member.id, Flag(leaves), absl::StrCat(request.want),
       absl::StrCat(request.polls), Flag(request.throttled),
       Text(request.rate.value_or(0)), Text(request.burst),
       Micros(request.horizon), Text(adaptive.beta), Text(adaptive.smoothing),
       Text(adaptive.scale_constant), Text(adaptive.min_fill_rate),
       Text(absl::ToDoubleMicroseconds(adaptive.measurement_bucket)),
       Text(adaptive.growth_limit)},
      [leaves, callback = std::move(callback)](
          const absl::StatusOr<RedisReply>& reply) {
        callback(ToRateGrant(reply, leaves));
      });
}

void RedisBudgetStore::Sync(QuotaRequest request, QuotaCallback callback) {
  const std::string key =
      absl::StrCat("waiter:quota:{", request.member.budget, "}");
  client_->Call(internal::QuotaSyncScript(),
                {key, absl::StrCat(key, ":held"), absl::StrCat(key, ":ends")},
                {request.member.id, Flag(request.member.leaves),
                 Text(request.has), Text(request.spent), Text(request.capacity),
                 Text(request.refill_per_second), Text(request.min_chunk),
                 Micros(request.lease)},
                [callback = std::move(callback)](
                    const absl::StatusOr<RedisReply>& reply) {
                  callback(ToQuotaGrant(reply));
                });
}

void RedisBudgetStore::RunAt(MonotonicTime time, std::function<void()> timer) {
  client_->RunAt(time, std::move(timer));
}

Clock& RedisBudgetStore::clock() { return client_->clock(); }

}  // namespace waiter
