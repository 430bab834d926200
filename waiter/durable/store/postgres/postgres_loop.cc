// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_loop.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "waiter/clock.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/store/postgres/postgres_errors.h"
#include "waiter/durable/store/postgres/postgres_session.h"
#include "waiter/durable/store/postgres/postgres_values.h"
#include "waiter/internal/mutex.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kMaxSleep = std::chrono::seconds(60);
constexpr nanoseconds kMinBackoff = milliseconds(100);
constexpr nanoseconds kMaxBackoff = std::chrono::seconds(5);
constexpr int kMaxAttempts = 3;
// The maximum weight of a transaction, so that other processes get their turn
// at the partitions that it locks.
constexpr int64_t kMaxWeight = 4000;

}  // namespace

PostgresLoop::PostgresLoop(const PostgresLibrary& library,
                           PostgresConfig config)
    : library_(library),
      config_(std::move(config)),
      call_timeout_(milliseconds(config_.call_timeout_ms)),
      random_(std::random_device()()) {}

void PostgresLoop::Start() {
  // The program's threads handle signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_.Start([self = shared_from_this()] { self->Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void PostgresLoop::Stop() {
  if (thread_.IsGone()) return;
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  pipe_.Wake();
  thread_.End();
}

void PostgresLoop::Add(std::unique_ptr<PostgresCall> call) {
  if (thread_.IsGone()) return;
  call->deadline = SaturatingAdd(GetRealClock().MonotonicNow(), call_timeout_);
  bool is_asleep = false;
  {
    const MutexLock lock(mutex_);
    added_.push_back(std::move(call));
    is_asleep = std::exchange(is_asleep_, false);
  }
  Wake(is_asleep);
}

void PostgresLoop::RunAt(MonotonicTime time, std::function<void()> timer) {
  if (thread_.IsGone()) return;
  bool is_asleep = false;
  {
    const MutexLock lock(mutex_);
    timers_.emplace(time, std::move(timer));
    is_asleep = std::exchange(is_asleep_, false);
  }
  Wake(is_asleep);
}

void PostgresLoop::Run() {
  while (!IsStopping()) {
    RunTimers(GetRealClock().MonotonicNow());
    if (IsStopping()) break;
    TakeCalls();
    Work(GetRealClock().MonotonicNow());
    AwaitEvents();
  }
  Finish();
}

bool PostgresLoop::IsStopping() const {
  const MutexLock lock(mutex_);
  return stops_;
}

void PostgresLoop::TakeCalls() {
  const MutexLock lock(mutex_);
  std::move(added_.begin(), added_.end(), std::back_inserter(queue_));
  added_.clear();
}

// Timers that these add wait for the next round.
void PostgresLoop::RunTimers(MonotonicTime now) {
  std::vector<std::function<void()>> due;
  {
    const MutexLock lock(mutex_);
    const auto end = timers_.upper_bound(now);
    for (auto it = timers_.begin(); it != end; ++it) {
      due.push_back(std::move(it->second));
    }
    timers_.erase(timers_.begin(), end);
  }
  for (const std::function<void()>& timer : due) {
    if (IsStopping()) return;
    timer();
  }
}

void PostgresLoop::Work(MonotonicTime now) {
  using State = PostgresSession::State;
  if (session_.has_value()) {
    const bool is_waiting = session_->state() == State::kOpening ||
                            session_->state() == State::kBusy;
    if (is_waiting && now >= answer_by_) {
      last_error_ = absl::AbortedError(
          absl::StrCat(session_->Address(), " does not answer"));
      const absl::Status unknown = absl::UnavailableError(
          absl::StrCat("the outcome is unknown: ", last_error_.message()));
      session_.reset();
      connect_at_ = now;
      for (const auto& call : std::exchange(in_flight_, {})) {
        call->Fail(unknown);
      }
    } else if (!is_waiting) {
      EndTransaction(now);
    }
  }
  Expire(alone_, now);
  Expire(queue_, now);
  if (queue_.empty() && alone_.empty()) return;
  if (!session_.has_value() && now >= connect_at_) {
    session_.emplace(library_, config_);
    answer_by_ = now + call_timeout_;
    // It may be broken already.
    if (session_->state() == State::kBroken) Disconnect(now);
  }
  if (session_.has_value() && session_->state() == State::kIdle) SendSome(now);
}

void PostgresLoop::EndTransaction(MonotonicTime now) {
  const bool is_broken = session_->state() == PostgresSession::State::kBroken;
  PostgresSession::Outcome outcome = session_->TakeOutcome();
  if (is_broken || WantsNewConnection(outcome.sqlstate)) {
    Disconnect(now);
  } else {
    backoff_ = {};
  }
  if (in_flight_.empty()) return;
  if (outcome.status.ok()) {
    Calls calls = std::exchange(in_flight_, {});
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i]->Answer(std::move(outcome.rows[i]));
    }
  } else if (absl::IsUnavailable(outcome.status)) {
    for (const auto& call : std::exchange(in_flight_, {})) {
      call->Fail(outcome.status);
    }
  } else {
    Repeat(outcome);
  }
}

// Nothing of the transaction has happened.
void PostgresLoop::Repeat(const PostgresSession::Outcome& outcome) {
  Calls calls = std::exchange(in_flight_, {});
  const bool was_alone = calls.size() == 1;
  for (auto& call : calls) {
    if (!was_alone ||
        (IsCollision(outcome.sqlstate) && ++call->attempts < kMaxAttempts)) {
      alone_.push_back(std::move(call));
    } else {
      call->Fail(outcome.status);
    }
  }
}

// An error that is not temporary is the answer to all requests. After any
// other, they wait for the next connection.
void PostgresLoop::Disconnect(MonotonicTime now) {
  if (session_->state() == PostgresSession::State::kBroken) {
    last_error_ = session_->error();
  }
  session_.reset();
  std::uniform_real_distribution<double> part(0.5, 1);
  connect_at_ =
      now + std::chrono::duration_cast<nanoseconds>(backoff_ * part(random_));
  backoff_ = std::clamp(2 * backoff_, kMinBackoff, kMaxBackoff);
  if (last_error_.ok() || absl::IsAborted(last_error_)) return;
  for (Calls* calls : {&alone_, &queue_}) {
    for (const auto& call : std::exchange(*calls, {})) {
      call->Fail(last_error_);
    }
  }
  last_error_ = absl::OkStatus();
}

void PostgresLoop::Expire(Calls& calls, MonotonicTime now) {
  // All calls have the same time limit, so they are in the order of their
  // deadlines, except for calls that are repeated.
  while (!calls.empty() && calls.front()->deadline <= now) {
    const std::unique_ptr<PostgresCall> call = std::move(calls.front());
    calls.pop_front();
    call->Fail(absl::AbortedError(absl::StrCat(
        "the request was not sent in time: ",
        last_error_.ok() ? "the server is busy" : last_error_.message())));
  }
}

void PostgresLoop::SendSome(MonotonicTime now) {
  if (!alone_.empty()) {
    in_flight_.push_back(std::move(alone_.front()));
    alone_.pop_front();
  } else {
    int64_t weight = 0;
    while (!queue_.empty() && weight < kMaxWeight) {
      weight += queue_.front()->weight();
      in_flight_.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    std::stable_sort(
        in_flight_.begin(), in_flight_.end(),
        [](const auto& a, const auto& b) { return a->locks() < b->locks(); });
  }
  std::vector<const PostgresStatement*> statements;
  statements.reserve(in_flight_.size());
  for (const auto& call : in_flight_) statements.push_back(&call->statement());
  answer_by_ = now + call_timeout_;
  last_error_ = absl::OkStatus();
  session_->Send(statements);
}

void PostgresLoop::AwaitEvents() {
  const MonotonicTime now = GetRealClock().MonotonicNow();
  MonotonicTime wake_up = now + kMaxSleep;
  std::array<pollfd, 2> fds = {{{pipe_.fd(), POLLIN, 0}, {-1, 0, 0}}};
  const bool has_calls = !queue_.empty() || !alone_.empty();
  if (session_.has_value()) {
    // The next round handles a broken session immediately.
    if (session_->state() == PostgresSession::State::kBroken) return;
    fds[1] = {session_->fd(), session_->events(), 0};
    if (session_->state() != PostgresSession::State::kIdle) {
      wake_up = std::min(wake_up, answer_by_);
    }
  } else if (has_calls) {
    wake_up = std::min(wake_up, connect_at_);
  }
  for (const Calls* calls : {&alone_, &queue_}) {
    if (!calls->empty()) {
      wake_up = std::min(wake_up, calls->front()->deadline);
    }
  }
  {
    const MutexLock lock(mutex_);
    if (stops_ || !added_.empty()) return;
    if (!timers_.empty()) wake_up = std::min(wake_up, timers_.begin()->first);
    is_asleep_ = true;
  }
  // Rounded up: no timer is early.
  const auto wait =
      std::chrono::ceil<milliseconds>(std::max(wake_up, now) - now);
  const int ready =
      poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  {
    const MutexLock lock(mutex_);
    is_asleep_ = false;
  }
  if (ready <= 0) return;
  if (fds[0].revents != 0) pipe_.Drain();
  if (fds[1].revents != 0) session_->OnEvents();
}

void PostgresLoop::Finish() {
  session_.reset();
  for (const auto& call : std::exchange(in_flight_, {})) {
    call->Fail(absl::UnavailableError(
        "the outcome is unknown: the store was destroyed"));
  }
  // Callbacks may make requests.
  while (true) {
    TakeCalls();
    if (queue_.empty() && alone_.empty()) break;
    for (Calls* calls : {&alone_, &queue_}) {
      for (const auto& call : std::exchange(*calls, {})) {
        call->Fail(absl::CancelledError("the store was destroyed"));
      }
    }
  }
  const MutexLock lock(mutex_);
  timers_.clear();
}

}  // namespace waiter::internal
