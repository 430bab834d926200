// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A file that processes of one machine share under a lock.

#ifndef WAITER_LEARNED_LOCKED_FILE_H_
#define WAITER_LEARNED_LOCKED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waiter::internal {

// Thread-compatible. Paths are UTF-8. Errors begin with the path.
class LockedFile {
 public:
  // A file that is read must exist; one that is appended to is created. Returns
  // kInvalidArgument if it is not a regular file. Does not block.
  static absl::StatusOr<std::unique_ptr<LockedFile>> OpenToRead(
      const std::string& path);
  static absl::StatusOr<std::unique_ptr<LockedFile>> OpenToAppend(
      const std::string& path);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Tries for at least 10 ms to take the lock, which ends with the process.
  // Returns kUnavailable if another process holds it for longer.
  absl::Status Lock();
  void Unlock();

  // Returns whether the path still leads to this file.
  bool IsCurrent() const;

  // Returns the number of bytes, and 0 if the system does not say.
  int64_t Size() const;

  // Returns the text from `offset` on: at least `enough` bytes, unless the file
  // ends before.
  absl::StatusOr<std::string> ReadFrom(
      int64_t offset, size_t enough = std::numeric_limits<size_t>::max()) const;

  // Writes at the end.
  absl::Status Append(absl::string_view text);

  // Replaces the text of the file. The same users may write the new file, and a
  // link to it stays one. Other processes notice that the path leads to another
  // file, or on some systems only that this one is shorter. Requires the lock.
  // Does nothing if another process has removed the file.
  absl::Status ReplaceBy(absl::string_view text) const;

 private:
  struct System;

  LockedFile(std::string path, std::unique_ptr<System> system);
  // Asks once; returns false if another process holds the lock.
  absl::StatusOr<bool> TryLock();

  const std::string path_;
  const std::unique_ptr<System> system_;
};

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_LOCKED_FILE_H_
