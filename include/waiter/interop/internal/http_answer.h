// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Responses and answers of an `HttpPoller` (interop/http.h), without the client
// that sends its requests.

#ifndef WAITER_INTEROP_INTERNAL_HTTP_ANSWER_H_
#define WAITER_INTEROP_INTERNAL_HTTP_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/poll.h"

namespace waiter::internal {

// A response, or the reason for its absence.
struct HttpOutcome {
  enum class Failure : uint8_t {
    kNone,
    kConnection,  // No answer, or one that is cut off or not HTTP.
    kImpossible,  // The request cannot be made.
    kRedirects,   // There are too many.
    kStopped,
    kTimeout,
    kUnreachable,  // Refused, or an unknown host.
  };

  bool has_response() const { return failure == Failure::kNone; }

  Failure failure = Failure::kNone;
  std::string text = {};  // Describes a failure.
  HttpResponse response = {};
  absl::Time received = absl::InfinitePast();  // When the response was.
  bool was_held = false;  // The server held the request: poll again.
};

// Collects a response from the data that a client reads. Thread-compatible.
class HttpReader {
 public:
  struct Limits {
    size_t header = 65'536;  // Bytes of a header and its trailers.
    size_t body;             // Bytes of a decoded body.
  };

  explicit HttpReader(Limits limits) : limits_(limits) {}

  // Takes a line of a header, of a trailer, or of an interim response. Returns
  // false if the client should read no more.
  bool ReadLine(std::string_view line);

  // Takes a part of a body. Returns false if the client should read no more.
  bool ReadBody(std::string_view part);

  // Whether the last header is complete. libcurl does not report one that is
  // cut off as an error.
  bool has_header() const { return header_ended_; }

  // Whether `ReadLine` has refused to read more.
  bool header_is_too_long() const { return header_bytes_ > limits_.header; }

  // The response so far. Its status is 0 until the final one has arrived.
  const HttpResponse& response() const { return response_; }
  const HttpFields& trailers() const { return trailers_; }
  bool is_http2() const { return is_http2_; }

  // Returns the response, and forgets it.
  HttpResponse Take();

 private:
  const Limits limits_;
  HttpResponse response_;
  HttpFields trailers_;
  size_t header_bytes_ = 0;
  bool header_begun_ = false;
  bool header_ended_ = false;
  bool is_http2_ = false;
};

// Returns kInvalidArgument if `request` must not be sent: a value that contains
// a line break, for example, would be two fields.
absl::Status CheckRequest(const HttpRequest& request);

// The rules of one poller.
struct PollerRules {
  const HttpRules& http;
  PollStatus unreachable;
  bool needs_body;  // A body that is cut is an error.
};

// Returns the answer without the function of the user, which judges a success
// with a response. Sets the `retry_after` of the response.
Poll<> JudgeOutcome(HttpOutcome& outcome, const PollerRules& rules);

// The next poll as the server wants it.
struct NextPoll {
  RetryAfter retry_after;
  bool is_immediate;  // Unless there is a `retry_after`.
};

// Returns `answer`, with `next` if the wait continues and the answer has no
// time of the next poll.
Poll<> AddNextPoll(Poll<> answer, NextPoll next);

template <typename T>
Poll<T> WithNextPoll(Poll<T> answer, NextPoll next) {
  if (answer.has_value()) return answer;
  return Poll<T>(AddNextPoll(std::move(answer), next));
}
inline Poll<> WithNextPoll(Poll<> answer, NextPoll next) {
  return AddNextPoll(std::move(answer), next);
}

// Replaces a missing function of the user. The detail is "HTTP 200: OK".
struct TakeResponse {
  Poll<HttpResponse> operator()(HttpResponse response) const;
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_HTTP_ANSWER_H_
