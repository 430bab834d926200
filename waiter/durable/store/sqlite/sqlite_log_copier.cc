// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_log_copier.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/internal/exceptions.h"

namespace waiter::internal {
namespace {

// It waits for no lock. Pages that a reader keeps stay in the log.
constexpr const char* kCopy = "PRAGMA wal_checkpoint(PASSIVE)";

// Pages that the caller can copy without a long pause.
constexpr int64_t kShortLog = 1024;
// The caller may write faster than the thread copies.
constexpr int kMaxCopies = 5;

// Returns a URI as it is.
std::string AbsolutePath(const std::string& path) {
  if (absl::StartsWith(path, "file:")) return path;
  std::error_code error;
  return std::filesystem::absolute(path, error).string();
}

}  // namespace

SqliteLogCopier::SqliteLogCopier(SqliteConnection& file, int64_t long_log)
    : file_(file),
      path_(AbsolutePath(file.path())),
      long_log_(long_log),
      short_log_(std::min(kShortLog, long_log)),
      next_copy_(long_log) {}

SqliteLogCopier::~SqliteLogCopier() {
  if (!thread_.has_started() || thread_.IsGone()) return;
  stops_.store(true, std::memory_order_relaxed);
  thread_.End();
}

void SqliteLogCopier::OnCommit(const absl::Status& status) {
  const int64_t pages = file_.log_pages();
  pages_.store(pages, std::memory_order_relaxed);
  if (pages < long_log_) next_copy_ = long_log_;  // It has started over.
  const bool is_full = absl::IsResourceExhausted(status);
  if (thread_.has_started()) {
    if (!has_copied_.load(std::memory_order_acquire)) return;
    thread_.End();
    CopyRest();
    // A reader or another process may have kept the log from starting over.
    next_copy_ = pages + short_log_;
  } else if (is_full) {
    CopyRest();
  } else if (pages >= next_copy_) {
    StartThread();
  }
}

void SqliteLogCopier::StartThread() {
  has_copied_.store(false, std::memory_order_relaxed);
  WAITER_TRY {
    thread_.Start([this] {
      CopyMost();
      has_copied_.store(true, std::memory_order_release);
    });
  }
  WAITER_CATCH(...) {
    CopyRest();
    next_copy_ = file_.log_pages() + short_log_;
  }
}

// Starts no copy of a log that has been copied whole: SQLite before 3.51.3 may
// then lose pages, if a commit starts the log over meanwhile
// (sqlite.org/wal.html#walresetbug).
void SqliteLogCopier::CopyMost() {
  const absl::StatusOr<std::unique_ptr<SqliteConnection>> file =
      SqliteConnection::Open(file_.library(), path_,
                             std::chrono::nanoseconds(0),
                             SqliteConnection::Missing::kIsAnError);
  if (!file.ok()) return;
  for (int i = 0; i < kMaxCopies; ++i) {
    if (stops_.load(std::memory_order_relaxed)) return;
    SqliteRows row = (*file)->Query(kCopy);
    if (!row.Next()) return;
    const int64_t copied = row.Number(1);  // The length of the log.
    const int64_t pages = pages_.load(std::memory_order_relaxed);
    if (copied < 0 || pages <= copied + short_log_) return;
  }
}

void SqliteLogCopier::CopyRest() {
  file_.Query(kCopy).Next();
  file_.Rollback();
}

}  // namespace waiter::internal
