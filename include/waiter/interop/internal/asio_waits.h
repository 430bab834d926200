// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The waits that complete on an execution context of Boost.Asio
// (interop/asio.h). They end with it:
//
//   the context's destructor            engine
//   ------------------------            ------
//   take the handle of each wait        callback: begin departure, post, end it
//   destroy it, which awaits the engine
//   await departures
//   destroy the handlers
//
// So nothing is posted to a context that is gone, no handler is called once its
// destructor has begun, and every handler is destroyed inside it.

#ifndef WAITER_INTEROP_INTERNAL_ASIO_WAITS_H_
#define WAITER_INTEROP_INTERNAL_ASIO_WAITS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "boost/asio/execution_context.hpp"
#include "waiter/engine/handle.h"
#include "waiter/internal/mutex.h"
#include "waiter/interop/internal/asio_turn.h"

namespace waiter::internal {

// The waits that complete on a context. Its destruction ends them without a
// call of their handlers, as it ends the context's own operations. Thread-safe.
class AsioWaits : public boost::asio::execution_context::service {
 public:
  using key_type = AsioWaits;

  // Found by Asio.
  // NOLINTNEXTLINE(readability-identifier-naming)
  static inline boost::asio::execution_context::id id;

  // One wait. The callback of the wait owns it, until it has left.
  class Entry {
   public:
    // `waits` is null if no context ends the wait.
    explicit Entry(AsioWaits* waits) : waits_(waits) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { Leave(); }

    // To be called once, before the wait begins. Ends the wait if the context
    // is being destroyed.
    void Own(WaitHandle wait) {
      if (waits_ != nullptr) {
        waits_->Add(*this, wait);
      } else {
        wait.Detach();
      }
    }

    // To be called when the wait ends on a thread of the context.
    void Leave() {
      if (waits_ != nullptr) std::exchange(waits_, nullptr)->Remove(*this);
    }

    // To be called when the wait ends on another thread. Until the result is
    // destroyed, this is on the way to its executor, and the context not
    // destroyed any further.
    [[nodiscard]] auto Depart() {
      AsioWaits* const waits = std::exchange(waits_, nullptr);
      if (waits != nullptr) waits->BeginDeparture(*this);
      return absl::MakeCleanup([waits] {
        if (waits != nullptr) waits->EndDeparture();
      });
    }

    // To be called when the wait has ended without a callback. Destroys `item`,
    // which contains this; at the end of the context only later, outside of the
    // engine, which the handler may own.
    void Abandon(std::unique_ptr<AsioItem> item) {
      if (waits_ != nullptr) {
        std::exchange(waits_, nullptr)->Bury(*this, std::move(item));
      }
    }

   private:
    friend class AsioWaits;

    AsioWaits* waits_;  // Null also once the entry has left.
    bool is_linked_ = false;
    Entry* previous_ = nullptr;
    Entry* next_ = nullptr;
    WaitHandle wait_;
  };

  explicit AsioWaits(boost::asio::execution_context& context)
      : boost::asio::execution_context::service(context) {}
  ~AsioWaits() override { destroyed_.fetch_add(1, std::memory_order_release); }

  AsioWaits(const AsioWaits&) = delete;
  AsioWaits& operator=(const AsioWaits&) = delete;

  // Returns the waits of `context`. Quicker than `use_service`, which takes a
  // lock, if this thread asked for the same context before.
  static AsioWaits& Of(boost::asio::execution_context& context) {
    thread_local boost::asio::execution_context* last_context = nullptr;
    thread_local AsioWaits* last = nullptr;
    thread_local uint64_t last_destroyed = 0;
    // Where a context was destroyed, there may be another one now.
    const uint64_t destroyed = destroyed_.load(std::memory_order_acquire);
    if (last_context != &context || last_destroyed != destroyed) {
      last = &boost::asio::use_service<AsioWaits>(context);
      last_context = &context;
      last_destroyed = destroyed;
    }
    return *last;
  }

 private:
  // Takes `wait`, except if the context is being destroyed.
  void Add(Entry& entry, WaitHandle& wait) {
    const MutexLock lock(mutex_);
    if (ended_) return;
    entry.is_linked_ = true;
    entry.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &entry;
    first_ = &entry;
    entry.wait_ = std::move(wait);
  }

  void Remove(Entry& entry) {
    const MutexLock lock(mutex_);
    Unlink(entry);
  }

  void Bury(Entry& entry, std::unique_ptr<AsioItem> item) {
    const MutexLock lock(mutex_);
    Unlink(entry);
    if (ended_) buried_.Add(std::move(item));
    // Otherwise the caller destroys it, without the lock.
  }

  void BeginDeparture(Entry& entry) {
    const MutexLock lock(mutex_);
    Unlink(entry);
    ++departures_;
  }
  void EndDeparture() {
    const MutexLock lock(mutex_);
    if (--departures_ == 0) departed_.Notify();
  }

  // The wait ends, so its handle is no longer needed.
  void Unlink(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!entry.is_linked_) return;
    entry.is_linked_ = false;
    (entry.previous_ == nullptr ? first_ : entry.previous_->next_) =
        entry.next_;
    if (entry.next_ != nullptr) entry.next_->previous_ = entry.previous_;
    entry.wait_.Detach();
  }

  // Takes the handle of any wait. Returns false once no wait is left and none
  // is on the way to its executor.
  bool TakeAny(WaitHandle& wait) {
    const MutexLock lock(mutex_);
    ended_ = true;
    while (first_ == nullptr) {
      if (departures_ == 0) return false;
      departed_.Wait();
    }
    wait = std::move(first_->wait_);
    Unlink(*first_);
    return true;
  }
  std::unique_ptr<AsioItem> TakeBuried() {
    const MutexLock lock(mutex_);
    return buried_.TakeFirst();
  }

  // Called by the destructor of the context, while the services that handlers
  // use still exist. Awaits functions of the waits on other threads.
  void shutdown() override {
    WaitHandle wait;
    while (TakeAny(wait)) wait = WaitHandle();
    while (TakeBuried() != nullptr) {
    }
  }

  // Number of objects of this class that were destroyed.
  static inline std::atomic<uint64_t> destroyed_ = 0;

  Mutex mutex_;
  Entry* first_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int departures_ ABSL_GUARDED_BY(mutex_) = 0;
  Condition departed_{mutex_};
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // The context ends.
  AsioItems buried_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_ASIO_WAITS_H_
