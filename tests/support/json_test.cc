// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/json.h"

#include "gtest/gtest.h"

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

TEST(JsonDeathTest, BrokenTextAborts) {
  EXPECT_DEATH(Json::Parse("{\"a\" 1}"), "line 1, column 6: .*expected ':'");
  EXPECT_DEATH(Json::Parse("[1, 2"), "line 1, column 6: .*end of input");
  EXPECT_DEATH(Json::Parse("[1] 2"), "line 1, column 5: .*end of input");
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
