// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The progress of a wait, read from the lines of `waiter --progress=json`:
//
//   progress.Add(R"({"event":"poll","target":"db","class":"NOT_READY",...})");
//   progress.Text();   // "waiting: db: refused"

#ifndef WAITER_CLI_MCP_WAIT_PROGRESS_H_
#define WAITER_CLI_MCP_WAIT_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "waiter/clock.h"

namespace waiter::cli {

// Thread-compatible.
class WaitProgress {
 public:
  enum class State : uint8_t {
    kWaiting,
    kReady,
    kFailed,    // A target failed for good.
    kTimedOut,  // The limit of the wait, or of its polls or errors, is reached.
    kCancelled,
    kInvalid,  // The arguments, or `waiter` itself, were at fault.
  };

  explicit WaitProgress(MonotonicTime start) : start_(start) {}

  // Reads one line, without its end, that was written at `now`. Ignores events
  // and members that it does not know.
  void Add(std::string_view line, MonotonicTime now);

  // Says that the process ended with `exit_code`, after it had written
  // `message` for people.
  void End(int exit_code, std::string_view message, MonotonicTime now);

  State state() const { return state_; }
  bool has_ended() const { return state_ != State::kWaiting; }
  int64_t polls() const { return polls_; }

  // Returns the time until the next poll of any target that is not ready, which
  // is zero while one is in progress.
  absl::Duration UntilNextPoll(MonotonicTime now) const;

  // Returns a line for people, and the same for programs.
  std::string Text(MonotonicTime now) const;
  nlohmann::ordered_json Json(MonotonicTime now) const;

 private:
  struct Target {
    std::string name = {};
    std::string state = "starting";
    std::string detail = {};
    int64_t polls = 0;
    std::optional<MonotonicTime> next_poll = std::nullopt;
    bool is_ready = false;
  };

  void AddStart(const nlohmann::json& event);
  void AddPoll(const nlohmann::json& event, MonotonicTime now);
  Target* Find(const nlohmann::json& event);
  absl::Duration Elapsed(MonotonicTime now) const;

  const MonotonicTime start_;
  std::vector<Target> targets_;
  std::optional<absl::Duration> timeout_;  // Unset: no limit.
  int64_t polls_ = 0;
  State state_ = State::kWaiting;
  MonotonicTime ended_ = {};
  std::string reason_;   // For the summary.
  std::string message_;  // Why it ended, for people.
};

// Returns "waiting", "ready", "failed" and so on.
std::string_view StateName(WaitProgress::State state);

}  // namespace waiter::cli

#endif  // WAITER_CLI_MCP_WAIT_PROGRESS_H_
