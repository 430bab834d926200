// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Maps the exit codes of a program to poll statuses, as users write it:
//
//   --map=0=success,75=throttled,2-9=error,*=not-ready
//   --map=@curl,5=failed
//
//   const absl::StatusOr<waiter::cli::CodeMap> map =
//       waiter::cli::CodeMap::Parse("@curl,75=throttled");
//   map->OfExitCode(75);  // kThrottled

#ifndef WAITER_CLI_PROBES_CODE_MAP_H_
#define WAITER_CLI_PROBES_CODE_MAP_H_

#include <array>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "waiter/poll.h"

namespace waiter::cli {

// Parses "success", "not-ready", "throttled", "error" or "failed", or one of
// the aliases "not_ready", "server_error" and "fatal".
std::optional<PollStatus> ParsePollStatus(std::string_view word);

// The words that `ParsePollStatus` accepts, for messages.
inline constexpr std::string_view kPollStatusWords =
    "success, not-ready, throttled, error and failed";

// A small immutable value.
class CodeMap {
 public:
  // The default meaning of the codes, after sysexits.h, timeout(1) and shells:
  //
  //   0                     success
  //   75                    throttled
  //   69, 70, 124, signals  error
  //   64, 77, 78, 126, 127  failed
  //   others                not ready
  CodeMap();

  // Parses pieces with commas between them. A piece gives codes a meaning:
  // `0=success`, `2-9=error`, `signal=failed` for the end by a signal, or
  // `*=not-ready` for all other codes except 126 and 127, which say that
  // nothing could be run. Codes that no piece names keep their default meaning.
  // The first piece may be a preset instead, whose codes the other pieces may
  // change:
  //
  //   @nagios      plugins: 1 and 2 are not ready, 3 has failed
  //   @pg_isready  1 and 2 are not ready, 3 has failed
  //   @curl        what cannot work has failed, broken answers are errors, all
  //               others, such as 7, 22 and 28, are not ready
  //   @systemctl   `is-active`: 3 is not ready, 4 has failed
  //   @strict      all codes except 0 have failed, and so have signals
  //
  // Returns kInvalidArgument with the first piece that is unknown, or that
  // repeats a code.
  static absl::StatusOr<CodeMap> Parse(std::string_view text);

  // Return the status of a code from 0 to 255, and of the end by any signal.
  PollStatus OfExitCode(int code) const;
  PollStatus OfSignal() const;

 private:
  static constexpr int kSignal = 256;
  static constexpr int kCodes = 257;

  using Named = std::array<bool, kCodes>;

  // Read all pieces, or one of them, and mark their codes in `named`. A `*`
  // leaves the codes of `preset` as they are.
  absl::Status ReadAll(absl::Span<const std::string_view> pieces,
                       const Named& preset, Named& named);
  absl::Status Read(std::string_view piece, Named& named,
                    std::optional<PollStatus>& others);

  std::array<PollStatus, kCodes> statuses_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_CODE_MAP_H_
