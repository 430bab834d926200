// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/fitted_text.h"

#include <cstddef>
#include <string>
#include <vector>

#include "cli/text/utf8.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/backoff.h"

namespace waiter::cli::fitted_text_test {
namespace {

TEST(FittedTextTest, WideTextEndsInDots) {
  struct Case {
    std::string text;
    size_t columns;
    std::string fitted;
  };
  const std::vector<Case> cases = {
      {"", 0, ""},
      {"ready", 5, "ready"},
      {"ready", 10000, "ready"},
      {"refused by all", 10, "refused..."},
      {"ready", 4, "r..."},
      {"ready", 3, "rea"},
      {"ready", 1, "r"},
      {"ready", 0, ""},
      {"日本語", 6, "日本語"},
      {"日本語", 5, "日..."},
      {"日本語", 1, ""},
      // An accent takes no extra column.
      {"cafe\u0301s", 5, "cafe\u0301s"},
      {"\x1b[2J", 20, "\\x1b[2J"},
      {"\xff", 1, "\uFFFD"},
      // Characters that change the direction of writing, or are invisible.
      {"a\u202Eb\u200Bc", 5, "a\uFFFDb\uFFFDc"},
      {std::string(1 << 20, 'x'), 8, "xxxxx..."},
      {std::string(1 << 20, '\xf0'), 2, "\uFFFD\uFFFD"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Fitted(c.text, c.columns), c.fitted) << c.columns;
  }
}

TEST(FittedTextTest, EndlessAccentsAreCut) {
  std::string text = "e";
  for (int i = 0; i < 1000; ++i) text += "\u0301";
  const std::string fitted = Fitted(text, 5);
  EXPECT_EQ(fitted.size(), 1 + 2 * 11 + 3);
  EXPECT_EQ(Columns(fitted), 4);
}

TEST(FittedTextTest, PaddingCountsColumns) {
  EXPECT_EQ(Padded("ab", 4), "ab  ");
  EXPECT_EQ(Padded("日", 4), "日  ");
  EXPECT_EQ(Padded("abcde", 4), "abcde");
}

TEST(FittedTextTest, EndOfATextMayBeShown) {
  EXPECT_EQ(FittedBeforeEnd("abcdefgh", 8, 3), "abcdefgh");
  EXPECT_EQ(FittedBeforeEnd("abcdefghi", 8, 3), "ab...ghi");
  EXPECT_EQ(FittedBeforeEnd("abcdefghi", 8, 5), "...efghi");
  EXPECT_EQ(FittedBeforeEnd("abcdefghi", 8, 0), "abcde...");
  EXPECT_EQ(FittedBeforeEnd("日本語日本語", 8, 3), "日...語");
}

TEST(FittedTextTest, EveryTextFits) {
  SplitMix64 gen(FirstSeed());
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t length = gen() % 300; length > 0; --length) {
      text.push_back(static_cast<char>(gen() % 3 == 0 ? gen() % 128 : gen()));
    }
    const size_t columns = gen() % 80;
    const size_t tail = columns < 4 ? 0 : gen() % (columns - 3);
    for (const std::string& fitted :
         {Fitted(text, columns), FittedBeforeEnd(text, columns, tail)}) {
      EXPECT_LE(Columns(fitted), columns);
      EXPECT_EQ(ToUtf8(fitted), fitted);
      for (const char c : fitted) EXPECT_FALSE(c >= 0 && c < ' ');
    }
  }
}

}  // namespace
}  // namespace waiter::cli::fitted_text_test
