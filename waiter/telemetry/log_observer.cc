// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/log_observer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/internal/heartbeat.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/text.h"

namespace waiter {
namespace {

using internal::ToAbsl;

constexpr size_t kLongestText = 200;

// Returns `text` cut to its limit, on one line.
std::string OneLine(std::string_view text) {
  std::string line(internal::CutText(text, kLongestText));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() > kLongestText) line += "...";
  return line;
}

// Returns the answer of a poll, in words: "not ready: CREATING".
std::string Found(const Poll<>& found) {
  std::string text(PollStatusName(found.status()));
  // An error's message is also the text, unless there is another one.
  if (!found.detail().empty() &&
      ToAbsl(found.detail()) != found.error().message()) {
    absl::StrAppend(&text, ": ", OneLine(found.detail()));
  }
  if (!found.error().ok()) {
    absl::StrAppend(&text, ": ",
                    OneLine(found.error().ToString(
                        absl::StatusToStringMode::kWithNoExtraData)));
  }
  return text;
}

// Returns a time with as many digits as a reader wants: "42.1s", "1h3m".
std::string Rounded(absl::Duration time) {
  const absl::Duration unit = time < absl::Seconds(1) ? absl::Milliseconds(1)
                              : time < absl::Minutes(1)
                                  ? absl::Milliseconds(100)
                                  : absl::Seconds(1);
  const absl::Duration rounded = absl::Trunc(time + unit / 2, unit);
  return rounded == absl::ZeroDuration() ? "0s" : absl::FormatDuration(rounded);
}

void WriteToStandardError(absl::LogSeverity severity, std::string_view line) {
  const std::string text = absl::StrCat(
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                       absl::UTCTimeZone()),
      " ", absl::LogSeverityName(severity), " ", ToAbsl(line), "\n");
  // One call, so that lines of several threads do not mix.
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

// The last finding of each pending wait. Each lock is for a group of waits.
class LogObserver::Pending {
 public:
  enum class News { kNone, kChange, kHeartbeat };

  News Update(uint64_t wait, const std::string& found, absl::Duration elapsed) {
    Shard& shard = ShardOf(wait);
    const internal::MutexLock lock(shard.mutex);
    const auto [it, is_first] = shard.waits.try_emplace(wait);
    Last& last = it->second;
    const bool is_due = last.heartbeat.IsDue(elapsed);
    if (is_first || last.found != found) {
      last.found = found;
      return News::kChange;
    }
    return is_due ? News::kHeartbeat : News::kNone;
  }

  void Forget(uint64_t wait) {
    Shard& shard = ShardOf(wait);
    const internal::MutexLock lock(shard.mutex);
    shard.waits.erase(wait);
  }

 private:
  struct Last {
    std::string found;
    internal::Heartbeat heartbeat;
  };
  struct Shard {
    internal::Mutex mutex;
    absl::flat_hash_map<uint64_t, Last> waits ABSL_GUARDED_BY(mutex);
  };

  Shard& ShardOf(uint64_t wait) { return shards_[wait % shards_.size()]; }

  std::array<Shard, 16> shards_;
};

LogObserver::LogObserver(LogOptions options)
    : options_(std::move(options)), pending_(std::make_unique<Pending>()) {}

LogObserver::~LogObserver() = default;

void LogObserver::OnDecision(const DecisionEvent& decision) {
  const PollEvent& poll = decision.poll;
  // `OnDone` follows, and logs the same.
  if (decision.ended.has_value()) return;
  const std::string found = Found(poll.found);
  const Pending::News news =
      pending_->Update(poll.wait.id, found, poll.elapsed);
  if (news == Pending::News::kNone) return;
  const std::string next =
      decision.delay > absl::ZeroDuration()
          ? absl::StrCat("next poll in ", Rounded(decision.delay))
          : "next poll immediately";
  const std::string name = OneLine(poll.wait.name);
  if (news == Pending::News::kChange) {
    Log(options_.change, absl::StrCat(name, ": ", found, ", after ",
                                      Rounded(poll.elapsed), "; ", next));
  } else {
    Log(options_.heartbeat,
        absl::StrCat(name, ": still ", found, ", after ", Rounded(poll.elapsed),
                     " and ", poll.attempt,
                     poll.attempt == 1 ? " poll; " : " polls; ", next));
  }
}

void LogObserver::OnDone(const WaitIdentity& wait, const WaitReport& report) {
  pending_->Forget(wait.id);
  const bool is_wanted = report.reason == StopReason::kCancelled ||
                         report.reason == StopReason::kShutDown;
  const std::optional<absl::LogSeverity> severity =
      report.reason == StopReason::kSuccess ? options_.success
      : is_wanted                           ? options_.cancelled
                                            : options_.failure;
  if (!severity.has_value()) return;
  std::string line = absl::StrCat(
      OneLine(wait.name), ": ", ToAbsl(StopReasonName(report.reason)),
      report.late ? " (late)" : "", " after ", Rounded(report.elapsed), " and ",
      report.attempts, report.attempts == 1 ? " poll" : " polls");
  if (!report.status.ok()) {
    absl::StrAppend(&line, ": ",
                    OneLine(report.status.ToString(
                        absl::StatusToStringMode::kWithNoExtraData)));
  }
  Log(severity, line);
}

WaitObserver::PollHooks LogObserver::poll_hooks() const {
  return {.before_poll = false, .after_poll = false, .before_sleep = false};
}

void LogObserver::Log(std::optional<absl::LogSeverity> severity,
                      std::string_view line) const {
  if (!severity.has_value()) return;
  if (options_.sink != nullptr) {
    options_.sink(*severity, line);
  } else {
    WriteToStandardError(*severity, line);
  }
}

}  // namespace waiter
