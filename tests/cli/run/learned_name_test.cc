// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/learned_name.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace waiter::cli::learned_name_test {
namespace {

TEST(LearnedNameTest, FirstColonEndsTheFile) {
  struct Case {
    std::string text;
    std::string path;
    std::string operation;
  };
  const std::vector<Case> cases = {
      {"durations", "durations", ""},
      {"durations:", "durations", ""},
      {"/var/lib/durations:create instance", "/var/lib/durations",
       "create instance"},
      {"durations:tcp://db:5432", "durations", "tcp://db:5432"},
      {"a%3Ab:c:d", "a:b", "c:d"},
      {"90%25:c%3A", "90%", "c%3A"},
      {"90%", "90%", ""},
      {"-:db", "-", "db"},
  };
  for (const auto& [text, path, operation] : cases) {
    const absl::StatusOr<LearnedName> name = ParseLearnedName(text);
    ASSERT_TRUE(name.ok()) << text << name.status();
    EXPECT_EQ(name->path, path) << text;
    EXPECT_EQ(name->operation, operation) << text;
    const absl::StatusOr<LearnedName> again =
        ParseLearnedName(FormatLearnedName(*name));
    ASSERT_TRUE(again.ok()) << text << again.status();
    EXPECT_EQ(again->path, path) << text;
    EXPECT_EQ(again->operation, operation) << text;
  }
}

TEST(LearnedNameTest, FileNeedsAName) {
  for (const char* text : {"", ":", ":build", "a%00b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseLearnedName(text).status()))
        << text;
  }
}

}  // namespace
}  // namespace waiter::cli::learned_name_test
