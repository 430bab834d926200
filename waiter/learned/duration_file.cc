// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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
#include "waiter/learned/locked_file.h"

namespace waiter {
namespace {

using internal::LockedFile;
using internal::MutexLock;

// A file is shortened when it has more lines than this, and twice as many as
// the model keeps.
constexpr int64_t kLongFile = 1000;

// Attempts of a file that is closed to write what waits for the lock, each of
// which takes about 10 ms. Nobody else would write it.
constexpr int kLastTries = 100;

// Pending text beyond this size is dropped if another process keeps the lock.
constexpr size_t kMostPending = size_t{1} << 16U;

absl::Status At(const std::string& path, const absl::Status& status) {
  return {status.code(), absl::StrCat(path, " ", status.message())};
}

// Refuses a file of another kind before reading all of it.
absl::Status CheckHeader(const LockedFile& file, const std::string& path) {
  const absl::StatusOr<std::string> begin = file.ReadFrom(0, 1);
  if (!begin.ok()) return begin.status();
  const absl::Status status = internal::CheckDurationsHeader(*begin);
  return status.ok() ? status : At(path, status);
}

// Returns the first line of `text`, and then, in their order, the lines that
// `known` does not have, or not as often.
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
  absl::StatusOr<std::unique_ptr<LockedFile>> file =
      LockedFile::OpenToRead(path);
  if (!file.ok()) return file.status();
  absl::Status status = CheckHeader(**file, path);
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> text = (*file)->ReadFrom(0);
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
  for (int i = 0; i < kLastTries && !pending_.empty(); ++i) (void)Append({});
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
    status = file_->Append(text);
    if (status.ok()) {
      if (torn_ > 0) ++damaged_;
      read_ += torn_ + static_cast<int64_t>(text.size());
      torn_ = 0;
      lines_ += std::count(pending_.begin(), pending_.end(), '\n');
    }
  }
  pending_.clear();
  if (status.ok() && lines_ > kLongFile) status = Shorten();
  file_->Unlock();
  return status;
}

// Locks the file at the path, which may be another one than before.
absl::Status DurationFile::Lock() {
  for (;;) {
    const bool is_first = file_ == nullptr;
    if (is_first || !file_->IsCurrent()) {
      absl::StatusOr<std::unique_ptr<LockedFile>> opened =
          LockedFile::OpenToAppend(path_);
      if (!opened.ok()) return opened.status();
      file_ = *std::move(opened);
      read_ = torn_ = lines_ = 0;
      skips_known_ = !is_first;
    }
    absl::Status status = file_->Lock();
    if (!status.ok() || file_->IsCurrent()) return status;
  }
}

absl::Status DurationFile::ReadNews() {
  if (file_->Size() < read_) {  // Another process cut it.
    read_ = torn_ = lines_ = 0;
    skips_known_ = true;
  }
  absl::StatusOr<std::string> text = file_->ReadFrom(read_, 1);
  if (!text.ok()) return text.status();
  if (text->empty() && read_ == 0) return absl::OkStatus();
  if (read_ == 0) {
    absl::Status status = CheckHeader(*file_, path_);
    if (!status.ok()) return status;
  }
  text = file_->ReadFrom(read_);
  if (!text.ok()) return text.status();
  const size_t end = text->rfind('\n') + 1;  // 0 without one.
  torn_ = static_cast<int64_t>(text->size() - end);
  text->resize(end);
  lines_ += std::count(text->begin(), text->end(), '\n');
  if (!text->empty()) {
    if (read_ > 0) *text = absl::StrCat(internal::kDurationsHeader, *text);
    // A shortened file has the model's durations, and perhaps more.
    if (std::exchange(skips_known_, false)) {
      *text = WithoutLinesOf(*text, model_->ToText());
    }
    const absl::Status status = model_->Merge(*text, &damaged_);
    if (!status.ok()) return At(path_, status);
  }
  read_ += static_cast<int64_t>(end);
  return absl::OkStatus();
}

// Replaces a file that has far more lines than the model keeps. Holds the lock
// of the old file until then. Other processes notice afterwards that the old
// file has gone.
absl::Status DurationFile::Shorten() {
  const std::string text = model_->ToText();
  const auto lines =
      static_cast<int64_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines_ < 2 * lines) return absl::OkStatus();
  return file_->ReplaceBy(text);
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
