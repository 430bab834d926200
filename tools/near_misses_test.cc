// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/near_misses.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter_tools {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

// Returns the XML of one passing test, as GoogleTest writes it.
std::string Case(std::string_view name, std::string_view used) {
  return absl::StrCat(
      "    <testcase name=\"", name,
      R"(" file="job_test.cc" line="9" status="run" result="completed" time="0.1" timestamp="2026-01-01T00:00:00.000" classname="JobTest">
      <properties>
        <property name="eventually_limit_used" value=")",
      used, R"("/>
        <property name="eventually_limit_used_at" value="job_test.cc:1)",
      used.substr(used.size() - 1), R"("/>
        <property name="size" value="3"/>
      </properties>
    </testcase>
)");
}

std::string Report(std::string_view cases) {
  return absl::StrCat(R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="1" failures="0" name="AllTests">
  <testsuite name="JobTest" tests="1">
)",
                      cases, "  </testsuite>\n</testsuites>\n");
}

auto Is(std::string_view test, double used, int runs) {
  return AllOf(Field(&NearMiss::test, test),
               Field(&NearMiss::used, DoubleEq(used)),
               Field(&NearMiss::runs, runs));
}

TEST(NearMissesTest, LargestShareIsFirst) {
  NearMisses near_misses;
  ASSERT_TRUE(near_misses
                  .Add(Report(Case("A", "0.51") + Case("B", "0.97") +
                              Case("C", "0.49")))
                  .ok());

  EXPECT_THAT(near_misses.List(0.5),
              ElementsAre(Is("JobTest.B", 0.97, 1), Is("JobTest.A", 0.51, 1)));
}

TEST(NearMissesTest, WorstOfAllRunsCounts) {
  NearMisses near_misses;
  for (const std::string_view used : {"0.52", "1.03", "0.61"}) {
    ASSERT_TRUE(near_misses.Add(Report(Case("A", used))).ok());
  }

  EXPECT_THAT(near_misses.List(0.5), ElementsAre(Is("JobTest.A", 1.03, 3)));
  EXPECT_EQ(near_misses.List(0.5)[0].where, "job_test.cc:13");
}

TEST(NearMissesTest, TestsThatRecordNothingAreLeftOut) {
  NearMisses near_misses;
  ASSERT_TRUE(near_misses
                  .Add(Report(R"(<testcase name="A" classname="JobTest" />
<testcase name="B" classname="JobTest"><properties>
<property name="size" value="3"/></properties></testcase>)"))
                  .ok());

  EXPECT_THAT(near_misses.List(0), IsEmpty());
}

TEST(NearMissesTest, TextOfFailuresIsNotMarkup) {
  NearMisses near_misses;
  ASSERT_TRUE(near_misses
                  .Add(Report(R"(<!-- <testcase name="X"> -->
<testcase name="A&lt;int&gt; &amp;&quot;&apos;" classname="JobTest">
<failure message="a > b"><![CDATA[<property name="eventually_limit_used" value="1"/>]]></failure>
<properties><property name="eventually_limit_used" value="0.9"/></properties>
</testcase>)"))
                  .ok());

  EXPECT_THAT(near_misses.List(0),
              ElementsAre(Is("JobTest.A<int> &\"'", 0.9, 1)));
}

TEST(NearMissesTest, TextThatIsNotAWholeReportIsRejected) {
  const std::string report = Report(Case("A", "0.9"));
  NearMisses near_misses;
  for (size_t size = 0; size < report.size() - 2; ++size) {
    ASSERT_TRUE(absl::IsInvalidArgument(
        near_misses.Add(std::string_view(report).substr(0, size))))
        << size;
  }
  for (const std::string_view text :
       {"", "text", "<", "</", "<a", "<a b", "<a b=", "<a b=\"", "<![CDATA[",
        "<!--", "<?", "<html></html>"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(near_misses.Add(text))) << text;
  }

  EXPECT_THAT(near_misses.List(0), IsEmpty());
}

TEST(NearMissesTest, ReportWithoutTestsIsAccepted) {
  NearMisses near_misses;
  EXPECT_TRUE(near_misses.Add("<testsuites tests=\"0\"/>").ok());
}

// Returns the output of the program, or its exit code if that is not 0.
std::string RunProgram(const std::string& arguments) {
  FILE* const out = popen(("tools/near_misses " + arguments).c_str(), "r");
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) {
    text += static_cast<char>(c);
  }
  const int status = pclose(out);
  return status == 0 ? text : absl::StrCat("exit code ", WEXITSTATUS(status));
}

TEST(NearMissesTest, ProgramSearchesDirectories) {
  namespace fs = std::filesystem;
  const fs::path directory =
      fs::path(testing::TempDir()) / absl::StrCat("near_misses-", getpid());
  fs::create_directories(directory / "deep");
  std::ofstream(directory / "deep" / "test.xml") << Report(Case("A", "0.91"));
  std::ofstream(directory / "other.xml") << "<html></html>";

  EXPECT_EQ(RunProgram(directory), FormatTable({{.test = "JobTest.A",
                                                 .used = 0.91,
                                                 .where = "job_test.cc:11",
                                                 .runs = 1}}));
  EXPECT_EQ(RunProgram("--least=0.95 " + directory.string()), FormatTable({}));
  EXPECT_EQ(RunProgram((directory / "other.xml").string()), "exit code 2");
  EXPECT_EQ(RunProgram((directory / "none").string()), "exit code 2");
  EXPECT_EQ(RunProgram("--least=most " + directory.string()), "exit code 2");
  EXPECT_EQ(RunProgram(""), "exit code 2");
  fs::remove_all(directory);
}

TEST(NearMissesTest, TableIsForPeople) {
  EXPECT_EQ(
      FormatTable({{.test = "JobTest.EndsWithinTheHour",
                    .used = 1.034,
                    .where = "job_test.cc:31",
                    .runs = 200},
                   {.test = "A.B", .used = 0.5, .where = "a.cc:1", .runs = 1}}),
      R"(limit used   runs  test                       where
      103%    200  JobTest.EndsWithinTheHour  job_test.cc:31
       50%      1  A.B                        a.cc:1
)");
}

}  // namespace
}  // namespace waiter_tools
