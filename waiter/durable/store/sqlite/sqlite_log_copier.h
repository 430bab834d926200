// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Copies the log of an SQLite file into the file, while its connection goes on:
//
//   SqliteLogCopier copier(file);
//   ...
//   status = file.Commit();
//   copier.OnCommit(status);
//
// A thread with its own connection copies most of the log. The caller copies
// what it has written since, because SQLite starts the log over only when all
// of it is in the file.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_LOG_COPIER_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_LOG_COPIER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/internal/thread.h"

namespace waiter::internal {

// Thread-compatible.
class SqliteLogCopier {
 public:
  // A page that changes often is copied once for many changes, so the log
  // should be long. These are 128 MiB.
  static constexpr int64_t kLongLog = 32'768;

  // Copies a log of `long_log` pages, and tries again soon if it does not start
  // over. `file` must outlive this.
  explicit SqliteLogCopier(SqliteConnection& file, int64_t long_log = kLongLog);
  // Waits for the thread, which ends after a copy in progress.
  ~SqliteLogCopier();

  SqliteLogCopier(const SqliteLogCopier&) = delete;
  SqliteLogCopier& operator=(const SqliteLogCopier&) = delete;

  // To be called between transactions, with the outcome of the last one. If the
  // disk is full, a copy may make room in the log. Ignores errors: the log then
  // grows until a copy succeeds.
  void OnCommit(const absl::Status& status);

 private:
  void StartThread();
  // Runs on the thread.
  void CopyMost();
  void CopyRest();

  SqliteConnection& file_;
  const std::string path_;  // Does not depend on the current folder.
  const int64_t long_log_;
  const int64_t short_log_;  // Is copied without a long pause.
  int64_t next_copy_;        // The length of the log at which it is copied.
  Thread thread_;
  std::atomic<int64_t> pages_ = 0;  // The length after the last commit.
  std::atomic<bool> has_copied_ = false;
  std::atomic<bool> stops_ = false;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_LOG_COPIER_H_
