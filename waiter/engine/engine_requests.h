// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The requests to a worker: starts, answers, and requests of the owners of
// handles. Any thread posts; the worker takes everything that was posted, in
// its rounds:
//
//   any thread                         the worker's thread
//   ----------                         -------------------
//   requests.Cancel(record,            if (requests.FetchOthers()) ...
//                   generation);       Process(requests.FetchOwn());
//                                      Process(requests.others());
//                                      requests.Sleep(wake_up);
//
// Invariants:
//  * Requests of one kind are taken in the order in which they were posted.
//    Requests by functions of the worker's waits take no lock, and never
//    overtake requests of other threads.
//  * Only requests to the current wait of a record are posted. The wait may
//    have ended when the request is taken, so the worker checks
//    `WaitRef::IsPending`.
//  * No request is lost for lack of memory: answers, starts and suspensions are
//    linked through themselves, and if the others do not fit into their list,
//    the list says that it has overflowed.
//  * `Abandon` returns once the task is gone, unless the caller is inside.

#ifndef WAITER_ENGINE_ENGINE_REQUESTS_H_
#define WAITER_ENGINE_ENGINE_REQUESTS_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/mailbox.h"
#include "waiter/engine/task_gate.h"
#include "waiter/token.h"

namespace waiter::internal {

class EngineWorker;

// Refers to one wait, which may have ended.
struct WaitRef {
  // Returns whether the wait is registered and has not ended. For the worker.
  bool IsPending() const {
    return record->gate.generation() == generation &&
           record->phase != EngineRecord::Phase::kFree;
  }

  EngineRecord* record;
  Generation generation;
};

// Waits that were cancelled, abandoned or notified. If memory runs out, the
// worker looks at all waits instead.
struct WaitRefs {
  void Push(EngineRecord& record, Generation generation) noexcept;
  bool empty() const { return refs.empty() && !overflowed; }

  std::vector<WaitRef> refs;
  bool overflowed = false;
};

struct EngineMail {
  EngineQueue starts;
  NodeQueue<EngineAnswer> answers;
  NodeQueue<SuspendRequest> suspends;
  WaitRefs cancelled;
  WaitRefs abandoned;  // Their tasks are gone.
  WaitRefs notified;

  bool empty() const {
    return starts.empty() && answers.empty() && suspends.empty() &&
           cancelled.empty() && abandoned.empty() && notified.empty();
  }
};

class EngineRequests {
 public:
  // `wake` may be null. Otherwise it is called after the first post since the
  // last fetch. An exception that leaves it terminates the program.
  EngineRequests(EngineWorker& worker, Clock& clock,
                 std::function<void()> wake);

  EngineRequests(const EngineRequests&) = delete;
  EngineRequests& operator=(const EngineRequests&) = delete;

  // For any thread.

  // The record has its `pending_start`. The wait may end, and free the worker,
  // before the call returns.
  void Start(EngineRecord& record);
  // The same for many waits, with one lock and at most one wake-up.
  void StartAll(EngineQueue waits);
  void Cancel(EngineRecord& record, Generation generation);
  // Throws `std::bad_alloc` before the request takes effect.
  void Suspend(EngineRecord& record, Generation generation,
               absl::AnyInvocable<void(WaitToken)> suspended);
  // Puts a request back for later in the same round, or for the next one. For
  // the worker's thread.
  void SuspendLater(std::unique_ptr<SuspendRequest> request) {
    own_.suspends.Push(std::move(request));
  }
  void PollNow(EngineRecord& record, Generation generation);
  // Ends a wait without a callback, and returns once its task is destroyed. If
  // the calling thread is in the task, returns immediately; the task is
  // destroyed when the thread leaves it.
  void Abandon(EngineRecord& record, Generation generation);
  // Frees the task of an abandoned wait. The caller is inside it.
  void FreeAbandoned(EngineRecord& record, Generation generation);
  // Posts the answer to a poll.
  void Answer(const EngineTicket& ticket, std::unique_ptr<EngineAnswer> answer);

  // For the worker's thread.

  // Returns whether other threads have posted requests that `FetchOthers` has
  // not taken.
  bool has_mail() const { return mailbox_.has_mail(); }
  // Moves the requests of other threads to `others()`, which must be empty.
  // Returns false if no thread has posted any.
  bool FetchOthers();
  EngineMail& others() { return others_; }

  // The same for requests by functions of the worker's waits. These are older
  // than what other threads have posted since the last fetch.
  bool has_own() const { return !own_.empty(); }
  bool has_own_answers() const { return !own_.answers.empty(); }
  EngineMail& FetchOwn();

  // Sleeps until `wake_up`, or until there is mail.
  void Sleep(MonotonicTime wake_up) noexcept;
  // Blocks until there is mail, and returns true; false once this is closed.
  bool Rest() { return mailbox_.Rest(); }

  // For the end of the worker, by the thread that destroys the engine.

  void WakeThread() {
    mailbox_.Post([](EngineMail&) {});
  }
  // Blocks until the worker is inside `Rest` and has no mail. Returns whether
  // mail has come since the call before.
  bool AwaitRest() { return mailbox_.AwaitRest(); }
  // Refuses requests from now on. Afterwards the clock is no longer read, and
  // `wake` is neither called nor held.
  void Close();

 private:
  template <typename Put>
  void Post(Put put);
  void WakeLoop() noexcept;

  EngineWorker& worker_;
  Clock& clock_;
  const bool sleeps_on_condition_;
  std::function<void()> wake_;
  BasicMailbox<EngineMail> mailbox_;

  // Used on the worker's thread.
  EngineMail own_;
  EngineMail fetched_own_;
  EngineMail others_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_REQUESTS_H_
