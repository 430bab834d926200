// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/json_path.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/text/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace waiter::cli::json_path_test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDocument = R"({
  "status": "UP", "replicas": 2, "ready": true, "failed": false, "none": null,
  "load": -1.5e2, "a b": {"c.d": 1}, "x-y": 7, "größe": 3, "whole": 2.0,
  "items": [{"ready": true}, {"ready": false}, [10, 20]]
})";

struct Row {
  std::string_view expression;
  bool holds;
};

class JsonPathTest : public ::testing::TestWithParam<Row> {};

TEST_P(JsonPathTest, ExpressionHoldsOrNot) {
  const auto& [expression, holds] = GetParam();
  const nlohmann::json document = ValueOrFail(ParseJson(kDocument));
  const JsonPath path = ValueOrFail(JsonPath::Parse(expression));

  EXPECT_EQ(path.Holds(document), holds) << expression;
}

INSTANTIATE_TEST_SUITE_P(
    Table, JsonPathTest,
    ::testing::Values(
        Row{R"(.status=="UP")", true}, Row{R"( .status == "UP" )", true},
        Row{R"(.status=="DOWN")", false}, Row{R"(.status!="DOWN")", true},
        Row{R"(.status!="UP")", false}, Row{R"(.status=="\u0055P")", true},
        Row{".replicas==2", true}, Row{".replicas==2.0", true},
        Row{".replicas==3", false}, Row{".replicas!=3", true},
        Row{".replicas<2", false}, Row{".replicas<=2", true},
        Row{".replicas>=2", true}, Row{".replicas>2", false},
        Row{".replicas>1.99", true}, Row{".load<-1e2", true},
        // Values of another type: not equal, and neither more nor less.
        Row{R"(.replicas=="2")", false}, Row{R"(.replicas!="2")", true},
        Row{".status>1", false}, Row{".status<=1", false},
        Row{".items==1", false}, Row{".items!=1", true},
        Row{".ready==true", true}, Row{".ready==false", false},
        Row{".failed==false", true}, Row{".failed!=false", false},
        Row{".none==null", true}, Row{".none!=null", false},
        Row{".none==0", false}, Row{".status!=null", true},
        // As written in a document: whole, or with a fraction.
        Row{".whole==2", true}, Row{".whole<2.5", true},
        // Missing values.
        Row{".gone==null", true}, Row{".gone!=null", false},
        Row{R"(.gone!="STARTING")", false}, Row{R"(.gone=="X")", false},
        Row{".gone<1", false}, Row{".gone", false}, Row{".status.gone", false},
        Row{".items[3]", false}, Row{".status[0]", false},
        // Present values of every type.
        Row{".none", true}, Row{".failed", true}, Row{".items[1]", true},
        Row{".", true}, Row{".!=null", true}, Row{". != null", true},
        // Paths.
        Row{".items[0].ready==true", true}, Row{".items[1].ready==true", false},
        Row{".items[2][1]==20", true}, Row{R"(."a b"."c.d"==1)", true},
        Row{R"(["a b"]["c.d"]==1)", true}, Row{R"(.["a b"]["c.d"]==1)", true},
        Row{".x-y==7", true}, Row{".größe==3", true}));

TEST(JsonPathTest, PathMayStartAtTheDocument) {
  const JsonPath path = ValueOrFail(JsonPath::Parse(".[1]>5"));

  EXPECT_TRUE(path.Holds(*ParseJson("[1, 6]")));
  EXPECT_FALSE(path.Holds(*ParseJson("[6]")));
}

TEST(JsonPathTest, ErrorNamesTheMistakeAndItsPosition) {
  const struct {
    std::string_view expression;
    std::string_view error;
  } kRows[] = {
      {"", "at character 1: a path must begin with a dot"},
      {"status", "at character 1: a path must begin with a dot"},
      {"..a", "at character 2: a name is missing"},
      {".a.", "at character 4: a name is missing"},
      {".a[", "at character 4: an index must be a number"},
      {".a[-1]", "at character 4: an index must be a number"},
      {".a[99999999999999999999]", "at character 4: an index must be a number"},
      {".a[1", "at character 5: ] is missing"},
      {R"(.a["b)", "at character 4: this quote is not closed"},
      {R"(."a\")", "at character 2: this quote is not closed"},
      {R"(."\q")", "at character 2: not a JSON string"},
      {".a=1", "at character 3: expected =="},
      {".a b", "at character 4: expected =="},
      {".a==", "at character 5: a value is missing"},
      {".a == UP",
       "at character 7: a value must be a number, true, false, null, or a "
       "string in double quotes"},
      {".a=='UP'", "a string in double quotes"},
      {".a==[1]", "at character 5: a value must be a number"},
      {".a==1 2", "at character 5: a value must be a number"},
      {R"(.a<"b")", "at character 4: only numbers"},
  };
  for (const auto& [expression, error] : kRows) {
    EXPECT_THAT(JsonPath::Parse(expression).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(error))))
        << expression;
  }
}

TEST(JsonPathTest, FindingNamesTheValue) {
  const absl::StatusOr<nlohmann::json> document = ParseJson(kDocument);
  const auto found = [&](std::string_view expression) {
    return JsonPath::Parse(expression)->Found(*document);
  };

  EXPECT_EQ(found(".status == \"DOWN\""), ".status is \"UP\"");
  EXPECT_EQ(found(".items[0].ready"), ".items[0].ready is true");
  EXPECT_EQ(found(".replicas>3"), ".replicas is 2");
  EXPECT_EQ(found(".whole>3"), ".whole is 2");
  EXPECT_EQ(found(".load>3"), ".load is -150");
  EXPECT_EQ(found(".none!=null"), ".none is null");
  EXPECT_EQ(found(".items"), ".items is an array of 3");
  EXPECT_EQ(found("."), ". is an object");
  EXPECT_EQ(found(".gone.deep==1"), "no .gone.deep");
  EXPECT_LT(JsonPath::Parse(".")
                ->Found(nlohmann::json(std::string(1'000'000, 'x')))
                .size(),
            100U);
}

}  // namespace
}  // namespace waiter::cli::json_path_test
