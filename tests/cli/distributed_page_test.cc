// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/distributed.md shows the output of `waiter simulate
// budgets`, and pictures of existing commands.

#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
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

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs a command line that begins with "waiter".
std::string Output(std::string_view line) {
  absl::ConsumePrefix(&line, "waiter ");
  const Words words = absl::StrSplit(line, ' ');
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunWaiter(words, {}, out, err), 0) << err.str();
  return out.str();
}

// Other compilers and versions of Abseil may draw other numbers.
bool IsAbout(std::string_view shown, std::string_view printed) {
  double a = 0;
  double b = 0;
  if (!absl::SimpleAtod(absl::StripSuffix(shown, ","), &a) ||
      !absl::SimpleAtod(absl::StripSuffix(printed, ","), &b)) {
    return shown == printed;
  }
  const bool is_index = shown.size() == 5 && shown[1] == '.';
  return std::abs(a - b) <= (is_index ? 0.05 : 5 + 0.1 * b);
}

TEST(DistributedPageTest, OutputIsThatOfTheCommand) {
  const Words lines = absl::StrSplit(ReadFile("docs/distributed.md"), '\n');
  int commands = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!absl::StartsWith(lines[i], "$ waiter ")) continue;
    ++commands;
    const Words printed =
        absl::StrSplit(Output(lines[i].substr(2)), '\n', absl::SkipEmpty());
    size_t row = 0;
    while (lines[++i] != "```") {
      if (lines[i].empty()) continue;
      ASSERT_LT(row, printed.size());
      const Words shown = absl::StrSplit(lines[i], ' ', absl::SkipEmpty());
      const Words now = absl::StrSplit(printed[row], ' ', absl::SkipEmpty());
      ASSERT_EQ(shown.size(), now.size()) << printed[row];
      for (size_t word = 0; word < shown.size(); ++word) {
        EXPECT_TRUE(IsAbout(shown[word], now[word]))
            << shown[word] << " in the page; " << printed[row];
      }
      ++row;
    }
    EXPECT_EQ(row, printed.size());
  }
  EXPECT_EQ(commands, 1);
}

TEST(DistributedPageTest, PicturesAreThoseOfTheCommands) {
  const std::string tool = ReadFile("tools/docs_pictures");
  const Words lines = absl::StrSplit(ReadFile("docs/distributed.md"), '\n');
  int pictures = 0;
  for (size_t i = 0; i + 3 < lines.size(); ++i) {
    std::string_view command = lines[i];
    if (!absl::ConsumePrefix(&command, "waiter simulate budgets ")) continue;
    ++pictures;
    // ![Text](NAME.svg), after the end of the block and an empty line.
    const Words picture = absl::StrSplit(lines[i + 3], absl::ByAnyChar("()"));
    ASSERT_EQ(picture.size(), 3) << lines[i + 3];
    EXPECT_THAT(ReadFile("docs/" + picture[1]), HasSubstr("<svg"));
    EXPECT_THAT(tool,
                HasSubstr("\ndraw " +
                          std::string(absl::StripSuffix(picture[1], ".svg")) +
                          " simulate budgets " + std::string(command) + "\n"));
  }
  EXPECT_EQ(pictures, 3);
}

}  // namespace
}  // namespace waiter::cli
