// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds a million waits for a long time, and ends waits in every way:
//
//   ./bazelw run -c opt //tests/soak:soak -- --seconds=3600 --waits=1000000
//
// Two engines hold the waits, one with brief reports and one with an executor.
// Two threads start, cancel, destroy and detach them; functions of the waits do
// the same. A third thread makes small engines and destroys them while they
// still hold waits. ledger.h says what must hold for each wait. In addition,
// the resident memory must not grow after a warm-up.
//
// Prints the seed first, a line every 10 s, and at the end one line with the
// totals. If a check fails, it prints the check and exits with 1. The seed
// repeats the decisions of each thread, but not how the threads interleave.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/soak/helpers.h"
#include "tests/soak/ledger.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

ABSL_FLAG(int64_t, seconds, 3600, "Length of the run.");
ABSL_FLAG(int64_t, waits, 1'000'000, "Waits that are pending at a time.");
ABSL_FLAG(int, threads, 2, "Threads of each of the two large engines.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of all decisions; 0: a random one.");
ABSL_FLAG(absl::Duration, delay, absl::Seconds(10),
          "Usual delay between two polls of a wait. --waits by --delay is the "
          "number of polls per second.");
ABSL_FLAG(int64_t, operations, 20'000,
          "Cancels, destroyed handles and the like per second.");
ABSL_FLAG(absl::Duration, grace, absl::Seconds(60),
          "Time after its deadline when a wait counts as lost, and the longest "
          "time that one call may take.");

namespace waiter::soak {
namespace {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// State that all engines and threads share.
struct Shared {
  explicit Shared(uint64_t seed) : client(seed) {}

  int64_t grace_ms = 0;
  std::atomic<bool> stops = false;
  std::atomic<int64_t> thrown = 0;    // Exceptions that callbacks threw.
  std::atomic<int64_t> caught = 0;    // Exceptions that engines passed on.
  std::atomic<int64_t> observed = 0;  // Waits with the shared observer.
  Pool pool;
  Client client;
};

// Checks the order of the hooks of one wait.
class OwnObserver final : public WaitObserver {
 public:
  OwnObserver() { ++alive; }
  ~OwnObserver() override {
    if (!done_) Fail("an observer was freed without OnDone");
    --alive;
  }
  OwnObserver(const OwnObserver&) = delete;
  OwnObserver& operator=(const OwnObserver&) = delete;

  void BeforePoll(const WaitIdentity&, int64_t attempt) override {
    if (done_ || polling_) Fail("BeforePoll came out of order");
    if (attempt != ++attempts_) Fail("BeforePoll has a wrong attempt");
    polling_ = true;
  }
  void AfterPoll(const PollEvent& poll) override {
    if (done_ || !polling_) Fail("AfterPoll came out of order");
    if (poll.attempt != attempts_) Fail("AfterPoll has a wrong attempt");
    polling_ = false;
  }
  void BeforeSleep(const SleepEvent&) override {
    if (done_ || polling_) Fail("BeforeSleep came out of order");
  }
  void OnDone(const WaitIdentity&, const WaitReport&) override {
    if (done_) Fail("OnDone came twice");
    if (polling_) Fail("OnDone came without AfterPoll");
    done_ = true;
  }

  static std::atomic<int64_t> alive;

 private:
  int64_t attempts_ = 0;
  bool polling_ = false;
  bool done_ = false;
};
std::atomic<int64_t> OwnObserver::alive = 0;

// Counts the hooks of many waits.
class SharedObserver final : public WaitObserver {
 public:
  void BeforePoll(const WaitIdentity&, int64_t) override { ++before_; }
  void AfterPoll(const PollEvent&) override { ++after_; }
  void OnDone(const WaitIdentity&, const WaitReport&) override { ++done_; }

  // Fails unless the hooks of `waits` waits have come.
  void Check(int64_t waits) const {
    if (before_ != after_ || done_ != waits) {
      Fail(absl::StrCat("the observer of ", waits, " waits saw ", done_.load(),
                        " OnDone, ", before_.load(), " BeforePoll and ",
                        after_.load(), " AfterPoll"));
    }
  }

 private:
  std::atomic<int64_t> before_ = 0;
  std::atomic<int64_t> after_ = 0;
  std::atomic<int64_t> done_ = 0;
};

// The handle of a wait, or no wait.
struct Owned {
  // Returns true if this has no wait, or if the wait has ended.
  bool HasEnded() const {
    return token.entry() == nullptr || token.entry()->functions == 0;
  }

  OwnerToken token;
  WaitHandle wait;
};

// Handles that functions of waits may use. Their waits are leaves, so no two of
// them wait for each other.
struct Leaves {
  std::mutex mutex;
  std::vector<Owned> waits;
};

// Policies for one --delay, by how long the wait lasts.
struct PolicyChoice {
  std::shared_ptr<const WaitPolicy> policy;
  absl::Duration timeout;
  bool is_observed;
};
struct Policies {
  std::vector<PolicyChoice> lasting;
  std::vector<PolicyChoice> brief;
  std::vector<PolicyChoice> unbounded;
};

}  // namespace

// An engine and the state that the functions of its waits use.
struct Host {
  Host(Shared& all, const Policies& choices, const WaitEngineOptions& options)
      : shared(all), policies(choices), engine(options) {}
  ~Host() { ending = true; }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Shared& shared;
  const Policies& policies;
  bool is_unreliable = false;  // The executor drops polls or throws.
  std::atomic<bool> ending = false;
  Leaves leaves;
  WaitEngine engine;  // Declared last, so it is destroyed first.
};

namespace {

struct StartOptions {
  bool is_owned = true;
  bool is_leaf = false;
  uint8_t shut_downs = 0;
  bool only_brief = false;
};

void Destroy(Owned& owned) {
  Entry* const entry = owned.token.entry();
  if (entry == nullptr) {
    owned = {};
    return;
  }
  entry->flags |= Entry::kDestroying;
  owned.wait = {};
  if (entry->running != 0) Fail("~WaitHandle returned while a function runs");
  entry->flags |= Entry::kDestroyed;
  if (entry->functions != 0) {
    Fail(
        absl::StrCat("~WaitHandle has not freed the functions of a wait of "
                     "kind ",
                     KindName(entry->kind)));
  }
  owned = {};
}

// Expects the wait, which was cancelled, to end within the grace time.
void ExpectEnd(Entry& entry, const Shared& shared) {
  entry.due = std::min<int64_t>(entry.due, NowMs() + shared.grace_ms);
}

void Cancel(Owned& owned, const Shared& shared) {
  Entry* const entry = owned.token.entry();
  if (entry == nullptr) return;
  entry->flags |= Entry::kCancelled;
  ExpectEnd(*entry, shared);
  owned.wait.Cancel();
}

void Detach(Owned& owned, const Shared& shared) {
  Entry* const entry = owned.token.entry();
  if (entry == nullptr) return;
  if (entry->Has(Entry::kUnbounded)) Cancel(owned, shared);
  owned.wait.Detach();
  owned = {};
}

Owned StartWait(Host& host, uint64_t seed, StartOptions options);
void UseLeaves(Host& host, uint64_t seed);

// Checks why a wait ended.
void CheckReport(const Entry& entry, const WaitReport& report) {
  const auto fail = [&](std::string_view what) {
    Fail(absl::StrCat("a wait of kind ", KindName(entry.kind), " ", what, ": ",
                      report.status.ToString()));
  };
  const bool is_ending = entry.host->ending;
  switch (report.reason) {
    case StopReason::kSuccess:
      if (entry.polls == 0) fail("succeeded without a poll");
      return;
    case StopReason::kFailed:
      if (entry.host->is_unreliable) return;
      if (entry.kind != Kind::kThrowing) fail("failed");
      if (report.exception == nullptr) fail("lost its exception");
      return;
    case StopReason::kCancelled:
      if (!entry.Has(Entry::kCancelled)) {
        fail("was cancelled without a request");
      }
      return;
    case StopReason::kShutDown:
      if (!is_ending) fail("was shut down early");
      return;
    case StopReason::kDeadline:
      if (entry.Has(Entry::kUnbounded)) fail("has no deadline, and reached it");
      return;
    case StopReason::kAttempts:
      return;
    default:
      return fail("ended for a reason that it cannot have");
  }
}

// Body of every callback.
void OnEnd(Entry& entry, const WaitReport& report) {
  CheckReport(entry, report);
  Host& host = *entry.host;
  const uint64_t choice = entry.Draw(1);
  const auto shut_downs = static_cast<uint8_t>(
      entry.shut_downs + (report.reason == StopReason::kShutDown ? 1 : 0));
  switch (choice % 32) {
    case 0:
      ++host.shared.thrown;
      throw std::runtime_error("a callback throws");
    case 1:
    case 2: {
      Owned wait = StartWait(host, entry.Draw(2),
                             {.is_owned = false,
                              .is_leaf = entry.Has(Entry::kLeaf),
                              .shut_downs = shut_downs});
      wait.wait.Detach();
      return;
    }
    case 3:
      // Not while the engine ends, because these handles may outlive it.
      if (!entry.Has(Entry::kLeaf) && !host.ending) {
        UseLeaves(host, entry.Draw(3));
      }
      return;
    default:
      return;
  }
}

struct CallBack {
  template <typename Result>
  void operator()(const Result& result) const {
    Entry& entry = token.entry();
    const Call call(entry, Call::kCallBack);
    OnEnd(entry, result.report());
  }
  FunctionToken token;
};

// Body of every synchronous status function.
bool Poll(Entry& entry) {
  const Call call(entry, Call::kPoll);
  return entry.Draw(100 + entry.polls) % 8 == 0;
}

// The handle of a wait that its own function destroys. Owned by that function.
struct SelfHandle {
  std::mutex mutex;
  WaitHandle wait;
};

bool PollSelf(Entry& entry, SelfHandle& self) {
  const Call call(entry, Call::kPoll);
  const uint64_t choice = entry.Draw(100 + entry.polls);
  if (choice % 4 == 0) {
    const std::lock_guard lock(self.mutex);
    if (self.wait.pending()) {
      entry.flags |= Entry::kDestroying;
      self.wait = {};
      entry.flags |= Entry::kDestroyed;
    }
  }
  return choice % 8 < 2;
}

Kind DrawKind(SplitMix64& gen) {
  switch (gen() % 64) {
    case 0:
      return Kind::kObserved;
    case 1:
    case 2:
    case 3:
      return Kind::kThrowing;
    case 4:
    case 5:
    case 6:
    case 7:
      return Kind::kLarge;
    case 8:
    case 9:
      return Kind::kSelf;
    case 10:
    case 11:
    case 12:
    case 13:
      return Kind::kContext;
    case 14:
    case 15:
      return Kind::kAsyncContext;
    default:
      return gen() % 4 == 0 ? Kind::kAsync : Kind::kPlain;
  }
}

const PolicyChoice& DrawPolicy(const Policies& policies, SplitMix64& gen,
                               const StartOptions& options) {
  const uint64_t choice = gen() % 64;
  if (choice < 8 || options.only_brief) {
    return policies.brief[gen() % policies.brief.size()];
  }
  if (choice < 12 && options.is_owned) {
    return policies.unbounded[gen() % policies.unbounded.size()];
  }
  return policies.lasting[gen() % policies.lasting.size()];
}

int64_t DueAfter(const Shared& shared, absl::Duration timeout) {
  return timeout == absl::InfiniteDuration()
             ? kNever
             : NowMs() + absl::ToInt64Milliseconds(timeout) + shared.grace_ms;
}

// Returns the entry for a wait that begins now.
Ledger::Opening OpeningOf(Host& host, Kind kind, SplitMix64& gen,
                          absl::Duration timeout, const StartOptions& options) {
  uint32_t flags = 0;
  if (timeout == absl::InfiniteDuration()) flags |= Entry::kUnbounded;
  if (options.is_leaf) flags |= Entry::kLeaf;
  if (options.shut_downs > 32) flags |= Entry::kMayVanish;
  return {.kind = kind,
          .flags = flags,
          .shut_downs = options.shut_downs,
          .due = DueAfter(host.shared, timeout),
          .seed = gen(),
          .host = &host};
}

WaitHandle StartOfKind(Host& host, Entry& entry,
                       const std::shared_ptr<const WaitPolicy>& policy) {
  WaitEngine& engine = host.engine;
  const FunctionToken token(entry);
  switch (entry.kind) {
    case Kind::kPlain:
      return engine.Start(
          Waiter([token] { return Poll(token.entry()); }, policy),
          CallBack{token});
    case Kind::kContext:
      return engine.Start(Waiter(
                              [token](const PollContext& context) {
                                return Poll(token.entry()) ||
                                       context.stop_token.stop_requested();
                              },
                              policy),
                          CallBack{token});
    case Kind::kAsync:
      return engine.Start(
          AsyncWaiter(
              [token](PollCompletion<> done) {
                const Call call(token.entry(), Call::kPoll);
                token.entry().host->shared.client.Answer(std::move(done));
              },
              policy),
          CallBack{token});
    case Kind::kAsyncContext:
      return engine.Start(
          AsyncWaiter(
              [token](const PollContext& context, PollCompletion<> done) {
                Entry& mine = token.entry();
                const Call call(mine, Call::kPoll);
                // Some answer immediately.
                if (mine.Draw(100 + mine.polls) % 4 == 0) {
                  return done(context.attempt > 3);
                }
                mine.host->shared.client.Answer(std::move(done));
              },
              policy),
          CallBack{token});
    case Kind::kThrowing:
      return engine.Start(Waiter(
                              [token] {
                                if (Poll(token.entry())) {
                                  throw std::runtime_error("a poll throws");
                                }
                                return false;
                              },
                              policy),
                          CallBack{token});
    case Kind::kObserved:
      return engine.Start(
          Waiter([token] { return Poll(token.entry()); },
                 {.timeout = policy->options().timeout,
                  .backoff = policy->options().backoff,
                  .hooks = {.observer = std::make_shared<OwnObserver>()}}),
          CallBack{token});
    case Kind::kLarge: {
      const std::array<uint64_t, 8> ballast = {entry.Draw(8)};
      return engine.Start(
          Waiter(
              [token, ballast]() -> waiter::Poll<std::string> {
                if (!Poll(token.entry())) return NotReady("large");
                return Success(absl::StrCat("the value ", ballast[0]));
              },
              policy),
          [token, ballast](const WaitResult<std::string>& result) {
            if (result.ok() &&
                *result != absl::StrCat("the value ", ballast[0])) {
              Fail(absl::StrCat("a value changed to ", *result));
            }
            CallBack{token}(result);
          });
    }
    case Kind::kSelf: {
      auto self = std::make_shared<SelfHandle>();
      WaitHandle wait = engine.Start(
          Waiter([token, self] { return PollSelf(token.entry(), *self); },
                 policy),
          CallBack{token});
      const std::lock_guard lock(self->mutex);
      self->wait = std::move(wait);
      return {};
    }
    default:
      Fail("no wait of this kind");
  }
}

// Starts a wait of a random kind. Returns no wait if too many are pending.
Owned StartWait(Host& host, uint64_t seed, StartOptions options) {
  SplitMix64 gen(seed);
  const Kind kind = DrawKind(gen);
  if (kind == Kind::kSelf) options.is_owned = false;
  const PolicyChoice& choice = DrawPolicy(host.policies, gen, options);
  Entry* const entry =
      Ledger::Get().Open(OpeningOf(host, kind, gen, choice.timeout, options));
  if (entry == nullptr) return {};
  if (choice.is_observed && kind != Kind::kObserved) ++host.shared.observed;
  Owned owned{.token = OwnerToken(*entry), .wait = {}};
  owned.wait = StartOfKind(host, *entry, choice.policy);
  // The status function owns the handle.
  if (kind == Kind::kSelf) return {};
  return owned;
}

// Starts, cancels, destroys or detaches a leaf, inside a function of a wait.
void UseLeaves(Host& host, uint64_t seed) {
  constexpr size_t kMost = 256;
  SplitMix64 gen(seed);
  Owned leaf;
  {
    const std::lock_guard lock(host.leaves.mutex);
    std::vector<Owned>& waits = host.leaves.waits;
    if (!waits.empty() && (waits.size() >= kMost || gen() % 2 == 0)) {
      std::swap(waits[gen() % waits.size()], waits.back());
      leaf = std::move(waits.back());
      waits.pop_back();
    }
  }
  if (leaf.token.entry() != nullptr) {
    switch (gen() % 4) {
      case 0:
        Cancel(leaf, host.shared);
        break;
      case 1:
        return Detach(leaf, host.shared);
      default:
        break;
    }
    return Destroy(leaf);
  }
  leaf = StartWait(host, gen(), {.is_leaf = true});
  if (leaf.token.entry() == nullptr) return;
  const std::lock_guard lock(host.leaves.mutex);
  host.leaves.waits.push_back(std::move(leaf));
}

struct OwnedGroup {
  OwnerToken token;
  std::optional<WaitGroup<>> group;
};

OwnedGroup StartGroup(Host& host, uint64_t seed, bool only_brief) {
  SplitMix64 gen(seed);
  const StartOptions start = {.is_owned = false, .only_brief = only_brief};
  const PolicyChoice& choice = DrawPolicy(host.policies, gen, start);
  Entry* const entry = Ledger::Get().Open(
      OpeningOf(host, Kind::kGroup, gen, choice.timeout, {}));
  if (entry == nullptr) return {};
  OwnedGroup owned{.token = OwnerToken(*entry), .group = {}};
  const FunctionToken token(*entry);
  const auto poll = [token] {
    Entry& mine = token.entry();
    const Call call(mine, Call::kMemberPoll);
    return mine.Draw(100 + mine.polls) % 8 == 0;
  };
  const size_t count = gen() % 8;
  std::vector<Waiter<decltype(poll)>> waits;
  waits.reserve(count);
  for (size_t i = 0; i < count; ++i) waits.emplace_back(poll, choice.policy);
  if (choice.is_observed) {
    host.shared.observed += static_cast<int64_t>(count);
  }
  WaitGroupOptions options;
  if (gen() % 2 == 0) options.successes_required = gen() % (count + 2);
  owned.group.emplace(host.engine, std::move(waits), options,
                      [token, count](const std::vector<WaitResult<>>& results) {
                        const Call call(token.entry(), Call::kCallBack);
                        if (results.size() != count) {
                          Fail("a group lost a result");
                        }
                        for (const WaitResult<>& result : results) {
                          if (result.reason() == StopReason::kInvalidOptions) {
                            Fail("a wait of a group has no result");
                          }
                        }
                      });
  return owned;
}

void EndGroup(OwnedGroup& owned, const Shared& shared, uint64_t choice) {
  Entry* const entry = owned.token.entry();
  if (entry == nullptr) return;
  if (choice % 2 == 0) {
    entry->flags |= Entry::kCancelled;
    ExpectEnd(*entry, shared);
    owned.group->Cancel();
  }
  if (choice % 3 == 0) {
    owned.group->Detach();
  } else {
    entry->flags |= Entry::kDestroying;
    owned.group.reset();
    if (entry->running != 0) Fail("~WaitGroup returned while a function runs");
    entry->flags |= Entry::kDestroyed;
  }
  owned = {};
}

// A coroutine that no other coroutine awaits.
struct Task {
  // NOLINTBEGIN(readability-identifier-naming): names of the language
  struct promise_type {
    static Task get_return_object() { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { Fail("an exception left a coroutine"); }
  };
  // NOLINTEND(readability-identifier-naming)
};

template <typename W>
Task AwaitWait(Host& host, FunctionToken token, W wait,
               waiter::stop_token stop) {
  try {
    const WaitResult<> result =
        // NOLINTNEXTLINE(bugprone-use-after-move): a parameter of a coroutine
        co_await Await(host.engine, std::move(wait), std::move(stop));
    const Call call(token.entry(), Call::kCallBack);
    CheckReport(token.entry(), result.report());
  } catch (const std::runtime_error& error) {
    // The status function throws nothing, but an executor may.
    const Call call(token.entry(), Call::kCallBack);
    if (!host.is_unreliable) {
      Fail(absl::StrCat("co_await threw ", error.what()));
    }
  }
}

struct OwnedCoroutine {
  OwnerToken token;
  waiter::stop_source stop;
};

OwnedCoroutine StartCoroutine(Host& host, uint64_t seed, bool only_brief) {
  SplitMix64 gen(seed);
  const StartOptions start = {.is_owned = false, .only_brief = only_brief};
  const PolicyChoice& choice = DrawPolicy(host.policies, gen, start);
  Entry* const entry = Ledger::Get().Open(
      OpeningOf(host, Kind::kCoroutine, gen, choice.timeout, {}));
  if (entry == nullptr) return {};
  OwnedCoroutine owned{.token = OwnerToken(*entry), .stop = {}};
  const FunctionToken token(*entry);
  if (choice.is_observed) ++host.shared.observed;
  Waiter wait([token] { return Poll(token.entry()); }, choice.policy);
  AwaitWait(host, token, std::move(wait), owned.stop.get_token());
  return owned;
}

void StopCoroutine(OwnedCoroutine& owned, const Shared& shared) {
  if (owned.token.entry() == nullptr) return;
  owned.token.entry()->flags |= Entry::kCancelled;
  ExpectEnd(*owned.token.entry(), shared);
  owned.stop.request_stop();
  owned = {};
}

// Cancels, destroys, detaches or checks the wait.
void Change(Owned& owned, const Shared& shared, uint64_t choice) {
  switch (choice % 8) {
    case 0:
    case 1:
      return Cancel(owned, shared);
    case 2:
      Cancel(owned, shared);
      return Detach(owned, shared);
    case 3:
      return Detach(owned, shared);
    case 4:
    case 5:
      return Destroy(owned);
    case 6:
      Cancel(owned, shared);
      return Destroy(owned);
    default:
      if (owned.token.entry() != nullptr && !owned.wait.pending() &&
          !owned.token.entry()->Has(Entry::kCalledBack)) {
        Fail("a wait is not pending, and has not been called back");
      }
  }
}

// The work of a thread outside the engines.
class Outside {
 public:
  Outside(Host& brief, Host& full, uint64_t seed, int64_t waits,
          int64_t operations)
      : brief_(brief),
        full_(full),
        gen_(seed),
        waits_(waits),
        operations_(operations),
        held_(static_cast<size_t>(waits / 2 + waits / 8 + 16)) {}

  // Works until `stops`.
  void Work() {
    int64_t done = 0;
    const int64_t begin = NowMs();
    while (!brief_.shared.stops) {
      activity_.Set("start waits");
      int64_t budget = 500;
      while (Ledger::Get().pending() < waits_ && budget-- > 0) {
        Owned& place = FindPlace();
        activity_.Set("destroy a handle to make place");
        Destroy(place);
        activity_.Set("start a wait");
        place = StartWait(gen_() % 8 == 0 ? full_ : brief_, gen_(), {});
      }
      const int64_t due = (NowMs() - begin) * operations_ / 1000;
      for (int64_t i = 0; i < 200 && done < due; ++i, ++done) Operate();
      // A machine that is too slow skips operations instead of catching up.
      done = std::max(done, due - 1000);
      activity_.Set("sleep");
      if (budget > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    activity_.Set(nullptr);
  }

  // Changes three quarters of the waits, and ends all groups and coroutines.
  void EndSome() {
    activity_.Set("destroy handles at the end");
    for (size_t i = 0; i < held_.size(); ++i) {
      if (i % 4 != 0) Change(held_[i], brief_.shared, gen_());
      if (i % 4096 == 0) activity_.Set("destroy handles at the end");
    }
    activity_.Set("end groups");
    for (OwnedGroup& group : groups_) EndGroup(group, brief_.shared, gen_());
    activity_.Set("stop coroutines");
    for (OwnedCoroutine& each : coroutines_) {
      StopCoroutine(each, brief_.shared);
    }
    activity_.Set(nullptr);
  }

  // Destroys all handles, after the engines have ended.
  void EndRest() {
    for (Owned& owned : held_) Destroy(owned);
  }

  const Activity& activity() const { return activity_; }

 private:
  Owned& FindPlace() {
    for (int i = 0; i < 16; ++i) {
      Owned& place = held_[gen_() % held_.size()];
      if (place.HasEnded()) return place;
    }
    return held_[gen_() % held_.size()];
  }

  void Operate() {
    const uint64_t choice = gen_() % 64;
    Host& host = gen_() % 8 == 0 ? full_ : brief_;
    if (choice == 0) {
      activity_.Set("use a group");
      OwnedGroup& group = groups_[gen_() % groups_.size()];
      EndGroup(group, host.shared, gen_());
      group = StartGroup(host, gen_(), /*only_brief=*/false);
    } else if (choice == 1) {
      activity_.Set("use a coroutine");
      OwnedCoroutine& each = coroutines_[gen_() % coroutines_.size()];
      StopCoroutine(each, host.shared);
      each = StartCoroutine(host, gen_(), /*only_brief=*/false);
    } else {
      activity_.Set("change a wait");
      Change(held_[gen_() % held_.size()], host.shared, gen_());
    }
  }

  Host& brief_;
  Host& full_;
  SplitMix64 gen_;
  const int64_t waits_;
  const int64_t operations_;
  std::vector<Owned> held_;
  std::array<OwnedGroup, 64> groups_;
  std::array<OwnedCoroutine, 64> coroutines_;
  Activity activity_;
};

// Makes small engines with random options, and destroys them at random moments.
class SmallEngines {
 public:
  SmallEngines(Shared& shared, const Policies& policies, uint64_t seed)
      : shared_(shared), policies_(policies), gen_(seed) {}

  void Work() {
    while (!shared_.stops) {
      MakeOne();
      ++made_;
      activity_.Set("sleep");
      std::this_thread::sleep_for(std::chrono::milliseconds(gen_() % 8));
    }
    activity_.Set(nullptr);
  }

  int64_t made() const { return made_; }
  const Activity& activity() const { return activity_; }

 private:
  void MakeOne() {
    activity_.Set("make a small engine");
    WaitEngineOptions options = {
        .threads = static_cast<int>(gen_() % 3),
        .tick = std::array{absl::ZeroDuration(), absl::Microseconds(20),
                           absl::Milliseconds(1)}[gen_() % 3],
        .relative_slack = gen_() % 2 == 0 ? 0.1 : 0,
        .report = gen_() % 2 == 0 ? ReportLevel::kLean : ReportLevel::kFull,
        .on_callback_exception = [this](const std::exception_ptr&) {
          ++shared_.caught;
        }};
    const int threads = options.threads;
    bool is_unreliable = false;
    switch (gen_() % 3) {
      case 0:
        options.executor = [this](absl::AnyInvocable<void()> poll) {
          shared_.pool.Run(std::move(poll));
        };
        break;
      case 1:
        is_unreliable = true;
        options.executor =
            [this, turn = std::make_shared<std::atomic<uint64_t>>(gen_())](
                absl::AnyInvocable<void()> poll) {
              shared_.pool.Mistreat(std::move(poll), SplitMix64((*turn)++)());
            };
        break;
      default:
        break;
    }
    auto host = std::make_unique<Host>(shared_, policies_, options);
    host->is_unreliable = is_unreliable;
    std::vector<Owned> held;
    const uint64_t count = gen_() % 32;
    activity_.Set("start waits in a small engine");
    for (uint64_t i = 0; i < count; ++i) {
      const bool only_brief = gen_() % 2 == 0;
      held.push_back(StartWait(*host, gen_(), {.only_brief = only_brief}));
    }
    OwnedGroup group;
    if (gen_() % 4 == 0) group = StartGroup(*host, gen_(), gen_() % 2 == 0);
    OwnedCoroutine coroutine;
    if (gen_() % 4 == 0) {
      coroutine = StartCoroutine(*host, gen_(), gen_() % 2 == 0);
    }
    activity_.Set("turn a small engine");
    Turn(*host, threads, held);
    if (gen_() % 2 == 0) {
      activity_.Set("destroy handles in a small engine");
      for (Owned& owned : held) Destroy(owned);
      EndGroup(group, shared_, gen_());
    }
    if (gen_() % 2 == 0) StopCoroutine(coroutine, shared_);
    activity_.Set("destroy a small engine");
    host->ending = true;
    host.reset();
    activity_.Set("destroy handles after a small engine");
    for (Owned& owned : held) {
      if (!owned.HasEnded()) Fail("a wait has survived its engine");
      Destroy(owned);
    }
    if (group.token.entry() != nullptr) EndGroup(group, shared_, 1);
  }

  void Turn(Host& host, int threads, std::vector<Owned>& held) {
    const uint64_t turns = gen_() % 8;
    for (uint64_t i = 0; i < turns; ++i) {
      if (threads == 0) {
        host.engine.RunDue();
      } else if (gen_() % 2 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(gen_() % 500));
      } else {
        std::this_thread::yield();
      }
      if (!held.empty()) {
        Change(held[gen_() % held.size()], shared_, gen_());
      }
    }
  }

  Shared& shared_;
  const Policies& policies_;
  SplitMix64 gen_;
  std::atomic<int64_t> made_ = 0;
  Activity activity_;
};

Policies MakePolicies(absl::Duration delay,
                      const std::shared_ptr<SharedObserver>& observer) {
  Policies policies;
  const auto add = [&](std::vector<PolicyChoice>& list, absl::Duration timeout,
                       absl::Duration between,
                       std::optional<int64_t> attempts = std::nullopt,
                       std::shared_ptr<WaitObserver> watch = nullptr) {
    WaitOptions options;
    options.timeout = timeout;
    options.backoff = {.initial_delay = between,
                       .max_delay = between,
                       .multiplier = 1,
                       .jitter = Jitter::Equal()};
    options.max_attempts = attempts;
    options.poll_timeout = absl::Milliseconds(50);
    const bool is_observed = watch != nullptr;
    options.hooks.observer = std::move(watch);
    list.push_back({WaitPolicy::Make(options), timeout, is_observed});
  };
  for (const int factor : {1, 2}) {
    for (const int times : {4, 8, 16}) {
      add(policies.lasting, delay * factor * times, delay * factor);
      add(policies.lasting, delay * factor * times, delay * factor,
          /*attempts=*/20);
    }
  }
  add(policies.unbounded, absl::InfiniteDuration(), delay);
  add(policies.unbounded, absl::InfiniteDuration(), delay, /*attempts=*/20);
  add(policies.brief, absl::ZeroDuration(), absl::Milliseconds(1));
  add(policies.brief, absl::Milliseconds(1), absl::Microseconds(100));
  add(policies.brief, absl::Milliseconds(50), absl::Milliseconds(5));
  add(policies.brief, absl::Milliseconds(200), absl::Milliseconds(200));
  add(policies.brief, absl::Seconds(1), absl::ZeroDuration(), /*attempts=*/5);
  add(policies.brief, absl::Milliseconds(20), absl::Milliseconds(2),
      std::nullopt, observer);
  return policies;
}

// Returns the resident memory of this program.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}
// Returns the bytes that are allocated by `malloc`, including the pages of
// engines.
int64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

int64_t Megabytes(int64_t bytes) { return bytes >> 20; }

// Memory of the process at one time, in bytes.
struct Memory {
  static Memory Now() { return {ResidentBytes(), AllocatedBytes()}; }

  int64_t resident = 0;
  int64_t allocated = 0;
};

// The whole run.
class Soak {
 public:
  explicit Soak(uint64_t seed)
      : waits_(absl::GetFlag(FLAGS_waits)),
        ledger_(static_cast<size_t>(waits_ + waits_ / 4 + 16'384)),
        shared_(seed + 1),
        policies_(MakePolicies(absl::GetFlag(FLAGS_delay), observer_)),
        brief_(std::make_unique<Host>(shared_, policies_,
                                      Options(ReportLevel::kLean, false))),
        full_(std::make_unique<Host>(shared_, policies_,
                                     Options(ReportLevel::kFull, true))),
        small_(shared_, policies_, seed + 2) {
    const int64_t operations = absl::GetFlag(FLAGS_operations) / 2;
    for (uint64_t i = 0; i < outside_.size(); ++i) {
      outside_[i] = std::make_unique<Outside>(*brief_, *full_, seed + 3 + i,
                                              waits_, operations);
    }
    shared_.grace_ms = absl::ToInt64Milliseconds(absl::GetFlag(FLAGS_grace));
  }

  void Run() {
    const int64_t end = NowMs() + 1000 * absl::GetFlag(FLAGS_seconds);
    std::vector<std::thread> threads;
    threads.reserve(outside_.size() + 1);
    for (const auto& outside : outside_) {
      threads.emplace_back([&outside] { outside->Work(); });
    }
    threads.emplace_back([this] { small_.Work(); });
    while (NowMs() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    last_ = Memory::Now();
    shared_.stops = true;
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (const auto& outside : outside_) {
      threads.emplace_back([&outside] { outside->EndSome(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::unique_ptr<Host>* host : {&brief_, &full_}) {
      activity_.Set("destroy a large engine");
      (*host)->ending = true;
      host->reset();
    }
    activity_.Set("destroy handles after the engines");
    for (const auto& outside : outside_) outside->EndRest();
    activity_.Set(nullptr);
    CheckEnd();
    has_ended_ = true;
  }

  // Call this repeatedly while `Run` runs. Returns false once `Run` has ended.
  bool Watch() {
    if (has_ended_) return false;
    const int64_t now = NowMs();
    const int64_t limit = shared_.grace_ms;
    activity_.Check("main thread", now, limit);
    small_.activity().Check("thread with small engines", now, limit);
    for (const auto& outside : outside_) {
      outside->activity().Check("outside thread", now, limit);
    }
    if (now >= next_check_) {
      if (!shared_.stops) ledger_.CheckDue(now);
      next_check_ = now + 5'000;
    }
    const int64_t seconds = absl::GetFlag(FLAGS_seconds);
    // The heap fragments for some minutes, because the waits have many sizes
    // and end in a different order than they began. So a slow machine warms up
    // longer, up to `latest`: until 1.25 x `waits_` waits have ended.
    const int64_t warm_up = std::min<int64_t>(1'200'000, seconds * 1000 / 2);
    const int64_t latest = warm_up + seconds * 1000 / 3;
    if (!is_warm_ && now >= warm_up && AreAllPending()) {
      if (warm_.resident == 0 || now <= latest) warm_ = Memory::Now();
      is_warm_ = now > latest || ledger_.ended() >= waits_ + waits_ / 4;
    }
    if (now >= next_line_) {
      std::printf(
          "%lld s, %lld started, %lld ended, %lld pending, %lld small "
          "engines, resident %lld MB, allocated %lld MB\n",
          static_cast<long long>(now / 1000),
          static_cast<long long>(ledger_.started()),
          static_cast<long long>(ledger_.ended()),
          static_cast<long long>(ledger_.pending()),
          static_cast<long long>(small_.made()),
          static_cast<long long>(Megabytes(ResidentBytes())),
          static_cast<long long>(Megabytes(AllocatedBytes())));
      std::fflush(stdout);
      next_line_ += 10'000;
    }
    return true;
  }

  // Checks the memory and prints the last line. Call it after `Run`.
  void Conclude() const {
    // Less growth may have other causes than waits, which a small run cannot
    // tell apart.
    constexpr int64_t kTolerated = int64_t{16} << 20;
    const auto check = [=](std::string_view what, int64_t warm, int64_t last) {
      if (kIsSanitized || last - warm <= std::max(kTolerated, warm / 20)) {
        return;
      }
      Fail(absl::StrCat(what, " memory grew from ", Megabytes(warm), " MB to ",
                        Megabytes(last), " MB"));
    };
    if (warm_.resident == 0) {
      Fail(
          absl::StrCat("there were never ", absl::GetFlag(FLAGS_waits),
                       " waits at a time; a longer run has the time for them"));
    } else {
      check("resident", warm_.resident, last_.resident);
      check("allocated", warm_.allocated, last_.allocated);
    }
    std::printf(
        "soak: %lld waits started, %lld ended once, 0 lost, resident "
        "%lld to %lld MB, allocated %lld to %lld MB\n",
        static_cast<long long>(ledger_.started()),
        static_cast<long long>(ledger_.ended()),
        static_cast<long long>(Megabytes(warm_.resident)),
        static_cast<long long>(Megabytes(last_.resident)),
        static_cast<long long>(Megabytes(warm_.allocated)),
        static_cast<long long>(Megabytes(last_.allocated)));
  }

 private:
  // Returns whether at least 99.9 % of --waits are pending.
  bool AreAllPending() const {
    const int64_t waits = absl::GetFlag(FLAGS_waits);
    return ledger_.pending() >= waits - waits / 1000;
  }

  WaitEngineOptions Options(ReportLevel report, bool has_executor) {
    WaitEngineOptions options = {
        .threads = absl::GetFlag(FLAGS_threads),
        .report = report,
        .on_callback_exception = [this](const std::exception_ptr&) {
          ++shared_.caught;
        }};
    if (has_executor) {
      options.executor = [this](absl::AnyInvocable<void()> poll) {
        shared_.pool.Run(std::move(poll));
      };
    }
    return options;
  }

  void CheckEnd() {
    ledger_.CheckAllEnded();
    observer_->Check(shared_.observed);
    if (shared_.thrown != shared_.caught) {
      Fail(absl::StrCat(shared_.thrown.load(), " callbacks threw, and ",
                        shared_.caught.load(), " exceptions arrived"));
    }
    if (OwnObserver::alive != 0) {
      Fail(absl::StrCat(OwnObserver::alive.load(), " observers are left"));
    }
  }

  const int64_t waits_;
  Ledger ledger_;
  Shared shared_;
  const std::shared_ptr<SharedObserver> observer_ =
      std::make_shared<SharedObserver>();
  const Policies policies_;
  std::unique_ptr<Host> brief_;
  std::unique_ptr<Host> full_;
  SmallEngines small_;
  std::array<std::unique_ptr<Outside>, 2> outside_;
  Activity activity_;  // Activity of `Run` while it ends the engines.
  std::atomic<bool> has_ended_ = false;
  int64_t next_check_ = 5'000;
  int64_t next_line_ = 0;
  Memory warm_;
  bool is_warm_ = false;
  Memory last_;
};

int Main() {
  uint64_t seed = absl::GetFlag(FLAGS_seed);
  if (seed == 0) seed = std::random_device()();
  SetSeed(seed);
  std::printf("replay: ./bazelw run -c opt //tests/soak -- --seed=%llu\n",
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  NowMs();
  Soak soak(seed);
  std::thread thread([&soak] { soak.Run(); });
  while (soak.Watch()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  thread.join();
  soak.Conclude();
  return 0;
}

}  // namespace
}  // namespace waiter::soak

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return waiter::soak::Main();
}
