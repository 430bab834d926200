// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Logs of waits. One line turns them on for a whole program:
//
//   waiter::ObserveEveryWait(std::make_shared<waiter::LogObserver>());
//
// A wait then logs a line when a poll finds something new, now and then while
// the answer stays the same, and at its end:
//
//   instance i-0abc: not ready: CREATING, after 0s; next poll in 1.5s
//   instance i-0abc: still not ready: CREATING, after 10.2s and 5 polls; next
//   poll in 8s
//   instance i-0abc: success after 42.1s and 9 polls
//
// (each on one line). The lines go to the standard error stream, or to your own
// logger:
//
//   waiter::LogObserver({.sink = [](absl::LogSeverity severity,
//                                   std::string_view line) {
//     MyLog(severity, line);
//   }});

#ifndef WAITER_TELEMETRY_LOG_OBSERVER_H_
#define WAITER_TELEMETRY_LOG_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/base/log_severity.h"
#include "waiter/observer.h"
#include "waiter/result.h"

namespace waiter {

struct LogOptions {
  // Takes one line, without a newline. Called without a lock, on the thread
  // that drives the wait, possibly on several threads at the same time. Unset:
  // writes the time, the severity and the line to the standard error stream.
  std::function<void(absl::LogSeverity, std::string_view)> sink = nullptr;

  // Severities by event; unset: no line.

  // The first poll, and every poll that finds something new: a status, text or
  // error that differs from the previous poll's, as far as a line shows them.
  std::optional<absl::LogSeverity> change = absl::LogSeverity::kInfo;

  // A poll that finds the same: the first after 10 s, 30 s, 1 min, and then
  // whenever the elapsed time has doubled.
  std::optional<absl::LogSeverity> heartbeat = absl::LogSeverity::kInfo;

  // The end of a wait. `cancelled` is for waits that were cancelled or ended
  // with their engine, `failure` for all other ends without success.
  std::optional<absl::LogSeverity> success = absl::LogSeverity::kInfo;
  std::optional<absl::LogSeverity> failure = absl::LogSeverity::kWarning;
  std::optional<absl::LogSeverity> cancelled = absl::LogSeverity::kInfo;
};

// Thread-safe; meant to be shared by all waits. Keeps about 200 bytes for each
// wait that is pending. Waits share locks, which are held during a lookup.
// Server texts and wait names are cut to 200 bytes each. Control characters in
// them are replaced by spaces, so that each line stays one line.
//
// The sink must not throw. It may start waits; if this observer watches them,
// they call the sink again.
class LogObserver final : public WaitObserver {
 public:
  explicit LogObserver(LogOptions options = {});
  ~LogObserver() override;

  void OnDecision(const DecisionEvent& decision) override;
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override;
  PollHooks poll_hooks() const override;

 private:
  class Pending;

  void Log(std::optional<absl::LogSeverity> severity,
           std::string_view line) const;

  const LogOptions options_;
  const std::unique_ptr<Pending> pending_;
};

}  // namespace waiter

#endif  // WAITER_TELEMETRY_LOG_OBSERVER_H_
