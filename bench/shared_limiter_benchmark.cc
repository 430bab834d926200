// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the cost of asking a limiter before a poll. It compares a limiter
// that many processes share, a limiter of this process, and a store call per
// poll, which limiters without slots need. Also measures the work of a real
// store with slots and without.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

#ifdef WAITER_HAS_HIREDIS
#include <hiredis/hiredis.h>
#endif

namespace waiter {
namespace {

// Answers each request at the next `Deliver`, with slots whose times have come.
class GenerousStore final : public BudgetStore {
 public:
  void Grant(RateRequest request, RateCallback callback) override {
    request_ = std::move(request);
    callback_ = std::move(callback);
  }
  void Sync(QuotaRequest, QuotaCallback) override {}
  void RunAt(MonotonicTime, std::function<void()>) override {}
  Clock& clock() override { return GetRealClock(); }

  void Deliver(int64_t slots) {
    if (callback_ == nullptr) return;
    RateGrant grant = {.granted = slots,
                       .first_in = -std::chrono::seconds(1),
                       .interval = std::chrono::nanoseconds(1),
                       .rate = 1e9,
                       .members = 10,
                       .ask_again = std::chrono::seconds(5)};
    std::exchange(callback_, nullptr)(grant);
  }

 private:
  RateRequest request_;
  RateCallback callback_;
};

constexpr int64_t kSlots = 1'000'000;
// This is fewer than half of the slots, after which a limiter asks for more.
constexpr int64_t kPolls = 450'000;

void BM_SharedAcquire(benchmark::State& state) {
  const auto store = std::make_shared<GenerousStore>();
  const auto limiter = *SharedRateLimiter::Make(
      store, {.name = "api", .rate = 1e6, .horizon = absl::Seconds(10)});
  store->Deliver(kSlots);
  const MonotonicTime now = GetRealClock().MonotonicNow();
  for (auto _ : state) {
    if (limiter->Acquire(now) != now) state.SkipWithError("no slot");
  }
}
BENCHMARK(BM_SharedAcquire)->Iterations(kPolls);

void BM_AdaptiveAcquire(benchmark::State& state) {
  const MonotonicTime now = GetRealClock().MonotonicNow();
  const auto limiter = *AdaptiveRateLimiter::MakeLimiting({}, 1e9, now);
  MonotonicTime time = now;
  for (auto _ : state) {
    time += std::chrono::microseconds(1);
    benchmark::DoNotOptimize(limiter->Acquire(time));
  }
}
BENCHMARK(BM_AdaptiveAcquire)->Iterations(kPolls);

#ifdef WAITER_HAS_HIREDIS
void BM_CallPerPoll(benchmark::State& state) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the benchmark has one thread
  const char* const port = std::getenv("REDIS_PORT");
  redisContext* const redis =
      port == nullptr ? nullptr : redisConnect("127.0.0.1", std::atoi(port));
  if (redis == nullptr || redis->err != 0) {
    state.SkipWithError("REDIS_PORT names no server on 127.0.0.1");
  }
  for (auto _ : state) {
    // Such a limiter does at least this.
    freeReplyObject(redisCommand(redis, "INCR api"));
  }
  if (redis != nullptr) redisFree(redis);
}
BENCHMARK(BM_CallPerPoll)->UseRealTime();

// A server that counts the work it must do.
class Server {
 public:
  Server() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before other threads
    const char* const port = std::getenv("REDIS_PORT");
    if (port == nullptr) return;
    url_ = absl::StrCat("redis://127.0.0.1:", port);
    redis_ = redisConnect("127.0.0.1", std::atoi(port));
    if (redis_ == nullptr || redis_->err != 0) return;
    Run("FLUSHALL");
    Run("CONFIG RESETSTAT");
    cpu_ = Cpu();
    is_there_ = true;
  }
  ~Server() {
    if (redis_ != nullptr) redisFree(redis_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool is_there() const { return is_there_; }
  const std::string& url() const { return url_; }
  redisContext* redis() { return redis_; }

  void Report(benchmark::State& state, int64_t polls, double seconds) {
    state.counters["polls/s"] = static_cast<double>(polls) / seconds;
    state.counters["calls/s"] = Calls() / seconds;
    state.counters["redis_us/poll"] =
        (Cpu() - cpu_) * 1e6 / static_cast<double>(polls);
  }

 private:
  std::string Run(const char* command) {
    auto* const reply = static_cast<redisReply*>(redisCommand(redis_, command));
    if (reply == nullptr) return "";
    std::string text(reply->str == nullptr ? "" : reply->str, reply->len);
    freeReplyObject(reply);
    return text;
  }
  // Returns the number after `name` in the text of INFO, or zero.
  static double Number(const std::string& info, const std::string& name) {
    const size_t at = info.find(name);
    return at == std::string::npos
               ? 0
               : std::strtod(info.c_str() + at + name.size(), nullptr);
  }
  double Cpu() {
    const std::string info = Run("INFO cpu");
    return Number(info, "used_cpu_sys:") + Number(info, "used_cpu_user:");
  }
  double Calls() {
    const std::string info = Run("INFO commandstats");
    return Number(info, "cmdstat_evalsha:calls=") +
           Number(info, "cmdstat_eval:calls=");
  }

  std::string url_;
  redisContext* redis_ = nullptr;
  bool is_there_ = false;
  double cpu_ = 0;
};

constexpr int kMembers = 10;
constexpr double kPollsPerSecond = 2000;
constexpr auto kTime = std::chrono::seconds(5);

// Polls for each member at the times that `acquire` returns, for `kTime`.
// Returns the number of polls.
int64_t PollAll(
    const std::function<MonotonicTime(size_t member, MonotonicTime)>& acquire) {
  Clock& clock = GetRealClock();
  const MonotonicTime end = clock.MonotonicNow() + kTime;
  std::vector<MonotonicTime> times(kMembers);
  int64_t polls = 0;
  for (MonotonicTime now; (now = clock.MonotonicNow()) < end;) {
    MonotonicTime next = end;
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i] <= now) {
        times[i] = acquire(i, now);
        if (times[i] <= now) ++polls;
      }
      next = std::min(next, times[i]);
    }
    std::this_thread::sleep_until(next);
  }
  return polls;
}

void BM_StoreOfSlots(benchmark::State& state) {
  Server server;
  if (!server.is_there()) {
    state.SkipWithError("REDIS_PORT names no server on 127.0.0.1");
    return;
  }
  std::vector<std::shared_ptr<SharedRateLimiter>> limiters;
  for (int i = 0; i < kMembers; ++i) {
    limiters.push_back(*SharedRateLimiter::Make(
        std::make_shared<RedisBudgetStore>(*RedisClient::Make(server.url())),
        {.name = "api", .rate = kPollsPerSecond}));
  }
  int64_t polls = 0;
  for (auto _ : state) {
    polls += PollAll([&](size_t i, MonotonicTime now) {
      const MonotonicTime time = limiters[i]->Acquire(now);
      if (time <= now) limiters[i]->Update(now, PollStatus::kNotReady);
      return time;
    });
  }
  server.Report(state, polls, std::chrono::duration<double>(kTime).count());
}
BENCHMARK(BM_StoreOfSlots)->Iterations(1)->Unit(benchmark::kMillisecond);

// The algorithm of redis-cell as a script. It needs a request for each poll,
// and another one each time that the poll must wait.
constexpr char kGcra[] = R"(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local ahead = tonumber(ARGV[2]) * interval
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + interval
if tat - now > ahead then return tat - now - ahead end
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', 60000)
return 0)";

void BM_StoreOfGcra(benchmark::State& state) {
  Server server;
  if (!server.is_there()) {
    state.SkipWithError("REDIS_PORT names no server on 127.0.0.1");
    return;
  }
  auto* const loaded = static_cast<redisReply*>(
      redisCommand(server.redis(), "SCRIPT LOAD %s", kGcra));
  const std::string hash(loaded->str, loaded->len);
  freeReplyObject(loaded);
  int64_t polls = 0;
  for (auto _ : state) {
    polls += PollAll([&](size_t, MonotonicTime now) {
      auto* const reply = static_cast<redisReply*>(
          redisCommand(server.redis(), "EVALSHA %s 1 api %f 10", hash.c_str(),
                       1e6 / kPollsPerSecond));
      const std::chrono::microseconds wait(reply->integer);
      freeReplyObject(reply);
      return now + wait;
    });
  }
  server.Report(state, polls, std::chrono::duration<double>(kTime).count());
}
BENCHMARK(BM_StoreOfGcra)->Iterations(1)->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace waiter
