// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A file that keeps a `DurationModel` beyond the process. Any number of
// processes may add to one file at the same time:
//
//   auto durations = std::make_shared<waiter::DurationModel>();
//   absl::StatusOr<std::unique_ptr<waiter::DurationFile>> file =
//       waiter::DurationFile::Open("/var/lib/app/durations", durations);
//   if (!file.ok()) return file.status();
//
// The file is text, a line for each duration; the files of two machines are
// merged by `DurationModel::Merge` or by an editor. For POSIX systems.

#ifndef WAITER_LEARNED_DURATION_FILE_H_
#define WAITER_LEARNED_DURATION_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "waiter/internal/mutex.h"
#include "waiter/learned/duration_model.h"
#include "waiter/version.h"

namespace waiter {

// Thread-safe. Keeps the file open.
class DurationFile {
 public:
  // Opens the file, or makes it, adds its durations to `model`, and from then
  // on writes to it what `model` records. Errors have the path, and say:
  //   kInvalidArgument     the file is not of this kind, or a folder or device;
  //                        it is left as it is. Or `model` is null
  //   kFailedPrecondition  it is of a newer version; it is left as it is
  //   any other            what the system says: no folder, no permission, ...
  // Takes the place of the model's recorder.
  static absl::StatusOr<std::unique_ptr<DurationFile>> Open(
      const std::string& path, std::shared_ptr<DurationModel> model);

  // Adds the durations of a file to `model`, and writes nothing.
  static absl::Status Read(const std::string& path, DurationModel& model);

  // Stops writing. Nothing is lost: what was recorded is in the file. A
  // recorder that has taken this one's place, such as that of another file,
  // stays.
  ~DurationFile();

  DurationFile(const DurationFile&) = delete;
  DurationFile& operator=(const DurationFile&) = delete;

  // Adds to the model what other processes have written since the last duration
  // was recorded, which does so, too. Of a file that was cut, or that another
  // has replaced, that is every line which the model does not know.
  absl::Status Sync();

  // Returns the first error of writing since the file was opened. The model
  // goes on without the file after an error. A file that another process holds
  // locked, because it was stopped, is not awaited for more than about 10 ms:
  // the next recorded duration writes both, up to 64 KiB.
  absl::Status status() const;

  // Returns how many lines were damaged, such as by a full disk. They are left
  // out.
  int64_t damaged_lines() const;

 private:
  // A file of the system; closed by the destructor.
  class Handle;

  DurationFile(std::string path, std::shared_ptr<DurationModel> model);

  absl::Status Append(absl::string_view line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Lock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Shorten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const std::shared_ptr<DurationModel> model_;
  int64_t recorder_ = 0;  // Its number in the model; none while this is opened.
  mutable internal::Mutex mutex_;
  std::unique_ptr<Handle> handle_ ABSL_GUARDED_BY(mutex_);
  int64_t read_ ABSL_GUARDED_BY(mutex_) = 0;   // Bytes that the model knows.
  int64_t lines_ ABSL_GUARDED_BY(mutex_) = 0;  // In these bytes.
  int64_t torn_ ABSL_GUARDED_BY(mutex_) = 0;   // Bytes of a line without end.
  bool skips_known_ ABSL_GUARDED_BY(mutex_) = false;  // At the next reading.
  std::string pending_ ABSL_GUARDED_BY(mutex_);       // Lines to be written.
  int64_t damaged_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_LEARNED_DURATION_FILE_H_
