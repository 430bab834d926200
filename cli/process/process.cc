// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/process.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/process/exec_error.h"
#include "cli/process/process_reaper.h"
#include "cli/process/spawn.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

using How = ProcessEnd::How;

constexpr size_t kKeptOut = size_t{64} * 1024;
constexpr size_t kKeptErr = size_t{4} * 1024;

// Time to wait, after the end of a child, for descendants that have its stdout
// or stderr open.
constexpr absl::Duration kGrace = absl::Milliseconds(100);

using Environment = std::map<std::string, std::optional<std::string>>;

// Returns the environment of this process with `changes` applied.
std::vector<std::string> With(const Environment& changes) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string name(text.substr(0, text.find('=')));
    if (!changes.contains(name)) variables.emplace_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value.has_value()) variables.push_back(absl::StrCat(name, "=", *value));
  }
  return variables;
}

}  // namespace

Command ShellCommand(std::string text) {
  return {.words = {"/bin/sh", "-c", std::move(text)}};
}

Command ShellSyntaxCheck(std::string text) {
  return {.words = {"/bin/sh", "-n", "-c", std::move(text)}};
}

std::string Describe(const ProcessEnd& end) {
  switch (end.how) {
    case How::kExited:
      return absl::StrCat("exit code ", end.code);
    case How::kSignalled:
      return absl::StrCat("killed by signal ", end.code, " (",
                          // NOLINTNEXTLINE(concurrency-mt-unsafe): known signal
                          strsignal(end.code), ")");
    case How::kNotStarted:
      return end.error;
    case How::kGivenUp:
      break;
  }
  return "could not be killed";
}

std::string Summary(const ProcessEnd& end) {
  const bool fine = end.how == How::kExited && end.code == 0;
  std::string_view line = LastLine(fine ? end.out : end.err);
  if (line.empty()) line = LastLine(fine ? end.err : end.out);
  if (line.empty()) return Describe(end);
  const std::string shown = Shortened(line, kLongestDetail);
  return fine ? shown : absl::StrCat(Describe(end), ": ", shown);
}

std::string_view LastLine(std::string_view output) {
  output = absl::StripTrailingAsciiWhitespace(output);
  // npos + 1 is 0.
  return absl::StripLeadingAsciiWhitespace(
      output.substr(output.find_last_of("\r\n") + 1));
}

Process::Process(ProcessReaper& reaper, const Command& command, Done done,
                 std::function<void(std::string_view)> on_output)
    : reaper_(reaper),
      done_(std::move(done)),
      out_(
          reaper.loop(), kKeptOut, [this] { FinishIfComplete(); },
          std::move(on_output)),
      err_(reaper.loop(), kKeptErr, [this] { FinishIfComplete(); }) {
  int error = out_.error() != 0 ? out_.error() : err_.error();
  if (error == 0) {
    error = Spawn(
        {.words = command.words, .environment = With(command.environment)},
        out_.writing_end(), err_.writing_end(), pid_);
  }
  out_.CloseWritingEnd();
  err_.CloseWritingEnd();
  if (error == 0) {
    reaper.Adopt(pid_, [this](std::optional<int> status) { OnExit(status); });
    return;
  }
  pid_ = -1;
  const ExecError why = DescribeExecError(command.words[0], error);
  end_.how = How::kNotStarted;
  end_.code = why.exit_code;
  end_.error = why.text;
  ended_ = true;
  finish_ = reaper.loop().CallAfter(absl::ZeroDuration(), [this] { Finish(); });
}

Process::~Process() {
  if (!ended_) reaper_.Abandon(pid_);
}

void Process::Terminate() {
  if (ended_) {
    if (done_) Finish();
  } else if (!reaper_.HasEnded(pid_)) {
    end_.terminated = true;
    reaper_.Terminate(pid_);
  }
}

void Process::OnExit(std::optional<int> status) {
  ended_ = true;
  if (!status.has_value()) {
    end_.how = How::kGivenUp;
  } else if (WIFSIGNALED(*status)) {
    end_.how = How::kSignalled;
    end_.code = WTERMSIG(*status);
  } else {
    end_.code = WEXITSTATUS(*status);
  }
  out_.Drain();
  err_.Drain();
  finish_ = reaper_.loop().CallAfter(kGrace, [this] { Finish(); });
  FinishIfComplete();
}

void Process::FinishIfComplete() {
  if (done_ && ended_ && out_.closed() && err_.closed()) Finish();
}

void Process::Finish() {
  finish_ = {};
  end_.out = out_.Take();
  end_.err = err_.Take();
  // The call may destroy this.
  std::exchange(done_, nullptr)(std::move(end_));
}

}  // namespace waiter::cli
