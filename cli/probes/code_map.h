// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the exit codes of a command mean to a wait, and how users say it:
//
//   --map=0=success,75=throttled,2-9=error,*=not-ready
//   --map=@curl,5=failed
//
//   absl::StatusOr<waiter::cli::CodeMap> map =
//   waiter::cli::CodeMap::Parse(text); PollStatus status = map->OfExitCode(75);
//   // kThrottled

#ifndef WAITER_CLI_PROBES_CODE_MAP_H_
#define WAITER_CLI_PROBES_CODE_MAP_H_

#include <array>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "waiter/poll_status.h"

namespace waiter::cli {

// Reads "success", "not-ready", "throttled", "error" or "failed", or one of the
// other spellings "not_ready", "server_error" and "fatal".
std::optional<PollStatus> ParsePollStatus(std::string_view word);

// The words for the message when that gives nothing.
inline constexpr std::string_view kPollStatusWords =
    "success, not-ready, throttled, error and failed";

// A small immutable value.
class CodeMap {
 public:
  // The meaning of codes where nobody says otherwise, after sysexits.h,
  // timeout(1) and shells:
  //
  //   0                     success
  //   75                    throttled
  //   69, 70, 124, signals  error
  //   64, 77, 78, 126, 127  failed
  //   others                not ready
  CodeMap();

  // Reads pieces with commas between them. A piece is a meaning of codes, as
  // `0=success`, `2-9=error`, `signal=failed` for the end by a signal, or
  // `*=not-ready` for all other codes, but 126 and 127, which tell that there
  // is nothing to run. What no piece names is as above. The first may be a
  // preset instead, whose codes the others may change:
  //
  //   @nagios      plugins: 1 and 2 are not ready, 3 has failed
  //   @pg_isready  1 and 2 are not ready, 3 has failed
  //   @curl        what cannot work has failed, broken answers are errors, all
  //                else, as 7, 22 and 28, is not ready
  //   @systemctl   `is-active`: 3 is not ready, 4 has failed
  //   @strict      all but 0 have failed, signals too
  //
  // Returns kInvalidArgument that names the piece if it is not known, or has a
  // code that another has.
  static absl::StatusOr<CodeMap> Parse(std::string_view text);

  // Of a code from 0 to 255, and of the end by any signal.
  PollStatus OfExitCode(int code) const;
  PollStatus OfSignal() const;

 private:
  static constexpr int kSignal = 256;
  static constexpr int kCodes = 257;

  using Named = std::array<bool, kCodes>;

  // Reads pieces, or one of them; `named` are the codes that have been named.
  absl::Status ReadAll(absl::Span<const std::string_view> pieces,
                       const Named& preset, Named& named);
  absl::Status Read(std::string_view piece, Named& named,
                    std::optional<PollStatus>& others);

  std::array<PollStatus, kCodes> statuses_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_CODE_MAP_H_
