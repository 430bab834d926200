// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One thread's share of a `WaitEngine`: the driver of `WaitLoop` for very many
// waits. Only its thread touches them; other threads post requests to a
// mailbox. Its parts keep the state, and each says what it guarantees; the
// worker has the order of effects.

#ifndef WAITER_ENGINE_ENGINE_WORKER_H_
#define WAITER_ENGINE_ENGINE_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_counters.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/mailbox.h"
#include "waiter/engine/policy_table.h"
#include "waiter/engine/poll_clock.h"
#include "waiter/engine/record_codec.h"
#include "waiter/engine/record_pool.h"
#include "waiter/engine/stop_relay.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

class EngineWorker {
 public:
  // `ordinal` distinguishes the workers of an engine, from 0. `engine_ends`
  // becomes true before `BeginShutDown` of any of them is called.
  EngineWorker(const WaitEngineOptions& options, int ordinal,
               std::shared_ptr<const std::atomic<bool>> engine_ends);

  // Returns the worker whose thread this is. On another thread that is inside
  // of a function of a wait, returns the worker of that wait; otherwise null.
  static const EngineWorker* Current();

  // Returns how often a blocking wait has slept on the worker's thread.
  int64_t blocking_sleeps() const {
    return blocking_sleeps_.load(std::memory_order_relaxed);
  }

  // Any thread may call the following.

  void AddStatistics(EngineStatistics& sum) const { counters_.AddTo(sum); }

  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveReference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  EngineRecord& Allocate();
  void GiveBack(EngineRecord& record) { pool_.GiveBack(record); }
  // The handle of the wait has a reference. The handle removes it, or the end
  // of the wait does if the handle was detached before. The caller may free the
  // worker's last reference as soon as the wait ends, also before this call
  // returns.
  void Start(EngineRecord& record, PendingStart pending_start);
  // In place of `Start`, for many waits: `Prepare` for each, which the calling
  // thread may undo, then `StartAll`, with one lock and at most one wake-up.
  void Prepare(EngineRecord& record, PendingStart pending_start);
  void StartAll(EngineQueue waits);
  // Takes the first record out of a queue that is not empty.
  EngineRecord& Pop(EngineQueue& waits) const;
  void Cancel(EngineRecord& record, Generation generation);
  void PollNow(EngineRecord& record, Generation generation);
  // Ends a wait without a callback, and returns once its task is destroyed. If
  // the calling thread is in the task, returns at once; the task is destroyed
  // when the thread leaves it.
  void Abandon(EngineRecord& record, Generation generation);
  // Takes the answer to a poll.
  void Answer(const EngineTicket& ticket, std::unique_ptr<EngineAnswer> answer);

  // The following belong to the worker's thread: the one of `StartThread`, or,
  // without it, one thread at a time.

  void StartThread();
  void Run();
  MonotonicTime RunDue();

  // The end of the worker, in the order of these calls, by the destructor of
  // the engine. Waits and their functions may start waits until the last.

  // Terminates the program with a message if this thread is inside of a
  // function of one of the worker's waits.
  void RequireOutside() const;
  // Ends all waits, also those that come from now on, and requests a stop of
  // the poll under way. Does not call `WaitEngineOptions::wake`.
  void BeginShutDown();
  // Blocks until no wait is left. Returns whether there was one, or any request
  // of another thread, since the last call.
  bool AwaitShutDown();
  // Ends the thread. Afterwards the clock is not read any more, and `wake` not
  // called. Before this call, no removal of a reference deletes the worker.
  void EndShutDown();

 private:
  friend class EngineStep;
  class ExecutorPoll;
  class ExecutorGiveUp;

  // More handles than a worker can have.
  static constexpr int64_t kManyHandles = int64_t{1} << 62;

  struct WaitRef {
    EngineRecord* record;
    Generation generation;
  };
  // Waits that were cancelled, abandoned or notified. If memory runs out, the
  // worker looks at all waits instead.
  struct WaitRefs {
    void Push(EngineRecord& record, Generation generation) noexcept;
    bool empty() const { return refs.empty() && !overflown; }

    std::vector<WaitRef> refs;
    bool overflown = false;
  };
  // Requests of other threads, or of the worker's own functions.
  struct Mail {
    EngineQueue starts;
    AnswerQueue answers;
    WaitRefs cancelled;
    WaitRefs abandoned;
    WaitRefs notified;

    bool empty() const {
      return starts.empty() && answers.empty() && cancelled.empty() &&
             abandoned.empty() && notified.empty();
    }
  };

  // The answer of the poll that is handed to the executor, and the same again
  // if the executor destroys the poll at once.
  struct HandOver {
    const EngineAnswer* answer;
    std::unique_ptr<EngineAnswer> dropped;
  };

  ~EngineWorker() = default;

  // Makes this thread that of `worker`, or of none. Returns what it was before.
  static EngineWorker* SetCurrent(EngineWorker* worker);
  void RequireNoThread() const;
  // Calls `WaitEngineOptions::wake`. An exception terminates the program.
  void WakeLoop() noexcept;
  auto Enter();
  void Drive(bool until_shut_down);
  template <typename Put>
  void Post(Put put);
  void TakeMail();
  // Sleeps until `wake_up`, or until there is mail.
  void Sleep(MonotonicTime wake_up) noexcept;

  // Does everything that is due. Returns when the next round is due; `max()` if
  // only mail makes one due. Memory that runs out terminates the program.
  MonotonicTime RunRound() noexcept;
  template <typename RecordAt>
  void PrefetchAhead(size_t place, size_t size, RecordAt record_at) const;
  void FireTimers();
  void Process(Mail& mail);
  void ProcessRequests(Mail& mail);
  void Notify(EngineRecord& record);
  void BeginNew();
  void ProcessLocal();
  void Register(EngineRecord& record);
  void TakeAnswer(EngineAnswer& answer);
  void Fire(EngineRecord& record);
  void FireAny(EngineRecord& record);
  void FirePlain(EngineRecord& record);
  bool BeginPlain(EngineRecord& record);
  auto CountShutDown(const EngineRecord& record, StopReason reason);
  static bool IsAwaited(const EngineRecord& record);
  bool IsToAwait(EngineRecord& record);
  void EndFromOutside(EngineRecord& record, StopReason reason);
  void EndWithoutCallback(EngineRecord& record, StopReason reason);
  void EndAll();
  template <typename Body>
  void ForEachPending(Body body);
  static bool IsPending(const WaitRef& wait);

  // Steps of one wait, inside of its task.
  template <typename Body>
  void WithLoop(EngineRecord& record, Body body);
  NextStep Begin(EngineStep& step);
  void Execute(EngineStep& step);
  void CountPollTime();
  void Poll(EngineStep& step);
  void PollWithContext(EngineStep& step);
  void CallStatusFunction(EngineStep& step);
  void PollOnExecutor(EngineStep& step);
  void RunOnExecutor(const EngineTicket& ticket, const PollContext& context,
                     std::unique_ptr<EngineAnswer> answer);
  PollContext ContextOf(EngineStep& step);
  MonotonicTime EndOfPoll(const EngineStep& step);
  NextStep Decide(EngineStep& step);
  NextStep DecidePlain(EngineStep& step);
  template <LoopRules kRules>
  NextStep DecideAndSuspend(EngineRecord& record, MonotonicTime began,
                            MonotonicTime end);
  GivenOrOwnGen<SplitMix64> GenOf(EngineRecord& record);
  GivenOrOwnGen<SplitMix64> OwnGen();
  void OnException(EngineStep& step, std::exception_ptr exception);
  void Park(EngineStep& step);
  void Suspend(EngineRecord& record, NextStep next,
               const WaitLoop& loop) noexcept;
  void FinishWait(EngineStep& step);
  bool ShortenSleep(EngineStep& step);
  void CallBack(EngineStep& step);
  void GiveUp(EngineStep& step);
  void CallOnGiveUp(EngineStep& step);
  bool EnterTask(EngineRecord& record) const;
  void LeaveTask(EngineRecord& record);
  void Release(EngineRecord& record);
  static bool StopRequested(const EngineRecord& record);

  const WaitPolicy& PolicyOf(const EngineRecord& record) const {
    return policies_[record.policy];
  }
  uint32_t AddPolicy(std::shared_ptr<const WaitPolicy> policy);

  WaitEngineOptions options_;  // Without executor and hook after the end.
  const absl::Status status_;  // Result of `Validate(options_)`.
  const bool has_executor_;
  Clock& clock_;
  const bool sleeps_on_condition_;
  const std::shared_ptr<const std::atomic<bool>> engine_ends_;
  // The engine has one reference, and each handle has one. Starts do not add to
  // this: it begins with enough for all handles, and `EndShutDown` replaces
  // that by `handles_`.
  std::atomic<int64_t> references_ = kManyHandles + 1;
  std::atomic<int64_t> blocking_sleeps_ = 0;
  EngineCounters counters_;

  RecordPool pool_;
  BasicMailbox<Mail> mailbox_;
  StopRelay stop_relay_;

  // Members of the worker's thread.
  PollClock poll_clock_;
  WaitTimers timers_;
  RecordCodec codec_;
  PolicyTable policies_;
  std::thread thread_;
  Mail local_;  // Of the worker itself, and older than what is in the mailbox.
  Mail taken_;
  Mail local_taken_;
  EngineQueue new_waits_;  // Taken from the mailbox, and not begun yet.
  std::vector<WaitTimers::Timer> due_;
  std::vector<WaitRef> ready_;
  std::vector<WaitRef> polling_;
  bool ending_ = false;
  bool in_round_ = false;
  // `EngineRecord::shut_downs` of the waits that this thread starts.
  uint8_t shut_downs_ = 0;
  HandOver* hand_over_ = nullptr;  // Set while the executor is handed a poll.
  // Number of handles that remove their reference themselves, or have done so:
  // all except those that were detached before their wait ended.
  int64_t handles_ = 0;
  SplitMix64 own_gen_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_WORKER_H_
