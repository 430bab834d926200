// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An expression of jq (https://jqlang.github.io/jq/manual/), by libjq.
//
//   const absl::StatusOr<waiter::cli::JqProgram> ready =
//       waiter::cli::JqProgram::Parse("any(.items[]; .ready)");
//   if (!ready.ok()) return ready.status();
//   const waiter::cli::JqProgram::Result result = ready->Run(body);
//
// libjq has no limit on time or memory. Therefore a child process that is a
// copy of this one runs the expression, with limits on both. It has no other
// effect, and takes a few milliseconds.

#ifndef WAITER_CLI_PROBES_HTTP_JQ_PROGRAM_H_
#define WAITER_CLI_PROBES_HTTP_JQ_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

// Immutable, and cheap to copy. Thread-compatible.
class JqProgram {
 public:
  // Limits of one run. The memory of this process does not count.
  static constexpr absl::Duration kMaxTime = absl::Seconds(1);
  static constexpr size_t kMaxMemory = size_t{256} << 20;
  static constexpr size_t kMaxOutput = size_t{64} << 10;

  // Compiles `text`. kInvalidArgument names the error and its line, or says
  // that libjq is missing.
  static absl::StatusOr<JqProgram> Parse(std::string_view text);

  struct Result {
    // The values that the expression gives, as JSON in one line each.
    std::vector<std::string> values = {};

    // Why it gave no more: kInvalidArgument if the expression does not suit the
    // input, or the input is not JSON; kResourceExhausted if it exceeded a
    // limit.
    absl::Status status = absl::OkStatus();
  };

  // Runs the expression. Blocks, for `kMaxTime` at most.
  Result Run(std::string_view json) const;

 private:
  struct Compiled;

  explicit JqProgram(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_JQ_PROGRAM_H_
