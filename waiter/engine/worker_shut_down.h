// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The shutdown of a worker, as its thread sees it: whether the engine ends, and
// how long waits may start each other then.
//
//   shut_down.Look();                    // Once per round.
//   if (shut_down.has_begun()) ...       // End all waits with `kShutDown`.
//   {
//     const auto ancestry = shut_down.Enter(record, StopReason::kShutDown);
//     ...                                // Functions of `record` run.
//   }
//
// A function of a wait that is shut down may start a wait, whose end starts
// another one, and so on. Each wait counts its ancestors that were shut down.
//
// Invariants:
//  * Once `has_begun` is true it stays true, and then it is true for all
//    workers of the engine.
//  * If a function of a wait that is shut down starts a wait, that has one
//    ancestor more. So every chain of starts ends: first without callbacks,
//    then without hooks, and then with the program.

#ifndef WAITER_ENGINE_WORKER_SHUT_DOWN_H_
#define WAITER_ENGINE_WORKER_SHUT_DOWN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/stop_relay.h"
#include "waiter/engine/worker_thread.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

class WorkerShutDown {
 public:
  // `engine_ends` becomes true before `Begin` of any worker is called.
  explicit WorkerShutDown(std::shared_ptr<const std::atomic<bool>> engine_ends)
      : engine_ends_(std::move(engine_ends)) {}

  // Requests a stop of the poll in progress, and of every later one. For any
  // thread.
  void Begin() { stop_relay_.RequestStop(); }

  // For the worker's thread.

  // Reads whether the engine ends. Call it after mail was taken: that may be
  // the only mail that announces the end.
  void Look() { has_begun_ = engine_ends_->load(std::memory_order_acquire); }
  bool has_begun() const { return has_begun_; }

  // Makes `stop` the stop source of the poll in progress, until the result is
  // destroyed.
  [[nodiscard]] auto BeginPoll(const waiter::stop_source& stop) {
    return stop_relay_.BeginPoll(stop);
  }

  // Enters functions of a wait that ends for `reason`. If that is the shutdown,
  // waits that the thread starts descend from it until the result is destroyed.
  [[nodiscard]] auto Enter(const EngineRecord& record, StopReason reason) {
    const uint8_t outer = ancestors_;
    if (reason == StopReason::kShutDown) {
      if (record.shut_downs == EngineRecord::kMaxShutDowns) {
        Die("a WaitEngine cannot end: destructors of captures start waits "
            "again and again; do not start waits there");
      }
      ancestors_ = static_cast<uint8_t>(record.shut_downs + 1);
    }
    return absl::MakeCleanup([this, outer] { ancestors_ = outer; });
  }

  // Returns `EngineRecord::shut_downs` of waits that the thread starts.
  uint8_t ancestors() const { return ancestors_; }

  // Returns whether a wait must end without a callback, and without hooks.
  // Otherwise a callback that always starts its wait again would keep the
  // engine from ending.
  static bool ForbidsCallback(const EngineRecord& record) {
    return record.shut_downs > kMaxAncestors;
  }
  static bool ForbidsHooks(const EngineRecord& record) {
    return record.shut_downs > kMaxAncestors + 1;
  }

 private:
  static constexpr uint8_t kMaxAncestors = 32;

  const std::shared_ptr<const std::atomic<bool>> engine_ends_;
  StopRelay stop_relay_;
  bool has_begun_ = false;
  uint8_t ancestors_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_WORKER_SHUT_DOWN_H_
