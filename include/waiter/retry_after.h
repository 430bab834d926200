// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parsers for what servers send to say when to poll again. Over HTTP:
//
//   waiter::RetryAfter retry_after;
//   for (const auto& [name, value] : response.headers) {
//     if (!retry_after.has_value()) {
//       retry_after = waiter::ParseRetryAfterField(name, value, absl::Now());
//     }
//   }
//   if (response.code == 429) return waiter::Throttled("429", retry_after);
//
// Over gRPC, by the trailing metadata of a call:
//
//   waiter::GrpcPushback pushback = waiter::ParseGrpcPushback(value);
//   if (!pushback.may_retry) return waiter::Failed(status);
//   return waiter::ServerError(status, pushback.delay);
//
// Whatever a server sends, a result has no value or is within [0, kLongest].
// The parsers ignore spaces and tabs around a value; any other deviation from
// its form gives no value. `RetryAfterOptions` (options.h) says how a wait
// combines a result with its own delay, and sets a shorter limit. A wait
// ignores zero, so that it causes no busy loop.
//
// All functions here are thread-safe and allocate nothing.

#ifndef WAITER_RETRY_AFTER_H_
#define WAITER_RETRY_AFTER_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/version.h"

namespace waiter {

// The time for which a server asked not to be polled, or no value if it sent no
// valid one. A small value type.
class RetryAfter {
 public:
  // Maximum, 68 years; longer times count as this. RFC 9111, 1.2.2 has the
  // same limit for all numbers of seconds in HTTP.
  static constexpr absl::Duration kLongest = absl::Seconds(int64_t{1} << 31);

  // Holds no value.
  constexpr RetryAfter() = default;

  // Holds `delay`, limited to `kLongest`, or no value if it is negative.
  explicit RetryAfter(Duration delay);

  bool has_value() const { return delay_ >= absl::ZeroDuration(); }

  // Converts to the argument that `Throttled()` and its siblings in poll.h
  // expect: zero if there is no value.
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  operator Duration() const {
    return has_value() ? delay_ : absl::ZeroDuration();
  }

  friend bool operator==(const RetryAfter&, const RetryAfter&) = default;

 private:
  absl::Duration delay_ = -absl::Nanoseconds(1);
};

// Parses the value of `Retry-After` (RFC 9110, 10.2.3): seconds, or a date in
// one of the three forms of HTTP, always in GMT. `now` is the time at which the
// response came; an earlier date gives zero. A year of two digits is the one
// within 50 years of `now`. If two fields were joined into "date, seconds", the
// seconds count.
RetryAfter ParseRetryAfter(std::string_view value, absl::Time now);

// Parses whole milliseconds, the form of `retry-after-ms`,
// `x-ms-retry-after-ms` (Azure) and `x-amz-retry-after` (AWS).
RetryAfter ParseRetryAfterMs(std::string_view value);

// Parses any of the fields named above, ignoring case; returns no value for
// every other field. If a response has several, systems differ: some take the
// first one, as in the example above (smithy-typescript), some prefer
// milliseconds to seconds (Azure).
RetryAfter ParseRetryAfterField(std::string_view name, std::string_view value,
                                absl::Time now);

// Parses the `retry_delay` of google.rpc.RetryInfo, a protobuf Duration in its
// JSON form: "3.5s" without the quotes, with at most 9 digits after the point.
RetryAfter ParseRetryInfoDelay(std::string_view json);

// Converts the two fields of that Duration. Returns no value if `seconds` is
// negative or `nanos` is not within [0, 999999999], the range of protobuf.
RetryAfter RetryInfoDelay(int64_t seconds, int32_t nanos);

// The request of `grpc-retry-pushback-ms` (gRPC proposal A6). Unlike with the
// other fields, a value that cannot be parsed has a meaning: do not retry.
struct GrpcPushback {
  // If false, end the wait: return `Failed(status)`.
  bool may_retry;

  // Delay before the next poll; zero if `may_retry` is false.
  absl::Duration delay;

  friend bool operator==(const GrpcPushback&, const GrpcPushback&) = default;
};

// Parses the value of `grpc-retry-pushback-ms` from the trailing metadata of a
// call: milliseconds, digits only, up to 2^31 - 1. If the field occurs several
// times, pass an empty string: gRPC does not retry then either.
GrpcPushback ParseGrpcPushback(std::string_view value);

}  // namespace waiter

#endif  // WAITER_RETRY_AFTER_H_
