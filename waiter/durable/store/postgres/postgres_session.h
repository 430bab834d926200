// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A connection to PostgreSQL, from its beginning to its end, which runs one
// transaction at a time in one round trip, and never blocks:
//
//   PostgresSession session(library, config);
//   ... poll(2) for session.fd() and session.events(); session.OnEvents();
//   if (session.state() == PostgresSession::State::kIdle) session.Send(...);
//   ... the same until it is idle again, or broken
//   PostgresSession::Outcome outcome = session.TakeOutcome();

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SESSION_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/store/postgres/postgres_values.h"

namespace waiter::internal {

struct PostgresConfig {
  std::string url;
  std::string schema;
  bool syncs = true;
  int64_t call_timeout_ms = 0;
};

// Thread-compatible.
//
//   kOpening -> kIdle <-> kBusy
//        any -> kBroken
class PostgresSession {
 public:
  enum class State : uint8_t {
    kOpening,  // Connects, looks at the tables, and makes them.
    kIdle,
    kBusy,  // Runs a transaction.
    kBroken,
  };

  struct Outcome {
    // OK after a commit. kUnavailable if it is not known whether there was one.
    // With any other status, nothing has happened.
    absl::Status status;
    std::string sqlstate = {};            // The code of a server error.
    std::vector<PostgresRows> rows = {};  // One for each statement.
  };

  // Begins to connect. Both must outlive this.
  PostgresSession(const PostgresLibrary& library, const PostgresConfig& config);
  ~PostgresSession();

  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  State state() const { return state_; }
  // Why it is broken.
  const absl::Status& error() const { return error_; }

  // For poll(2).
  int fd() const { return library_.socket(connection_); }
  int16_t events() const;
  void OnEvents();

  // Sends a transaction. Must be idle.
  void Send(const std::vector<const PostgresStatement*>& statements);
  // Returns the outcome of the last one, once this is idle or broken.
  Outcome TakeOutcome() { return std::move(outcome_); }

  // "HOST:PORT/DATABASE".
  std::string Address() const;

 private:
  enum class Phase : uint8_t {
    kConnecting,
    kReadingVersion,
    kMakingTables,
    kOpen,
    kCommitting,
    kRollingBack,
  };

  bool IsInPipeline() const { return phase_ >= Phase::kCommitting; }

  void Connect();
  void ContinueToConnect();
  // Sends a query while this opens.
  void Ask(const std::string& sql, Phase phase);
  void OnOpeningResult(pg_result* result);
  void OnVersion(const std::string& version, const std::string& compatible);

  bool SendCommand(const char* sql);
  void Flush();
  void ReadResults();
  // Returns false once the transaction is over.
  bool OnPipelineResult(pg_result* result);
  void OnError(pg_result* result);
  void OnSync();

  absl::Status StatusOf(pg_result* result) const;
  std::string_view Field(const pg_result* result, int field) const;
  void Break(absl::Status error);

  const PostgresLibrary& library_;
  const PostgresConfig& config_;
  pg_conn* connection_ = nullptr;

  State state_ = State::kOpening;
  Phase phase_ = Phase::kConnecting;
  absl::Status error_;
  bool wants_to_write_ = false;
  bool has_made_tables_ = false;
  absl::Status opening_error_;  // Outcome of this phase's query.

  // The results of the transaction: of its statements, and of the statements
  // around them.
  Outcome outcome_;
  size_t statements_ = 0;
  size_t results_ = 0;
  size_t before_ = 0;  // Results before the statements' results.
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SESSION_H_
