// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Handlers that are called at the end of a turn of an `AsioEngineDriver`
// (interop/asio.h): by its thread and executor, but no longer inside the
// engine, and without a detour through the executor's queue.

#ifndef WAITER_INTEROP_INTERNAL_ASIO_TURN_H_
#define WAITER_INTEROP_INTERNAL_ASIO_TURN_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "boost/asio/any_io_executor.hpp"
#include "boost/asio/defer.hpp"
#include "boost/asio/system_executor.hpp"

namespace waiter::internal {

// A handler, with its argument once it may be called.
class AsioItem {
 public:
  AsioItem() = default;
  AsioItem(const AsioItem&) = delete;
  AsioItem& operator=(const AsioItem&) = delete;
  virtual ~AsioItem() = default;

  // Calls the handler. `self` is this.
  virtual void Call(std::unique_ptr<AsioItem> self) = 0;

 private:
  friend class AsioItems;

  std::unique_ptr<AsioItem> next_;
};

// A queue that takes no memory.
class AsioItems {
 public:
  AsioItems() = default;
  AsioItems(const AsioItems&) = delete;
  AsioItems& operator=(const AsioItems&) = delete;
  // Not left to `next_`, whose recursion would be as deep as the queue is long.
  ~AsioItems() {
    while (TakeFirst() != nullptr) {
    }
  }

  void Add(std::unique_ptr<AsioItem> item) {
    AsioItem* const last = item.get();
    (first_ == nullptr ? first_ : last_->next_) = std::move(item);
    last_ = last;
  }

  // Returns null if none.
  std::unique_ptr<AsioItem> TakeFirst() {
    std::unique_ptr<AsioItem> item = std::move(first_);
    if (item != nullptr) first_ = std::move(item->next_);
    return item;
  }

 private:
  std::unique_ptr<AsioItem> first_;
  AsioItem* last_ = nullptr;
};

// Belongs to one thread.
class AsioTurn {
 public:
  explicit AsioTurn(const boost::asio::any_io_executor& executor)
      : executor_(executor) {}

  AsioTurn(const AsioTurn&) = delete;
  AsioTurn& operator=(const AsioTurn&) = delete;

  // Makes this the turn of this thread until the result is destroyed.
  [[nodiscard]] auto Enter() {
    return absl::MakeCleanup(
        [outer = std::exchange(current_, this)] { current_ = outer; });
  }

  // Returns the turn in which this thread is, if a handler of `executor` may be
  // called at its end, otherwise null.
  template <typename Executor>
  static AsioTurn* CurrentFor(const Executor& executor) {
    if (current_ == nullptr || std::is_same_v<Executor, System>) {
      return current_;
    }
    return current_->IsOn(executor) ? current_ : nullptr;
  }

  void Add(std::unique_ptr<AsioItem> item) { items_.Add(std::move(item)); }

  // Calls the handlers in their order. They may destroy the driver. If one
  // throws, the executor calls the others.
  void CallHandlers() {
    const absl::Cleanup post_others = [this] {
      while (std::unique_ptr<AsioItem> item = items_.TakeFirst()) {
        boost::asio::defer(executor_, Later{std::move(item)});
      }
    };
    while (std::unique_ptr<AsioItem> item = items_.TakeFirst()) {
      Later{std::move(item)}();
    }
  }

 private:
  using System = boost::asio::system_executor;

  struct Later {
    void operator()() {
      AsioItem& called = *item;
      called.Call(std::move(item));
    }

    std::unique_ptr<AsioItem> item;
  };

  template <typename Executor>
  bool IsOn(const Executor& executor) const {
    if constexpr (std::is_same_v<Executor, boost::asio::any_io_executor>) {
      return executor == executor_;
    } else {
      const auto* const own = executor_.template target<Executor>();
      return own != nullptr && *own == executor;
    }
  }

  static inline thread_local AsioTurn* current_ = nullptr;

  const boost::asio::any_io_executor& executor_;
  AsioItems items_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_ASIO_TURN_H_
