// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread of a store in PostgreSQL: its connection, its requests and its
// timers:
//
//   const auto loop = std::make_shared<PostgresLoop>(library, config);
//   loop->Start();
//   loop->Add(std::make_unique<TypedPostgresCall<ClaimReply>>(...));
//   ...
//   loop->Stop();
//
// Requests that arrive while a transaction runs share the next one, and its
// round trip. If the transaction fails, each of them is repeated in its own
// transaction, so that none fails because of another one. A request that only
// collided is tried three times.

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_LOOP_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_LOOP_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/postgres/postgres_calls.h"
#include "waiter/durable/store/postgres/postgres_session.h"
#include "waiter/durable/store/postgres/postgres_values.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/thread.h"
#include "waiter/redis/redis_loop.h"

namespace waiter::internal {

// A request, until it is answered.
class PostgresCall {
 public:
  virtual ~PostgresCall() = default;

  PostgresCall(const PostgresCall&) = delete;
  PostgresCall& operator=(const PostgresCall&) = delete;

  virtual const PostgresStatement& statement() const = 0;
  // The name of the lock that the request takes. Transactions take locks in the
  // order of their names, so no two wait for each other.
  virtual const std::string& locks() const = 0;
  // About how many waits it changes.
  virtual int64_t weight() const = 0;

  // Calls back with the reply, or with an error.
  virtual void Answer(PostgresRows rows) = 0;
  virtual void Fail(const absl::Status& status) = 0;

  // When to give up while this is not sent.
  MonotonicTime deadline = {};
  int attempts = 0;

 protected:
  PostgresCall() = default;
};

template <typename T>
class TypedPostgresCall final : public PostgresCall {
 public:
  TypedPostgresCall(PostgresRequest<T> request, WaitStore::Callback<T> callback)
      : request_(std::move(request)), callback_(std::move(callback)) {}

  const PostgresStatement& statement() const override {
    return request_.statement;
  }
  const std::string& locks() const override { return request_.locks; }
  int64_t weight() const override { return request_.weight; }
  void Answer(PostgresRows rows) override {
    callback_(request_.read(std::move(rows)));
  }
  void Fail(const absl::Status& status) override { callback_(status); }

 private:
  const PostgresRequest<T> request_;
  const WaitStore::Callback<T> callback_;
};

// Everything that no lock guards belongs to the thread.
class PostgresLoop : public std::enable_shared_from_this<PostgresLoop> {
 public:
  // The library must outlive this.
  PostgresLoop(const PostgresLibrary& library, PostgresConfig config);

  PostgresLoop(const PostgresLoop&) = delete;
  PostgresLoop& operator=(const PostgresLoop&) = delete;

  void Start();
  // Waits for a callback in progress, but not for the server. Answers requests
  // that are not sent with kCancelled.
  void Stop();

  // Thread-safe.
  void Add(std::unique_ptr<PostgresCall> call);
  void RunAt(MonotonicTime time, std::function<void()> timer);

 private:
  using Calls = std::deque<std::unique_ptr<PostgresCall>>;

  void Run();
  bool IsStopping() const;
  void TakeCalls();
  void RunTimers(MonotonicTime now);
  void Work(MonotonicTime now);
  void AwaitEvents();
  void Finish();

  // Answers the requests in flight, once the session is not busy.
  void EndTransaction(MonotonicTime now);
  void Repeat(const PostgresSession::Outcome& outcome);
  void Disconnect(MonotonicTime now);
  void Expire(Calls& calls, MonotonicTime now);
  void SendSome(MonotonicTime now);
  void Wake(bool is_asleep) const {
    if (is_asleep) pipe_.Wake();
  }

  const PostgresLibrary& library_;
  const PostgresConfig config_;
  const std::chrono::nanoseconds call_timeout_;
  const WakePipe pipe_;
  Thread thread_;  // Runs from `Start` to `Stop`.

  std::optional<PostgresSession> session_;
  Calls queue_;      // To share transactions.
  Calls alone_;      // To have one each.
  Calls in_flight_;  // In the order of the outcome.
  // When the session must have answered, and when a new one may connect.
  MonotonicTime answer_by_ = {};
  MonotonicTime connect_at_ = {};
  std::chrono::nanoseconds backoff_ = {};
  absl::Status last_error_;
  std::minstd_rand random_;

  mutable Mutex mutex_;
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_asleep_ ABSL_GUARDED_BY(mutex_) = false;
  Calls added_ ABSL_GUARDED_BY(mutex_);
  std::multimap<MonotonicTime, std::function<void()>> timers_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_LOOP_H_
