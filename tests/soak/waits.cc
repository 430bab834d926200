// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/soak/waits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/soak/ledger.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::soak {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

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

}  // namespace

int64_t OwnObservers() { return OwnObserver::alive; }

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

namespace {

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

// Each kind has its part of 64 waits; the others are plain or asynchronous.
Kind DrawKind(SplitMix64& gen) {
  constexpr std::array<std::pair<Kind, uint64_t>, 6> kParts = {
      {{Kind::kObserved, 1},
       {Kind::kThrowing, 3},
       {Kind::kLarge, 4},
       {Kind::kSelf, 2},
       {Kind::kContext, 4},
       {Kind::kAsyncContext, 2}}};
  uint64_t choice = gen() % 64;
  for (const auto& [kind, part] : kParts) {
    if (choice < part) return kind;
    choice -= part;
  }
  return gen() % 4 == 0 ? Kind::kAsync : Kind::kPlain;
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

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace waiter::soak
