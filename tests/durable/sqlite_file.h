// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A test's SQLite file. Runs SQL on it as another program would:
//
//   const SqliteFile file;
//   EXPECT_EQ(file.Run("PRAGMA integrity_check"), "ok");

#ifndef WAITER_TESTS_DURABLE_SQLITE_FILE_H_
#define WAITER_TESTS_DURABLE_SQLITE_FILE_H_

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace waiter {

// A connection that closes itself.
using SqliteProgram = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

// Returns the first column of the rows, joined by newlines, or the error.
inline std::string RunSql(sqlite3* connection, const std::string& sql) {
  std::string all;
  char* error = nullptr;
  sqlite3_exec(
      connection, sql.c_str(),
      [](void* to, int, char** columns, char**) {
        auto& text = *static_cast<std::string*>(to);
        if (!text.empty()) text += '\n';
        text += columns[0] == nullptr ? "NULL" : columns[0];
        return 0;
      },
      &all, &error);
  if (error == nullptr) return all;
  std::string message = absl::StrCat("error: ", error);
  sqlite3_free(error);
  return message;
}

// A path without a file. The destructor deletes any file at this path.
class SqliteFile {
 public:
  SqliteFile()
      : path_(absl::StrCat(
            testing::TempDir(), "/",
            absl::StrReplaceAll(
                testing::UnitTest::GetInstance()->current_test_info()->name(),
                {{"/", "-"}}),
            ".db")) {
    Remove();
  }
  ~SqliteFile() { Remove(); }

  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  const std::string& path() const { return path_; }

  SqliteProgram Open() const {
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
    return {connection, &sqlite3_close};
  }
  // Runs statements on a new connection.
  std::string Run(const std::string& sql) const {
    return RunSql(Open().get(), sql);
  }

  void Remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path_ + suffix);
    }
  }

 private:
  const std::string path_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_SQLITE_FILE_H_
