// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that docs/cookbook.md shows code that the other tests of this folder
// compile and run.

#include <cstddef>
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

using ::testing::Ge;
using ::testing::SizeIs;

// Returns the tasks of the cookbook, each with its heading.
std::vector<std::string> Tasks() {
  std::vector<std::string> tasks =
      absl::StrSplit(ReadFile("docs/cookbook.md"), "\n## ");
  tasks.erase(tasks.begin());
  return tasks;
}

TEST(CookbookDocTest, CodeStandsInTests) {
  ExpectCodeStandsInTests("docs/cookbook.md", "tests/cookbook");
}

TEST(CookbookDocTest, TasksAreNumberedAndHaveCode) {
  const std::vector<std::string> tasks = Tasks();

  EXPECT_THAT(tasks, SizeIs(24));
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_TRUE(absl::StartsWith(tasks[i], absl::StrCat(i + 1, ". ")))
        << tasks[i].substr(0, 20);
    EXPECT_THAT(CodeBlocks(tasks[i]), SizeIs(Ge(1))) << tasks[i];
  }
}

}  // namespace
}  // namespace waiter
