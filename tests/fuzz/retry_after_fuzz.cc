// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that hold for every parsed `Retry-After`. libFuzzer looks for a
// text that breaks one; retry_after_test.cc runs the texts of
// retry_after_corpus.
//
// The first 4 bytes of an input are the time of the response in seconds since
// 1970, lowest byte first; a shorter input has fewer. The text follows.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/check_that.h"
#include "waiter/classify.h"

namespace {

using waiter::RetryAfter;

std::string Padded(std::string_view text) {
  return absl::StrCat(" \t", std::string(text), "\t ");
}

void CheckRange(const RetryAfter& hint) {
  const absl::Duration delay = hint;
  CHECK_THAT(delay >= absl::ZeroDuration());
  CHECK_THAT(delay <= RetryAfter::kLongest);
  CHECK_THAT(hint.has_value() || delay == absl::ZeroDuration());
}

// The same hint can be written in other forms.
void CheckOtherForms(const RetryAfter& hint, absl::Time now) {
  const absl::Duration delay = hint;
  CHECK_THAT(delay == absl::Floor(delay, absl::Seconds(1)));
  CHECK_THAT(waiter::ParseRetryAfter(absl::StrCat(absl::ToInt64Seconds(delay)),
                                     now) == hint);
  for (const char* form :
       {"%a, %d %b %E4Y %H:%M:%S GMT", "%a %b %e %H:%M:%S %E4Y"}) {
    const std::string date =
        absl::FormatTime(form, now + delay, absl::UTCTimeZone());
    CHECK_THAT(waiter::ParseRetryAfter(date, now) == hint);
  }
  // A two-digit year reaches 50 years ahead.
  if (delay < absl::Hours(24) * 365 * 50) {
    const std::string date = absl::FormatTime("%A, %d-%b-%y %H:%M:%S GMT",
                                              now + delay, absl::UTCTimeZone());
    CHECK_THAT(waiter::ParseRetryAfter(date, now) == hint);
  }
}

void CheckRetryAfter(std::string_view text, absl::Time now) {
  const RetryAfter hint = waiter::ParseRetryAfter(text, now);
  CheckRange(hint);
  CHECK_THAT(waiter::ParseRetryAfter(Padded(text), now) == hint);
  CHECK_THAT(waiter::ParseRetryAfterField("RETRY-after", text, now) == hint);
  if (!hint.has_value()) return;

  const absl::Duration delay = hint;
  if (delay == RetryAfter::kLongest) return;
  CheckOtherForms(hint, now);

  // One second later, the delay is one second shorter unless it is relative.
  if (delay == absl::ZeroDuration()) return;
  const absl::Duration later =
      waiter::ParseRetryAfter(text, now + absl::Seconds(1));
  CHECK_THAT(later == delay || later == delay - absl::Seconds(1));
}

void CheckMilliseconds(std::string_view text, absl::Time now) {
  const RetryAfter hint = waiter::ParseRetryAfterMs(text);
  CheckRange(hint);
  CHECK_THAT(waiter::ParseRetryAfterMs(Padded(text)) == hint);
  for (const char* name :
       {"retry-after-ms", "X-Ms-Retry-After-Ms", "x-amz-retry-after"}) {
    CHECK_THAT(waiter::ParseRetryAfterField(name, text, now) == hint);
  }
  if (!hint.has_value()) return;
  CHECK_THAT(waiter::ParseRetryAfterMs(
                 absl::StrCat(absl::ToInt64Milliseconds(hint))) == hint);

  // A text that both parsers accept is a number.
  const RetryAfter seconds = waiter::ParseRetryAfter(text, now);
  CHECK_THAT(seconds == RetryAfter(absl::Duration(hint) * 1000) ||
             absl::Duration(hint) == RetryAfter::kLongest);
}

void CheckRetryInfo(std::string_view text) {
  const RetryAfter hint = waiter::ParseRetryInfoDelay(text);
  CheckRange(hint);
  CHECK_THAT(waiter::ParseRetryInfoDelay(Padded(text)) == hint);
  if (!hint.has_value()) return;
  absl::Duration rest = hint;
  const int64_t seconds = absl::IDivDuration(rest, absl::Seconds(1), &rest);
  const std::string nanos =
      absl::StrCat(1'000'000'000 + absl::ToInt64Nanoseconds(rest));
  CHECK_THAT(waiter::ParseRetryInfoDelay(
                 absl::StrCat(seconds, ".", nanos.substr(1), "s")) == hint);
}

void CheckPushback(std::string_view text) {
  const waiter::GrpcPushback pushback = waiter::ParseGrpcPushback(text);
  CHECK_THAT(pushback.delay >= absl::ZeroDuration());
  CHECK_THAT(pushback.delay <= absl::Milliseconds(INT32_MAX));
  CHECK_THAT(pushback.may_retry || pushback.delay == absl::ZeroDuration());
  CHECK_THAT(waiter::ParseGrpcPushback(Padded(text)) == pushback);
  // `ParseRetryAfterMs` reads the same number.
  CHECK_THAT(!pushback.may_retry ||
             absl::Duration(waiter::ParseRetryAfterMs(text)) == pushback.delay);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t seconds = 0;
  const size_t head = std::min<size_t>(size, 4);
  for (size_t i = 0; i < head; ++i) {
    seconds |= static_cast<uint32_t>(data[i]) << (8 * i);
  }
  const absl::Time now = absl::FromUnixSeconds(seconds);
  const std::string text(data + head, data + size);

  CheckRetryAfter(text, now);
  CheckMilliseconds(text, now);
  CheckRetryInfo(text);
  CheckPushback(text);
  for (const absl::Time extreme : {absl::InfinitePast(), absl::InfiniteFuture(),
                                   absl::UnixEpoch() - absl::Hours(1 << 30)}) {
    CheckRange(waiter::ParseRetryAfter(text, extreme));
  }
  CHECK_THAT(!waiter::ParseRetryAfterField("date", text, now).has_value());
  return 0;
}
