// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a child process and reports how it ended:
//
//   waiter::cli::Process process(
//       reaper, waiter::cli::ShellCommand("test -e /run/ready"),
//       [&](waiter::cli::ProcessEnd end) {
//         std::cerr << waiter::cli::Summary(end) << '\n';
//       });
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

// A program to run as a child process.
struct Command {
  // The program and its arguments. A program without a slash is looked for in
  // PATH.
  std::vector<std::string> words;

  // Changes to the environment of this process: a variable and its value, or
  // `nullopt` to remove the variable.
  std::map<std::string, std::optional<std::string>> environment = {};
};

// Returns a command that runs `text` with /bin/sh.
Command ShellCommand(std::string text);

// Returns a command that fails if /bin/sh does not understand `text`, which it
// does not run.
Command ShellSyntaxCheck(std::string text);

struct ProcessEnd {
  enum class How : uint8_t {
    kExited,      // Exited with `code`.
    kSignalled,   // Killed by the signal `code`.
    kNotStarted,  // `DescribeExecError` has set `code` and `error`.
    kGivenUp,     // Did not end after SIGKILL.
  };
  How how = How::kExited;
  int code = 0;
  std::string error = {};

  // Whether `Terminate` was called before the child had ended.
  bool terminated = false;

  // The last 64 KiB that the child and its descendants wrote to stdout, and the
  // last 4 KiB to stderr. May contain any bytes.
  std::string out = {};
  std::string err = {};
};

// Longest excerpt of a line that a detail shows, in bytes.
inline constexpr size_t kLongestDetail = 512;

// Returns how the child ended, for messages: "exit code 1", "killed by signal 9
// (Killed)" or "curll: command not found".
std::string Describe(const ProcessEnd& end);

// Returns `Describe(end)` and the last line of stderr or, if that has none, of
// stdout. If the exit code is zero, returns the line alone, and prefers stdout.
// Shortens the line to `kLongestDetail` bytes.
std::string Summary(const ProcessEnd& end);

// Returns the last line of `output` that is not blank, without the blanks
// around it; empty if none.
std::string_view LastLine(std::string_view output);

// A child process that leads its own process group, has an empty stdin, and
// inherits no signal mask, signal handler or file of this process.
// Thread-compatible.
class Process {
 public:
  using Done = std::function<void(ProcessEnd)>;

  // Starts `command`, and calls `done` once, on the loop, when it has ended.
  // Descendants that have stdout or stderr open delay the call by at most 100
  // ms; they may continue. Requires at least one word. If there is an
  // `on_output`, it gets the standard output, on the loop, instead of
  // `ProcessEnd`; it must not destroy this.
  Process(ProcessReaper& reaper, const Command& command, Done done,
          std::function<void(std::string_view)> on_output = nullptr);

  // Terminates a child that still runs, as `Terminate` does. The reaper sees it
  // to its end.
  ~Process();

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends SIGTERM to the process group, and SIGKILL if that is not enough.
  // `done` is called when the child has ended; if it has ended before, inside
  // this call.
  void Terminate();

  // Returns the process ID, which is also the group's; -1 if the child was not
  // started.
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
