// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One thread's share of a `WaitEngine`: the driver of `WaitLoop` for very many
// waits. Only its thread touches them; other threads post requests to an inbox.

#ifndef WAITER_ENGINE_ENGINE_WORKER_H_
#define WAITER_ENGINE_ENGINE_WORKER_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/timer_queue.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/engine_task.h"
#include "waiter/loop/next_step.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/poll_context.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter::internal {

class EngineWorker {
 public:
  // `ordinal` distinguishes the workers of an engine, from 0.
  EngineWorker(const WaitEngineOptions& options, int ordinal);

  // Returns the worker whose thread this is, or null.
  static EngineWorker* Current();

  // Any thread may call the following.

  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveReference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  EngineRecord& Allocate();
  void GiveBack(EngineRecord& record);
  void Start(EngineRecord& record, PendingStart pending_start);
  void Cancel(EngineRecord& record, Generation generation);
  // Ends a wait without a callback, and returns once its task is destroyed. If
  // the calling thread is in the task, returns at once; the task is destroyed
  // when the thread leaves it.
  void Abandon(EngineRecord& record, Generation generation);
  void Answer(const EngineTicket& ticket, std::unique_ptr<EngineAnswer> answer);

  // The following belong to the worker's thread: the one of `StartThread`, or,
  // without it, one thread at a time.

  void StartThread();
  void Run();
  MonotonicTime RunDue();
  // Ends all waits and the thread. For the destructor of the engine.
  void ShutDown();

 private:
  friend class EngineStep;

  struct WaitRef {
    EngineRecord* record;
    Generation generation;
  };
  struct GivenAnswer {
    WaitRef wait;
    int64_t attempt;
    MonotonicTime at;
    bool at_once;  // Inside of the status function.
    std::unique_ptr<EngineAnswer> answer;
  };
  struct Inbox {
    EngineQueue starts;
    std::vector<GivenAnswer> answers;
    std::vector<WaitRef> cancelled;
    std::vector<WaitRef> abandoned;

    bool empty() const {
      return starts.empty() && answers.empty() && cancelled.empty() &&
             abandoned.empty();
    }
  };
  struct PolicyEntry {
    std::shared_ptr<const WaitPolicy> policy;
    size_t waits = 0;
  };

  ~EngineWorker() = default;

  void RequireNoThread() const;
  auto Enter();
  EngineRecord& TakeFree();
  void Drive(bool until_shut_down);
  template <typename Put>
  void Post(Put put);
  void RunOnExecutor(const EngineTicket& ticket, const PollContext* context);
  void TakeInbox();
  // Sleeps until `wake_up`, or until a request is posted to the inbox.
  void Sleep(MonotonicTime wake_up);

  // Does everything that is due. Returns when the next round is due; `max()` if
  // only a request in the inbox makes one due.
  MonotonicTime RunRound();
  void Process(Inbox& inbox);
  void BeginNew();
  void ProcessLocal();
  void Register(EngineRecord& record);
  void TakeAnswer(GivenAnswer& given);
  void Fire(EngineRecord& record);
  void EndFromOutside(EngineRecord& record, StopReason reason);
  void EndAbandoned(EngineRecord& record);
  void EndAll();
  static bool IsPending(const WaitRef& wait);

  // Steps of one wait, while its task is claimed.
  template <typename Body>
  void WithLoop(EngineRecord& record, Body body);
  NextStep Begin(EngineStep& step);
  void Execute(EngineStep& step);
  void Poll(EngineStep& step);
  void PollWithContext(EngineStep& step);
  void CallStatusFunction(EngineStep& step);
  void PollOnExecutor(EngineStep& step);
  PollContext ContextOf(EngineStep& step);
  MonotonicTime EndOfPoll();
  absl::BitGenRef GenOf(EngineRecord& record);
  void OnException(EngineStep& step, std::exception_ptr exception);
  void Park(EngineStep& step);
  void CallBack(EngineStep& step);
  void SetTimer(EngineRecord& record, MonotonicTime wake_up,
                MonotonicTime latest);
  void ClearTimer(EngineRecord& record);
  // Returns whether this thread may run functions of the wait; until `Leave`.
  bool EnterTask(EngineRecord& record);
  void LeaveTask(EngineRecord& record);
  void Release(EngineRecord& record);
  static bool StopRequested(const EngineRecord& record);

  // Records of waits between their steps.
  bool NeedsColdState(const EngineOps& ops, const WaitPolicy& policy) const;
  void AddColdState(EngineRecord& record, WaitReport report,
                    const WaitState& state);
  WaitState Unpack(const EngineRecord& record) const;
  void Pack(EngineStep& step);
  void PackIntoColdState(EngineStep& step);
  const WaitPolicy& PolicyOf(const EngineRecord& record) const {
    return *policies_[record.policy].policy;
  }
  uint32_t AddPolicy(std::shared_ptr<const WaitPolicy> policy);
  void RemovePolicy(uint32_t index);

  const WaitEngineOptions options_;
  const absl::Status status_;  // Result of `Validate(options_)`.
  Clock& clock_;
  const bool sleeps_on_condition_;
  const bool full_reports_;
  std::atomic<size_t> references_ = 1;

  std::mutex mutex_;  // Guards the members up to the atomics.
  Inbox inbox_;
  std::vector<EngineRecord*> spare_records_;
  bool shutting_down_ = false;
  bool asleep_ = false;  // Sleeps on the clock until `wake_` is stopped.
  bool idle_ = false;    // Sleeps until `idle_ended_` is notified.
  std::stop_source wake_;
  std::condition_variable idle_ended_;
  std::atomic<bool> has_mail_ = false;

  // Members of the worker's thread.
  EngineSlab slab_;  // `Grow` also needs `mutex_`.
  std::jthread thread_;
  Inbox local_;
  Inbox taken_;
  EngineQueue new_waits_;  // Taken from the inbox, and not begun yet.
  TimerQueue timers_;
  size_t timers_wanted_ = 0;
  std::vector<TimerQueue::Timer> due_;
  std::vector<WaitRef> ready_;
  std::vector<WaitRef> polling_;
  std::vector<EngineRecord*> free_records_;
  uint32_t records_ = 0;  // Size of the slab when the inbox was last taken.
  size_t pending_ = 0;
  bool ending_ = false;
  MonotonicTime now_;
  int polls_per_reading_ = 1;
  int polls_since_reading_ = 0;
  WaitReport scratch_;  // Report of the wait that takes a step.
  SplitMix64 own_gen_;
  absl::BitGenRef gen_;
  std::vector<PolicyEntry> policies_;
  std::vector<uint32_t> free_policies_;
  absl::flat_hash_map<const WaitPolicy*, uint32_t> policy_indexes_;
  uint32_t last_policy_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_WORKER_H_
