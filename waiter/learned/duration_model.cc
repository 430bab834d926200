// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/learned/duration_text.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/internal/duration_ring.h"

namespace waiter {
namespace {

using internal::DurationBounds;
using internal::MutexLock;

}  // namespace

DurationModel::DurationModel(const DurationModelOptions& options)
    : max_operations_(std::max<int64_t>(options.max_operations, 1)) {}

void DurationModel::Record(std::string_view operation,
                           const ObservedDuration& duration) {
  {
    const MutexLock lock(mutex_);
    Use(operation).durations.Add(internal::ToBounds(duration));
  }
  const MutexLock lock(recorder_mutex_);
  if (recorder_ != nullptr) recorder_(operation, duration);
}

std::vector<ObservedDuration> DurationModel::Durations(
    std::string_view operation) const {
  const MutexLock lock(mutex_);
  std::vector<ObservedDuration> durations;
  const Operation* const found = Find(operation);
  if (found == nullptr) return durations;
  for (const DurationBounds& bounds : found->durations.Kept()) {
    durations.push_back(internal::ToDuration(bounds));
  }
  return durations;
}

std::vector<std::string> DurationModel::Operations() const {
  std::vector<std::string> names;
  {
    const MutexLock lock(mutex_);
    for (const Operation& operation : by_use_) names.push_back(operation.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t DurationModel::forgotten_operations() const {
  const MutexLock lock(mutex_);
  return forgotten_;
}

std::string DurationModel::ToText() const {
  std::string text(internal::kDurationsHeader);
  const MutexLock lock(mutex_);
  // The operation that was used last comes last, as in a merge.
  for (auto it = by_use_.rbegin(); it != by_use_.rend(); ++it) {
    for (const DurationBounds& bounds : it->durations.Kept()) {
      text += internal::FormatDurationLine(it->name, bounds);
    }
  }
  return text;
}

absl::Status DurationModel::Merge(std::string_view text,
                                  int64_t* damaged_lines) {
  absl::string_view rest = internal::ToAbsl(text);
  absl::Status status = internal::CheckDurationsHeader(rest);
  if (!status.ok()) return status;
  rest.remove_prefix(internal::kDurationsHeader.size());
  int64_t damaged = 0;
  const MutexLock lock(mutex_);
  for (const absl::string_view line : absl::StrSplit(rest, '\n')) {
    if (line.empty()) continue;
    const std::optional<internal::DurationLine> parsed =
        internal::ParseDurationLine(line);
    if (parsed.has_value()) {
      Use(parsed->operation).durations.Add(parsed->bounds);
    } else {
      ++damaged;
    }
  }
  if (damaged_lines != nullptr) *damaged_lines += damaged;
  return absl::OkStatus();
}

void DurationModel::SetRecorder(Recorder recorder) {
  AddRecorder(std::move(recorder));
}

int64_t DurationModel::AddRecorder(Recorder recorder) {
  const MutexLock lock(recorder_mutex_);
  recorder_ = std::move(recorder);
  return ++recorder_number_;
}

void DurationModel::RemoveRecorder(int64_t number) {
  const MutexLock lock(recorder_mutex_);
  if (recorder_number_ == number) recorder_ = nullptr;
}

DurationModel::Operation& DurationModel::Use(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return by_use_.front();
  }
  if (std::ssize(by_use_) >= max_operations_) {
    by_name_.erase(by_use_.back().name);
    by_use_.pop_back();
    ++forgotten_;
  }
  by_use_.emplace_front().name = name;
  by_use_.front().number = ++last_number_;
  by_name_.emplace(by_use_.front().name, by_use_.begin());
  return by_use_.front();
}

const DurationModel::Operation* DurationModel::Find(
    std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &*found->second;
}

DurationModel::Known DurationModel::BoundsSince(
    const Known& known, std::string_view name,
    std::vector<DurationBounds>& bounds) const {
  const MutexLock lock(mutex_);
  const Operation* const found = Find(name);
  if (found == nullptr) return known;
  const Known now = {.number = found->number,
                     .added = found->durations.added()};
  if (now.number != known.number || now.added != known.added) {
    bounds = found->durations.Kept();
  }
  return now;
}

}  // namespace waiter
