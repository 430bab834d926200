// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/vectors.h"

#include <cstdint>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/json.h"

namespace waiter {
namespace {

using ::testing::HasSubstr;

class VectorFileTest : public testing::Test {
 protected:
  static VectorFile File(const std::string& text, int64_t cases) {
    return {"numbers.json", Json::Parse(text), cases};
  }

  // Returns the failure in the report of `file`.
  std::string FailureOfReport(const VectorFile& file) {
    return FailureOf([&] { file.Report(out_); });
  }

  std::ostringstream out_;
};

TEST_F(VectorFileTest, PassesIfEveryValueIsAccountedFor) {
  VectorFile file = File(
      R"({"source": "a book", "sums": [3, 4], "note": ["x", "y"], "rest": 1,
          "case": {"given": [1, 2], "expected": {"sum": 3}}})",
      /*cases=*/6);
  file.Describes({"source"});
  file.RanEach(file["sums"]);
  file.Ran(file["case"]);
  file.NotRunEach(file["note"], "they are text");
  file.NotRun(file["rest"], "it differs");

  EXPECT_EQ(FailureOfReport(file), "(no failure)");
  EXPECT_EQ(out_.str(),
            "numbers.json: 3 cases run, 3 not run\n"
            "  - $.note, 2 cases: they are text\n"
            "  - $.rest: it differs\n");
}

TEST_F(VectorFileTest, CountsACaseOnce) {
  VectorFile file = File(R"({"sums": [3, 4]})", /*cases=*/2);
  file.RanEach(file["sums"]);
  file.RanEach(file["sums"]);

  EXPECT_EQ(FailureOfReport(file), "(no failure)");
}

TEST_F(VectorFileTest, FailsIfAValueIsLeftOut) {
  VectorFile file = File(R"({"sums": [3, 4], "last": {"sum": 5}})", 1);
  file.Ran(file["sums"][0]);

  EXPECT_THAT(FailureOfReport(file),
              testing::AllOf(HasSubstr("$.sums[1]"), HasSubstr("$.last.sum"),
                             testing::Not(HasSubstr("$.sums[0]"))));
}

TEST_F(VectorFileTest, FailsIfAListHasBecomeEmpty) {
  VectorFile file = File(R"({"sums": []})", /*cases=*/0);
  file.RanEach(file["sums"]);

  EXPECT_THAT(FailureOfReport(file), HasSubstr("$.sums"));
}

TEST_F(VectorFileTest, FailsIfThereAreFewerCasesThanThereWere) {
  VectorFile file = File(R"({"sums": [3, 4]})", /*cases=*/3);
  file.RanEach(file["sums"]);

  EXPECT_THAT(FailureOfReport(file), HasSubstr("numbers.json"));
}

TEST_F(VectorFileTest, FailsIfACaseIsBothRunAndNotRun) {
  VectorFile file = File(R"({"sum": 3})", /*cases=*/1);
  file.Ran(file["sum"]);

  EXPECT_THAT(FailureOf([&] { file.NotRun(file["sum"], "it differs"); }),
              HasSubstr("$.sum"));
}

TEST_F(VectorFileTest, ATableIsAnArrayOfItsRows) {
  const Json table = CsvVectors("backoff_simulation_reference.csv");

  ASSERT_EQ(table.array().size(), 35);
  EXPECT_EQ(table[0]["clients"].number(), 10);
  EXPECT_EQ(table[0]["algorithm"].string(), "Exponential");
}

}  // namespace
}  // namespace waiter
