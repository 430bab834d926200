// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Defines which functions can be polled (`StatusFunction`), and what an error
// means to a wait: maps an `absl::Status` or the status of an HTTP response to
// a `PollStatus`.
//
//   absl::StatusOr<Instance> got = client.GetInstance("i-0abc");
//   if (!got.ok()) return waiter::FromStatus(got.status());
//
//   HttpResponse got = Get("/instances/i-0abc");
//   if (got.code != 200) return waiter::FromHttp(got.code, got.reason);
//
// `ErrorClassifier` does the same for the errors of a service, with your own
// changes and with the tables of other systems. `RetryAfter` and its parsers
// determine when a server wants the next poll.
//
// All functions here are thread-safe. Their tables:
//
// | absl::StatusCode    | poll         | because                             |
// | ------------------- | ------------ | ----------------------------------- |
// | OK                  | success      |                                     |
// | kUnavailable        | server error | the only code that gRPC and AIP-194 |
// |                     |              | consider safe to retry for any call |
// | kResourceExhausted  | throttled    | the code for HTTP 429               |
// | any other           | failed       | a retry gets the same answer        |
//
// | HTTP                | poll         | because                             |
// | ------------------- | ------------ | ----------------------------------- |
// | 202                 | not ready    | "the processing has not been        |
// |                     |              | completed" (RFC 9110, 15.3.3)       |
// | any other 2xx       | success      |                                     |
// | 408                 | server error | may be retried (15.5.9)             |
// | 425                 | server error | should be retried (RFC 8470, 5.2)   |
// | 429                 | throttled    | RFC 6585, 4                         |
// | 501, 505            | failed       | the server lacks the method or the  |
// |                     |              | version (15.6.2, 15.6.6)            |
// | any other 5xx       | server error | unknown codes count as 500 (15)     |
// | any other number    | failed       | a retry gets the same answer;       |
// |                     |              | the client must follow redirects    |
//
// A status function may know better. If 404 or kNotFound means "not yet", it
// should return `NotReady(status)`. If kDeadlineExceeded means that one call
// was too slow, it should return `ServerError(status)`.

#ifndef WAITER_CLASSIFY_H_
#define WAITER_CLASSIFY_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/take_answer.h"
#include "waiter/poll.h"

namespace waiter {

// Returns the class of `code` in the first table above.
PollStatus ClassOf(absl::StatusCode code);

// Returns the class of the status of an HTTP response in the second table.
// Takes any number. Without a response, return `ServerError()` instead.
PollStatus ClassOfHttp(int http_status);

// Returns the status code for the status of an HTTP response, by the rules of
// google.rpc.Code if they cover it: kNotFound for 404, kUnavailable for 503,
// kDeadlineExceeded for 408 and 504. OK for 2xx.
absl::StatusCode CodeOfHttp(int http_status);

// Returns an answer with the class of `http_status`, and `retry_after`. Unless
// the status is 2xx, the error has `CodeOfHttp` and the message "HTTP 404: "
// plus `text`. A function that returns `Poll<T>` must handle a success itself.
Poll<> FromHttp(int http_status, std::string_view text = {},
                Duration retry_after = {});

// Returns an answer with the class and the error of `status`. A
// kResourceExhausted that comes from a limit of another wait (`LimitOf` in
// result.h) is a failure: that wait has tried often enough.
Poll<> FromStatus(absl::Status status);  // NOLINT(*-redundant-declaration)

// Takes a result that says whether the condition is met: false means not ready.
template <std::same_as<bool> T>
Poll<> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return *result ? Success() : NotReady();
}

// Returns an answer with the class and the error of `result`, or its value.
template <typename T>
requires(!std::same_as<T, bool>) Poll<T> FromStatus(absl::StatusOr<T> result) {
  if (!result.ok()) return FromStatus(std::move(result).status());
  return Poll<T>(std::in_place, *std::move(result));
}

// Known facts about an error. Without any, an error is a failure. The text of
// `code` needs to stay valid only during `ClassOf`.
struct ServiceError {
  enum class Type : uint8_t {
    kUnknown,
    kServer,      // The server's fault.
    kClient,      // The request's fault.
    kConnection,  // No answer came: refused, reset, timed out.
  };

  // Status of the HTTP response, or 0 without a response.
  int http_status = 0;

  // Error code such as "ThrottlingException". Case matters. Text around the
  // name, as in "com.amazonaws#Name:http://...", is ignored.
  std::string_view code = {};

  Type type = Type::kUnknown;

  // Flags of the error in the service's model.
  bool retryable = false;
  bool throttling = false;
};

// Classifies the errors of a service by the table of a system and by your own
// changes:
//
//   const waiter::ErrorClassifier classifier =
//       waiter::ErrorClassifier::AwsKotlin()
//           .With("ResourceNotFoundException", waiter::PollStatus::kNotReady)
//           .With(409, waiter::PollStatus::kNotReady);
//   ...
//   return classifier.Answer({.http_status = 400, .code = error.code()},
//                            error.message(), retry_after);
//
// For a code alone, use `waiter::ClassOfAwsErrorCode("ThrottlingException")`.
//
// |               | Http()       | AwsKotlin()  | Botocore()   | AwsGoV1()    |
// | ------------- | ------------ | ------------ | ------------ | ------------ |
// | throttle code | none         | 14           | the same 14  | 11           |
// | retried code  | none         | 3            | 2            | 7            |
// | throttle HTTP | 429          | none         | none         | 429 502-504  |
// | retried HTTP  | ClassOfHttp  | 500 502-504  | 500 502-504  | 500          |
// | throttling    | throttled    | throttled    | throttled    | not read     |
// | retryable     | server error | server error | server error | not read     |
// | kConnection   | server error | server error | server error | server error |
// | kServer alone | server error | not read     | not read     | not read     |
//
// The first line that applies decides:
//
//   1. If any row calls the error throttled, it is throttled.
//   2. If any row calls it a server error, it is a server error.
//   3. A 2xx without any sign of an error is success; in `Http()`, 202 is not
//      ready.
//   4. Everything else is failed, even 429 without an error code in Kotlin and
//      botocore.
//
// waiter/error_classifier.cc lists the codes and names the source of each
// table. Immutable; safe to share between threads.
// Making a classifier is cheap because the table is static; a copy copies the
// changes. A lookup takes time in proportion to the length of the lists and the
// number of changes.
class ErrorClassifier {
 public:
  // Returns the general rules: `ClassOfHttp`, and no error codes.
  static ErrorClassifier Http();

  // Returns the rules of the AWS SDK for Kotlin: AwsRetryPolicy over
  // StandardRetryPolicy. Unlike in the original, `Type::kServer` without a code
  // or status is not a server error.
  static ErrorClassifier AwsKotlin();

  // Returns the rules of the standard mode of botocore (Python). An error that
  // botocore considers both throttled and transient is throttled, the way
  // botocore delays it.
  static ErrorClassifier Botocore();

  // Returns the rules of DefaultRetryer of the AWS SDK for Go v1. That SDK
  // renews expired credentials and retries. Here the status function must renew
  // them.
  static ErrorClassifier AwsGoV1();

  // Returns a copy that gives `status` for an error code, an HTTP status or a
  // status code, regardless of the other facts of an error. The last of several
  // calls for the same key wins; an error code wins over an HTTP status.
  // Changes for a status code apply to `ClassOfStatus` only, all others to
  // `ClassOf`.
  ErrorClassifier With(std::string_view error_code, PollStatus status) const;
  ErrorClassifier With(int http_status, PollStatus status) const;
  ErrorClassifier With(absl::StatusCode code, PollStatus status) const;

  // Returns the class of `error` by the changes and the table.
  PollStatus ClassOf(const ServiceError& error) const;

  // Returns an answer with the class of `error`, and `retry_after`. Unless that
  // is success, the error message consists of the error code, HTTP status and
  // `text`. The status code is kResourceExhausted for throttling,
  // kDeadlineExceeded for timeouts (for `RetryQuota`), and otherwise
  // `CodeOfHttp`, or, if that contradicts the class, kUnavailable or kUnknown.
  Poll<> Answer(const ServiceError& error, std::string_view text = {},
                Duration retry_after = {}) const;

  // Returns the class of `code` by the changes and `waiter::ClassOf`. OK is
  // always success.
  PollStatus ClassOfStatus(absl::StatusCode code) const;

 private:
  struct Table;
  struct Change {
    std::string error_code;
    int http_status;
    absl::StatusCode code;
    PollStatus status;
  };

  explicit ErrorClassifier(const Table& table) : table_(&table) {}

  ErrorClassifier With(Change change) const;

  const Table* table_;
  std::vector<Change> changes_;  // The latest one first.
};

// Returns the class of an AWS error code, by the table of `AwsKotlin()`:
// throttled, server error, or failed for every other code. "InternalError" is
// failed here, because the table recognizes it by its HTTP status. If you know
// the status, use an `ErrorClassifier`.
PollStatus ClassOfAwsErrorCode(std::string_view error_code);

// Whether `F` can be called with a `const PollContext&`. If it can also be
// called without arguments, it gets the context. Waits without contexts are
// cheaper.
template <typename F>
concept TakesContext = internal::CallableWithContext<F>;

// Whether `F` can be polled. A status function is anything callable that takes
// nothing or a `const PollContext&`, and returns one of
//
//   PollStatus           the bare status
//   bool                 true is success, false is not ready
//   Poll<T>              status, value, error, text, retry_after
//   absl::Status         classified by `FromStatus`
//   absl::StatusOr<T>    the same, with a value
//   absl::StatusOr<bool> the same; false is not ready
//
// All other types are rejected at compile time:
//
//   static_assert(waiter::StatusFunction<bool (*)()>);
//   static_assert(!waiter::StatusFunction<int (*)()>);
//
// Note that an `absl::Status` other than OK, kUnavailable and
// kResourceExhausted ends the wait as failed. If kNotFound means "not yet", the
// function must say so: `return waiter::NotReady(status);`.
//
// A wait calls its status function as a non-const lvalue, so that it may change
// its state, and again only after the previous call has returned. An exception
// ends the wait and is never retried. engine/async_waiter.h is for functions
// that take a completion instead of returning an answer.
template <typename F>
concept StatusFunction = requires {
  typename internal::ValueOfAnswer<typename internal::AnswerOf<F>::type>::type;
};

// `ValueOf<F>::type` is the type of `F`'s success value: `T` in the list above,
// otherwise void. It is also void if `F` is not a status function, so that a
// class template can name it before it rejects `F`.
template <typename F>
struct ValueOf {
  using type = void;
};
template <StatusFunction F>
struct ValueOf<F>
    : internal::ValueOfAnswer<typename internal::AnswerOf<F>::type> {};

// When a server wants the next poll, parsed from its answer. Over HTTP:
//
//   waiter::RetryAfter retry_after;
//   for (const auto& [name, value] : response.headers) {
//     if (!retry_after.has_value()) {
//       retry_after = waiter::ParseRetryAfterField(name, value, absl::Now());
//     }
//   }
//   if (response.code == 429) return waiter::Throttled("429", retry_after);
//
// Over gRPC, from the trailing metadata of a call:
//
//   waiter::GrpcPushback pushback = waiter::ParseGrpcPushback(value);
//   if (!pushback.may_retry) return waiter::Failed(status);
//   return waiter::ServerError(status, pushback.delay);
//
// For any input, a result has no value or is within [0, kLongest]. The parsers
// ignore spaces and tabs around a value; any other deviation from its form
// gives no value. `RetryAfterOptions` (options.h) says how a wait combines a
// result with its own delay, and sets a shorter limit. A wait ignores zero,
// which would cause a busy loop.
//
// The parsers do not allocate.
//
// How long a server asked not to be polled, or no value if it sent no valid
// time. A small value type.
class RetryAfter {
 public:
  // Maximum, 68 years; longer times count as this. RFC 9111, 1.2.2 sets the
  // same limit for all HTTP times in seconds.
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
// response came; an earlier date gives zero. A two-digit year means the one
// within 50 years of `now`. If two fields were joined into "date, seconds", the
// seconds count.
RetryAfter ParseRetryAfter(std::string_view value, absl::Time now);

// Parses whole milliseconds, the form of `retry-after-ms`,
// `x-ms-retry-after-ms` (Azure) and `x-amz-retry-after` (AWS).
RetryAfter ParseRetryAfterMs(std::string_view value);

// Parses any of the fields named above, ignoring case; returns no value for any
// other field. If a response has several, systems differ: some take the first
// one, as in the example above (smithy-typescript), some prefer milliseconds to
// seconds (Azure).
RetryAfter ParseRetryAfterField(std::string_view name, std::string_view value,
                                absl::Time now);

// Parses the `retry_delay` of google.rpc.RetryInfo, a protobuf Duration in its
// JSON form: "3.5s" without the quotes, with at most 9 digits after the point.
RetryAfter ParseRetryInfoDelay(std::string_view json);

// Converts the two fields of that Duration. Returns no value if `seconds` is
// negative or `nanos` is not within [0, 999999999], the range of protobuf.
RetryAfter RetryInfoDelay(int64_t seconds, int32_t nanos);

// The request in `grpc-retry-pushback-ms` (gRPC proposal A6). Unlike in other
// fields, a value that cannot be parsed has a meaning: do not retry.
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

#endif  // WAITER_CLASSIFY_H_
