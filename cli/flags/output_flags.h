// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The flags that say what is told of a run, and to whom.
//
//   waiter::cli::OutputFlags output;
//   output.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::cli::RunListeners> listeners =
//       output.Listeners(flags, waiter::cli::ThisTerminal(), std::cout,
//       std::cerr);

#ifndef WAITER_CLI_FLAGS_OUTPUT_FLAGS_H_
#define WAITER_CLI_FLAGS_OUTPUT_FLAGS_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "cli/output/terminal.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

// To be told in this order.
using RunListeners = std::vector<std::unique_ptr<RunListener>>;

// Thread-compatible.
//
// | --progress | `err`                                     | `out`     |
// | ---------- | ------------------------------------------- | --------- |
// | auto       | tty on a terminal that can, or else plain   |           |
// | tty        | a line per target, redrawn; why it failed   |           |
// | plain      | a line per change; why it failed            |           |
// | json       | why it failed                               | the lines |
// | none       |                                             |           |
//
// `--quiet` is none with one line of why it failed, `--verbose` plain with each
// poll. All but json answer SIGUSR1 on `err`.
class OutputFlags {
 public:
  OutputFlags() = default;
  // `AddTo` hands out its address.
  OutputFlags(const OutputFlags&) = delete;
  OutputFlags& operator=(const OutputFlags&) = delete;

  // Adds --progress, --quiet, --verbose, --log-json, --print-last and --color.
  void AddTo(Flags& flags);

  // Returns who is to be told of a run. Opens the log, and empties it. An error
  // is kInvalidArgument: it names flags that contradict each other, or the log
  // that cannot be opened. `out` and `err` must outlive what is returned.
  absl::StatusOr<RunListeners> Listeners(const Flags& flags,
                                         const Terminal& terminal,
                                         std::ostream& out,
                                         std::ostream& err) const;

 private:
  enum class Progress : uint8_t { kAuto, kTty, kPlain, kJson, kNone };
  enum class Color : uint8_t { kAuto, kAlways, kNever };

  Progress Chosen(const Terminal& terminal) const;

  Progress progress_ = Progress::kAuto;
  Color color_ = Color::kAuto;
  bool quiet_ = false;
  bool verbose_ = false;
  bool print_last_ = false;
  std::string log_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_OUTPUT_FLAGS_H_
