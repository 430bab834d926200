// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits until lines of a log match:
//
//   waiter::cli::LogProbe probe(
//       calls, {.path = "app.log", .count = 2,
//               .matches = [regex](std::string_view line) {
//                 return regex.Matches(line);
//               }});

#ifndef WAITER_CLI_PROBES_LOCAL_LOG_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_LOG_PROBE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cli/loop/blocking_calls.h"
#include "cli/loop/unique_fd.h"
#include "cli/probes/blocking_probe.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

struct LogOptions {
  std::string path = {};
  int64_t count = 1;  // How many lines must match.

  // Whether a line, without its end, counts. Called on another thread.
  std::function<bool(std::string_view line)> matches = nullptr;
};

// Counts the matching lines of a file that grows. Not thread-safe.
class LogFollower {
 public:
  // Most bytes of a line; the rest of a longer line is its own line.
  static constexpr size_t kMaxLine = size_t{1} << 20;

  explicit LogFollower(LogOptions options) : options_(std::move(options)) {}

  // Reads the bytes appended since the last call, at most 64 MiB, and judges
  // them. Costs time linear in these bytes.
  //
  // A file that was renamed and replaced is read to its end, and the new one
  // from its beginning; a file that became shorter is read again from its
  // beginning. Earlier matches still count. Lines that were written and removed
  // between two calls are lost. An incomplete last line counts once it is
  // complete.
  Finding Read();

 private:
  // Reads the open file. Returns 0, or an errno.
  int ReadOpen(size_t& budget);
  void Take(std::string_view bytes);
  void TakeLine(std::string_view line);

  const LogOptions options_;
  UniqueFd file_;  // Invalid until the file exists.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  std::string partial_;  // The last line, while it is incomplete.
  int64_t found_ = 0;
  std::string last_match_;
};

// A file that does not exist is absent.
class LogProbe : public BlockingProbe {
 public:
  // The calls must outlive this.
  LogProbe(BlockingCalls& calls, LogOptions options)
      : BlockingProbe(calls),
        follower_(std::make_shared<LogFollower>(std::move(options))) {}

 private:
  std::function<Judge()> NewRead() override;

  // Shared with the read in progress, which may outlive this.
  const std::shared_ptr<LogFollower> follower_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_LOG_PROBE_H_
