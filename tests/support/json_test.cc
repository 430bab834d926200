// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/json.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "json/json.h"

namespace waiter {
namespace {

TEST(JsonTest, EveryKindOfValueIsRead) {
  const Json json = Json::Parse(
      R"({"a": [1, -2.5e3, "x\n\"y\"", true, null], "b": {"c": {}}, "d": []})");

  EXPECT_EQ(json["a"][0].number(), 1);
  EXPECT_EQ(json["a"][1].number(), -2500);
  EXPECT_EQ(json["a"][2].string(), "x\n\"y\"");
  EXPECT_TRUE(json["a"][3].boolean());
  EXPECT_TRUE(json["a"][4].is_null());
  EXPECT_TRUE(json["b"]["c"].object().empty());
  EXPECT_TRUE(json["d"].array().empty());
  EXPECT_FALSE(json.has("e"));
  EXPECT_EQ(json["b"].number_or("f", 7), 7);
}

TEST(JsonValueTest, OtherTypesAreNull) {
  const JsonValue value = *ParseJson(R"({"n": 1, "s": "x"})");

  EXPECT_EQ(*value.FindNumber("n"), 1);
  EXPECT_EQ(*value.FindString("s"), "x");
  EXPECT_EQ(value.FindNumber("s"), nullptr);
  EXPECT_EQ(value.Find("m"), nullptr);
  EXPECT_EQ(value.Find("n")->Find("x"), nullptr);
  EXPECT_EQ(value.array(), nullptr);
}

TEST(JsonValueTest, EscapesAreTheTextThatTheyStandFor) {
  EXPECT_EQ(*ParseJson(R"("\u0041\u00e9\u20ac\ud83d\ude00")")->string(),
            "A\u00e9\u20ac\U0001f600");
  EXPECT_EQ(*ParseJson(R"("\ud83d!\ude00\ud83d\u0041")")->string(),
            "\ufffd!\ufffd\ufffdA");
}

TEST(JsonValueTest, WhatIsNoJsonIsSaid) {
  const std::string deep(65, '[');
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "no value at byte 0"},
           {"{\"a\" 1}", "no : at byte 5"},
           {"{\"a\":1,}", "no string at byte 7"},
           {"{1:2}", "no string at byte 1"},
           {"[1, 2", "no , at byte 5"},
           {"[1] 2", "more text at byte 4"},
           {"nul", "no number at byte 0"},
           {"01", "more text at byte 1"},
           {"+1", "no number at byte 0"},
           {"1.", "no number at byte 0"},
           {"1e999", "no number at byte 0"},
           {"\"a", "no end of a string at byte 2"},
           {R"("\)", "an escape that is not known at byte 2"},
           {R"("\x")", "an escape that is not known at byte 2"},
           {R"("\u12")", "an escape that is not known at byte 3"},
           {"\"\n\"", "a control character in a string at byte 1"},
           {deep, "no value at byte 65"},
           {deep + "[", "deeper than 64 values at byte 65"}}) {
    EXPECT_EQ(ParseJson(text).status().message(), message) << text;
  }
}

TEST(JsonValueTest, QuotedTextIsReadAsItWas) {
  const std::string text = "a\"b\\c\n\t\x01</script> \u00e9\U0001f600";
  const std::string quoted = QuoteJson(text);

  EXPECT_EQ(*ParseJson(quoted)->string(), text);
  EXPECT_EQ(quoted.find('<'), std::string::npos);
  EXPECT_EQ(quoted.find('\n'), std::string::npos);
}

TEST(JsonValueTest, WhatIsNotUtf8IsReplaced) {
  for (const char* bytes : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf5",
                            "\xe2\x82", "\xf4\x90\x80\x80", "\xe0\x80\x80"}) {
    const std::string quoted = QuoteJson(bytes);
    EXPECT_EQ(quoted.substr(0, 4), "\"\ufffd") << quoted;
  }
}

TEST(JsonValueTest, NumbersAreReadAsTheyWere) {
  for (const double value : {0.0, -1.5, 0.1, 1e300, 5e-324, 123456789.0}) {
    EXPECT_EQ(*ParseJson(JsonNumber(value))->number(), value);
  }
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(std::nan("")), "null");
}

TEST(JsonDeathTest, BrokenTextAborts) {
  EXPECT_DEATH(Json::Parse("{\"a\" 1}"), "no : at byte 5");
  EXPECT_DEATH(Json::Parse("[1, 2"), "no , at byte 5");
  EXPECT_DEATH(Json::Parse("[1] 2"), "more text at byte 4");
}

TEST(JsonDeathTest, WrongUseNamesThePath) {
  const Json json = Json::Parse(R"({"a": [1, {"b": 2}]})");

  EXPECT_DEATH(json["a"][1]["c"], R"(\$\.a\[1\] has no c)");
  EXPECT_DEATH(json["a"][1]["b"].string(),
               R"(\$\.a\[1\]\.b is of another type)");
  EXPECT_DEATH(json["a"][5], R"(\$\.a has no element 5)");
}

}  // namespace
}  // namespace waiter
