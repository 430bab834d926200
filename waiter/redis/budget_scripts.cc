// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/budget_scripts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal {
namespace {

// All times are in microseconds of the server's TIME. Numbers go to redis.call
// unchanged, which writes all of their digits; the operator .. would write only
// fourteen. cli/sim/budget_book.cc is the same in C++, line by line.
constexpr std::string_view kRateGrant = R"lua(#!lua
-- waiter rate.grant 1
local book, seen, busy, taken = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[2] == '1' then
  redis.call('ZREM', seen, member)
  redis.call('ZREM', busy, member)
  redis.call('HDEL', taken, member)
  return {}
end

local want, polls, throttled = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local fixed, burst, horizon = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local stored = redis.call('HMGET', book, 'tat', 'rate', 'w', 'cut', 'window', 'count',
  'measured', 'swept', 'served', 'calls', 'limiting')
local function number(index) return tonumber(stored[index] or 0) end
local function text(value) return string.format('%.17g', value) end
local tat, rate, w, cut = number(1), number(2), number(3), number(4)
local window, count, measured, swept = number(5), number(6), number(7), number(8)
local served, calls, limiting = number(9), number(10) + 1, number(11)

redis.call('ZADD', seen, now, member)
local keep = 3600
if now - swept >= 1000000 or now < swept then
  swept = now
  local gone = redis.call('ZRANGE', seen, '-inf', now - 10000000, 'BYSCORE', 'LIMIT', 0, 100)
  for _, id in ipairs(gone) do
    redis.call('ZREM', seen, id)
    redis.call('ZREM', busy, id)
    redis.call('HDEL', taken, id)
  end
  if rate > 0 then keep = math.max(keep, math.ceil(burst / rate)) end
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, keep) end
end
local members = redis.call('ZCARD', seen)
local part = (calls * 0.6180339887498949) % 1

local smoothing, length = tonumber(ARGV[9]), tonumber(ARGV[10])
if window == 0 or window > now then window = now end
if polls > 0 then
  count = count + polls
  if now - window >= length then
    local windows = math.floor((now - window) / length)
    measured = smoothing * (count * 1000000 / (windows * length)) + (1 - smoothing) * measured
    window = window + windows * length
    count = 0
  end
end

if fixed > 0 then
  rate = fixed
else
  local beta, scale = tonumber(ARGV[11]), tonumber(ARGV[12])
  local least, growth = tonumber(ARGV[13]), tonumber(ARGV[14])
  -- Polls of slots that were granted before a cut come until then.
  local effect = length + math.max(horizon, limiting == 1 and 2000000 / rate or 0)
  local curve = rate
  if throttled then
    if cut == 0 or now - cut >= effect or now < cut then
      if limiting == 0 then
        -- The polls may all be of a measurement that has not ended.
        measured = math.max(measured, count * 1000000 / length)
        rate = measured
      end
      w = math.min(measured, rate)
      curve = beta * w
      cut = now
      limiting = 1
    end
  elseif limiting == 1 then
    local since = (now - cut) / 1000000 - (w * (1 - beta) / scale) ^ (1 / 3)
    curve = scale * since * since * since + w
  end
  if limiting == 1 then rate = math.max(least, math.min(curve, growth * measured)) end
end

local function save()
  redis.call('HSET', book, 'tat', tat, 'rate', rate, 'w', w, 'cut', cut, 'window', window,
    'count', count, 'measured', measured, 'swept', swept, 'served', served, 'calls', calls,
    'limiting', limiting)
end
if fixed == 0 and limiting == 0 then
  save()
  return {text(0), text(0), text(0), text(0), text(members), text(math.max(250000, members * 1000))}
end

local interval = 1000000 / rate
if want > 0 then
  redis.call('ZADD', busy, now, member)
else
  redis.call('ZREM', busy, member)
end
local sharing_time = math.min(math.max(3 * members * interval, 2000000), 10000000)
redis.call('ZREMRANGEBYSCORE', busy, '-inf', now - sharing_time)
local n = math.max(1, redis.call('ZCARD', busy))

local ahead = math.max(horizon, 2 * interval)
tat = math.min(math.max(tat, now - (burst - 1) * interval), now + ahead)
local first = tat
local room = math.floor((now + ahead - tat) / interval)
local period = math.min(5000000, math.max(250000, members * 1000, n * interval))
local part_of_period = period / (n * interval)
local most = 2 * part_of_period + 1
local known = redis.call('HGET', taken, member)
local mine = tonumber(known or served)
mine = math.min(math.max(mine, served - most), served + most)
local fair = math.floor(part_of_period + served - mine)
-- What nobody else wants adds up; those that had more get the last of it.
local reserve = mine > served and 0.4 or 0.25
local spare = room - math.max(1, math.floor(ahead / interval * reserve))
-- A new member leaves most to others that may be new, too.
local granted = math.max(math.min(fair, math.ceil(room * 0.75)), spare, 0)
if not known then granted = math.min(granted, math.ceil(room / 4)) end
granted = math.max(0, math.min(want, granted))
tat = tat + granted * interval
served = served + granted / n
if want > 0 then redis.call('HSET', taken, member, mine + granted) end

local again = period * (1 + 0.1 * part)
if not known then again = again / 5 end
if room < 1 then
  again = math.min(period, first + interval - ahead - now + part * n * interval)
end
save()
return {text(granted), text(first - now), text(interval), text(rate), text(members), text(again)}
)lua";

constexpr std::string_view kQuotaSync = R"lua(#!lua
-- waiter quota.sync 1
local book, tokens, ends, spendings = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, leaves = ARGV[1], ARGV[2] == '1'
local reported, spent = tonumber(ARGV[3]), tonumber(ARGV[4])
local capacity, refill = tonumber(ARGV[5]), tonumber(ARGV[6])
local chunk, lease, in_all = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(value) return string.format('%.17g', value) end

local stored = redis.call('HMGET', book, 'level', 'at', 'total')
local level = tonumber(stored[1] or capacity)
local at = tonumber(stored[2] or now)
local total = tonumber(stored[3] or 0)

local gone = redis.call('ZRANGE', ends, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
for _, id in ipairs(gone) do
  local held = tonumber(redis.call('HGET', tokens, id) or 0)
  level = level + held
  total = total - held
  redis.call('HDEL', tokens, id)
  redis.call('HDEL', spendings, id)
  redis.call('ZREM', ends, id)
end
if now > at then level = level + (now - at) / 1000000 * refill end

local known = redis.call('HGET', tokens, member)
local has = math.max(0, reported)
local n = redis.call('HLEN', tokens)
if known then
  -- Requests without an answer have counted what they reported.
  spent = in_all - tonumber(redis.call('HGET', spendings, member) or in_all - spent)
  -- Undoes what the member did not hear of, and takes what it owes.
  level = level + known - (reported + spent) + math.min(0, reported)
  total = total - known
else
  -- Tokens that were spent unknown to the store count, but leave no debt.
  level = math.max(math.min(level, 0), level - math.max(0, spent)) - has
  n = n + 1
end

local change = 0
if leaves then
  level = math.min(level + has, capacity - total)
  redis.call('HDEL', tokens, member)
  redis.call('HDEL', spendings, member)
  redis.call('ZREM', ends, member)
else
  total = total + has
  level = math.min(level, capacity - total)
  change = math.max(chunk, (level + total) / (n + 1)) - has
  if change > 0 then change = math.min(change, math.max(0, level)) end
  level = level - change
  total = total + change
  redis.call('HSET', tokens, member, has + change)
  redis.call('HSET', spendings, member, in_all)
  redis.call('ZADD', ends, now + lease, member)
end
redis.call('HSET', book, 'level', level, 'at', now, 'total', total, 'capacity', capacity)
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, 3600) end
return {text(change), text(has + change), text(level), text(n)}
)lua";

// Both scripts only read. A rate without reported polls for a long time is
// useless.
constexpr std::string_view kRateStatus = R"lua(#!lua flags=no-writes
-- waiter rate.status 1
local book, seen, busy = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('HMGET', book, 'rate', 'window', 'count', 'measured')
local function text(value) return string.format('%.17g', value) end
local idle = math.max(0, (now - tonumber(stored[2] or now)) / 1000000)
local use = tonumber(stored[4] or 0)
if idle > 10 then
  use = 0
elseif idle > 1 then
  use = tonumber(stored[3] or 0) / idle
end
return {text(tonumber(stored[1] or 0)), text(use),
  text(redis.call('ZCOUNT', seen, now - 10000000, '+inf')),
  text(redis.call('ZCOUNT', busy, now - 2000000, '+inf'))}
)lua";

constexpr std::string_view kQuotaStatus = R"lua(#!lua flags=no-writes
-- waiter quota.status 1
local book, ends = KEYS[1], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('HMGET', book, 'capacity', 'level', 'total')
local function text(value) return string.format('%.17g', value) end
return {text(tonumber(stored[1] or 0)), text(tonumber(stored[2] or 0)),
  text(tonumber(stored[3] or 0)), text(redis.call('ZCOUNT', ends, now, '+inf'))}
)lua";

// One step of a scan of all keys.
constexpr std::string_view kKeyScan = R"lua(#!lua flags=no-writes
-- waiter key.scan 1
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
)lua";

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

}  // namespace

const BudgetScripts& GetBudgetScripts() {
  static const auto& scripts =
      *new BudgetScripts{.rate_grant = RedisScript(kRateGrant),
                         .quota_sync = RedisScript(kQuotaSync),
                         .rate_status = RedisScript(kRateStatus),
                         .quota_status = RedisScript(kQuotaStatus),
                         .key_scan = RedisScript(kKeyScan)};
  return scripts;
}

// The braces let a cluster keep all keys of a budget on one node.
std::vector<std::string> RateKeys(std::string_view budget) {
  const std::string key = absl::StrCat("waiter:rate:{", ToAbsl(budget), "}");
  return {key, absl::StrCat(key, ":seen"), absl::StrCat(key, ":busy"),
          absl::StrCat(key, ":taken")};
}

std::vector<std::string> QuotaKeys(std::string_view budget) {
  const std::string key = absl::StrCat("waiter:quota:{", ToAbsl(budget), "}");
  return {key, absl::StrCat(key, ":held"), absl::StrCat(key, ":ends"),
          absl::StrCat(key, ":spent")};
}

std::vector<std::string> RateArguments(const RateRequest& request) {
  const RateLimiterOptions& adaptive = request.adaptive;
  return {request.member.id,
          Flag(request.member.leaves),
          absl::StrCat(request.want),
          absl::StrCat(request.polls),
          Flag(request.throttled),
          Text(request.rate.value_or(0)),
          Text(request.burst),
          Micros(request.horizon),
          Text(adaptive.smoothing),
          Text(absl::ToDoubleMicroseconds(adaptive.measurement_bucket)),
          Text(adaptive.beta),
          Text(adaptive.scale_constant),
          Text(adaptive.min_fill_rate),
          Text(adaptive.growth_limit)};
}

std::vector<std::string> QuotaArguments(const QuotaRequest& request) {
  return {request.member.id,         Flag(request.member.leaves),
          Text(request.has),         Text(request.spent),
          Text(request.capacity),    Text(request.refill_per_second),
          Text(request.min_chunk),   Micros(request.lease),
          Text(request.spent_in_all)};
}

absl::StatusOr<std::vector<double>> ToNumbers(
    const absl::StatusOr<RedisReply>& reply, size_t count) {
  if (!reply.ok()) return reply.status();
  std::vector<double> numbers;
  for (const RedisReply& element : reply->elements) {
    double number = 0;
    if (!absl::SimpleAtod(element.text, &number) || !std::isfinite(number)) {
      break;
    }
    numbers.push_back(number);
  }
  if (numbers.size() != count || reply->elements.size() != count) {
    return absl::InternalError("Redis: a script returned an unexpected reply");
  }
  return numbers;
}

absl::StatusOr<RateGrant> ToRateGrant(const absl::StatusOr<RedisReply>& reply,
                                      bool leaves) {
  if (reply.ok() && leaves) return RateGrant{};
  const absl::StatusOr<std::vector<double>> numbers = ToNumbers(reply, 6);
  if (!numbers.ok()) return numbers.status();
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
  const absl::StatusOr<std::vector<double>> numbers = ToNumbers(reply, 4);
  if (!numbers.ok()) return numbers.status();
  const std::vector<double>& n = *numbers;
  return QuotaGrant{.change = n[0],
                    .held = n[1],
                    .level = n[2],
                    .members = static_cast<int64_t>(n[3])};
}

}  // namespace waiter::internal
