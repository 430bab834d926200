// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `BatchPoller` (engine/batch_poller.h) that depends on its
// types: the keys, the call, and the completions of the polls.

#ifndef WAITER_ENGINE_INTERNAL_BATCH_STATE_H_
#define WAITER_ENGINE_INTERNAL_BATCH_STATE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/classify.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/internal/batch_call.h"
#include "waiter/engine/internal/batch_queue.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter::internal {

// Thread-safe.
template <typename Key, typename T>
class BatchState final : public BatchQueue {
 public:
  using Function = BatchCall<Key, T>;

  // A wait for a key, registered as long as this exists.
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
      if (!state->Join(*this)) (*done)(waiter::Poll<T>{Gone()});
    }

    std::shared_ptr<BatchState> state;
    std::optional<PollCompletion<T>> done;  // Completion of the current poll.
  };

  BatchState(WaitEngine& engine, Function call, const BatchOptions& options)
      : BatchQueue(engine, options, CheckNotEmpty(call)),
        call_(std::move(call)) {}

 private:
  struct Entry : BatchKey {
    const Key* key = nullptr;  // The key of this entry in `entries_`.
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

  // Calls `body` with each wait for `key` that is due, and empties the list.
  template <typename Body>
  static void TakeDue(BatchKey& key, Body body) {
    for (BatchWait* wait = std::exchange(key.due, nullptr); wait != nullptr;
         wait = wait->next) {
      wait->is_awaited.store(true, std::memory_order_release);
      body(static_cast<Wait&>(*wait));
    }
  }

  void Answer(const std::vector<BatchKey*>& keys,
              const waiter::Poll<>& answer) override {
    for (BatchKey* const key : keys) {
      TakeDue(*key, [&](Wait& wait) {
        (*wait.done)(waiter::Poll<T>(waiter::Poll<>(answer)));
      });
    }
  }

  void Call(const std::vector<BatchKey*>& due,
            std::unique_lock<std::mutex>& lock) override {
    std::vector<Key> keys;
    std::vector<BatchRecipient<T>> recipients;
    keys.reserve(due.size());
    recipients.reserve(due.size());
    for (BatchKey* const key : due) {
      TakeDue(*key, [&](Wait& wait) {
        recipients.push_back({keys.size(), *std::move(wait.done)});
      });
      keys.push_back(*EntryOf(*key).key);
    }
    lock.unlock();
    absl::StatusOr<AnswersByKey<Key, T>> answer = TryBatchCall(call_, keys);
    // Polls that the answers cause must find the limiter as it is now.
    if (counts_calls()) CountCall(StatusOfBatchCall(answer, keys));
    DistributeBatch(std::move(answer), keys, recipients);
  }

  const Function call_;
  // Guarded by `mutex_`. Unlike Abseil's maps, this one stays as it was when
  // memory runs out.
  std::unordered_map<Key, Entry, absl::Hash<Key>> entries_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_BATCH_STATE_H_
