// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How long operations took, as `LearnedDelays` (learned/learned_delays.h) needs
// it. Waits that use such delays record their durations; a program that knows
// durations from elsewhere adds them:
//
//   auto durations = std::make_shared<waiter::DurationModel>();
//   durations->Record("create instance",
//                     {.after = absl::Seconds(50), .by = absl::Seconds(60)});
//
// A `DurationFile` keeps a model in a file that many processes share:
//
//   auto file = waiter::DurationFile::Open("/var/lib/app/durations",
//   durations); if (!file.ok()) return file.status();
//
// Without a file, a model is saved as text and merged with others:
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
  // Maximum number of operations. When there is one more, the one that was used
  // least recently is forgotten. At least 1; smaller numbers count as 1.
  int64_t max_operations = 1000;
};

// The last 128 durations of each operation, in about 1.2 KiB each. Older ones
// count less the more newer ones there are. Thread-safe.
class DurationModel {
 public:
  explicit DurationModel(const DurationModelOptions& options = {});

  DurationModel(const DurationModel&) = delete;
  DurationModel& operator=(const DurationModel&) = delete;

  // Adds a duration of an operation, which may have any name. Parts outside of
  // [1 ns, 1000 years] are moved into it, and `by` to no less than `after`.
  // About 100 ns, and the time of the recorder.
  void Record(std::string_view operation, const ObservedDuration& duration);

  // Returns the kept durations of an operation, the oldest first; empty if
  // there are no durations.
  std::vector<ObservedDuration> Durations(std::string_view operation) const;

  // Returns the names of all operations, sorted.
  std::vector<std::string> Operations() const;

  // Returns how many operations were forgotten because there were too many.
  int64_t forgotten_operations() const;

  // Returns everything that is kept as text: the line "waiter durations 1",
  // and then one line for each duration.
  std::string ToText() const;

  // Adds the durations of such a text, as if each had been recorded now, but
  // without a call of the recorder. Two texts without their first lines may
  // simply be joined. Lines that are not whole are left out, and their number
  // is added to `*damaged_lines` if that is not null. Returns kInvalidArgument
  // if the text is not of a model, and kFailedPrecondition if it is of a newer
  // version; nothing is added then.
  absl::Status Merge(std::string_view text, int64_t* damaged_lines = nullptr);

  // Sets a function that is called for every recorded duration, as `Record` got
  // it, on the thread that records it, once at a time. The function before has
  // returned when this returns, and is no longer called. It must not use the
  // model, nor throw. Null: none.
  using Recorder =
      std::function<void(std::string_view operation, const ObservedDuration&)>;
  void SetRecorder(Recorder recorder);

 private:
  friend class internal::LearnedOperation;
  friend class DurationFile;

  struct Operation {
    std::string name;
    int64_t number;  // No other operation has it, nor this one once forgotten.
    internal::DurationRing durations;
  };

  // Sets the recorder and returns its number; removes the one with a number if
  // no other has taken its place.
  int64_t AddRecorder(Recorder recorder);
  void RemoveRecorder(int64_t number);

  // Moves an operation to the front, and makes it if it is new.
  Operation& Use(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Operation* Find(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // State of an operation: its number, and how many durations it had.
  struct Known {
    int64_t number = 0;
    int64_t added = 0;
  };
  // Returns the state of an operation, `known` if the model has no such
  // operation, and, if the state is not `known`, the kept durations.
  Known BoundsSince(const Known& known, std::string_view name,
                    std::vector<internal::DurationBounds>& bounds) const;

  const int64_t max_operations_;
  mutable internal::Mutex mutex_;
  // The most recently used one first.
  std::list<Operation> by_use_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string_view, std::list<Operation>::iterator> by_name_
      ABSL_GUARDED_BY(mutex_);
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  internal::Mutex recorder_mutex_;
  Recorder recorder_ ABSL_GUARDED_BY(recorder_mutex_);
  int64_t recorder_number_ ABSL_GUARDED_BY(recorder_mutex_) = 0;
};

// A file that keeps a `DurationModel` beyond the process. Any number of
// processes may add to one file at the same time. The file is text, a line for
// each duration; the files of two machines are merged by `DurationModel::Merge`
// or by an editor. For POSIX systems. Thread-safe. Keeps the file open.
class DurationFile {
 public:
  // Opens the file, or makes it, adds its durations to `model`, and then writes
  // to it each duration that `model` records. Errors have the path, and say:
  //   kInvalidArgument     the file is not of this kind, or a folder or device;
  //                        it is left as it is. Or `model` is null
  //   kFailedPrecondition  it is of a newer version; it is left as it is
  //   any other            the system's error: no folder, no permission, ...
  // Takes the place of the model's recorder.
  static absl::StatusOr<std::unique_ptr<DurationFile>> Open(
      const std::string& path, std::shared_ptr<DurationModel> model);

  // Adds the durations of a file to `model`, and writes nothing.
  static absl::Status Read(const std::string& path, DurationModel& model);

  // Stops writing. Nothing is lost: all recorded durations are in the file. If
  // another recorder has taken this one's place, such as another file's, it
  // stays.
  ~DurationFile();

  DurationFile(const DurationFile&) = delete;
  DurationFile& operator=(const DurationFile&) = delete;

  // Adds to the model the durations that other processes have written.
  // Recording a duration does the same. If the file was cut or replaced, adds
  // every line that the model does not know.
  absl::Status Sync();

  // Returns the first error of writing since the file was opened. After an
  // error the model continues without the file. If another process holds the
  // lock of the file, because it was stopped, this one waits for about 10 ms at
  // most: the next recorded duration writes both, up to 64 KiB.
  absl::Status status() const;

  // Returns how many lines were damaged, such as by a full disk. They are left
  // out.
  int64_t damaged_lines() const;

 private:
  // A file of the system; closed by the destructor.

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
