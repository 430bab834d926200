// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_log_copier.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/statusor.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/internal/exceptions.h"

namespace waiter::internal {
namespace {

// It waits for no lock, and copies what no reader prevents.
constexpr const char* kCopy = "PRAGMA wal_checkpoint(PASSIVE)";

// Pages that the caller can copy without a long pause.
constexpr int64_t kShortLog = 1024;
// The caller may write faster than the thread copies.
constexpr int kMaxCopies = 5;

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).string();
}

}  // namespace

SqliteLogCopier::SqliteLogCopier(SqliteConnection& file, int64_t long_log)
    : file_(file),
      path_(AbsolutePath(file.path())),
      long_log_(long_log),
      next_copy_(long_log) {}

SqliteLogCopier::~SqliteLogCopier() {
  stops_.store(true, std::memory_order_relaxed);
  if (thread_.has_started()) thread_.End();
}

void SqliteLogCopier::OnCommit() {
  const int64_t pages = file_.log_pages();
  if (pages < long_log_) next_copy_ = long_log_;  // It has started over.
  if (thread_.has_started()) {
    if (!has_copied_.load(std::memory_order_acquire)) return;
    thread_.End();
    CopyRest();
  } else if (pages >= next_copy_) {
    next_copy_ = pages + long_log_;
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
  WAITER_CATCH(...) { CopyRest(); }
}

void SqliteLogCopier::CopyMost() {
  const absl::StatusOr<std::unique_ptr<SqliteConnection>> file =
      SqliteConnection::Open(file_.library(), path_,
                             std::chrono::nanoseconds(0),
                             SqliteConnection::Missing::kIsAnError);
  if (!file.ok()) return;
  int64_t known = 0;
  for (int i = 0; i < kMaxCopies; ++i) {
    SqliteRows row = (*file)->Query(kCopy);
    // The second column is the length of the log.
    if (!row.Next() || stops_.load(std::memory_order_relaxed)) return;
    const int64_t pages = row.Number(1);
    if (pages - known <= kShortLog) return;
    known = pages;
  }
}

void SqliteLogCopier::CopyRest() {
  file_.Query(kCopy).Next();
  file_.Rollback();
}

}  // namespace waiter::internal
