// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/learned/duration_text.h"
#include "waiter/learned/durations.h"

namespace waiter {
namespace {

using internal::MutexLock;

// A file is shortened when it has more lines than this, and twice as many as
// the model keeps.
constexpr int64_t kLongFile = 1000;

// Text that waits for the lock of another process is given up beyond this.
constexpr size_t kMostPending = size_t{1} << 16U;

absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

absl::Status At(const std::string& path, const absl::Status& status) {
  return {status.code(), absl::StrCat(path, " ", status.message())};
}

// Returns the lines of `text` after the first one that `known` does not have,
// or not as often, in their order, and the first one.
std::string WithoutLinesOf(absl::string_view text, absl::string_view known) {
  absl::flat_hash_map<absl::string_view, int64_t> counts;
  for (const absl::string_view line : absl::StrSplit(known, '\n')) {
    ++counts[line];
  }
  std::string rest(internal::kDurationsHeader);
  text.remove_prefix(internal::kDurationsHeader.size());
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const auto found = counts.find(line);
    if (found != counts.end() && --found->second >= 0) continue;
    absl::StrAppend(&rest, line, "\n");
  }
  return rest;
}

}  // namespace

class DurationFile::Handle {
 public:
  static absl::StatusOr<std::unique_ptr<Handle>> Open(const std::string& path,
                                                      int flags) {
    // Without O_NONBLOCK, opening a pipe could take for ever.
    const int file =
        open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    // A folder, or a socket or device without a server, cannot be opened.
    if (file < 0 && errno != EISDIR && errno != ENXIO) {
      return SystemError(path, "open it");
    }
    std::unique_ptr<Handle> handle;
    if (file >= 0) handle = absl::WrapUnique(new Handle(path, file));
    struct stat opened = {};
    if (file < 0 || fstat(file, &opened) != 0 || !S_ISREG(opened.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a regular file"));
    }
    return handle;
  }
  ~Handle() { close(file_); }

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Returns kUnavailable if another process holds the lock for too long. The
  // lock is gone with the process.
  absl::Status Lock() {
    // Others hold it for some microseconds, unless they are stopped.
    constexpr int kTries = 100;
    constexpr std::chrono::microseconds kGap(100);
    for (int i = 0; i < kTries; ++i) {
      if (flock(file_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
      if (errno != EINTR && errno != EWOULDBLOCK) {
        return SystemError(path_, "lock it");
      }
      std::this_thread::sleep_for(kGap);
    }
    return absl::UnavailableError(
        absl::StrCat(path_, " is locked by another process"));
  }
  void Unlock() { flock(file_, LOCK_UN); }

  // Returns whether the path still leads to this file.
  bool IsCurrent() const {
    struct stat opened = {};
    struct stat current = {};
    return fstat(file_, &opened) == 0 && stat(path_.c_str(), &current) == 0 &&
           opened.st_dev == current.st_dev && opened.st_ino == current.st_ino;
  }

  int64_t Size() const {
    struct stat opened = {};
    return fstat(file_, &opened) == 0 ? opened.st_size : 0;
  }

  // Returns the text from `offset` on, `most` bytes and a part of a file
  // beyond.
  absl::StatusOr<std::string> ReadFrom(
      int64_t offset, size_t most = std::numeric_limits<size_t>::max()) const {
    std::string text;
    while (text.size() < most) {
      constexpr size_t kPart = 65536;
      const size_t size = text.size();
      text.resize(size + kPart);
      const ssize_t got = pread(file_, text.data() + size, kPart,
                                offset + static_cast<int64_t>(size));
      if (got < 0 && errno != EINTR) return SystemError(path_, "read it");
      text.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got == 0) break;
    }
    return text;
  }

  // Refuses a file that is not of this kind before it is read whole.
  absl::Status CheckHeader() const {
    const absl::StatusOr<std::string> begin = ReadFrom(0, 1);
    if (!begin.ok()) return begin.status();
    const absl::Status status = internal::CheckDurationsHeader(*begin);
    return status.ok() ? status : At(path_, status);
  }

  // Lets the same users write, as far as this one may say so.
  absl::Status TakePermissionsOf(const Handle& other) {
    struct stat taken = {};
    if (fstat(other.file_, &taken) != 0) return SystemError(path_, "read it");
    if (fchown(file_, taken.st_uid, taken.st_gid) != 0 && errno != EPERM) {
      return SystemError(path_, "give it to its owner");
    }
    if (fchmod(file_, taken.st_mode & 07777U) != 0) {
      return SystemError(path_, "set its permissions");
    }
    return absl::OkStatus();
  }

  // Writes at the end.
  absl::Status Write(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(file_, text.data(), text.size());
      if (written < 0 && errno != EINTR)
        return SystemError(path_, "write to it");
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
    return absl::OkStatus();
  }

 private:
  Handle(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
};

absl::StatusOr<std::unique_ptr<DurationFile>> DurationFile::Open(
    const std::string& path, std::shared_ptr<DurationModel> model) {
  if (model == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the DurationModel is null"));
  }
  std::unique_ptr<DurationFile> file =
      absl::WrapUnique(new DurationFile(path, std::move(model)));
  {
    const MutexLock lock(file->mutex_);
    // Also writes the first line of a new file.
    absl::Status status = file->Append({});
    if (!status.ok()) return status;
  }
  file->recorder_ = file->model_->AddRecorder(
      [&file = *file](std::string_view operation,
                      const ObservedDuration& duration) {
        const std::string line = internal::FormatDurationLine(
            internal::ToAbsl(operation), internal::ToBounds(duration));
        const MutexLock lock(file.mutex_);
        const absl::Status written = file.Append(line);
        if (file.status_.ok()) file.status_ = written;
      });
  return file;
}

absl::Status DurationFile::Read(const std::string& path, DurationModel& model) {
  absl::StatusOr<std::unique_ptr<Handle>> handle = Handle::Open(path, O_RDONLY);
  if (!handle.ok()) return handle.status();
  absl::Status status = (*handle)->CheckHeader();
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> text = (*handle)->ReadFrom(0);
  if (!text.ok()) return text.status();
  const absl::Status merged = model.Merge(*text);
  return merged.ok() ? merged : At(path, merged);
}

DurationFile::DurationFile(std::string path,
                           std::shared_ptr<DurationModel> model)
    : path_(std::move(path)), model_(std::move(model)) {}

DurationFile::~DurationFile() {
  model_->RemoveRecorder(recorder_);
  const MutexLock lock(mutex_);
  if (!pending_.empty()) (void)Append({});
}

absl::Status DurationFile::Sync() {
  const MutexLock lock(mutex_);
  return Append({});
}

// Reads what others have written, and then writes `line`, which may be empty.
absl::Status DurationFile::Append(absl::string_view line) {
  absl::StrAppend(&pending_, line);
  absl::Status status = Lock();
  if (absl::IsUnavailable(status) && pending_.size() < kMostPending) {
    return absl::OkStatus();  // The next call writes it.
  }
  if (!status.ok()) {
    pending_.clear();
    return status;
  }
  status = ReadNews();
  if (status.ok()) {
    std::string text;
    if (read_ == 0) text = std::string(internal::kDurationsHeader);
    // A process has died, or the disk was full, within a line.
    if (torn_ > 0) text += "\n";
    text += pending_;
    status = handle_->Write(text);
    if (status.ok()) {
      if (torn_ > 0) ++damaged_;
      read_ += torn_ + static_cast<int64_t>(text.size());
      torn_ = 0;
      lines_ += std::count(pending_.begin(), pending_.end(), '\n');
    }
  }
  pending_.clear();
  if (status.ok() && lines_ > kLongFile) status = Shorten();
  handle_->Unlock();
  return status;
}

// Locks the file at the path, which may be another one than before.
absl::Status DurationFile::Lock() {
  for (;;) {
    const bool is_first = handle_ == nullptr;
    if (is_first || !handle_->IsCurrent()) {
      absl::StatusOr<std::unique_ptr<Handle>> opened =
          Handle::Open(path_, O_RDWR | O_CREAT | O_APPEND);
      if (!opened.ok()) return opened.status();
      handle_ = *std::move(opened);
      read_ = torn_ = lines_ = 0;
      skips_known_ = !is_first;
    }
    absl::Status status = handle_->Lock();
    if (!status.ok() || handle_->IsCurrent()) return status;
  }
}

absl::Status DurationFile::ReadNews() {
  if (handle_->Size() < read_) {  // Another process cut it.
    read_ = torn_ = lines_ = 0;
    skips_known_ = true;
  }
  absl::StatusOr<std::string> text = handle_->ReadFrom(read_, 1);
  if (!text.ok()) return text.status();
  if (text->empty() && read_ == 0) return absl::OkStatus();
  if (read_ == 0) {
    const absl::Status status = handle_->CheckHeader();
    if (!status.ok()) return status;
  }
  text = handle_->ReadFrom(read_);
  if (!text.ok()) return text.status();
  const size_t end = text->rfind('\n') + 1;  // 0 without one.
  torn_ = static_cast<int64_t>(text->size() - end);
  text->resize(end);
  lines_ += std::count(text->begin(), text->end(), '\n');
  if (!text->empty()) {
    if (read_ > 0) *text = absl::StrCat(internal::kDurationsHeader, *text);
    // A shortened file has what the model knew, and perhaps more.
    if (std::exchange(skips_known_, false)) {
      *text = WithoutLinesOf(*text, model_->ToText());
    }
    const absl::Status status = model_->Merge(*text, &damaged_);
    if (!status.ok()) return At(path_, status);
  }
  read_ += static_cast<int64_t>(end);
  return absl::OkStatus();
}

// Replaces a file that has far more lines than the model keeps. The lock of the
// old file is held until then; others notice afterwards that it has gone.
absl::Status DurationFile::Shorten() {
  const std::string text = model_->ToText();
  const auto lines =
      static_cast<int64_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines_ < 2 * lines) return absl::OkStatus();
  // A link stays one.
  std::error_code error;
  const std::string target = std::filesystem::canonical(path_, error).string();
  if (error) return absl::OkStatus();  // Removed by another process.
  const std::string path = target + ".new";
  absl::StatusOr<std::unique_ptr<Handle>> handle =
      Handle::Open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
  if (!handle.ok()) return handle.status();
  absl::Status status = (*handle)->Write(text);
  if (status.ok()) status = (*handle)->TakePermissionsOf(*handle_);
  if (status.ok() && std::rename(path.c_str(), target.c_str()) != 0) {
    status = SystemError(path_, "replace it");
  }
  if (!status.ok()) (void)std::remove(path.c_str());
  return status;
}

absl::Status DurationFile::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

int64_t DurationFile::damaged_lines() const {
  const MutexLock lock(mutex_);
  return damaged_;
}

}  // namespace waiter
