// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The outcome of one poll. A status function that has nothing to add returns a
// bare `PollStatus`:
//
//   waiter::Waiter wait_for_file(
//       [&] {
//         return std::filesystem::exists(path)
//                    ? waiter::PollStatus::kSuccess
//                    : waiter::PollStatus::kNotReady;
//       },
//       {.timeout = absl::Seconds(30)});
//
// `Poll<T>` (poll.h) adds a value, an error, a text or a server's hint to it.
// classify.h and error_classifier.h derive a `PollStatus` from the errors of a
// service.

#ifndef WAITER_POLL_STATUS_H_
#define WAITER_POLL_STATUS_H_

#include <cstdint>
#include <ostream>
#include <string_view>

#include "waiter/version.h"

namespace waiter {

// Ordered from healthy to hopeless. After `kNotReady`, `kThrottled` and
// `kServerError` the wait goes on. Each of them has its own backoff curve, and
// an answer restarts the curves of all statuses that are worse. A number
// outside of this list ends the wait as `kFailed`, with a kInternal error.
enum class PollStatus : uint8_t {
  // The condition is met. Ends the wait, unless the options ask for the
  // condition to hold (`WaitOptions::successes_required`, `hold_for`).
  kSuccess,

  // The condition is not met yet. Delay by `WaitOptions::backoff`.
  kNotReady,

  // The server asked for less traffic. Delay by `WaitOptions::throttled`, and
  // at least as long as after `kNotReady`.
  kThrottled,

  // This poll got no usable answer, for example because of a server error or a
  // timeout; another one may. Delay by `WaitOptions::server_error`.
  kServerError,

  // The condition will never be met. Ends the wait at once.
  kFailed,
};

// Returns "success", "not ready", "throttled", "server error" or "failed", and
// "unknown status" for any other number.
std::string_view PollStatusName(PollStatus status);

// Print the name.
std::ostream& operator<<(std::ostream& out, PollStatus status);
template <typename Sink>
void AbslStringify(Sink& sink, PollStatus status) {
  sink.Append(PollStatusName(status));
}

}  // namespace waiter

#endif  // WAITER_POLL_STATUS_H_
