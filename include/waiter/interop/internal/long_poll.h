// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h that asks a server to hold a request until there
// is news, and knows whether it does. Needs no libcurl, for your own clients:
//
//   waiter::LongPolls long_polls({.hold = absl::Seconds(30)});
//   ...
//   long_polls.Begin(context.timeout, clock.MonotonicNow());
//   HttpResponse response = Send(long_polls.Url(url), long_polls.Fields());
//   if (long_polls.End(response.status, clock.MonotonicNow())) {
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
  // How long the server may hold a request: within 1 s and 1 h, or zero for no
  // long polls.
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

  // Begins a request, at `now`, of a poll that may take `timeout`. Returns the
  // whole seconds to ask for: less than `timeout` by a tenth, within 1 s and 10
  // s, so that the answer still comes in time. Zero if that leaves less than a
  // second: an ordinary request.
  absl::Duration Begin(absl::Duration timeout, MonotonicTime now);

  // Return the URL of the request that has begun, and the fields to add to it.
  std::string Url(const std::string& url) const;
  HttpFields Fields() const;

  // Ends the request, at `now`, with the status of its response, or with 0 if
  // it got none. Returns whether the next poll should follow immediately. Do
  // not call this for a request that the client itself stopped.
  bool End(int status, MonotonicTime now);

 private:
  HttpLongPoll options_;
  absl::Duration max_hold_;
  bool holds_ = false;    // The last request was held.
  bool was_cut_ = false;  // The last request was cut.

  // The hold of the request in progress.
  absl::Duration hold_;
  MonotonicTime sent_;
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_LONG_POLL_H_
