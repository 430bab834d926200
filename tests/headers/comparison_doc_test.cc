// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that the headers, targets, names and headings in docs/comparison.md
// exist.

#include <cctype>
#include <cstddef>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"

namespace waiter {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns all matches of the first group of `pattern` in `text`.
std::set<std::string> Matches(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end;
       match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

// Returns the document up to its list of sources, which are others' files.
std::string Comparison() {
  const std::string text = ReadFile("docs/comparison.md");
  return text.substr(0, text.find("\n## Sources"));
}

// Returns the anchors of the headings of a document.
std::set<std::string> AnchorsOf(const std::string& path) {
  std::set<std::string> anchors;
  const std::vector<std::string> lines = absl::StrSplit(ReadFile(path), '\n');
  for (const std::string& line : lines) {
    if (!absl::StartsWith(line, "## ")) continue;
    std::string anchor;
    for (const char c : line.substr(3)) {
      const auto letter = static_cast<unsigned char>(c);
      if (std::isalnum(letter) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(letter));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(ComparisonDocTest, HeadersExist) {
  const std::set<std::string> headers =
      Matches(Comparison(), "`([a-z_/]+\\.h)`");

  EXPECT_THAT(headers, Contains("options.h"));
  for (const std::string& header : headers) {
    EXPECT_TRUE(std::filesystem::exists("include/waiter/" + header)) << header;
  }
}

TEST(ComparisonDocTest, TargetsExist) {
  const std::set<std::string> targets =
      Matches(Comparison(), "`(//[a-z_/]*:[a-z_]+)`");

  for (const std::string& target : targets) {
    const std::vector<std::string> parts =
        absl::StrSplit(target.substr(2), ':');
    const std::string folder = parts[0].empty() ? "" : parts[0] + "/";
    EXPECT_THAT(ReadFile(folder + "BUILD.bazel"),
                HasSubstr(absl::StrCat("name = \"", parts[1], "\"")))
        << target;
  }
}

// Checks the names in Waiter's column of the table of what users ask for.
TEST(ComparisonDocTest, NamesOfTheLibraryAreInItsHeaders) {
  const std::string text = Comparison();
  const size_t begin = text.find("\n## What users of others ask for");
  ASSERT_NE(begin, std::string::npos);
  const std::set<std::string> names =
      Matches(text.substr(begin, text.find("\n## ", begin + 1) - begin),
              "`([A-Za-z][A-Za-z_]*)(?:::[A-Za-z]+)?`");
  std::string headers;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator("include/waiter")) {
    if (file.path().extension() == ".h") headers += ReadFile(file.path());
  }

  EXPECT_THAT(names, Contains("PollNotifier"));
  for (const std::string& name : names) {
    EXPECT_TRUE(absl::StrContains(headers, name)) << name;
  }
}

TEST(ComparisonDocTest, HeadingsExist) {
  const std::set<std::string> anchors =
      Matches(Comparison(), "\\(cookbook\\.md#([^)]*)\\)");

  EXPECT_THAT(anchors, Not(IsEmpty()));
  for (const std::string& anchor : anchors) {
    EXPECT_THAT(AnchorsOf("docs/cookbook.md"), Contains(anchor));
  }
}

}  // namespace
}  // namespace waiter
