// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"

namespace waiter {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu",
                                                   "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> kLongDays = {
    "Monday", "Tuesday",  "Wednesday", "Thursday",
    "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// RFC 9110, 5.6.3: optional whitespace is spaces and tabs.
std::string_view StripWhitespace(std::string_view text) {
  constexpr std::string_view kWhitespace = " \t";
  const size_t first = text.find_first_not_of(kWhitespace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhitespace) - first + 1);
}

// Returns the value of `digits`, at most `largest`; nullopt if they are not
// digits.
std::optional<int64_t> ParseDigits(std::string_view digits, int64_t largest) {
  if (digits.empty()) return std::nullopt;
  int64_t number = 0;
  for (const char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      return std::nullopt;
    }
    const int64_t digit = c - '0';
    number = number > (largest - digit) / 10 ? largest : number * 10 + digit;
  }
  return number;
}

// The largest number to parse; even in nanoseconds it is above `kLongest`.
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// Parses a text from its start. Once something is not found, `Done()` stays
// false.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Returns whether everything was found and nothing is left.
  bool Done() const { return ok_ && rest_.empty(); }

  Reader& Skip(std::string_view literal) {
    Take(rest_.starts_with(literal), literal.size());
    return *this;
  }

  Reader& Number(size_t digits, int& number) {
    const std::optional<int64_t> found =
        ParseDigits(rest_.substr(0, digits), kLargest);
    if (Take(found.has_value() && rest_.size() >= digits, digits)) {
      number = static_cast<int>(*found);
    }
    return *this;
  }

  // Sets `position` to the place of the name in `names`, counted from 1.
  template <size_t kSize>
  Reader& Name(const std::array<std::string_view, kSize>& names,
               int& position) {
    const auto* const found = std::find_if(
        names.begin(), names.end(),
        [&](std::string_view name) { return rest_.starts_with(name); });
    if (found == names.end()) {
      ok_ = false;
    } else {
      position = static_cast<int>(found - names.begin()) + 1;
      Take(true, found->size());
    }
    return *this;
  }

 private:
  bool Take(bool found, size_t size) {
    ok_ = ok_ && found;
    if (ok_) rest_.remove_prefix(size);
    return ok_;
  }

  std::string_view rest_;
  bool ok_ = true;
};

struct Date {
  int weekday = 0;  // Not checked against the date.
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;  // At most 60: a leap second, read as the next minute.
};

Reader& TimeOfDay(Reader& reader, Date& date) {
  return reader.Number(2, date.hour)
      .Skip(":")
      .Number(2, date.minute)
      .Skip(":")
      .Number(2, date.second);
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
bool ReadImfFixdate(std::string_view text, Date& date) {
  Reader reader(text);
  reader.Name(kDays, date.weekday)
      .Skip(", ")
      .Number(2, date.day)
      .Skip(" ")
      .Name(kMonths, date.month)
      .Skip(" ")
      .Number(4, date.year)
      .Skip(" ");
  return TimeOfDay(reader, date).Skip(" GMT").Done();
}

// "Sunday, 06-Nov-94 08:49:37 GMT"
bool ReadRfc850Date(std::string_view text, Date& date) {
  Reader reader(text);
  reader.Name(kLongDays, date.weekday)
      .Skip(", ")
      .Number(2, date.day)
      .Skip("-")
      .Name(kMonths, date.month)
      .Skip("-")
      .Number(2, date.year)
      .Skip(" ");
  return TimeOfDay(reader, date).Skip(" GMT").Done();
}

// "Sun Nov  6 08:49:37 1994"
bool ReadAsctimeDate(std::string_view text, Date& date) {
  Reader reader(text);
  reader.Name(kDays, date.weekday)
      .Skip(" ")
      .Name(kMonths, date.month)
      .Skip(" ");
  if (text.size() > 8 && text[8] == ' ') {
    reader.Skip(" ").Number(1, date.day);
  } else {
    reader.Number(2, date.day);
  }
  reader.Skip(" ");
  return TimeOfDay(reader, date).Skip(" ").Number(4, date.year).Done();
}

std::optional<absl::CivilSecond> ToCivil(const Date& date) {
  const absl::CivilDay day(date.year, date.month, date.day);
  // `CivilDay` turns February 30 into March.
  if (date.day < 1 || day.day() != date.day || date.hour > 23 ||
      date.minute > 59 || date.second > 60) {
    return std::nullopt;
  }
  return absl::CivilSecond(date.year, date.month, date.day, date.hour,
                           date.minute, date.second);
}

// Converts by the calendar alone: a time zone, even UTC, allocates at its first
// use.
constexpr absl::CivilSecond kEpoch(1970, 1, 1);

absl::Time FromGmt(absl::CivilSecond civil) {
  return absl::FromUnixSeconds(civil - kEpoch);
}

absl::CivilSecond ToGmt(absl::Time time) {
  // HTTP dates have four digits for the year.
  return kEpoch +
         absl::ToUnixSeconds(std::clamp(time, FromGmt(absl::CivilSecond(1)),
                                        FromGmt(absl::CivilSecond(9999))));
}

// Returns the date in the latest century that puts it no more than 50 years
// after `now`.
std::optional<absl::CivilSecond> ToCivilNear(absl::Time now, Date date) {
  const absl::CivilSecond here = ToGmt(now);
  const auto century = static_cast<int>(here.year() / 100 * 100);
  for (const int base : {century + 100, century, century - 100}) {
    Date candidate = date;
    candidate.year += base;
    const std::optional<absl::CivilSecond> civil = ToCivil(candidate);
    if (!civil.has_value()) continue;
    const absl::CivilSecond latest(here.year() + 50, here.month(), here.day(),
                                   here.hour(), here.minute(), here.second());
    if (*civil <= latest) return civil;
  }
  return std::nullopt;
}

std::optional<absl::CivilSecond> ParseHttpDate(std::string_view text,
                                               absl::Time now) {
  if (Date date; ReadImfFixdate(text, date)) return ToCivil(date);
  if (Date date; ReadRfc850Date(text, date)) return ToCivilNear(now, date);
  if (Date date; ReadAsctimeDate(text, date)) return ToCivil(date);
  return std::nullopt;
}

}  // namespace

RetryAfter::RetryAfter(Duration delay) {
  if (delay >= absl::ZeroDuration()) {
    delay_ = std::min<absl::Duration>(delay, kLongest);
  }
}

RetryAfter ParseRetryAfter(std::string_view value, absl::Time now) {
  value = StripWhitespace(value);
  if (const std::optional<int64_t> seconds = ParseDigits(value, kLargest)) {
    return RetryAfter(absl::Seconds(*seconds));
  }
  if (const std::optional<absl::CivilSecond> date = ParseHttpDate(value, now)) {
    return RetryAfter(std::max(FromGmt(*date) - now, absl::ZeroDuration()));
  }
  if (const size_t comma = value.rfind(", ");
      comma != std::string_view::npos &&
      ParseHttpDate(value.substr(0, comma), now).has_value()) {
    if (const std::optional<int64_t> seconds =
            ParseDigits(value.substr(comma + 2), kLargest)) {
      return RetryAfter(absl::Seconds(*seconds));
    }
  }
  return {};
}

RetryAfter ParseRetryAfterMs(std::string_view value) {
  const std::optional<int64_t> milliseconds =
      ParseDigits(StripWhitespace(value), kLargest);
  if (!milliseconds.has_value()) return {};
  return RetryAfter(absl::Milliseconds(*milliseconds));
}

RetryAfter ParseRetryAfterField(std::string_view name, std::string_view value,
                                absl::Time now) {
  const absl::string_view field = internal::ToAbsl(name);
  if (absl::EqualsIgnoreCase(field, "retry-after")) {
    return ParseRetryAfter(value, now);
  }
  if (absl::EqualsIgnoreCase(field, "retry-after-ms") ||
      absl::EqualsIgnoreCase(field, "x-ms-retry-after-ms") ||
      absl::EqualsIgnoreCase(field, "x-amz-retry-after")) {
    return ParseRetryAfterMs(value);
  }
  return {};
}

RetryAfter ParseRetryInfoDelay(std::string_view json) {
  json = StripWhitespace(json);
  if (!json.ends_with('s')) return {};
  json.remove_suffix(1);
  const size_t point = json.find('.');
  const std::optional<int64_t> seconds =
      ParseDigits(json.substr(0, point), kLargest);
  if (!seconds.has_value()) return {};
  int64_t nanos = 0;
  if (point != std::string_view::npos) {
    const std::string_view digits = json.substr(point + 1);
    const std::optional<int64_t> fraction = ParseDigits(digits, kLargest);
    if (!fraction.has_value() || digits.size() > 9) return {};
    nanos = *fraction;
    for (size_t i = digits.size(); i < 9; ++i) nanos *= 10;
  }
  return RetryInfoDelay(*seconds, static_cast<int32_t>(nanos));
}

RetryAfter RetryInfoDelay(int64_t seconds, int32_t nanos) {
  if (seconds < 0 || nanos < 0 || nanos > 999'999'999) return {};
  return RetryAfter(absl::Seconds(seconds) + absl::Nanoseconds(nanos));
}

GrpcPushback ParseGrpcPushback(std::string_view value) {
  constexpr int64_t kLargestMs = std::numeric_limits<int32_t>::max();
  const std::optional<int64_t> milliseconds =
      ParseDigits(StripWhitespace(value), kLargestMs + 1);
  if (!milliseconds.has_value() || *milliseconds > kLargestMs) {
    return {.may_retry = false, .delay = absl::ZeroDuration()};
  }
  return {.may_retry = true, .delay = absl::Milliseconds(*milliseconds)};
}

}  // namespace waiter
