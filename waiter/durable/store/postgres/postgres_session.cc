// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_session.h"

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/store/postgres/postgres_errors.h"
#include "waiter/durable/store/postgres/postgres_schema.h"
#include "waiter/durable/store/postgres/postgres_values.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

// Values from libpq-fe.h, which have never changed.
constexpr int kConnectionBad = 1;
constexpr int kPollingFailed = 0;
constexpr int kPollingReading = 1;
constexpr int kPollingOk = 3;
constexpr int kCommandOk = 1;
constexpr int kTuplesOk = 2;
constexpr int kPipelineSync = 10;
constexpr int kPipelineAborted = 11;

// PG_DIAG_SEVERITY_NONLOCALIZED and PG_DIAG_SQLSTATE of postgres_ext.h.
constexpr int kSeverity = 'V';
constexpr int kSqlState = 'C';

constexpr const char* kBeginTransaction =
    "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr const char* kNoSync = "SET LOCAL synchronous_commit = off";

}  // namespace

PostgresSession::PostgresSession(const PostgresLibrary& library,
                                 const PostgresConfig& config)
    : library_(library), config_(config) {
  Connect();
}

PostgresSession::~PostgresSession() {
  if (connection_ != nullptr) library_.finish(connection_);
}

std::string PostgresSession::Address() const {
  const auto text = [](const char* part) {
    return part == nullptr ? "" : part;
  };
  return absl::StrCat(text(library_.host(connection_)), ":",
                      text(library_.port(connection_)), "/",
                      text(library_.db(connection_)));
}

// The URL may replace the first parameter, but not the last two.
void PostgresSession::Connect() {
  const std::string timeout = absl::StrCat(config_.call_timeout_ms);
  const std::array<const char*, 5> names = {"tcp_user_timeout", "dbname",
                                            "fallback_application_name",
                                            "client_encoding", nullptr};
  const std::array<const char*, 5> values = {
      timeout.c_str(), config_.url.c_str(), "waiter", "UTF8", nullptr};
  connection_ = library_.connectStartParams(names.data(), values.data(), 1);
  if (connection_ == nullptr) {
    return Break(absl::ResourceExhaustedError("libpq has no memory"));
  }
  // Warnings would go to the program's standard error.
  library_.setNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  if (library_.status(connection_) == kConnectionBad) {
    return Break(PostgresConnectStatus(library_.errorMessage(connection_)));
  }
  wants_to_write_ = true;
}

int16_t PostgresSession::events() const {
  if (phase_ == Phase::kConnecting) return wants_to_write_ ? POLLOUT : POLLIN;
  return static_cast<int16_t>(POLLIN | (wants_to_write_ ? POLLOUT : 0));
}

void PostgresSession::OnEvents() {
  if (state_ == State::kBroken) return;
  if (phase_ == Phase::kConnecting) return ContinueToConnect();
  if (wants_to_write_) Flush();
  if (state_ == State::kBroken) return;
  if (library_.consumeInput(connection_) == 0) {
    // Results that arrived before the end may say why.
    ReadResults();
    if (state_ == State::kBroken) return;
    return Break(absl::AbortedError(absl::StrCat(
        Address(), ": the connection was lost: ",
        absl::StripAsciiWhitespace(library_.errorMessage(connection_)))));
  }
  ReadResults();
}

void PostgresSession::ContinueToConnect() {
  const int next = library_.connectPoll(connection_);
  if (next == kPollingFailed) {
    return Break(PostgresConnectStatus(library_.errorMessage(connection_)));
  }
  if (next != kPollingOk) {
    wants_to_write_ = next != kPollingReading;
    return;
  }
  wants_to_write_ = false;
  library_.setnonblocking(connection_, 1);
  Ask(PostgresVersionQuery(config_.schema), Phase::kReadingVersion);
}

void PostgresSession::Ask(const std::string& sql, Phase phase) {
  phase_ = phase;
  opening_error_ = absl::OkStatus();
  if (library_.sendQuery(connection_, sql.c_str()) != 1) {
    return Break(absl::AbortedError(library_.errorMessage(connection_)));
  }
  Flush();
}

void PostgresSession::Flush() {
  const int left = library_.flush(connection_);
  wants_to_write_ = left == 1;
  // The next read also gets an error.
}

void PostgresSession::ReadResults() {
  // In a pipeline, a null result is between the results of two statements.
  bool was_null = false;
  while (state_ != State::kBroken && phase_ != Phase::kOpen &&
         library_.isBusy(connection_) == 0) {
    pg_result* const result = library_.getResult(connection_);
    if (!IsInPipeline()) {
      OnOpeningResult(result);
      // The answer to the next query is not there yet.
      if (result == nullptr) return;
    } else if (result != nullptr) {
      if (!OnPipelineResult(result)) return;
    } else if (was_null) {
      return;
    }
    was_null = result == nullptr;
  }
}

// A null result ends the results of a query.
void PostgresSession::OnOpeningResult(pg_result* result) {
  if (result != nullptr) {
    PostgresRows rows(library_, result);
    const int status = library_.resultStatus(result);
    if (status != kTuplesOk && status != kCommandOk) {
      if (opening_error_.ok()) {
        opening_error_ = StatusOf(result);
        outcome_.sqlstate = Field(result, kSqlState);
      }
    } else if (phase_ == Phase::kReadingVersion && rows.Next()) {
      outcome_.rows.push_back(std::move(rows));
    }
    return;
  }
  const Outcome outcome = std::exchange(outcome_, {});
  if (phase_ == Phase::kMakingTables) {
    if (!opening_error_.ok()) return Break(opening_error_);
    return Ask(PostgresVersionQuery(config_.schema), Phase::kReadingVersion);
  }
  if (IsMissing(outcome.sqlstate) && !has_made_tables_) {
    has_made_tables_ = true;
    return Ask(PostgresSchemaScript(config_.schema), Phase::kMakingTables);
  }
  if (!opening_error_.ok()) return Break(opening_error_);
  if (outcome.rows.empty()) return OnVersion("0", "0");
  // As text.
  OnVersion(outcome.rows[0].Bytes(0), outcome.rows[0].Bytes(1));
}

void PostgresSession::OnVersion(const std::string& version,
                                const std::string& compatible) {
  int64_t found = 0;
  int64_t needed = 0;
  if (!absl::SimpleAtoi(version, &found) ||
      !absl::SimpleAtoi(compatible, &needed) || needed > kPostgresVersion ||
      found < kPostgresVersion) {
    return Break(absl::FailedPreconditionError(absl::StrCat(
        Address(), ": schema ", config_.schema, " has version ", version,
        " of the tables of durable waits; this program knows version ",
        kPostgresVersion, ": use a newer program, or another schema")));
  }
  if (library_.enterPipelineMode(connection_) != 1) {
    return Break(absl::AbortedError(library_.errorMessage(connection_)));
  }
  phase_ = Phase::kOpen;
  state_ = State::kIdle;
}

bool PostgresSession::SendCommand(const char* sql) {
  return library_.sendQueryParams(connection_, sql, 0, nullptr, nullptr,
                                  nullptr, nullptr, 0) == 1;
}

void PostgresSession::Send(
    const std::vector<const PostgresStatement*>& statements) {
  outcome_ = {};
  outcome_.rows.resize(statements.size());
  statements_ = statements.size();
  results_ = 0;
  before_ = config_.syncs ? 1 : 2;
  phase_ = Phase::kCommitting;
  state_ = State::kBusy;
  bool is_sent = SendCommand(kBeginTransaction);
  if (!config_.syncs) is_sent = is_sent && SendCommand(kNoSync);
  for (const PostgresStatement* statement : statements) {
    is_sent = is_sent && statement->Send(library_, connection_);
  }
  is_sent = is_sent && SendCommand("COMMIT");
  if (!is_sent || library_.pipelineSync(connection_) != 1) {
    return Break(absl::AbortedError(library_.errorMessage(connection_)));
  }
  Flush();
}

bool PostgresSession::OnPipelineResult(pg_result* result) {
  const int status = library_.resultStatus(result);
  if (status == kPipelineSync) {
    library_.clear(result);
    OnSync();
    return false;
  }
  const size_t index = results_++;
  if (status == kTuplesOk || status == kCommandOk) {
    PostgresRows rows(library_, result);
    if (index >= before_ && index < before_ + statements_) {
      outcome_.rows[index - before_] = std::move(rows);
    }
    return true;
  }
  if (status != kPipelineAborted) OnError(result);
  library_.clear(result);
  return state_ != State::kBroken;
}

// An error of libpq itself has no SQLSTATE. If the session ends at the commit,
// it is unknown which came first.
void PostgresSession::OnError(pg_result* result) {
  const bool is_of_server = !Field(result, kSqlState).empty();
  const bool ends_session = Field(result, kSeverity) != "ERROR";
  const bool is_at_commit = results_ > before_ + statements_;
  if (!is_of_server || (ends_session && is_at_commit)) {
    return Break(absl::AbortedError(absl::StrCat(
        Address(), ": the connection was lost: ",
        absl::StripAsciiWhitespace(library_.resultErrorMessage(result)))));
  }
  if (phase_ == Phase::kCommitting && outcome_.status.ok()) {
    outcome_.status = StatusOf(result);
    outcome_.sqlstate = Field(result, kSqlState);
  }
  if (ends_session) Break(StatusOf(result));
}

void PostgresSession::OnSync() {
  if (phase_ == Phase::kCommitting && !outcome_.status.ok()) {
    phase_ = Phase::kRollingBack;
    if (!SendCommand("ROLLBACK") || library_.pipelineSync(connection_) != 1) {
      return Break(absl::AbortedError(library_.errorMessage(connection_)));
    }
    return Flush();
  }
  phase_ = Phase::kOpen;
  state_ = State::kIdle;
}

std::string_view PostgresSession::Field(const pg_result* result,
                                        int field) const {
  const char* const text = library_.resultErrorField(result, field);
  return text == nullptr ? std::string_view() : text;
}

absl::Status PostgresSession::StatusOf(pg_result* result) const {
  return PostgresStatus(Address(), Field(result, kSqlState),
                        library_.resultErrorMessage(result));
}

void PostgresSession::Break(absl::Status error) {
  // Only a server error says that nothing was committed.
  if (state_ == State::kBusy && outcome_.status.ok()) {
    outcome_.status = absl::UnavailableError(
        absl::StrCat("the outcome is unknown: ", error.message()));
  }
  error_ = std::move(error);
  state_ = State::kBroken;
}

}  // namespace waiter::internal
