// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/cookbook.md shows code that the other tests of this folder
// compile and run.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"

namespace waiter {
namespace {

using ::testing::Ge;
using ::testing::IsSubsetOf;
using ::testing::SizeIs;

// Includes and other code, which has the includes of a whole test around it.
struct Code {
  std::set<std::string> includes;
  std::string words;
};

Code CodeOf(std::string_view text) {
  Code code;
  std::string rest;
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "#include ")) {
      code.includes.emplace(line);
    } else {
      absl::StrAppend(&rest, line, "\n");
    }
  }
  code.words = Words(rest);
  return code;
}

// Returns the code of each test of this folder, by its path.
std::map<std::string, Code> Sources() {
  std::map<std::string, Code> sources;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/cookbook")) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, "_test.cc") &&
        !absl::EndsWith(path, "cookbook_doc_test.cc")) {
      sources[path] = CodeOf(ReadFile(path));
    }
  }
  return sources;
}

// Returns the tasks of the cookbook, each with its heading.
std::vector<std::string> Tasks() {
  std::vector<std::string> tasks =
      absl::StrSplit(ReadFile("docs/cookbook.md"), "\n## ");
  tasks.erase(tasks.begin());
  return tasks;
}

TEST(CookbookDocTest, EveryBlockStandsInATest) {
  const std::map<std::string, Code> sources = Sources();
  std::set<std::string> used;
  for (const std::string& block : CodeBlocks(ReadFile("docs/cookbook.md"))) {
    const Code code = CodeOf(block);
    std::string found;
    for (const auto& [path, source] : sources) {
      if (absl::StrContains(source.words, code.words)) found = path;
    }
    ASSERT_NE(found, "") << "no test has this code:\n" << block;
    EXPECT_THAT(code.includes, IsSubsetOf(sources.at(found).includes)) << found;
    used.insert(found);
  }

  EXPECT_THAT(used, SizeIs(sources.size())) << "a test has no task";
}

TEST(CookbookDocTest, TasksAreNumberedAndHaveCode) {
  const std::vector<std::string> tasks = Tasks();

  EXPECT_THAT(tasks, SizeIs(12));
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_TRUE(absl::StartsWith(tasks[i], absl::StrCat(i + 1, ". ")))
        << tasks[i].substr(0, 20);
    EXPECT_THAT(CodeBlocks(tasks[i]), SizeIs(Ge(1))) << tasks[i];
  }
}

TEST(CookbookDocTest, CodeHasEightyColumns) {
  for (const std::string& block : CodeBlocks(ReadFile("docs/cookbook.md"))) {
    for (std::string_view line : absl::StrSplit(block, '\n')) {
      EXPECT_LE(line.size(), 80) << line;
    }
  }
}

}  // namespace
}  // namespace waiter
