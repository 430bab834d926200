// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a command and tells how it ended:
//
//   waiter::cli::Process process(reaper, waiter::cli::ShellCommand("test -e
//   /run/ready"),
//                           [&](waiter::cli::ProcessEnd end) {
//                             std::cerr << waiter::cli::Summary(end) << '\n';
//                           });
//   while (!done) loop.RunOnce(limit);

#ifndef WAITER_CLI_PROCESS_PROCESS_H_
#define WAITER_CLI_PROCESS_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/loop/event_loop.h"
#include "cli/process/pipe_tail.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {

struct Command {
  // The program, which is looked for in PATH unless it has a slash, and its
  // arguments.
  std::vector<std::string> words;

  // What is other than in our own environment; nothing: it is not there.
  std::map<std::string, std::optional<std::string>> environment = {};
};

// Returns a command that lets /bin/sh run `text`.
Command ShellCommand(std::string text);

struct ProcessEnd {
  enum class How : uint8_t {
    kExited,      // With `code`.
    kSignalled,   // By the signal `code`.
    kNotStarted,  // See `DescribeExecError` for `code` and `error`.
    kGivenUp,     // Not even SIGKILL has ended it.
  };
  How how = How::kExited;
  int code = 0;
  std::string error = {};

  // `Terminate` was called before it had ended.
  bool terminated = false;

  // The last 64 KiB that it and its children have written to stdout, and the
  // last 4 KiB to stderr; may be anything.
  std::string out = {};
  std::string err = {};
};

// What is enough of a line that may have any length.
inline constexpr size_t kLongestDetail = 512;

// Returns how it ended, for people, as "exit code 1", "killed by signal 9
// (Killed)" or "curll: command not found".
std::string Describe(const ProcessEnd& end);

// Returns the same and the last line of stderr, or else of stdout; or, if the
// exit code is zero, the last line of stdout, or else of stderr, alone. Lines
// are shortened to `kLongestDetail` bytes.
std::string Summary(const ProcessEnd& end);

// Returns the last line of `output` that is not blank, without the blanks
// around it; empty if there is none.
std::string_view LastLine(std::string_view output);

// A child that leads a process group of its own, reads nothing, and has been
// given no signal mask, handler or file of ours. Thread-compatible.
class Process {
 public:
  using Done = std::function<void(ProcessEnd)>;

  // Starts `command`, and calls `done` once, on the loop, when it has ended.
  // Its own children do not hold that up by more than 100 ms, though they may
  // go on and have stdout and stderr open. Requires at least one word.
  Process(ProcessReaper& reaper, const Command& command, Done done);

  // Ends what is still running, as `Terminate` does; the reaper sees to it.
  ~Process();

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends SIGTERM to the process group, and SIGKILL if it needs that. `done` is
  // called when the child has ended, which it may have before: then at once,
  // inside of the call.
  void Terminate();

  // Also the number of its group; -1 if it was not started.
  pid_t pid() const { return pid_; }

 private:
  void OnExit(std::optional<int> status);
  void FinishIfComplete();
  void Finish();

  ProcessReaper& reaper_;
  Done done_;
  PipeTail out_;
  PipeTail err_;
  pid_t pid_ = -1;
  ProcessEnd end_;
  bool ended_ = false;
  EventLoop::Watch finish_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PROCESS_H_
