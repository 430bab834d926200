// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {

// The sleep of each wait has its own stop source, which a notification or a
// stop of the wait requests.
class PollNotifier::State {
 public:
  uint64_t count() const {
    const internal::MutexLock lock(mutex_);
    return count_;
  }

  void Notify() {
    std::vector<waiter::stop_source> sleeps;
    {
      const internal::MutexLock lock(mutex_);
      ++count_;
      std::swap(sleeps, sleeps_);
    }
    // Callbacks of a request may run other code in this call.
    for (waiter::stop_source& sleep : sleeps) sleep.request_stop();
  }

  // Returns false, and adds nothing, if the number of calls is not `count`.
  bool Add(const waiter::stop_source& sleep, uint64_t count) {
    const internal::MutexLock lock(mutex_);
    if (count_ != count) return false;
    sleeps_.push_back(sleep);
    return true;
  }

  void Remove(const waiter::stop_source& sleep) {
    const internal::MutexLock lock(mutex_);
    std::erase(sleeps_, sleep);
  }

 private:
  mutable internal::Mutex mutex_;
  uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<waiter::stop_source> sleeps_ ABSL_GUARDED_BY(mutex_);
};

PollNotifier::PollNotifier() : state_(std::make_shared<State>()) {}

void PollNotifier::PollNow() const {
  // Code that this wakes may destroy the notifier.
  const std::shared_ptr<State> state = state_;
  state->Notify();
}

uint64_t PollNotifier::count() const { return state_->count(); }

bool PollNotifier::SleepUntil(Clock& clock, MonotonicTime wake_up,
                              const waiter::stop_token& stop,
                              std::string_view who, uint64_t count) const {
  waiter::stop_source sleep;
  const waiter::stop_callback on_stop(stop, [&] { sleep.request_stop(); });
  const std::shared_ptr<State> state = state_;
  if (!state->Add(sleep, count)) return true;
  const absl::Cleanup remove = [&] { state->Remove(sleep); };
  clock.SleepUntil(wake_up, sleep.get_token(), who);
  return state->count() != count;
}

}  // namespace waiter
