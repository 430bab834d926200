// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/text_regex.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace waiter::cli::text_regex_test {
namespace {

using ::testing::HasSubstr;

bool Matches(std::string_view pattern, const std::string& text) {
  const absl::StatusOr<TextRegex> regex = TextRegex::Parse(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status();
  return regex.ok() && regex->Matches(text);
}

TEST(TextRegexTest, RegexMatchesAsGrepDoes) {
  EXPECT_TRUE(Matches("read[yi]", "not ready"));
  EXPECT_TRUE(Matches("", "anything"));
  EXPECT_TRUE(Matches("^$", ""));
  EXPECT_TRUE(Matches("a|^b", "b"));
  EXPECT_FALSE(Matches("a|^b", "cb"));
  EXPECT_TRUE(Matches("a{2,3}|b+", "xaay"));
  EXPECT_FALSE(Matches("ready", "READY"));
  EXPECT_TRUE(Matches("^ready$", "a\nready\nb"));
  EXPECT_FALSE(Matches("^ready$", "not ready"));
  EXPECT_FALSE(Matches("a.b", "a\nb"));
  EXPECT_TRUE(Matches("größe", "die größe"));
}

TEST(TextRegexTest, RegexMatchesBeyondAZeroByte) {
  EXPECT_TRUE(Matches("a|ready", std::string("\0\xff ready", 8)));
  EXPECT_TRUE(Matches("^ready$", std::string("\0\nready\n\0", 9)));
}

// A cost that is not linear would take days.
TEST(TextRegexTest, LargeTextsNeedLittleStackAndTime) {
  const std::string large(1 << 20, 'a');
  EXPECT_FALSE(Matches("(a|aa)*b", large));
  EXPECT_FALSE(Matches("a.*a.*b", large));
  EXPECT_TRUE(Matches("(a|b)*$", large));
  EXPECT_TRUE(Matches("^a.*c$", large + "b\n" + large + "c"));
}

// Compiling one of these takes longer than any wait.
TEST(TextRegexTest, RepetitionsThatMultiplyAreRefused) {
  for (const char* pattern :
       {"(((a{100}){100}){100}){100}", "(a{0,1000}){1000}", "x(y(a{50}b){50})c",
        "[a-z]{2001}", "((((a{9}){9}){9}){9}){9}"}) {
    EXPECT_THAT(TextRegex::Parse(pattern).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("longer than 2000 characters")))
        << pattern;
  }
  EXPECT_TRUE(Matches("^([0-9]{1,3}[.]){3}[0-9]{1,3}$", "192.168.0.1"));
  EXPECT_TRUE(Matches("^(a{10}){10}$", std::string(100, 'a')));
  EXPECT_TRUE(Matches(R"(\{"a":\{\})", R"({"a":{})"));
}

TEST(TextRegexTest, UnsupportedPatternIsRefused) {
  EXPECT_THAT(TextRegex::Parse("a(b").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("not a regular expression: ")));
  EXPECT_THAT(TextRegex::Parse("a)(b").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(TextRegex::Parse(R"((a)\1)").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("back references")));
  // An escaped backslash is not a reference.
  EXPECT_TRUE(Matches(R"(a\\1)", R"(a\1)"));
}

}  // namespace
}  // namespace waiter::cli::text_regex_test
