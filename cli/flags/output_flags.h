// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags for the reports of a run and their destinations:
//
//   waiter::cli::OutputFlags output;
//   output.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::cli::RunListeners> listeners = output.Listeners(
//       flags, waiter::cli::ThisTerminal(), std::cout, std::cerr);

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

// Listeners in the order in which they must be called.
using RunListeners = std::vector<std::unique_ptr<RunListener>>;

// Thread-compatible.
//
// | --progress | on `err`                                     | on `out`   |
// | ---------- | -------------------------------------------- | ---------- |
// | auto       | tty if the terminal can, otherwise plain     |            |
// | tty        | a line per target, redrawn; failure message  |            |
// | plain      | a line per change; failure message           |            |
// | json       | failure message                              | JSON lines |
// | none       |                                              |            |
//
// `--quiet` is none with a failure message of one line. `--verbose` is plain
// with a line per poll. All except json answer SIGUSR1 on `err`.
class OutputFlags {
 public:
  OutputFlags() = default;
  // `AddTo` hands out the address of this.
  OutputFlags(const OutputFlags&) = delete;
  OutputFlags& operator=(const OutputFlags&) = delete;

  // Adds --progress, --quiet, --verbose, --log-json, --print-last and --color.
  void AddTo(Flags& flags);

  // Returns the listeners that the flags ask for. Opens the log and empties it.
  // Returns kInvalidArgument with the names of flags that contradict each
  // other, or with the log that cannot be opened. `out` and `err` must outlive
  // the listeners.
  absl::StatusOr<RunListeners> Listeners(const Flags& flags,
                                         const Terminal& terminal,
                                         std::ostream& out,
                                         std::ostream& err) const;

  // Whether the user wants to know more than usual.
  bool verbose() const { return verbose_; }

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
