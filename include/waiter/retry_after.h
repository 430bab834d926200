// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a server says of when to ask again.
//
//   waiter::RetryAfter hint;
//   for (const auto& [name, value] : response.headers) {
//     if (!hint.has_value()) {
//       hint = waiter::ParseRetryAfterField(name, value, absl::Now());
//     }
//   }
//   if (response.code == 429) return waiter::Throttled("429", hint);
//
// Whatever a server writes, a result is none, or within [0, kLongest]; spaces
// and tabs around a value are ignored, any other deviation from its form makes
// it none. How a wait combines a hint with its own delay, and the shorter limit
// it sets, is in `RetryAfterOptions` (options.h); a hint of zero asks for
// nothing there, so it causes no busy loop. Nothing here allocates.

#ifndef WAITER_RETRY_AFTER_H_
#define WAITER_RETRY_AFTER_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace waiter {

// How long a server asked not to be polled, if it did. A small value.
class RetryAfter {
 public:
  // More counts as this, 68 years, as for all numbers of seconds in HTTP (RFC
  // 9111, 1.2.2).
  static constexpr absl::Duration kLongest = absl::Seconds(int64_t{1} << 31);

  // None.
  constexpr RetryAfter() = default;

  // `delay`, limited to `kLongest`; none if it is negative.
  explicit RetryAfter(absl::Duration delay);

  bool has_value() const { return delay_ >= absl::ZeroDuration(); }

  // Zero if there is none: what `Throttled()` and its like expect.
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  operator absl::Duration() const {
    return has_value() ? delay_ : absl::ZeroDuration();
  }

  friend bool operator==(const RetryAfter&, const RetryAfter&) = default;

 private:
  absl::Duration delay_ = -absl::Nanoseconds(1);
};

// Reads the value of `Retry-After` (RFC 9110, 10.2.3): seconds, or a date in
// one of the three forms of HTTP, always in GMT. `now` is when the response
// came; a date before it is zero. A year of two digits is the one within 50
// years of `now`. Where two fields were joined into «date, seconds», the
// seconds count.
RetryAfter ParseRetryAfter(std::string_view value, absl::Time now);

// Reads whole milliseconds: `retry-after-ms`, `x-ms-retry-after-ms` (Azure),
// `x-amz-retry-after` (AWS).
RetryAfter ParseRetryAfterMs(std::string_view value);

// Reads any of the fields named above, case ignored; none for every other
// field. Where a response has several, systems differ: some take the first one,
// as in the example above (smithy-typescript), some milliseconds before seconds
// (Azure).
RetryAfter ParseRetryAfterField(std::string_view name, std::string_view value,
                                absl::Time now);

// Reads the `retry_delay` of google.rpc.RetryInfo, a protobuf Duration: as JSON
// has it, "3.5s" without the quotes, at most 9 digits after the point; or its
// two fields. None if negative or, as for protobuf, out of range: `nanos` not
// within [0, 999999999].
RetryAfter ParseRetryInfoDelay(std::string_view json);
RetryAfter RetryInfoDelay(int64_t seconds, int32_t nanos);

// What `grpc-retry-pushback-ms` asks for (gRPC proposal A6). There, unlike
// above, a value that cannot be read counts: as «do not retry».
struct GrpcPushback {
  // False: end the wait, `Failed(status)`.
  bool may_retry;

  // Zero if not `may_retry`.
  absl::Duration delay;

  friend bool operator==(const GrpcPushback&, const GrpcPushback&) = default;
};

// Reads the value of `grpc-retry-pushback-ms`, if the call's trailing metadata
// has it: milliseconds, digits only, up to 2^31 - 1. Of several values, give
// none: gRPC does not retry then either.
GrpcPushback ParseGrpcPushback(std::string_view value);

}  // namespace waiter

#endif  // WAITER_RETRY_AFTER_H_
