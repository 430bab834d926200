// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations of operations. `LearnedDelays` (learned/learned_delays.h) computes
// delays from them, and waits that use these delays record their durations. If
// your program knows other durations, add them:
//
//   auto durations = std::make_shared<waiter::DurationModel>();
//   durations->Record("create instance",
//                     {.after = absl::Seconds(50), .by = absl::Seconds(60)});
//
// A `DurationFile` keeps a model in a file that many processes share:
//
//   auto file =
//       waiter::DurationFile::Open("/var/lib/app/durations", durations);
//   if (!file.ok()) return file.status();
//
// Without a file, save a model as text, and merge the text into another model:
//
//   std::string text = durations->ToText();
//   absl::Status merged = others->Merge(text);

#ifndef WAITER_LEARNED_DURATIONS_H_
#define WAITER_LEARNED_DURATIONS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "waiter/delay_source.h"
#include "waiter/internal/mutex.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/version.h"

namespace waiter {

namespace internal {
class LearnedOperation;
class LockedFile;
}  // namespace internal

// A value.
struct DurationModelOptions {
  // Maximum number of operations. If there are more, the least recently used
  // one is forgotten. At least 1; smaller numbers count as 1.
  int64_t max_operations = 1000;
};

// Keeps the last 128 durations of each operation, in about 1.2 KiB per
// operation. A duration counts less the more newer ones there are. Thread-safe.
class DurationModel {
 public:
  explicit DurationModel(const DurationModelOptions& options = {});

  DurationModel(const DurationModel&) = delete;
  DurationModel& operator=(const DurationModel&) = delete;

  // Adds a duration of an operation, which may have any name. `after` and `by`
  // are clamped to [1 ns, 1000 years], and `by` to at least `after`. Takes
  // about 100 ns, plus the recorder's time.
  void Record(std::string_view operation, const ObservedDuration& duration);

  // Returns the kept durations of an operation, oldest first; may be empty.
  std::vector<ObservedDuration> Durations(std::string_view operation) const;

  // Returns the names of all operations, sorted.
  std::vector<std::string> Operations() const;

  // Returns how many operations were forgotten because there were too many.
  int64_t forgotten_operations() const;

  // Returns all durations that are kept, as text: the line "waiter durations
  // 1", and then one line for each duration.
  std::string ToText() const;

  // Adds the durations of a text that `ToText` returned, as if each had been
  // recorded now, but does not call the recorder. To join two texts, append the
  // second, without its first line, to the first. Damaged lines are skipped,
  // and their number is added to `*damaged_lines` unless that is null. Adds
  // nothing, and returns kInvalidArgument, if the text is not a model's, or
  // kFailedPrecondition if a newer version wrote it.
  absl::Status Merge(std::string_view text, int64_t* damaged_lines = nullptr);

  // Sets the function that is called for every recorded duration, as passed to
  // `Record`, on the recording thread, one call at a time. When this returns,
  // the previous function is not running and will not be called again. The
  // function must neither use the model nor throw. Null: no function.
  using Recorder =
      std::function<void(std::string_view operation, const ObservedDuration&)>;
  void SetRecorder(Recorder recorder);

 private:
  friend class internal::LearnedOperation;
  friend class DurationFile;

  struct Operation {
    std::string name;
    int64_t number;  // Unique; an operation that was forgotten gets a new one.
    internal::DurationRing durations;
  };

  // `AddRecorder` returns the number of the recorder. `RemoveRecorder` does
  // nothing if another recorder has replaced it.
  int64_t AddRecorder(Recorder recorder);
  void RemoveRecorder(int64_t number);

  // Moves an operation to the front, creating it if it is new.
  Operation& Use(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Operation* Find(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // State of an operation at some time: its number, and how many durations had
  // been added.
  struct Known {
    int64_t number = 0;
    int64_t added = 0;
  };
  // Returns the state of an operation, or `known` if the model does not have
  // it. If the state differs from `known`, sets `bounds` to the kept durations.
  Known BoundsSince(const Known& known, std::string_view name,
                    std::vector<internal::DurationBounds>& bounds) const;

  const int64_t max_operations_;
  mutable internal::Mutex mutex_;
  // Most recently used first.
  std::list<Operation> by_use_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string_view, std::list<Operation>::iterator> by_name_
      ABSL_GUARDED_BY(mutex_);
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  internal::Mutex recorder_mutex_;
  Recorder recorder_ ABSL_GUARDED_BY(recorder_mutex_);
  int64_t recorder_number_ ABSL_GUARDED_BY(recorder_mutex_) = 0;
};

// A file that keeps the durations of a `DurationModel` beyond the process. Any
// number of processes may add to one file at the same time. The file is text,
// with a line for each duration. To merge the files of two machines, use
// `DurationModel::Merge` or an editor. For POSIX systems and Windows.
// Thread-safe. Keeps the file open.
class DurationFile {
 public:
  // Opens the file, or creates it, and adds its durations to `model`. After
  // that, each duration that `model` records is also written to the file; this
  // replaces the model's recorder. Errors contain the path, and mean:
  //   kInvalidArgument     `model` is null, or the file is a folder, a device,
  //                        or of another kind; it is not changed
  //   kFailedPrecondition  a newer version wrote it; it is not changed
  //   any other            the system's error: no folder, no permission, ...
  static absl::StatusOr<std::unique_ptr<DurationFile>> Open(
      const std::string& path, std::shared_ptr<DurationModel> model);

  // Adds the durations of a file to `model`. Does not write to the file.
  static absl::Status Read(const std::string& path, DurationModel& model);

  // Stops recording. Tries for at least a second to write the durations that
  // wait for the lock (see `status`), ignoring errors. Removes its recorder
  // from the model, unless another has replaced it, such as another file's.
  ~DurationFile();

  DurationFile(const DurationFile&) = delete;
  DurationFile& operator=(const DurationFile&) = delete;

  // Adds to the model the durations that other processes wrote, and writes
  // those that wait for the lock (see `status`). Each recording also does both.
  // If the file was truncated or replaced, adds the lines that the model lacks.
  // Returns OK if another process holds the lock.
  absl::Status Sync();

  // Returns the first error from writing a recorded duration. That duration is
  // only in the model; later ones are still written if possible. If another
  // process holds the lock of the file, for example because it was suspended, a
  // recording waits for about 10 ms at most, and the next recording or `Sync`
  // writes its duration. Up to 64 KiB can wait in this way; further durations
  // are dropped with an error.
  absl::Status status() const;

  // Returns how many lines were skipped because they were damaged, for example
  // by a full disk.
  int64_t damaged_lines() const;

 private:
  DurationFile(std::string path, std::shared_ptr<DurationModel> model);

  absl::Status Append(absl::string_view line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Lock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Shorten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const std::shared_ptr<DurationModel> model_;
  int64_t recorder_ = 0;  // Its number in the model; 0 while `Open` runs.
  mutable internal::Mutex mutex_;
  std::unique_ptr<internal::LockedFile> file_ ABSL_GUARDED_BY(mutex_);
  int64_t read_ ABSL_GUARDED_BY(mutex_) = 0;   // Bytes that the model knows.
  int64_t lines_ ABSL_GUARDED_BY(mutex_) = 0;  // In these bytes.
  int64_t torn_ ABSL_GUARDED_BY(mutex_) = 0;   // Bytes of a line without end.
  bool skips_known_ ABSL_GUARDED_BY(mutex_) = false;  // At the next reading.
  std::string pending_ ABSL_GUARDED_BY(mutex_);       // Lines to be written.
  int64_t damaged_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_LEARNED_DURATIONS_H_
