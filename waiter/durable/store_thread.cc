// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store_thread.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/durable/blocking_store.h"
#include "waiter/durable/store.h"
#include "waiter/internal/mutex.h"

namespace waiter::internal {
namespace {

// A transaction takes no further requests after this time, so that the first
// ones get their answers and other processes get their turn.
constexpr std::chrono::milliseconds kMaxTransaction(25);

template <typename T, typename RunFunction>
class TypedStoreCall final : public StoreCall {
 public:
  TypedStoreCall(bool writes, WaitStore::Callback<T> callback, RunFunction run)
      : StoreCall(writes),
        run_(std::move(run)),
        callback_(std::move(callback)) {}

  void Run(BlockingWaitStore& store) override { reply_ = run_(store); }

  void Answer(const absl::Status& status) override {
    if (!status.ok()) reply_ = status;
    callback_(std::move(reply_));
  }

 private:
  const RunFunction run_;
  const WaitStore::Callback<T> callback_;
  absl::StatusOr<T> reply_;
};

}  // namespace

class StoreThread::Loop {
 public:
  using Calls = std::deque<std::unique_ptr<StoreCall>>;

  explicit Loop(std::unique_ptr<BlockingWaitStore> store)
      : store_(std::move(store)) {}

  void Add(std::unique_ptr<StoreCall> call) {
    const MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
    wakes_.Notify();
  }
  void AddTimer(MonotonicTime time, std::function<void()> timer) {
    const MutexLock lock(mutex_);
    timers_.emplace(time, std::move(timer));
    wakes_.Notify();
  }
  void Stop() {
    const MutexLock lock(mutex_);
    stops_ = true;
    wakes_.Notify();
  }

  // Serves until `Stop`.
  void Serve() {
    Calls calls;
    while (Wait(calls)) {
      RunTimers();
      while (!calls.empty() && !IsStopped()) RunSome(calls);
    }
    for (const auto& call : calls) call->Answer(Destroyed());
    store_ = nullptr;
  }

 private:
  static absl::Status Destroyed() {
    return absl::CancelledError("the store was destroyed");
  }

  bool IsStopped() {
    const MutexLock lock(mutex_);
    return stops_;
  }

  // Waits until there is something to do, and takes the calls. Returns false
  // once this is to stop.
  bool Wait(Calls& calls) {
    const MutexLock lock(mutex_);
    while (!stops_ && calls_.empty() && calls.empty() && !IsTimerDue()) {
      if (timers_.empty()) {
        wakes_.Wait();
      } else {
        wakes_.WaitUntil(timers_.begin()->first);
      }
    }
    for (auto& call : calls_) calls.push_back(std::move(call));
    calls_.clear();
    return !stops_;
  }

  bool IsTimerDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !timers_.empty() &&
           timers_.begin()->first <= GetRealClock().MonotonicNow();
  }

  // Runs the timers that are due. Timers that they add come after the calls.
  void RunTimers() {
    std::vector<std::function<void()>> due;
    {
      const MutexLock lock(mutex_);
      while (IsTimerDue()) {
        due.push_back(std::move(timers_.extract(timers_.begin()).mapped()));
      }
    }
    for (const auto& timer : due) {
      if (IsStopped()) return;
      timer();
    }
  }

  // Runs calls from the front in one transaction, and answers them.
  void RunSome(Calls& calls) {
    const absl::Status begun = store_->Begin(Writes(calls));
    Calls group;
    if (!begun.ok()) {
      group.swap(calls);
      return Answer(group, begun);
    }
    const MonotonicTime end = GetRealClock().MonotonicNow() + kMaxTransaction;
    do {
      group.push_back(std::move(calls.front()));
      calls.pop_front();
      group.back()->Run(*store_);
    } while (!calls.empty() && GetRealClock().MonotonicNow() < end);
    const absl::Status committed = store_->Commit();
    if (committed.ok() || absl::IsUnavailable(committed) || group.size() == 1) {
      return Answer(group, committed);
    }
    for (const auto& call : group) RunAlone(*call);
  }

  void RunAlone(StoreCall& call) {
    absl::Status status = store_->Begin(call.writes());
    if (status.ok()) {
      call.Run(*store_);
      status = store_->Commit();
    }
    call.Answer(status);
  }

  static bool Writes(const Calls& calls) {
    for (const auto& call : calls) {
      if (call->writes()) return true;
    }
    return false;
  }

  static void Answer(const Calls& calls, const absl::Status& status) {
    for (const auto& call : calls) call->Answer(status);
  }

  // Used by the thread alone.
  std::unique_ptr<BlockingWaitStore> store_;

  Mutex mutex_;
  Condition wakes_{mutex_};
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  std::multimap<MonotonicTime, std::function<void()>> timers_
      ABSL_GUARDED_BY(mutex_);
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
};

StoreThread::StoreThread(std::unique_ptr<BlockingWaitStore> store)
    : loop_(std::make_shared<Loop>(std::move(store))) {
  thread_.Start([loop = loop_] { loop->Serve(); });
}

StoreThread::~StoreThread() {
  if (thread_.IsGone()) return;
  loop_->Stop();
  thread_.End();
}

template <typename T, typename... Parameters, typename... Arguments>
void StoreThread::Call(
    bool writes, Callback<T> callback,
    absl::StatusOr<T> (BlockingWaitStore::*function)(Parameters...),
    Arguments... arguments) {
  if (thread_.IsGone()) return;
  auto run = [function,
              ... arguments = std::move(arguments)](BlockingWaitStore& store) {
    return (store.*function)(arguments...);
  };
  loop_->Add(std::make_unique<TypedStoreCall<T, decltype(run)>>(
      writes, std::move(callback), std::move(run)));
}

void StoreThread::Claim(ClaimRequest request, Callback<ClaimReply> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Claim,
       std::move(request));
}

void StoreThread::Settle(SettleRequest request,
                         Callback<SettleReply> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Settle,
       std::move(request));
}

void StoreThread::Enqueue(EnqueueRequest request,
                          Callback<EnqueueReply> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Enqueue,
       std::move(request));
}

void StoreThread::Signal(SignalRequest request,
                         Callback<std::vector<StoredWait>> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Signal,
       std::move(request));
}

void StoreThread::Get(WaitPartition partition, std::vector<std::string> keys,
                      Callback<std::vector<StoredWait>> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Get,
       std::move(partition), std::move(keys));
}

void StoreThread::Scan(WaitPartition partition, std::string cursor,
                       Callback<ScanReply> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Scan,
       std::move(partition), std::move(cursor));
}

void StoreThread::Stats(WaitPartition partition, Callback<WaitStats> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Stats,
       std::move(partition));
}

void StoreThread::Mark(WaitPartition partition, std::string key, bool begins,
                       Callback<int64_t> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Mark,
       std::move(partition), std::move(key), begins);
}

void StoreThread::Open(std::string space, std::string name, int64_t partitions,
                       Callback<int64_t> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Open, std::move(space),
       std::move(name), partitions);
}

void StoreThread::Heartbeat(HeartbeatRequest request,
                            Callback<std::vector<std::string>> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Heartbeat,
       std::move(request));
}

void StoreThread::Describe(std::string space, Callback<WaitSpace> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Describe,
       std::move(space));
}

void StoreThread::Check(WaitPartition partition, std::string cursor,
                        Callback<CheckReply> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Check,
       std::move(partition), std::move(cursor));
}

void StoreThread::Examine(ExamineRequest request,
                          Callback<std::vector<FaultyWait>> callback) {
  Call(true, std::move(callback), &BlockingWaitStore::Examine,
       std::move(request));
}

void StoreThread::Inspect(WaitPartition partition,
                          Callback<WaitServer> callback) {
  Call(false, std::move(callback), &BlockingWaitStore::Inspect,
       std::move(partition));
}

void StoreThread::RunAt(MonotonicTime time, std::function<void()> timer) {
  if (thread_.IsGone()) return;
  loop_->AddTimer(time, std::move(timer));
}

Clock& StoreThread::clock() { return GetRealClock(); }

}  // namespace waiter::internal
