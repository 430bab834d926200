// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h that asks a server to hold a request until there
// is news, and knows whether it does. Needs no libcurl, for clients of your
// own:
//
//   waiter::LongPolls long_polls({.hold = absl::Seconds(30)});
//   ...
//   const absl::Duration hold = long_polls.NextHold(context.timeout);
//   HttpResponse response = Send(long_polls.Url(url, hold),
//                                long_polls.Fields(hold));
//   if (long_polls.WasHeld(hold, {.took = took, .status = response.status})) {
//     return std::move(answer).WithNextDelay(absl::ZeroDuration());
//   }

#ifndef WAITER_INTEROP_INTERNAL_LONG_POLL_H_
#define WAITER_INTEROP_INTERNAL_LONG_POLL_H_

#include <string>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter {

struct HttpLongPoll {
  // Time for which the server may hold a request: within 1 s and 1 h, or zero
  // for no long polls.
  Duration hold = absl::ZeroDuration();

  // Parameter of the URL that has the number of seconds, as in `?wait=30`.
  // Empty: the field `Prefer: wait=30` (RFC 7240, 4.3).
  std::string parameter = {};
};

// The long polls of one request. Thread-compatible.
//
// | the server                         | next poll                           |
// | ---------------------------------- | ----------------------------------- |
// | holds the request for at least     | immediately; a "not ready" does not |
// | half of the time                   | lengthen the delays                 |
// | answers sooner after it held the   | immediately, once: there is news    |
// | last request                       |                                     |
// | answers sooner again, as one does  | after the ordinary delay            |
// | that ignores the wish              |                                     |
// | or a proxy cuts the request: no    | after the ordinary delay; after two |
// | answer, or 408, 502 or 504, after  | cuts in a row, requests ask for     |
// | a second or more                   | three quarters of the time that     |
// |                                    | passed                              |
class LongPolls {
 public:
  explicit LongPolls(HttpLongPoll options);

  // Returns the whole seconds for which to ask in a poll that may take
  // `timeout`: less by a tenth of it, within 1 s and 10 s, so that the answer
  // still comes in time. Zero if that leaves less than a second: send an
  // ordinary request.
  absl::Duration NextHold(absl::Duration timeout) const;

  // Return the URL of a request that may be held for `hold`, and the fields to
  // add to it.
  std::string Url(const std::string& url, absl::Duration hold) const;
  HttpFields Fields(absl::Duration hold) const;

  struct Answer {
    absl::Duration took;
    int status;  // 0: there was no response.
  };

  // Takes the answer to a request that could be held for `hold`. Returns
  // whether the next poll should follow immediately.
  bool WasHeld(absl::Duration hold, const Answer& answer);

 private:
  HttpLongPoll options_;
  absl::Duration max_hold_;
  bool holds_ = false;    // The last request was held.
  bool was_cut_ = false;  // The last request was cut.
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_LONG_POLL_H_
