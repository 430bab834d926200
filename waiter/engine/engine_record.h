// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The record that a worker of a `WaitEngine` keeps of one wait.

#ifndef WAITER_ENGINE_ENGINE_RECORD_H_
#define WAITER_ENGINE_ENGINE_RECORD_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/internal/engine_task.h"
#include "waiter/engine/task_gate.h"
#include "waiter/loop.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter::internal {

struct EngineRecord;

// A request that one wait is suspended.
struct SuspendRequest {
  EngineRecord* record;
  Generation generation;
  absl::AnyInvocable<void(WaitToken)> suspended;
  std::unique_ptr<SuspendRequest> next;
};

// State that most waits do not need.
struct ColdState {
  ColdState(const WaitPolicy& policy, WaitReport report_so_far,
            const WaitState& state)
      : report(std::move(report_so_far)), loop(policy, report, state) {}

  WaitReport report;
  WaitLoop loop;
  std::optional<SplitMix64> gen;  // Set if the policy has a seed.
  // Has a state if the status function takes a context.
  waiter::stop_source stop{waiter::nostopstate};
  // Set while it waits for the answer of a poll on an executor.
  std::unique_ptr<SuspendRequest> suspend;
};

// Arguments of a start, held until the worker registers the wait.
struct PendingStart {
  std::shared_ptr<const WaitPolicy> policy;
  waiter::stop_source stop;
};

// A number that one thread may read while another one writes it.
class RelaxedIndex {
 public:
  RelaxedIndex& operator=(uint32_t value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is used as a number
  operator uint32_t() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> value_;
};

// One wait.
struct EngineRecord {
  static constexpr uint8_t kMaxShutDowns = 63;

  enum class Phase : uint8_t {
    kFree,            // Or not registered by its worker yet.
    kStarting,        // Registered; `WaitLoop::Start` comes next.
    kReady,           // To be polled without a delay.
    kSleeping,        // Sleeps until its timer, if it has one.
    kAwaitingAnswer,  // A poll has begun and answers later.
  };

  TaskGate gate;
  const EngineOps* ops;
  alignas(kInlineTaskAlignment) std::array<std::byte, kInlineTaskSize> task;
  MonotonicTime start;
  MonotonicTime deadline;
  int64_t attempts;
  // `pending_start` until the worker registers the wait; afterwards `cold` if
  // `has_cold_state`, otherwise `growth`.
  union {
    WaitGrowth growth = {};
    ColdState* cold;
    alignas(
        PendingStart) std::array<std::byte, sizeof(PendingStart)> pending_start;
  };
  uint32_t index;   // Place in the slab.
  uint32_t policy;  // Place in the worker's table of policies.
  // Stamp of its timer; in a queue, index of the next wait; while no wait uses
  // the record, index of the next one that is free.
  RelaxedIndex stamp;
  Phase phase;  // For the worker alone.
  PollStatus last_status;
  bool has_timer : 1 = false;
  bool has_cold_state : 1;
  bool final_poll : 1;
  bool sleep_is_fixed : 1;
  bool is_plain : 1;  // `IsPlain` (decide.h) holds for its policy.
  // Number of ancestors that ended with the reason `kShutDown`: a function of
  // each one started the next. At most `kMaxShutDowns`. Not a bit-field, which
  // would share memory with `has_timer`: any thread writes this at a start,
  // while the worker may look whether a stale timer counts.
  uint8_t shut_downs;
};
static_assert(sizeof(EngineRecord) == 112);
static_assert(sizeof(PendingStart) <= sizeof(WaitGrowth));

// Returns the arguments of a start that no worker has registered.
inline PendingStart& PendingStartOf(EngineRecord& record) {
  return *std::launder(
      reinterpret_cast<PendingStart*>(record.pending_start.data()));
}

// A record with the fields of a full report.
struct FullEngineRecord : EngineRecord {
  std::array<int64_t, 5> counts;
  MonotonicTime step_started;
  std::chrono::nanoseconds slept;
  std::chrono::nanoseconds longest_poll;
};
static_assert(sizeof(FullEngineRecord) == 176);

// A queue of new waits in the order of their starts, linked by `stamp`.
struct EngineQueue {
  EngineRecord* first = nullptr;
  EngineRecord* last = nullptr;

  bool empty() const { return first == nullptr; }
  void Push(EngineRecord& record) {
    if (empty()) {
      first = &record;
    } else {
      last->stamp = record.index;
    }
    last = &record;
  }
  void Append(EngineQueue other) {
    if (other.empty()) return;
    if (empty()) {
      first = other.first;
    } else {
      last->stamp = other.first->index;
    }
    last = other.last;
  }
};

// A queue of answers or requests in the order in which they were given, linked
// by `next`.
template <typename Node>
class NodeQueue {
 public:
  NodeQueue() = default;
  NodeQueue(NodeQueue&& other) noexcept { Swap(other); }
  NodeQueue& operator=(NodeQueue&& other) noexcept {
    Swap(other);
    return *this;
  }
  // Not left to `next`, whose recursion would be as deep as the queue is long.
  ~NodeQueue() {
    while (Pop() != nullptr) {
    }
  }

  bool empty() const { return first_ == nullptr; }

  void Push(std::unique_ptr<Node> node) {
    Node* const last = node.get();
    (empty() ? first_ : last_->next) = std::move(node);
    last_ = last;
  }

  // Returns null if the queue is empty.
  std::unique_ptr<Node> Pop() {
    if (empty()) return nullptr;
    std::unique_ptr<Node> node = std::move(first_);
    first_ = std::move(node->next);
    return node;
  }

 private:
  void Swap(NodeQueue& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
  }

  std::unique_ptr<Node> first_;
  Node* last_ = nullptr;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_RECORD_H_
