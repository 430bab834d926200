// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/wait_scripts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "waiter/durable/server_info.h"
#include "waiter/durable/store.h"
#include "waiter/redis/reply.h"

namespace waiter::internal {
namespace {

// The keys of a partition:
//
//   due      sorted set of pending keys, by the number of the wait
//   rec      hash of records
//   args     hash, of those that have any
//   res      hash of the values of successes
//   done     sorted set of delivered keys, by when to forget them
//   crash    hash: holders that vanished
//   mark     hash: polls of suspects that were never cleared
//   cancel   set of pending keys that are to end
//   leases   sorted set of the ends of leases under which waits may be held
//   meta     hash: the last fence, counters
//
// All times are in microseconds of the server's TIME. Numbers go to redis.call
// as they are, which writes all of their digits, or by `stamp`. No script joins
// texts with two dots, which write numbers with 14 digits.
// tests/support/wait_book.cc is the same in C++.
constexpr absl::string_view kPartition = R"lua(
local due, rec, args, res, done = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local crash, mark, cancel, leases, meta = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(value) return string.format('%.0f', value) end
-- The same of a time; faster, and right where integers have 32 bits.
local function stamp(value) return string.format('%d%06d', math.floor(value / 1000000), value % 1000000) end
local function exists(key) return redis.call('EXISTS', key) == 1 end
local function even(value)
  value = math.floor(value)
  return value - value % 2
end
)lua";

// Returns an odd number above all before.
constexpr absl::string_view kFence = R"lua(
local function next_fence(lease)
  local last = tonumber(redis.call('HGET', meta, 'fence') or 0)
  local fence = even(math.max(now + lease, last + 1)) + 1
  redis.call('HSET', meta, 'fence', fence)
  return fence
end
)lua";

constexpr absl::string_view kClaim = R"lua(
local most, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
local count = #ids
local may_be_more = count == most
-- Under a lease that has passed, all waits were settled, or the holder has vanished. Only then are
-- the numbers of waits looked at, as text costs more than all else.
for i, old in ipairs(redis.call('ZRANGE', leases, '-inf', now, 'BYSCORE')) do
  if redis.call('ZCOUNT', due, old, old) > 0 then
    local scores = redis.call('ZMSCORE', due, unpack(ids))
    for k, id in ipairs(ids) do
      if tonumber(scores[k]) % 2 == 1 then redis.call('HINCRBY', crash, id, 1) end
    end
    break
  end
  redis.call('ZREM', leases, old)
end
local fence, number, records, some_args, cancelled, crashes, marks = 0, '0', {}, {}, {}, {}, {}
if count > 0 then
  fence = next_fence(lease)
  number = text(fence)
  redis.call('ZADD', leases, number, number)
  records = redis.call('HMGET', rec, unpack(ids))
  local moves, known = {}, {}
  for i = 1, count do
    local id = ids[i]
    if records[i] then
      known[#known + 1] = id
    else
      redis.call('ZREM', due, id)
      redis.call('HDEL', crash, id)
      redis.call('HINCRBY', meta, 'orphans', 1)
    end
  end
  if #known < count then
    ids, count = known, #known
    records = count > 0 and redis.call('HMGET', rec, unpack(ids)) or {}
  end
  for i = 1, count do
    moves[2 * i - 1] = number
    moves[2 * i] = ids[i]
  end
  if count > 0 then
    if exists(args) then some_args = redis.call('HMGET', args, unpack(ids)) end
    if exists(crash) then crashes = redis.call('HMGET', crash, unpack(ids)) end
    if exists(mark) then marks = redis.call('HMGET', mark, unpack(ids)) end
    if exists(cancel) then cancelled = redis.call('SMISMEMBER', cancel, unpack(ids)) end
    redis.call('ZADD', due, 'XX', unpack(moves))
  end
end
local next_due = ''
if not may_be_more then
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if first[2] then next_due = text(tonumber(first[2])) end
end
-- Columns, as Lua makes many tables at a price. Those of which nothing is stored are empty.
return {text(now), number, next_due, ids, records, some_args, crashes, marks, cancelled}
)lua";

// The arguments are groups of items with one action and one fence, so that each
// item has as few arguments as can be.
constexpr absl::string_view kSettle = R"lua(
local lease, retain = tonumber(ARGV[1]), tonumber(ARGV[2])
if ARGV[3] ~= '0' then redis.call('HINCRBY', meta, 'polls', ARGV[3]) end
local fence = next_fence(lease)
local number, start, format = text(fence), even(now), string.format
local has_crashes, has_cancels = exists(crash), exists(cancel)
local widths = {r = 3, h = 2, f = 4, k = 2, e = 4}

-- Returns which of the waits are held under a fence. Their keys are arguments.
local function held_under(old, from, to, width)
  local is_held, size = {}, (to - from) / width
  if size > 3 and redis.call('ZCOUNT', due, old, old) <= 2 * size then
    -- Numbers as text cost more than a few keys too many.
    local ids = redis.call('ZRANGE', due, old, old, 'BYSCORE')
    for i = 1, #ids do is_held[ids[i]] = true end
    return is_held
  end
  local ids = {}
  for a = from, to - 1, width do ids[#ids + 1] = ARGV[a] end
  local scores = redis.call('ZMSCORE', due, unpack(ids))
  for i = 1, #ids do
    if scores[i] == old then is_held[ids[i]] = true end
  end
  return is_held
end

local lost, held, settled, gone, values, reasons = {}, {}, {}, {}, {}, {}
local moves, moved, records, recorded, count = {}, 0, {}, 0, 0
local holds_on, at = false, 4
while ARGV[at] do
  local action, old, from, width = ARGV[at], ARGV[at + 1], at + 3, widths[ARGV[at]]
  at = from + tonumber(ARGV[at + 2]) * width
  count = count + (at - from) / width
  local is_held = held_under(old, from, at, width)
  local is_release, ends = action == 'r', action == 'f' or action == 'e'
  local stays = is_release or action == 'h' or action == 'f'
  for a = from, at - 1, width do
    local id = ARGV[a]
    if not is_held[id] then
      lost[#lost + 1] = id
    else
      if has_crashes then settled[#settled + 1] = id end
      local record = ARGV[a + 1]
      if record ~= '' and (stays or retain > 0) then
        records[recorded + 1] = id
        records[recorded + 2] = record
        recorded = recorded + 2
      end
      if is_release then
        local time = start + ARGV[a + 2]
        if has_cancels and redis.call('SISMEMBER', cancel, id) == 1 then time = start end
        local micros = time % 1000000
        moves[moved + 1] = format('%d%06d', (time - micros) / 1000000, micros)
        moves[moved + 2] = id
        moved = moved + 2
      elseif stays then
        holds_on = true
        moves[moved + 1] = number
        moves[moved + 2] = id
        moved = moved + 2
        if action == 'h' then held[#held + 1] = id end
      else
        gone[#gone + 1] = id
      end
      if ends then
        local value, reason = ARGV[a + 2], ARGV[a + 3]
        reasons[reason] = (reasons[reason] or 0) + 1
        if value ~= '' and (stays or retain > 0) then
          values[#values + 1] = id
          values[#values + 1] = value
        end
      end
    end
  end
end
if #settled > 0 then redis.call('HDEL', crash, unpack(settled)) end
if holds_on then redis.call('ZADD', leases, number, number) end
if moved > 0 then redis.call('ZADD', due, 'XX', unpack(moves)) end
if recorded > 0 then redis.call('HSET', rec, unpack(records)) end
if #values > 0 then redis.call('HSET', res, unpack(values)) end
for reason, ends in pairs(reasons) do redis.call('HINCRBY', meta, reason, ends) end
if #gone > 0 then
  redis.call('ZREM', due, unpack(gone))
  if has_cancels then redis.call('SREM', cancel, unpack(gone)) end
  if exists(mark) then redis.call('HDEL', mark, unpack(gone)) end
  if retain > 0 then
    local ends, forget_at = {}, text(now + retain)
    for i, id in ipairs(gone) do
      ends[2 * i - 1] = forget_at
      ends[2 * i] = id
    end
    redis.call('ZADD', done, unpack(ends))
  else
    redis.call('HDEL', rec, unpack(gone))
    redis.call('HDEL', args, unpack(gone))
    redis.call('HDEL', res, unpack(gone))
  end
end
local cancelled = {}
if #held > 0 and has_cancels then
  local wanted = redis.call('SMISMEMBER', cancel, unpack(held))
  for i, id in ipairs(held) do
    if wanted[i] == 1 then cancelled[#cancelled + 1] = id end
  end
end
-- Two for each that ends, so that the store keeps up.
local old = redis.call('ZRANGE', done, '-inf', now, 'BYSCORE', 'LIMIT', 0, 2 * count)
if #old > 0 then
  redis.call('ZREM', done, unpack(old))
  redis.call('HDEL', rec, unpack(old))
  redis.call('HDEL', args, unpack(old))
  redis.call('HDEL', res, unpack(old))
end
return {text(now), number, lost, cancelled}
)lua";

constexpr absl::string_view kEnqueue = R"lua(
local most = tonumber(ARGV[1])
local count = (#ARGV - 1) / 4
local ids = {}
for i = 1, count do ids[i] = ARGV[4 * i - 2] end
local known = redis.call('HMGET', rec, unpack(ids))
local created, records, moves, seen = {}, {}, {}, {}
local record = {string.format('0%.0f ', now), ''}
for i, id in ipairs(ids) do
  local at = 4 * i - 2
  -- A result that may be forgotten is.
  local ends = known[i] and redis.call('ZSCORE', done, id)
  if ends and tonumber(ends) <= now then known[i] = false end
  if known[i] or seen[id] then
    created[i] = '0'
  else
    seen[id] = true
    created[i] = '1'
    records[#records + 1] = id
    record[2] = ARGV[at + 2]
    records[#records + 1] = table.concat(record)
    moves[#moves + 1] = stamp(even(now + tonumber(ARGV[at + 1])))
    moves[#moves + 1] = id
  end
end
if #moves > 0 then
  if redis.call('ZCARD', due) + #moves / 2 > most then
    return redis.error_reply(string.format('FULL more than %.0f waits are pending', most))
  end
  local new = {}
  for i = 2, #moves, 2 do new[#new + 1] = moves[i] end
  if exists(done) then redis.call('ZREM', done, unpack(new)) end
  if exists(args) then redis.call('HDEL', args, unpack(new)) end
  if exists(res) then redis.call('HDEL', res, unpack(new)) end
  redis.call('HSET', rec, unpack(records))
  redis.call('ZADD', due, 'NX', unpack(moves))
  redis.call('HINCRBY', meta, 'enqueued', #moves / 2)
  for i, id in ipairs(ids) do
    if created[i] == '1' and ARGV[4 * i + 1] ~= '' then redis.call('HSET', args, id, ARGV[4 * i + 1]) end
  end
end
return {text(now), table.concat(created)}
)lua";

constexpr absl::string_view kRows = R"lua(
local function rows(ids)
  if #ids == 0 then return {} end
  local records = redis.call('HMGET', rec, unpack(ids))
  local all_args = redis.call('HMGET', args, unpack(ids))
  local values = redis.call('HMGET', res, unpack(ids))
  local scores = redis.call('ZMSCORE', due, unpack(ids))
  local wanted = redis.call('SMISMEMBER', cancel, unpack(ids))
  local all = {}
  for i, id in ipairs(ids) do
    all[i] = {id, records[i] or '', all_args[i] or '', values[i] or '',
      scores[i] and text(tonumber(scores[i])) or '', wanted[i] == 1 and '1' or '0'}
  end
  return all
end
)lua";

constexpr absl::string_view kCancel = R"lua(
for i, id in ipairs(ARGV) do
  local score = redis.call('ZSCORE', due, id)
  local record = redis.call('HGET', rec, id)
  if score and record and string.sub(record, 1, 1) == '0' then
    redis.call('SADD', cancel, id)
    if tonumber(score) % 2 == 0 then redis.call('ZADD', due, 'XX', 'LT', even(now), id) end
  end
end
return rows(ARGV)
)lua";

constexpr absl::string_view kGet = R"lua(
return rows(ARGV)
)lua";

constexpr absl::string_view kScan = R"lua(
local step = redis.call('HSCAN', rec, ARGV[1], 'COUNT', 250)
local ids = {}
for i = 1, #step[2], 2 do ids[#ids + 1] = step[2][i] end
return {step[1], rows(ids)}
)lua";

constexpr absl::string_view kStats = R"lua(
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return {text(now), redis.call('ZCARD', due), redis.call('ZCOUNT', due, '-inf', now - 2000000),
  first[2] and text(tonumber(first[2])) or '', redis.call('ZCARD', done), redis.call('HGETALL', meta)}
)lua";

constexpr absl::string_view kMark = R"lua(
if ARGV[2] == '1' then return redis.call('HINCRBY', mark, ARGV[1], 1) end
redis.call('HDEL', mark, ARGV[1])
redis.call('HDEL', crash, ARGV[1])
return 0
)lua";

// Only policies for all keys evict waits, as their keys have no time to live.
// A user may be denied INFO.
constexpr absl::string_view kOpen = R"lua(
local info = redis.pcall('INFO', 'memory')
local policy = type(info) == 'string' and string.match(info, 'maxmemory_policy:(allkeys%S*)')
if policy then
  return redis.error_reply(string.format(
    'EVICTS maxmemory-policy is %s, so the server may delete waits; set it to noeviction', policy))
end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
)lua";

constexpr absl::string_view kBeat = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 10000000)
redis.call('EXPIRE', KEYS[1], 60)
return redis.call('ZRANGE', KEYS[1], 0, -1)
)lua";

constexpr absl::string_view kSpace = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
return {redis.call('HGETALL', KEYS[1]), redis.call('ZRANGE', KEYS[2], now - 10000000, '+inf', 'BYSCORE')}
)lua";

// Looks at most at some 1000 members of one structure, and compares them with
// the others at the same time, so that no change comes between.
constexpr absl::string_view kCheck = R"lua(
local tables = {rec, due, done, args, res, crash, mark, cancel}
local scans = {'HSCAN', 'ZSCAN', 'ZSCAN', 'HSCAN', 'HSCAN', 'HSCAN', 'HSCAN', 'SSCAN'}
-- Args and results are large.
local counts = {1000, 1000, 1000, 250, 100, 1000, 1000, 1000}
local at, cursor = string.match(ARGV[1] == '' and '1:0' or ARGV[1], '^([1-8]):(%d+)$')
if not at then return redis.error_reply('ERR not a cursor') end
at = tonumber(at)
local step = redis.call(scans[at], tables[at], cursor, 'COUNT', counts[at])
local ids, phases, width = {}, {}, at == 8 and 1 or 2
for i = 1, #step[2], width do
  ids[#ids + 1] = step[2][i]
  if at == 1 then phases[#phases + 1] = string.sub(step[2][i + 1], 1, 1) end
end
local found, pending = {}, 0
-- A step may have more members than it was asked for.
for first = 1, #ids, 1000 do
  local last = math.min(first + 999, #ids)
  local scores, ends, records
  if at == 1 or at > 5 then scores = redis.call('ZMSCORE', due, unpack(ids, first, last)) end
  if at == 1 then ends = redis.call('ZMSCORE', done, unpack(ids, first, last)) end
  if at > 1 and at < 6 then records = redis.call('HMGET', rec, unpack(ids, first, last)) end
  for i = first, last do
    local place, is_faulty = i - first + 1, false
    if at == 1 then
      local is_delivered = phases[i] == '2'
      if not is_delivered and phases[i] ~= '1' then pending = pending + 1 end
      is_faulty = is_delivered == (scores[place] and true or false) or
        is_delivered ~= (ends[place] and true or false)
    elseif at < 6 then
      is_faulty = not records[place]
    else
      is_faulty = not scores[place]
    end
    if is_faulty then found[#found + 1] = ids[i] end
  end
end
local next_cursor = string.format('%d:%s', at, step[1])
if step[1] == '0' then next_cursor = at < 8 and string.format('%d:0', at + 1) or '' end
return {next_cursor, at == 1 and 1 or 0, #ids, pending, redis.call('ZCARD', due), redis.call('HGETALL', meta), found}
)lua";

constexpr absl::string_view kExamine = R"lua(
local repairs, missing = ARGV[1] == '1', tonumber(ARGV[2])
-- Nobody knows any more how long a result was to be kept.
local day = 86400000000
local all = {}
local function report(id, fault) all[#all + 1] = {id, fault} end
local function repair(...)
  if repairs then redis.call(...) end
end
for i = 3, #ARGV do
  local id = ARGV[i]
  local record = redis.call('HGET', rec, id)
  local is_due = redis.call('ZSCORE', due, id) and true or false
  local is_kept = redis.call('ZSCORE', done, id) and true or false
  local is_over = not record or string.sub(record, 1, 1) == '2'
  if not record then
    if is_due then
      report(id, 'n')
      repair('ZREM', due, id)
      repair('HINCRBY', meta, 'orphans', 1)
    end
    if is_kept then
      report(id, 'k')
      repair('ZREM', done, id)
    end
  elseif is_over then
    if is_due then
      report(id, 'p')
      repair('ZREM', due, id)
    elseif not is_kept then
      report(id, 'a')
    end
    if not is_kept then repair('ZADD', done, now + day, id) end
  elseif is_kept then
    report(id, 'd')
    repair('ZREM', done, id)
    repair('ZADD', due, 'NX', even(now), id)
  elseif not is_due then
    report(id, 'a')
    repair('ZADD', due, 'NX', even(now), id)
  end
  local has_leftovers = false
  for _, leftovers in ipairs({args, res, crash, mark}) do
    if (leftovers == args or leftovers == res) and not record or
        (leftovers == crash or leftovers == mark) and is_over then
      if redis.call('HEXISTS', leftovers, id) == 1 then
        has_leftovers = true
        repair('HDEL', leftovers, id)
      end
    end
  end
  if is_over and redis.call('SISMEMBER', cancel, id) == 1 then
    has_leftovers = true
    repair('SREM', cancel, id)
  end
  if has_leftovers then report(id, 'l') end
end
if missing > 0 then
  repair('HINCRBY', meta, 'orphans', missing)
elseif missing < 0 then
  repair('HINCRBY', meta, 'enqueued', -missing)
end
return all
)lua";

// Has no flags and asks for one section at a time, so that it also runs on a
// server that is too old for the others.
constexpr absl::string_view kInspect = R"lua(
local all = {}
for _, section in ipairs({'server', 'memory', 'persistence', 'replication'}) do
  local info = redis.pcall('INFO', section)
  if type(info) ~= 'string' then return '' end
  all[#all + 1] = info
end
return table.concat(all)
)lua";

absl::Status Unexpected() {
  return absl::InternalError("Redis: a script returned something else");
}

// Reads the elements of a reply one by one. Once one is not as expected,
// `failed` says so.
class Elements {
 public:
  explicit Elements(const RedisReply& reply) : reply_(reply) {}

  bool failed() const { return failed_; }
  bool done() const { return at_ == reply_.elements.size(); }

  const RedisReply& Next() {
    static const auto& nothing = *new RedisReply;
    if (done()) {
      failed_ = true;
      return nothing;
    }
    return reply_.elements[at_++];
  }
  const std::string& Text() { return Next().text; }
  int64_t Number() {
    const RedisReply& next = Next();
    if (next.type == RedisReply::Type::kInteger) return next.integer;
    int64_t number = 0;
    if (!absl::SimpleAtoi(next.text, &number)) failed_ = true;
    return number;
  }
  std::optional<int64_t> OptionalNumber() {
    if (done() || !reply_.elements[at_].text.empty()) return Number();
    ++at_;
    return std::nullopt;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const RedisReply& element : Next().elements) {
      texts.push_back(element.text);
    }
    return texts;
  }

 private:
  const RedisReply& reply_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::vector<StoredWait> ReadWaits(const RedisReply& rows, bool& failed) {
  std::vector<StoredWait> waits;
  for (const RedisReply& row : rows.elements) {
    Elements from(row);
    StoredWait& wait = waits.emplace_back();
    wait.key = from.Text();
    wait.record = from.Text();
    wait.args = from.Text();
    wait.value = from.Text();
    wait.due_us = from.OptionalNumber();
    wait.is_cancelled = from.Text() == "1";
    failed |= from.failed();
  }
  return waits;
}

}  // namespace

const RedisScript& ClaimScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter wait.claim 1\n",
                   kPartition, kFence, kClaim));
  return script;
}
const RedisScript& SettleScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter wait.settle 2\n",
                   kPartition, kFence, kSettle));
  return script;
}
const RedisScript& EnqueueScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua\n-- waiter wait.enqueue 1\n", kPartition, kEnqueue));
  return script;
}
const RedisScript& CancelScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter wait.cancel 1\n",
                   kPartition, kRows, kCancel));
  return script;
}
const RedisScript& GetScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=no-writes\n-- waiter wait.get 1\n", kPartition,
                   kRows, kGet));
  return script;
}
const RedisScript& ScanScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=no-writes\n-- waiter wait.scan 1\n", kPartition,
                   kRows, kScan));
  return script;
}
const RedisScript& StatsScript() {
  static const auto& script = *new RedisScript(absl::StrCat(
      "#!lua flags=no-writes\n-- waiter wait.stats 1\n", kPartition, kStats));
  return script;
}
const RedisScript& MarkScript() {
  static const auto& script = *new RedisScript(absl::StrCat(
      "#!lua flags=allow-oom\n-- waiter wait.mark 1\n", kPartition, kMark));
  return script;
}
const RedisScript& OpenScript() {
  // A full server must let workers start, as only they make room.
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter name.open 1\n", kOpen));
  return script;
}
const RedisScript& BeatScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter worker.beat 1\n", kBeat));
  return script;
}

const RedisScript& SpaceScript() {
  static const auto& script = *new RedisScript(absl::StrCat(
      "#!lua flags=no-writes\n-- waiter space.describe 1\n", kSpace));
  return script;
}
const RedisScript& CheckScript() {
  static const auto& script = *new RedisScript(absl::StrCat(
      "#!lua flags=no-writes\n-- waiter wait.check 1\n", kPartition, kCheck));
  return script;
}
const RedisScript& ExamineScript() {
  static const auto& script = *new RedisScript(
      absl::StrCat("#!lua flags=allow-oom\n-- waiter wait.examine 1\n",
                   kPartition, kExamine));
  return script;
}
const RedisScript& InspectScript() {
  static const auto& script =
      *new RedisScript(absl::StrCat("-- waiter server.inspect 1\n", kInspect));
  return script;
}

// The braces let a cluster keep all keys of a partition on one node.
std::vector<std::string> PartitionKeys(const WaitPartition& partition) {
  const std::string prefix =
      absl::StrCat("waiter:{", partition.space, "/", partition.name, "/",
                   partition.index, "}:");
  std::vector<std::string> keys;
  for (const char* key : {"due", "rec", "args", "res", "done", "crash", "mark",
                          "cancel", "leases", "meta"}) {
    keys.push_back(absl::StrCat(prefix, key));
  }
  return keys;
}

// Both keys are on one node.
std::string NamesKey(const std::string& space) {
  return absl::StrCat("waiter:{", space, "}:names");
}
std::string WorkersKey(const std::string& space) {
  return absl::StrCat("waiter:{", space, "}:workers");
}

std::vector<std::string> ClaimArguments(const ClaimRequest& request) {
  return {absl::StrCat(request.most), absl::StrCat(request.lease_us)};
}

std::vector<std::string> SettleArguments(SettleRequest request) {
  std::vector<SettleItem*> items;
  items.reserve(request.items.size());
  for (SettleItem& item : request.items) items.push_back(&item);
  const auto group = [](const SettleItem* item) {
    return std::pair(item->action, item->fence);
  };
  std::stable_sort(items.begin(), items.end(),
                   [&](const SettleItem* a, const SettleItem* b) {
                     return group(a) < group(b);
                   });
  std::vector<std::string> arguments = {absl::StrCat(request.lease_us),
                                        absl::StrCat(request.retain_us),
                                        absl::StrCat(request.polls)};
  arguments.reserve(3 + 4 * items.size());
  for (auto first = items.begin(); first != items.end();) {
    const auto last = std::find_if(
        first, items.end(),
        [&](const SettleItem* item) { return group(item) != group(*first); });
    arguments.emplace_back(1, static_cast<char>((*first)->action));
    arguments.push_back(absl::StrCat((*first)->fence));
    arguments.push_back(absl::StrCat(last - first));
    for (; first != last; ++first) {
      SettleItem& item = **first;
      arguments.push_back(std::move(item.key));
      arguments.push_back(std::move(item.record));
      if (item.action == SettleAction::kRelease) {
        // Even, as times of waits that nobody holds are.
        arguments.push_back(absl::StrCat(item.delay_us + item.delay_us % 2));
      } else if (item.action == SettleAction::kEnd ||
                 item.action == SettleAction::kEndUnheard) {
        arguments.push_back(std::move(item.value));
        arguments.push_back(std::move(item.reason));
      }
    }
  }
  return arguments;
}

std::vector<std::string> EnqueueArguments(const EnqueueRequest& request) {
  std::vector<std::string> arguments = {absl::StrCat(request.most_pending)};
  arguments.reserve(1 + 4 * request.items.size());
  for (const EnqueueItem& item : request.items) {
    arguments.push_back(item.key);
    arguments.push_back(absl::StrCat(item.delay_us));
    arguments.push_back(item.record);
    arguments.push_back(item.args);
  }
  return arguments;
}

std::vector<std::string> ExamineArguments(const ExamineRequest& request) {
  std::vector<std::string> arguments = {request.repairs ? "1" : "0",
                                        absl::StrCat(request.missing)};
  arguments.insert(arguments.end(), request.keys.begin(), request.keys.end());
  return arguments;
}

absl::StatusOr<ClaimReply> ToClaimReply(absl::StatusOr<RedisReply> reply) {
  if (!reply.ok()) return reply.status();
  std::vector<RedisReply>& parts = reply->elements;
  if (parts.size() != 9) return Unexpected();
  Elements from(*reply);
  ClaimReply claimed;
  claimed.now_us = from.Number();
  claimed.fence = from.Number();
  claimed.next_us = from.OptionalNumber();
  std::vector<RedisReply>& keys = parts[3].elements;
  std::vector<RedisReply>& records = parts[4].elements;
  if (from.failed() || records.size() != keys.size()) return Unexpected();
  bool failed = false;
  const auto count = [&](const RedisReply& field) {
    int64_t number = 0;
    if (!field.text.empty()) {
      failed |= !absl::SimpleAtoi(field.text, &number);
    }
    return number;
  };
  claimed.waits.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    // Those of which nothing is stored are short.
    const auto column = [&](size_t part) -> const RedisReply& {
      static const auto& nothing = *new RedisReply;
      const std::vector<RedisReply>& fields = parts[part].elements;
      return i < fields.size() ? fields[i] : nothing;
    };
    claimed.waits.push_back({.key = std::move(keys[i].text),
                             .record = std::move(records[i].text),
                             .args = column(5).text,
                             .crashes = count(column(6)),
                             .marks = count(column(7)),
                             .is_cancelled = column(8).integer == 1});
  }
  if (failed) return Unexpected();
  return claimed;
}

absl::StatusOr<SettleReply> ToSettleReply(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  SettleReply settled;
  settled.now_us = from.Number();
  settled.fence = from.Number();
  settled.lost = from.Texts();
  settled.cancelled = from.Texts();
  if (from.failed()) return Unexpected();
  return settled;
}

absl::StatusOr<EnqueueReply> ToEnqueueReply(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  EnqueueReply enqueued;
  enqueued.now_us = from.Number();
  for (const char created : from.Text()) {
    enqueued.created.push_back(created == '1');
  }
  if (from.failed()) return Unexpected();
  return enqueued;
}

absl::StatusOr<std::vector<StoredWait>> ToStoredWaits(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  bool failed = false;
  std::vector<StoredWait> waits = ReadWaits(*reply, failed);
  if (failed) return Unexpected();
  return waits;
}

absl::StatusOr<WaitStore::ScanReply> ToScanReply(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  WaitStore::ScanReply scanned;
  scanned.cursor = from.Text();
  bool failed = false;
  scanned.waits = ReadWaits(from.Next(), failed);
  if (failed || from.failed() || scanned.cursor.empty()) return Unexpected();
  return scanned;
}

absl::StatusOr<WaitStats> ToWaitStats(const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  WaitStats stats;
  stats.now_us = from.Number();
  stats.pending = from.Number();
  stats.overdue = from.Number();
  stats.next_us = from.OptionalNumber();
  stats.kept = from.Number();
  const std::vector<std::string> meta = from.Texts();
  for (size_t i = 0; i + 1 < meta.size(); i += 2) {
    int64_t count = 0;
    if (meta[i] == "fence" || !absl::SimpleAtoi(meta[i + 1], &count)) continue;
    if (meta[i] == "polls") {
      stats.polls = count;
    } else {
      stats.counters.emplace_back(meta[i], count);
    }
  }
  if (from.failed()) return Unexpected();
  return stats;
}

absl::StatusOr<WaitSpace> ToWaitSpace(const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  WaitSpace space;
  const std::vector<std::string> names = from.Texts();
  for (size_t i = 0; i + 1 < names.size(); i += 2) {
    int64_t partitions = 0;
    if (!absl::SimpleAtoi(names[i + 1], &partitions)) return Unexpected();
    space.names.emplace_back(names[i], partitions);
  }
  space.workers = from.Texts();
  if (from.failed()) return Unexpected();
  std::sort(space.names.begin(), space.names.end());
  return space;
}

absl::StatusOr<CheckReply> ToCheckReply(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  Elements from(*reply);
  CheckReply checked;
  checked.cursor = from.Text();
  checked.sees_records = from.Number() == 1;
  const int64_t members = from.Number();
  checked.records = checked.sees_records ? members : 0;
  checked.pending = from.Number();
  checked.due = from.Number();
  const std::vector<std::string> meta = from.Texts();
  for (size_t i = 0; i + 1 < meta.size(); i += 2) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(meta[i + 1], &count)) continue;
    if (meta[i] == "fence") {
      checked.fence = count;
    } else if (meta[i] == "enqueued") {
      checked.enqueued = count;
    } else if (meta[i] == "orphans") {
      checked.orphans = count;
    } else if (meta[i] != "polls") {
      checked.ended += count;
    }
  }
  checked.keys = from.Texts();
  if (from.failed()) return Unexpected();
  return checked;
}

absl::StatusOr<std::vector<FaultyWait>> ToFaultyWaits(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  std::vector<FaultyWait> waits;
  for (const RedisReply& row : reply->elements) {
    Elements from(row);
    FaultyWait& wait = waits.emplace_back();
    wait.key = from.Text();
    const std::string& fault = from.Text();
    if (from.failed() || fault.size() != 1) return Unexpected();
    wait.fault = static_cast<WaitFault>(fault[0]);
  }
  return waits;
}

absl::StatusOr<WaitServer> ToWaitServer(
    const absl::StatusOr<RedisReply>& reply) {
  if (!reply.ok()) return reply.status();
  return ReadServer(reply->text);
}

}  // namespace waiter::internal
