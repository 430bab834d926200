// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/guard.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/process/pid_watch.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {
namespace {

using How = ProcessEnd::How;

// Returns whether the command could not be run, according to exec(2) or the
// shell.
bool CannotRun(const ProcessEnd& end) {
  return (end.how == How::kExited || end.how == How::kNotStarted) &&
         (end.code == 126 || end.code == 127);
}

}  // namespace

// Runs a shell command again and again until its success, or its failure,
// breaks the guard.
class Guard::RepeatedCommand {
 public:
  // `flag` is the flag that sets the command, for the message.
  RepeatedCommand(ProcessReaper& reaper, std::string_view flag,
                  std::string text, bool breaks_by_success,
                  const GuardOptions& options, Broken broken)
      : reaper_(reaper),
        name_(absl::StrCat(flag, "='", text, "'")),
        command_(ShellCommand(text)),
        check_(ShellSyntaxCheck(std::move(text))),
        breaks_by_success_(breaks_by_success),
        every_(options.every),
        timeout_(options.timeout),
        broken_(std::move(broken)) {
    Run();
  }

 private:
  void Run() {
    process_ = std::make_unique<Process>(
        reaper_, command_, [this](const ProcessEnd& end) { OnEnd(end); });
    timer_ =
        reaper_.loop().CallAfter(timeout_, [this] { process_->Terminate(); });
  }

  void OnEnd(const ProcessEnd& end) {
    process_ = nullptr;
    if (check_.has_value() && end.how == How::kExited && end.code != 0) {
      return Check(end);
    }
    Judge(end);
  }

  // Judges `end` unless the shell does not even understand the command.
  void Check(const ProcessEnd& end) {
    process_ = std::make_unique<Process>(
        reaper_, *check_, [this, end](const ProcessEnd& checked) {
          process_ = nullptr;
          check_.reset();
          if (checked.how == How::kExited && checked.code != 0 &&
              !checked.terminated) {
            Break(absl::StatusCode::kInvalidArgument, Summary(checked));
          } else {
            Judge(end);
          }
        });
    timer_ =
        reaper_.loop().CallAfter(timeout_, [this] { process_->Terminate(); });
  }

  void Judge(const ProcessEnd& end) {
    timer_ = reaper_.loop().CallAfter(every_, [this] { Run(); });
    const bool succeeded =
        end.how == How::kExited && end.code == 0 && !end.terminated;
    if (CannotRun(end)) {
      Break(absl::StatusCode::kInvalidArgument,
            absl::StrCat("it cannot be run: ", Summary(end)));
    } else if (end.how == How::kNotStarted || succeeded != breaks_by_success_) {
      // A lack of memory or files of this process does not break a guard.
    } else if (end.terminated) {
      Break(
          absl::StatusCode::kAborted,
          absl::StrCat("did not end within ", absl::FormatDuration(timeout_)));
    } else {
      const std::string line = Summary(end);
      Break(absl::StatusCode::kAborted,
            succeeded && line != Describe(end)
                ? absl::StrCat(Describe(end), ": ", line)
                : line);
    }
  }

  void Break(absl::StatusCode code, const std::string& why) {
    timer_ = {};
    // The call may destroy this.
    const Broken broken = broken_;
    broken(absl::Status(code, absl::StrCat(name_, ": ", why)));
  }

  ProcessReaper& reaper_;
  std::string name_;
  Command command_;
  std::optional<Command> check_;  // Until it has run.
  bool breaks_by_success_;
  absl::Duration every_;
  absl::Duration timeout_;
  Broken broken_;
  std::unique_ptr<Process> process_;
  EventLoop::Watch timer_;
};

Guard::Guard(ProcessReaper& reaper, const GuardOptions& options, Broken broken)
    : broken_(std::move(broken)) {
  const auto add = [&](std::string_view flag, const std::string& text,
                       bool breaks_by_success) {
    if (text.empty()) return;
    commands_.push_back(std::make_unique<RepeatedCommand>(
        reaper, flag, text, breaks_by_success, options,
        [this](const absl::Status& why) { Break(why); }));
  };
  add("--while-running", options.while_running, /*breaks_by_success=*/false);
  add("--fail-if", options.fail_if, /*breaks_by_success=*/true);
  if (!options.while_pid.has_value()) return;
  pid_.emplace(
      reaper.loop(), *options.while_pid, [this, pid = *options.while_pid] {
        Break(absl::AbortedError(absl::StrCat("--while-pid=", pid, ": process ",
                                              pid,
                                              " has ended, or never existed")));
      });
}

Guard::~Guard() = default;

void Guard::Break(const absl::Status& why) {
  if (broken_) std::exchange(broken_, nullptr)(why);
}

}  // namespace waiter::cli
