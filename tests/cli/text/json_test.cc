// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/json.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace waiter::cli::json_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Repeated(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) absl::StrAppend(&repeated, text);
  return repeated;
}

TEST(ParseJsonTest, EveryKindOfValueIsRead) {
  const absl::StatusOr<nlohmann::json> value = ParseJson(
      R"( {"a": [1, -2, 18446744073709551615, -2.5e3, "x\n", true, null],
           "b": {"c": {}}, "d": []} )");

  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(JsonText(*value),
            R"({"a":[1,-2,18446744073709551615,-2500.0,"x\n",true,null],)"
            R"("b":{"c":{}},"d":[]})");
}

TEST(ParseJsonTest, EscapesAreTheTextThatTheyStandFor) {
  EXPECT_EQ(*ParseJson(R"("\u0041\u00e9\u20ac\ud83d\ude00")"),
            "A\u00e9\u20ac\U0001f600");
}

TEST(ParseJsonTest, AnErrorSaysWhatIsWrongAndWhere) {
  using std::string_literals::operator""s;
  for (
      const auto& [text, message] :
      std::vector<std::pair<std::string, std::string>>{
          {"", "at byte 0: the text is empty"},
          {" ",
           "at byte 1: unexpected end of input; expected '[', '{', or a "
           "literal"},
          {"{\"a\" 1}", "at byte 5: unexpected number literal; expected ':'"},
          {"{\"a\":1,}", "at byte 7: unexpected '}'; expected string literal"},
          {"{1:2}",
           "at byte 1: unexpected number literal; expected string literal"},
          {"[1, 2", "at byte 5: unexpected end of input; expected ']'"},
          {"[1] 2",
           "at byte 4: unexpected number literal; expected end of input"},
          {"nul", "at byte 3: invalid literal"},
          {"01", "at byte 1: unexpected number literal; expected end of input"},
          {"+1", "at byte 0: invalid literal"},
          {"1.", "at byte 2: invalid number; expected digit after '.'"},
          {"NaN", "at byte 0: invalid literal"},
          {"1e999", "at byte 4: number overflow"},
          {"// 1", "at byte 0: invalid literal"},
          {"\"a", "at byte 2: invalid string: missing closing quote"},
          {R"("\)",
           "at byte 2: invalid string: forbidden character after backslash"},
          {R"("\x")",
           "at byte 2: invalid string: forbidden character after backslash"},
          {R"("\u12")",
           "at byte 5: invalid string: '\\u' must be followed by 4 hex digits"},
          {R"("\ud83d")",
           "at byte 7: invalid string: surrogate U+D800..U+DBFF must be "
           "followed by U+DC00..U+DFFF"},
          {"\"\n\"",
           "at byte 1: invalid string: control character U+000A (LF) must be "
           "escaped to \\u000A or \\n"},
          {"\ufeff1", "at byte 0: a byte order mark"},
          {"[1]\0"s, "at byte 3: a NUL character"},
          {"[\0]"s,
           "at byte 1: unexpected end of input; expected '[', '{', or a "
           "literal"},
          {"\"\0\""s,
           "at byte 1: invalid string: control character U+0000 (NUL) must be "
           "escaped to \\u0000"}}) {
    EXPECT_THAT(ParseJson(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, message))
        << text;
  }
}

// A body may be a page of HTML, or a binary.
TEST(ParseJsonTest, AnErrorDoesNotQuoteTheText) {
  for (const std::string& text : std::vector<std::string>{
           "<html>" + std::string(1'000'000, 'x'),
           "\"" + std::string(1'000'000, '\xff'), "\"\x1b[2J",
           std::string(1'000'000, '9') + "e1", std::string(1'000'000, '\0')}) {
    EXPECT_LT(ParseJson(text).status().message().size(), 150U);
    EXPECT_THAT(ParseJson(text).status().message(), Not(HasSubstr("[2J")));
  }
}

TEST(ParseJsonTest, DepthIsLimited) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"[", "]"},
                                                        {R"({"]\"":)", "}"}}) {
    const std::string deep =
        absl::StrCat(Repeated(open, 64), 1, Repeated(close, 64));
    EXPECT_TRUE(ParseJson(deep).ok()) << ParseJson(deep).status();
    // Adjacent values are not nested.
    EXPECT_TRUE(
        ParseJson(absl::StrCat("[", Repeated("[{}],", 1000), "1]")).ok());

    EXPECT_EQ(
        ParseJson(Repeated(open, 65)).status().message(),
        absl::StrCat("at byte ", 64 * open.size(), ": deeper than 64 values"));
    EXPECT_EQ(
        ParseJson(Repeated(open, 1'000'000)).status().message(),
        absl::StrCat("at byte ", 64 * open.size(), ": deeper than 64 values"));
  }
  const std::string_view before = "[[],{\"a\":[{}]},\"\xff]\\\"[\",";
  EXPECT_EQ(
      ParseJson(absl::StrCat(before, Repeated("[", 64))).status().message(),
      absl::StrCat("at byte ", before.size() + 63, ": deeper than 64 values"));
}

TEST(ParseJsonTest, OfMembersWithTheSameNameTheLastCounts) {
  EXPECT_EQ(JsonText(*ParseJson(R"({"a": {"b": 1}, "c": 2, "a": [3]})")),
            R"({"a":[3],"c":2})");
  EXPECT_EQ(JsonText(*ParseJson(R"({"a": 1, "\u0061": {"a": 2}})")),
            R"({"a":{"a":2}})");
}

TEST(ParseJsonTest, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(*ParseJson("\"caf\xe9\""), "caf\ufffd");
  EXPECT_EQ(JsonText(*ParseJson("{\"\xff\xfe\": \"\xed\xa0\x80\"}")),
            "{\"\ufffd\ufffd\":\"\ufffd\ufffd\ufffd\"}");
  // The byte of an error counts in the original text.
  EXPECT_THAT(ParseJson("[\"\xff\xff\u00e9\" x").status().message(),
              HasSubstr("at byte 8: "));
  EXPECT_THAT(ParseJson("[\xff").status().message(), HasSubstr("at byte 1: "));
}

TEST(FindMemberTest, OtherTypesAreNothing) {
  const nlohmann::json value = *ParseJson(R"({"n": 1, "s": "x", "o": null})");

  EXPECT_EQ(FindNumber(value, "n"), 1);
  EXPECT_EQ(*FindString(value, "s"), "x");
  EXPECT_EQ(FindNumber(value, "s"), std::nullopt);
  EXPECT_EQ(FindString(value, "n"), nullptr);
  EXPECT_TRUE(FindMember(value, "o")->is_null());
  EXPECT_EQ(FindMember(value, "m"), nullptr);
  EXPECT_EQ(FindNumber(value, "m"), std::nullopt);
  EXPECT_EQ(FindString(value, "m"), nullptr);
  for (const char* const text : {"1", "null", "[1]", "\"n\"", "true"}) {
    EXPECT_EQ(FindMember(*ParseJson(text), "n"), nullptr);
  }
}

TEST(JsonTextTest, WrittenTextIsReadAsItWas) {
  const std::string text = "a\"b\\c\n\t\x01\x7f</script> \u00e9\U0001f600";
  const std::string written = JsonText(text);

  EXPECT_EQ(*ParseJson(written), text);
  EXPECT_THAT(written, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x01"))));
}

TEST(JsonTextTest, WhatIsNotUtf8IsReplaced) {
  for (const char* bytes : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf5",
                            "\xe2\x82", "\xf4\x90\x80\x80", "\xe0\x80\x80"}) {
    EXPECT_EQ(JsonText(std::string(bytes)).substr(0, 4), "\"\ufffd");
  }
}

TEST(JsonTextTest, MembersKeepTheirOrder) {
  EXPECT_EQ(JsonText({{"z", 1}, {"a", {{"y", true}, {"b", nullptr}}}}),
            R"({"z":1,"a":{"y":true,"b":null}})");
}

TEST(JsonNumberTest, NumbersAreReadAsTheyWere) {
  for (const double value :
       {0.0, -1.5, 0.1, 1e300, 5e-324, 123456789.0, 1e15, 9007199254740993.0,
        -9223372036854775808.0, 1.7976931348623157e308}) {
    EXPECT_EQ(NumberOf(*ParseJson(JsonText(JsonNumber(value)))), value);
  }
}

TEST(JsonNumberTest, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(JsonText(JsonNumber(2000)), "2000");
  EXPECT_EQ(JsonText(JsonNumber(-3)), "-3");
  EXPECT_EQ(JsonText(JsonNumber(1e15)), "1000000000000000");
  EXPECT_EQ(JsonText(JsonNumber(1.5)), "1.5");
  EXPECT_EQ(JsonText(JsonNumber(0.1)), "0.1");
}

TEST(JsonNumberTest, WhatIsNotFiniteIsNull) {
  EXPECT_EQ(JsonText(JsonNumber(std::numeric_limits<double>::infinity())),
            "null");
  EXPECT_EQ(JsonText(JsonNumber(std::numeric_limits<double>::quiet_NaN())),
            "null");
}

}  // namespace
}  // namespace waiter::cli::json_test
