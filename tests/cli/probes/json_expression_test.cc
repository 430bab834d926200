// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/json_expression.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/text/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace waiter::cli::json_expression_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool HasJq() { return JsonExpression::Parse("length").ok(); }

JsonExpression::Result Evaluate(std::string_view expression,
                                std::string_view json) {
  const absl::StatusOr<JsonExpression> parsed =
      JsonExpression::Parse(expression);
  EXPECT_TRUE(parsed.ok()) << expression << ": " << parsed.status();
  const absl::StatusOr<nlohmann::json> document = ParseJson(json);
  EXPECT_TRUE(document.ok()) << json;
  if (!parsed.ok() || !document.ok()) return {};
  return parsed->Evaluate(*document, json);
}

std::string ErrorOf(std::string_view expression) {
  return std::string(JsonExpression::Parse(expression).status().message());
}

struct Row {
  std::string_view expression;
  std::string_view json;
  bool holds;
  std::string_view found;
  std::string_view value;
};

constexpr std::string_view kPod =
    R"({"status": {"conditions": [{"type": "Ready", "status": "True"},)"
    R"({"type": "Initialized", "status": "False"}]}, "n": 3})";

TEST(JsonExpressionTest, ExpressionsOfJqAreUnderstood) {
  if (!HasJq()) GTEST_SKIP() << "no libjq here";
  const std::vector<Row> rows = {
      {R"(any(.status.conditions[]; .type == "Ready" and .status == "True"))",
       kPod, true,
       "any(.status.conditions[]; .type == \"Ready\" and .status == \"T... is "
       "true",
       "true"},
      {R"(.n == 4 or .n == 5)", kPod, false, ".n == 4 or .n == 5 is false",
       "false"},
      {".status.conditions | length", kPod, true,
       ".status.conditions | length is 2", "2"},
      {".status.conditions[].type", kPod, true,
       ".status.conditions[].type is \"Ready\", \"Initialized\"",
       "Ready\nInitialized"},
      {".status.conditions[] | .status == \"True\"", kPod, false,
       ".status.conditions[] | .status == \"True\" is true, false",
       "true\nfalse"},
      {".missing?", kPod, false, ".missing? is null", "null"},
      {"empty", kPod, false, "empty is nothing", ""},
      {".n | select(. > 2)", kPod, true, ".n | select(. > 2) is 3", "3"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.expression);
    const JsonExpression::Result result = Evaluate(row.expression, row.json);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.holds, row.holds);
    EXPECT_EQ(result.found, row.found);
    EXPECT_EQ(result.value, row.value);
  }
}

TEST(JsonExpressionTest, PathsNeedNoLibrary) {
  const JsonExpression::Result result = Evaluate(".a.b == 1", R"({"a": {}})");
  EXPECT_FALSE(result.holds);
  EXPECT_EQ(result.found, "no .a.b");
  EXPECT_EQ(result.value, "false");
  // Unlike in jq, a null value counts as present.
  EXPECT_TRUE(Evaluate(".a", R"({"a": null})").holds);
}

TEST(JsonExpressionTest, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(ErrorOf(".a = 1"),
            "at character 4: expected ==, !=, <, <=, > or >=, or the end");
  EXPECT_THAT(ErrorOf(".a |= 1"), HasSubstr("at character 4: "));
  EXPECT_THAT(ErrorOf(R"(.a = "\"==")"), HasSubstr("at character 4: "));
  if (!HasJq()) GTEST_SKIP() << "no libjq here";
  EXPECT_THAT(ErrorOf("any(.a[]; .b"),
              AllOf(HasSubstr("at character 1: "), HasSubstr("; as jq: syntax"),
                    HasSubstr("line 1")));
  EXPECT_THAT(ErrorOf("status"),
              AllOf(HasSubstr("at character 1: "),
                    HasSubstr("status/0 is not defined (line 1)")));
  EXPECT_TRUE(JsonExpression::Parse(R"(.a | . == "=")").ok());
  EXPECT_TRUE(
      JsonExpression::Parse("(.a >= 1) and (.b <= 1) and .c != 1").ok());
}

TEST(JsonExpressionTest, ExpressionThatDoesNotSuitTheDocumentSaysSo) {
  if (!HasJq()) GTEST_SKIP() << "no libjq here";
  const JsonExpression::Result result = Evaluate("any(.n[]; .)", R"({"n": 3})");
  EXPECT_FALSE(result.holds);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(result.found, "any(.n[]; .): Cannot iterate over number (3)");
}

TEST(JsonExpressionTest, RunawayExpressionsAreStopped) {
  if (!HasJq()) GTEST_SKIP() << "no libjq here";
  for (const auto& [expression, excess] :
       std::vector<std::pair<std::string_view, std::string_view>> {
         {"last(range(infinite))", "takes longer than 1s"},
             {"def f: f; f", "takes longer than 1s"},
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER) && \
    !defined(ABSL_HAVE_MEMORY_SANITIZER) &&  \
    !defined(ABSL_HAVE_THREAD_SANITIZER)
             {"null | setpath([50000000]; 1)", "needs more than 256 MiB"},
#endif
         {
           "range(infinite)", "gives more than 64 KiB"
         }
       }) {
    const JsonExpression::Result result = Evaluate(expression, "{}");
    EXPECT_FALSE(result.holds);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(result.found, HasSubstr(std::string(excess)));
  }
}

}  // namespace
}  // namespace waiter::cli::json_expression_test
