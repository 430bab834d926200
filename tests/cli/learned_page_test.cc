// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that bench/learned_study.md shows what `waiter simulate learned`
// prints, and that tools/docs_pictures draws the pictures of docs/learned.md.

#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/subcommands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter::cli {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Returns the words of the lines that are not empty.
std::vector<Words> Rows(std::string_view text) {
  std::vector<Words> rows;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (!words.empty()) rows.push_back(std::move(words));
  }
  return rows;
}

bool ReadNumber(std::string_view word, double& number) {
  if (!absl::ConsumeSuffix(&word, "x")) absl::ConsumeSuffix(&word, "s");
  return absl::SimpleAtod(word, &number);
}

// Other compilers and versions of Abseil may draw other numbers, and a verdict
// may follow from them.
bool IsAbout(std::string_view shown, std::string_view printed) {
  double a = 0;
  double b = 0;
  if (ReadNumber(shown, a) && ReadNumber(printed, b)) {
    return std::abs(a - b) <= 10 + 0.5 * std::abs(b);
  }
  const bool is_verdict = printed == "reached" || printed == "missed";
  return shown == printed ||
         (is_verdict && (shown == "reached" || shown == "missed"));
}

TEST(LearnedPageTest, OutputIsThatOfTheCommand) {
  if (kIsSanitized) GTEST_SKIP() << "takes minutes with a sanitizer";
  constexpr std::string_view kCommand = "$ waiter simulate learned\n";
  const std::string page = ReadFile("bench/learned_study.md");
  const size_t begin = page.find(kCommand);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("\n```", begin);
  const std::vector<Words> shown =
      Rows(page.substr(begin + kCommand.size(), end - begin - kCommand.size()));

  std::ostringstream out;
  std::ostringstream err;
  ASSERT_EQ(RunWaiter({"simulate", "learned"}, {}, out, err), 0) << err.str();
  const std::vector<Words> printed = Rows(out.str());
  for (const std::string_view line : absl::StrSplit(out.str(), '\n')) {
    EXPECT_LE(line.size(), 80) << line;
  }

  ASSERT_EQ(shown.size(), printed.size());
  for (size_t row = 0; row < shown.size(); ++row) {
    ASSERT_EQ(shown[row].size(), printed[row].size()) << "row " << row;
    for (size_t word = 0; word < shown[row].size(); ++word) {
      EXPECT_TRUE(IsAbout(shown[row][word], printed[row][word]))
          << "row " << row << ": " << shown[row][word] << " in the page, "
          << printed[row][word] << " printed";
    }
  }
}

TEST(LearnedPageTest, PicturesAreThoseOfTheCommand) {
  const std::string page = ReadFile("docs/learned.md");
  const std::string tool = ReadFile("tools/docs_pictures");
  for (const char* name : {"learned_rules", "learned_regret"}) {
    EXPECT_THAT(page, HasSubstr("](" + std::string(name) + ".svg)"));
    EXPECT_THAT(ReadFile("docs/" + std::string(name) + ".svg"),
                HasSubstr("<svg"));
    EXPECT_THAT(tool, HasSubstr("\ndraw " + std::string(name) +
                                " simulate learned --chart="));
  }
}

}  // namespace
}  // namespace waiter::cli
