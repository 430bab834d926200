// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/classify.h"
#include "waiter/poll.h"

// Defined in retry_after_fuzz.cc.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace waiter {
namespace {

using testing::IsEmpty;

// Describes a result: "none" or "do not retry", or the delay.
std::string Said(const RetryAfter& hint) {
  return hint.has_value() ? absl::FormatDuration(hint) : "none";
}

std::string Said(const GrpcPushback& pushback) {
  return pushback.may_retry ? absl::FormatDuration(pushback.delay)
                            : "do not retry";
}

absl::Time Utc(int year, int month, int day, int hour = 0, int minute = 0,
               int second = 0) {
  return absl::FromCivil(
      absl::CivilSecond(year, month, day, hour, minute, second),
      absl::UTCTimeZone());
}

std::string HttpDate(absl::Time time) {
  return absl::FormatTime("%a, %d %b %E4Y %H:%M:%S GMT", time,
                          absl::UTCTimeZone());
}

// An hour before the dates of RFC 9110.
const absl::Time kNow = Utc(1994, 11, 6, 7, 49, 37);

// Describes the meaning of a `Retry-After` of `value` at `kNow`.
std::string Read(std::string_view value) {
  return Said(ParseRetryAfter(value, kNow));
}

// Returns the `values` that `parse` accepts.
template <typename Parse>
std::vector<std::string_view> Accepted(
    std::initializer_list<std::string_view> values, Parse parse) {
  std::vector<std::string_view> accepted;
  std::copy_if(values.begin(), values.end(), std::back_inserter(accepted),
               [&](std::string_view value) {
                 const std::string said = Said(parse(value));
                 return said != "none" && said != "do not retry";
               });
  return accepted;
}

RetryAfter ParseNow(std::string_view value) {
  return ParseRetryAfter(value, kNow);
}

using HintVectorsTest = VectorTest<"server_hints.json", /*cases=*/42>;

TEST_F(HintVectorsTest, CombinationRules) {
  File().Describes({"source"});
  File().NotRunEach(File()["combination_rules"],
                    "how a hint and a delay combine is RetryAfterOptions, and "
                    "the wait loop's");
}

TEST_F(HintVectorsTest, HttpDate) {
  File().Describes(File()["http_date"]["source"]);
  for (const Json& json : File()["http_date"]["cases"].array()) {
    const std::string& value = json["value"].string();
    const absl::Time at =
        absl::FromUnixSeconds(static_cast<int64_t>(json["unix"].number()));
    for (const absl::Duration ahead :
         {absl::Seconds(1), absl::Hours(1), absl::Hours(24 * 365)}) {
      EXPECT_EQ(ParseRetryAfter(value, at - ahead), RetryAfter(ahead)) << value;
    }
    EXPECT_EQ(Said(ParseRetryAfter(value, at)), "0") << value;
    EXPECT_EQ(Said(ParseRetryAfter(value, at + absl::Hours(1))), "0") << value;
    File().Ran(json);
  }
}

TEST_F(HintVectorsTest, DelaySeconds) {
  for (const Json& json : File()["delay_seconds"].array()) {
    const std::string& value = json["value"].string();
    EXPECT_EQ(ParseRetryAfter(value, kNow),
              json["ok"].boolean()
                  ? RetryAfter(absl::Seconds(json["s"].number()))
                  : RetryAfter())
        << value;
    File().Ran(json);
  }
}

// Returns the hint of the first header that has one.
RetryAfter FirstHint(const std::vector<std::string>& headers, absl::Time now) {
  for (const std::string& header : headers) {
    const std::pair<std::string, std::string> field =
        absl::StrSplit(header, absl::MaxSplits(": ", 1));
    const RetryAfter hint =
        ParseRetryAfterField(field.first, field.second, now);
    if (hint.has_value()) return hint;
  }
  return {};
}

std::vector<std::string> JsHeaders(const Json& json, absl::Time now) {
  std::vector<std::string> headers;
  if (json.has("headers")) {
    for (const Json& header : json["headers"].array()) {
      headers.push_back(header.string());
    }
    return headers;
  }
  const std::string date = HttpDate(now + absl::Seconds(60));
  return {absl::StrCat(json["header"].string(), ": ",
                       absl::StrReplaceAll(json["value"].string(),
                                           {{"<http-date NOW+60s>", date},
                                            {"<http-date>", date}}))};
}

TEST_F(HintVectorsTest, JsParse) {
  const Json& section = File()["js_parse"];
  File().Describes(section["source"]);
  File().Describes(section["now_ms"]);
  const auto now_ms = static_cast<int64_t>(section["now_ms"].number());
  const absl::Time now = absl::FromUnixMillis(now_ms);
  for (const Json& json : section["cases"].array()) {
    const std::vector<std::string> headers = JsHeaders(json, now);
    const RetryAfter hint = FirstHint(headers, now);
    const bool is_range = json.has("at_ms_min");
    const Json& least = json[is_range ? "at_ms_min" : "at_ms"];
    const Json& most = json[is_range ? "at_ms_max" : "at_ms"];
    ASSERT_EQ(hint.has_value(), !least.is_null()) << headers[0];
    File().Ran(json);
    if (!hint.has_value()) continue;
    const int64_t at_ms = absl::ToUnixMillis(now + hint);
    EXPECT_GE(at_ms, static_cast<int64_t>(least.number())) << headers[0];
    EXPECT_LE(at_ms, static_cast<int64_t>(most.number())) << headers[0];
  }
}

TEST_F(HintVectorsTest, Azure) {
  const Json& azure = File()["azure"];
  for (const Json& json : azure["cases"].array()) {
    EXPECT_EQ(ParseRetryAfterField(json["header"].string(),
                                   json["value"].string(), kNow),
              RetryAfter(absl::Milliseconds(json["delay_ms"].number())))
        << json["header"].string();
    File().Ran(json);
  }
  for (const Json& name : azure["precedence"].array()) {
    EXPECT_TRUE(ParseRetryAfterField(name.string(), "1", kNow).has_value())
        << name.string();
    File().Ran(name);
  }
  File().Describes(azure["source"]);
  File().NotRun(azure["precedence"],
                "the names are run, but not their order: which of several "
                "headers counts is the caller's choice");
  File().NotRun(azure["rule"],
                "how a hint and a delay combine is RetryAfterOptions");
}

TEST_F(HintVectorsTest, GrpcPushback) {
  const Json& grpc = File()["grpc_pushback"];
  for (const Json& json : grpc["cases"].array()) {
    const std::string& value = json["value"].string();
    const waiter::GrpcPushback found = ParseGrpcPushback(value);
    EXPECT_EQ(found.may_retry, json["retry"].boolean()) << value;
    EXPECT_EQ(found.delay, absl::Milliseconds(json.number_or("delay_ms", 0)))
        << value;
    File().Ran(json);
  }
  File().Describes(grpc["source"]);
  File().Describes(grpc["key"]);
  File().NotRun(grpc["rule"],
                "GrpcRetry() decides what a pushback does; presets_test "
                "has the cases");
}

TEST(RetryAfterTest, NoneGivesAPollZero) {
  const RetryAfter none;
  const RetryAfter some = ParseRetryAfter("120", kNow);

  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(Throttled("429", none).retry_after(), absl::ZeroDuration());
  EXPECT_TRUE(some.has_value());
  EXPECT_EQ(Throttled("429", some).retry_after(), absl::Seconds(120));
}

TEST(RetryAfterTest, ZeroDiffersFromNone) {
  EXPECT_EQ(Read("0"), "0");
  EXPECT_EQ(Read("000"), "0");
  EXPECT_NE(ParseRetryAfter("0", kNow), RetryAfter());
}

TEST(RetryAfterTest, EveryDurationBecomesNoneOrFitsTheRange) {
  EXPECT_EQ(Said(RetryAfter(absl::Seconds(3))), "3s");
  EXPECT_EQ(Said(RetryAfter(-absl::Nanoseconds(1))), "none");
  EXPECT_EQ(Said(RetryAfter(-absl::InfiniteDuration())), "none");
  EXPECT_EQ(RetryAfter(absl::InfiniteDuration()),
            RetryAfter(RetryAfter::kLongest));
}

TEST(RetryAfterTest, SecondsAreDigitsOnly) {
  EXPECT_THAT(
      Accepted({"", " ", "-5", "+5", "1.5", "1e3", "0x10", "5s", "5 5", "5,6",
                "5;6", "\n5", "5\r", "--", "five", "Infinity", "nan"},
               ParseNow),
      IsEmpty());
  EXPECT_EQ(Read(std::string_view("5\0", 2)), "none");
  EXPECT_EQ(Read("\xd9\xa5"), "none");  // An Arabic five.
}

TEST(RetryAfterTest, SpacesAndTabsAroundAValueAreIgnored) {
  EXPECT_EQ(Read(" \t7\t "), "7s");
  EXPECT_EQ(Read(" Sun, 06 Nov 1994 08:49:37 GMT "), "1h");
}

TEST(RetryAfterTest, AbsurdNumbersBecomeTheLongestDelay) {
  const RetryAfter longest(RetryAfter::kLongest);

  EXPECT_EQ(Read("2147483647"), "596523h14m7s");
  for (const std::string& value :
       {std::string("2147483648"), std::string("2147483649"),
        std::string("9223372036854775807"), std::string("9223372036854775808"),
        std::string("18446744073709551617"), std::string(1000, '9')}) {
    EXPECT_EQ(ParseNow(value), longest) << value;
    EXPECT_EQ(ParseRetryInfoDelay(value + "s"), longest) << value;
  }
  EXPECT_EQ(ParseNow("Fri, 31 Dec 9999 23:59:59 GMT"), longest);
}

TEST(RetryAfterTest, AbsurdMillisecondsBecomeTheLongestDelay) {
  const RetryAfter longest(RetryAfter::kLongest);

  EXPECT_EQ(ParseRetryAfterMs("2147483648000"), longest);
  EXPECT_EQ(ParseRetryAfterMs("2147483648001"), longest);
  EXPECT_EQ(ParseRetryAfterMs("9223372036854775808"), longest);
  EXPECT_EQ(ParseRetryAfterMs(std::string(1000, '9')), longest);
}

TEST(RetryAfterTest, LongNumbersNeedNotBeLarge) {
  EXPECT_EQ(Read(std::string(1000, '0') + "7"), "7s");
  EXPECT_EQ(Said(ParseRetryAfterMs("2147483647999")), "596523h14m7.999s");
}

TEST(RetryAfterTest, DatesHaveThreeForms) {
  EXPECT_EQ(Read("Sun, 06 Nov 1994 08:49:37 GMT"), "1h");
  EXPECT_EQ(Read("Sunday, 06-Nov-94 08:49:37 GMT"), "1h");
  EXPECT_EQ(Read("Sun Nov  6 08:49:37 1994"), "1h");
  EXPECT_EQ(Read("Sun Nov 16 08:49:37 1994"), "241h");
}

TEST(RetryAfterTest, PastDatesBecomeZero) {
  EXPECT_EQ(Read("Sun, 06 Nov 1994 07:49:37 GMT"), "0");
  EXPECT_EQ(Read("Sun, 06 Nov 1994 07:49:36 GMT"), "0");
  EXPECT_EQ(Read("Sat Jan  1 00:00:00 0000"), "0");
}

TEST(RetryAfterTest, EveryMonthIsReadInEveryForm) {
  for (int month = 1; month <= 12; ++month) {
    for (const int day : {1, 9, 10, 28}) {
      const absl::Time now = Utc(2026, month, day);
      const absl::Time then = now + absl::Seconds(86399);
      for (const char* form :
           {"%a, %d %b %E4Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
            "%a %b %e %H:%M:%S %E4Y"}) {
        const std::string date =
            absl::FormatTime(form, then, absl::UTCTimeZone());
        EXPECT_EQ(Said(ParseRetryAfter(date, now)), "23h59m59s") << date;
      }
    }
  }
}

TEST(RetryAfterTest, MalformedDatesAreNone) {
  EXPECT_THAT(Accepted(
                  {
                      "Sun, 06 Nov 1994 08:49:37",          // No zone.
                      "Sun, 06 Nov 1994 08:49:37 UTC",      // Another name.
                      "Sun, 06 Nov 1994 08:49:37 +0000",    // An offset.
                      "Sun, 06 Nov 1994 08:49:37 EST",      // Another zone.
                      "Sun, 06 Nov 1994 08:49:37 gmt",      // Wrong case.
                      "sun, 06 Nov 1994 08:49:37 GMT",      //
                      "Sun, 06 nov 1994 08:49:37 GMT",      //
                      "Son, 06 Nov 1994 08:49:37 GMT",      // Not a weekday.
                      ", 06 Nov 1994 08:49:37 GMT",         // No weekday.
                      "06 Nov 1994 08:49:37 GMT",           //
                      ", 06-Nov-94 08:49:37 GMT",           //
                      " Nov  6 08:49:37 1994",              //
                      "Sun, 06  1994 08:49:37 GMT",         // No month.
                      "Sunday, 06--94 08:49:37 GMT",        //
                      "Sun   6 08:49:37 1994",              //
                      "Sun    6 08:49:37 1994",             //
                      "Sunday, 06 Nov 1994 08:49:37 GMT",   // Forms mixed.
                      "Sun, 06-Nov-94 08:49:37 GMT",        //
                      "Sun Nov  6 08:49:37 1994 GMT",       //
                      "Sun, 6 Nov 1994 08:49:37 GMT",       // Digits missing.
                      "Sun, 06 Nov 94 08:49:37 GMT",        //
                      "Sun, 06 Nov 1994 8:49:37 GMT",       //
                      "Sun, 06 Nov 1994 08:49 GMT",         //
                      "Sun Nov 6 08:49:37 1994",            //
                      "Sun, 006 Nov 1994 08:49:37 GMT",     // Too many digits.
                      "Sun, 06 Nov 19994 08:49:37 GMT",     //
                      "Sun, 00 Nov 1994 08:49:37 GMT",      // No such day.
                      "Sun, 31 Nov 1994 08:49:37 GMT",      //
                      "Wed, 29 Feb 1995 08:49:37 GMT",      //
                      "Sun Nov  0 08:49:37 1994",           //
                      "Sun, 06 Nov 1994 24:49:37 GMT",      // No such time.
                      "Sun, 06 Nov 1994 08:60:37 GMT",      //
                      "Sun, 06 Nov 1994 08:49:61 GMT",      //
                      "Sun, 06 Nov 1994 08:49:-7 GMT",      //
                      "Sun, 06 Nov 1994 08:49:37 GMT GMT",  // More text.
                      "Sun,  06 Nov 1994 08:49:37 GMT",     //
                      "Sun, 06 Nov 1994 08:49:37.5 GMT",    //
                      "1994-11-06T08:49:37Z",               // Not HTTP.
                      "Invalid Date GMT",                   //
                      "GMT",
                  },
                  ParseNow),
              IsEmpty());
}

TEST(RetryAfterTest, WrongDayOfTheWeekDoesNotMatter) {
  EXPECT_EQ(Read("Mon, 06 Nov 1994 08:49:37 GMT"), "1h");
}

TEST(RetryAfterTest, LeapSecondIsTheNextMinute) {
  EXPECT_EQ(Said(ParseRetryAfter("Sat, 31 Dec 2016 23:59:60 GMT",
                                 Utc(2016, 12, 31, 23, 59, 59))),
            "1s");
}

TEST(RetryAfterTest, TwoDigitYearIsWithin50YearsOfNow) {
  struct Case {
    absl::Time now;
    std::string date;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {Utc(2026, 1, 1), "Thursday, 01-Jan-26 00:00:05 GMT", "5s"},
      // Exactly 50 years ahead, and beyond.
      {Utc(2026, 1, 1), "Wednesday, 01-Jan-76 00:00:00 GMT", "438288h"},
      {Utc(2026, 1, 1), "Wednesday, 01-Jan-76 00:00:01 GMT", "0"},
      {Utc(2026, 1, 1), "Friday, 01-Jan-77 00:00:00 GMT", "0"},
      // Across the end of a century, in both directions.
      {Utc(1999, 12, 31, 23, 59, 59), "Saturday, 01-Jan-00 00:00:00 GMT", "1s"},
      {Utc(2000, 1, 1), "Friday, 31-Dec-99 23:59:59 GMT", "0"},
      {Utc(2099, 12, 31, 23, 59, 59), "Friday, 01-Jan-00 00:00:00 GMT", "1s"},
      // In the seventh millennium as in the third.
      {Utc(6159, 1, 1), "Saturday, 01-Jan-05 00:00:00 GMT", "403224h"},
      // A leap day of the century before.
      {Utc(2026, 1, 1), "Thursday, 29-Feb-96 00:00:00 GMT", "0"},
      // 1900 and 2100 lack this day.
      {Utc(2050, 2, 28, 23, 59, 59), "Tuesday, 29-Feb-00 00:00:00 GMT", "0"},
      {Utc(2000, 2, 28, 23, 59, 59), "Tuesday, 29-Feb-00 00:00:00 GMT", "1s"},
      {Utc(2026, 1, 1), "Friday, 29-Feb-26 00:00:00 GMT", "none"},
  };
  for (const auto& [now, date, expected] : cases) {
    EXPECT_EQ(Said(ParseRetryAfter(date, now)), expected)
        << date << " at " << absl::FormatTime(now, absl::UTCTimeZone());
  }
}

TEST(RetryAfterTest, ParserAcceptsAnyNow) {
  const std::string longest = absl::FormatDuration(RetryAfter::kLongest);
  for (const char* date :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(Said(ParseRetryAfter(date, absl::InfiniteFuture())), "0") << date;
    EXPECT_EQ(Said(ParseRetryAfter(date, absl::InfinitePast())), longest)
        << date;
  }
  EXPECT_EQ(Said(ParseRetryAfter("7", absl::InfiniteFuture())), "7s");
}

TEST(RetryAfterTest, SecondsWinInAJoinedDateAndSeconds) {
  EXPECT_EQ(Read("Sun, 06 Nov 1994 08:49:37 GMT, 45"), "45s");
  EXPECT_EQ(Read("Sunday, 06-Nov-94 08:49:37 GMT, 45"), "45s");
  EXPECT_THAT(Accepted({"Sun, 06 Nov 1994 08:49:37 GMT, ",
                        "Sun, 06 Nov 1994 08:49:37 GMT, -4",
                        "Sun, 06 Nov 1994 08:49:37 UTC, 45", "Someday, 45",
                        ", 45", "45, Sun, 06 Nov 1994 08:49:37 GMT", "45, 46"},
                       ParseNow),
              IsEmpty());
}

TEST(RetryAfterTest, MillisecondsAreWholeAndNonnegative) {
  EXPECT_EQ(Said(ParseRetryAfterMs("1500")), "1.5s");
  EXPECT_EQ(Said(ParseRetryAfterMs("0")), "0");
  EXPECT_EQ(Said(ParseRetryAfterMs(" 7 ")), "7ms");
  EXPECT_THAT(Accepted({"", "-100", "invalid", "1.5", "+1", "1 2",
                        "Sun, 06 Nov 1994 08:49:37 GMT"},
                       ParseRetryAfterMs),
              IsEmpty());
}

TEST(RetryAfterTest, OtherFieldsGiveNoHint) {
  for (const char* name : {"", "date", "retry-afte", "retry-after-", "retry",
                           "x-retry-after", "grpc-retry-pushback-ms"}) {
    EXPECT_EQ(Said(ParseRetryAfterField(name, "5", kNow)), "none") << name;
  }
  EXPECT_EQ(Said(ParseRetryAfterField("Retry-After", "5", kNow)), "5s");
  EXPECT_EQ(Said(ParseRetryAfterField("X-Amz-Retry-After", "5", kNow)), "5ms");
}

TEST(RetryInfoTest, JsonHasSecondsAndUpToNineDigits) {
  EXPECT_EQ(Said(ParseRetryInfoDelay("3.5s")), "3.5s");
  EXPECT_EQ(Said(ParseRetryInfoDelay("0s")), "0");
  EXPECT_EQ(Said(ParseRetryInfoDelay("7s")), "7s");
  EXPECT_EQ(Said(ParseRetryInfoDelay("1.000000001s")), "1.000000001s");
  EXPECT_EQ(Said(ParseRetryInfoDelay("0.000340012s")), "340.012us");
  EXPECT_EQ(Said(ParseRetryInfoDelay("0.010s")), "10ms");
  EXPECT_THAT(Accepted({"", "s", "3.5", "3.5S", "-1s", "-0.5s", "+1s", ".5s",
                        "5.s", ".s", "1.2.3s", "1.0000000001s", "1.-5s", "1 s",
                        "1m", "1ms", "\"3.5s\""},
                       ParseRetryInfoDelay),
              IsEmpty());
}

TEST(RetryInfoTest, SecondsAndNanosAddUp) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Said(RetryInfoDelay(3, 500'000'000)), "3.5s");
  EXPECT_EQ(Said(RetryInfoDelay(0, 0)), "0");
  EXPECT_EQ(Said(RetryInfoDelay(0, 999'999'999)), "999.999999ms");
  EXPECT_EQ(Said(RetryInfoDelay(-1, 0)), "none");
  EXPECT_EQ(Said(RetryInfoDelay(0, -1)), "none");
  EXPECT_EQ(Said(RetryInfoDelay(1, -1)), "none");
  EXPECT_EQ(Said(RetryInfoDelay(0, 1'000'000'000)), "none");
  EXPECT_EQ(RetryInfoDelay(kMost, 999'999'999),
            RetryAfter(RetryAfter::kLongest));
}

TEST(GrpcPushbackTest, UnreadablePushbackMeansDoNotRetry) {
  EXPECT_EQ(Said(ParseGrpcPushback("0")), "0");
  EXPECT_EQ(Said(ParseGrpcPushback("1500")), "1.5s");
  EXPECT_EQ(Said(ParseGrpcPushback("2147483647")), "596h31m23.647s");
  EXPECT_THAT(Accepted({"", "-1", "abc", "1.5", "1s", "2147483648",
                        "-2147483648", "99999999999999999999"},
                       ParseGrpcPushback),
              IsEmpty());
}

TEST(RetryAfterCorpusTest, CorpusKeepsTheRulesOfTheFuzzer) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/fuzz/retry_after_corpus")) {
    SCOPED_TRACE(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    ++files;
    EXPECT_EQ(LLVMFuzzerTestOneInput(
                  reinterpret_cast<const uint8_t*>(input.data()), input.size()),
              0);
  }
  std::printf("retry_after_corpus: %d files\n", files);
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace waiter
