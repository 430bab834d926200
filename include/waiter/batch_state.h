// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `BatchPoller` (batch_poller.h) that knows its types: what a key
// is, how to ask, and whom to answer. Its waits have this status function:
//
//   BatchedKey<std::string, Instance> ask(state, "i-0abc", *policy);
//   engine.Start(waiter::AsyncWaiter(std::move(ask), policy), Use);

#ifndef WAITER_BATCH_STATE_H_
#define WAITER_BATCH_STATE_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "waiter/async_waiter.h"
#include "waiter/batch_options.h"
#include "waiter/batch_queue.h"
#include "waiter/classify.h"
#include "waiter/poll.h"
#include "waiter/poll_status.h"
#include "waiter/status_function.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_policy.h"

namespace waiter {

// What a call found of its keys.
template <typename Key, typename T = void>
using BatchAnswer = absl::flat_hash_map<Key, Poll<T>>;

// Thread-safe.
template <typename Key, typename T>
class BatchState final : public BatchQueue {
 public:
  using Call =
      std::function<absl::StatusOr<BatchAnswer<Key, T>>(absl::Span<const Key>)>;

  // A wait for a key, from its start to its end.
  struct Wait : BatchWait {
    Wait(std::shared_ptr<BatchState> owner, Key name, const WaitPolicy& policy)
        : state(std::move(owner)) {
      state->Prepare(*this, policy);
      state->Add(*this, std::move(name));
    }
    ~Wait() { state->Remove(*this); }

    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    void Poll(PollCompletion<T> completion) {
      done.emplace(std::move(completion));
      if (!state->Join(*this)) Refuse(*this);
    }

    std::shared_ptr<BatchState> state;
    std::optional<PollCompletion<T>> done;  // Of the poll that is under way.
  };

  BatchState(WaitEngine& engine, Call call, const BatchOptions& options)
      : BatchQueue(engine, options, CheckNotEmpty(call)),
        call_(std::move(call)) {}

 private:
  struct Entry : BatchKey {
    const Key* key = nullptr;  // Of the map.
  };

  // Who gets the answer for the key of this place in the call.
  struct Asker {
    size_t place;
    PollCompletion<T> done;
  };

  void Add(Wait& wait, Key key) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = entries_.try_emplace(std::move(key));
    if (is_new) found->second.key = &found->first;
    ++found->second.waits;
    wait.key = &found->second;
  }

  void Remove(Wait& wait) {
    const std::lock_guard lock(mutex_);
    Leave(wait);
    if (--wait.key->waits == 0) entries_.erase(*EntryOf(*wait.key).key);
  }

  static Entry& EntryOf(BatchKey& key) { return static_cast<Entry&>(key); }

  // Calls `body` with each of the waits that are due.
  template <typename Body>
  static void TakeDue(BatchKey& key, Body body) {
    for (BatchWait* wait = std::exchange(key.due, nullptr); wait != nullptr;
         wait = wait->next) {
      body(static_cast<Wait&>(*wait));
    }
  }

  static void Refuse(Wait& wait) {
    (*wait.done)(waiter::Poll<T>(
        Failed(absl::CancelledError("the BatchPoller was destroyed"))));
  }
  void Reject(const std::vector<BatchKey*>& keys) override {
    for (BatchKey* const key : keys) {
      TakeDue(*key, Refuse);
    }
  }

  void Ask(const std::vector<BatchKey*>& due,
           std::unique_lock<std::mutex>& lock) override {
    std::vector<Key> keys;
    std::vector<Asker> askers;
    keys.reserve(due.size());
    askers.reserve(due.size());
    for (BatchKey* const key : due) {
      TakeDue(*key, [&](Wait& wait) {
        askers.push_back({keys.size(), *std::move(wait.done)});
      });
      keys.push_back(*EntryOf(*key).key);
    }
    lock.unlock();
    Distribute(TryCall(keys), keys, askers);
  }

  absl::StatusOr<BatchAnswer<Key, T>> TryCall(absl::Span<const Key> keys) {
    try {
      return call_(keys);
    } catch (const std::exception& exception) {
      return absl::UnknownError(
          absl::StrCat("the batch call threw: ", exception.what()));
    } catch (...) {
      return absl::UnknownError("the batch call threw");
    }
  }

  static void Distribute(absl::StatusOr<BatchAnswer<Key, T>> answer,
                         const std::vector<Key>& keys,
                         const std::vector<Asker>& askers) {
    if (!answer.ok()) {
      const waiter::Poll<T> failure = FromCallError(answer.status());
      for (const Asker& asker : askers) asker.done(failure);
      return;
    }
    for (size_t i = 0; i < askers.size(); ++i) {
      const size_t place = askers[i].place;
      const auto found = answer->find(keys[place]);
      if (found == answer->end()) {
        askers[i].done(waiter::Poll<T>(NotReady("not in answer")));
      } else if (i + 1 < askers.size() && askers[i + 1].place == place) {
        askers[i].done(found->second);
      } else {
        askers[i].done(std::move(found->second));
      }
    }
  }

  const Call call_;
  absl::node_hash_map<Key, Entry> entries_;
};

// The status function of a wait for a key.
template <typename Key, typename T>
class BatchedKey {
 public:
  // An answer always comes: with the end of the call.
  static constexpr bool kIsAwaited = true;

  BatchedKey(std::shared_ptr<BatchState<Key, T>> state, Key key,
             const WaitPolicy& policy)
      : wait_(std::make_unique<typename BatchState<Key, T>::Wait>(
            std::move(state), std::move(key), policy)) {}

  void operator()(PollCompletion<T> done) { wait_->Poll(std::move(done)); }

 private:
  std::unique_ptr<typename BatchState<Key, T>::Wait> wait_;
};

}  // namespace waiter

#endif  // WAITER_BATCH_STATE_H_
