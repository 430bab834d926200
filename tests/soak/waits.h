// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The waits of the soak program, and the state that their functions use: how
// waits, groups and coroutines begin, and all the ways in which they end.

#ifndef WAITER_TESTS_SOAK_WAITS_H_
#define WAITER_TESTS_SOAK_WAITS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/soak/helpers.h"
#include "tests/soak/ledger.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::soak {

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

// Returns the number of observers of single waits that have not been freed.
int64_t OwnObservers();

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

struct StartOptions {
  bool is_owned = true;
  bool is_leaf = false;
  uint8_t shut_downs = 0;
  bool only_brief = false;
};

// Starts a wait of a random kind. Returns no wait if too many are pending.
Owned StartWait(Host& host, uint64_t seed, StartOptions options);
// Cancels, destroys, detaches or checks the wait.
void Change(Owned& owned, const Shared& shared, uint64_t choice);
void Destroy(Owned& owned);

struct OwnedGroup {
  OwnerToken token;
  std::optional<WaitGroup<>> group;
};

OwnedGroup StartGroup(Host& host, uint64_t seed, bool only_brief);
void EndGroup(OwnedGroup& owned, const Shared& shared, uint64_t choice);

struct OwnedCoroutine {
  OwnerToken token;
  waiter::stop_source stop;
};

OwnedCoroutine StartCoroutine(Host& host, uint64_t seed, bool only_brief);
void StopCoroutine(OwnedCoroutine& owned, const Shared& shared);

}  // namespace waiter::soak

#endif  // WAITER_TESTS_SOAK_WAITS_H_
