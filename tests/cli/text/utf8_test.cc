// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/utf8.h"

#include "gtest/gtest.h"

namespace waiter::cli {
namespace {

TEST(Utf8Test, ValidTextStaysAsItIs) {
  for (const char* const text :
       {"", "a", "a\x01\x7f", "\u00e9\u0800\ud7ff\ue000\uffff\U00010000",
        "\U0010ffff"}) {
    EXPECT_EQ(ToUtf8(text), text);
  }
}

TEST(Utf8Test, EachByteThatIsNotValidIsReplaced) {
  EXPECT_EQ(ToUtf8("\x80"), "\ufffd");
  EXPECT_EQ(ToUtf8("a\xff\xfe!"), "a\ufffd\ufffd!");
  // Cut off, too long, a surrogate, and beyond U+10FFFF.
  EXPECT_EQ(ToUtf8("\xe2\x82"), "\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("\xe2\x82!"), "\ufffd\ufffd!");
  EXPECT_EQ(ToUtf8("\xc0\xaf"), "\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("\xe0\x80\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(ToUtf8("\xf5"), "\ufffd");
}

TEST(Utf8Test, CharactersHaveALength) {
  EXPECT_EQ(Utf8Length(""), 0);
  EXPECT_EQ(Utf8Length("ab"), 1);
  EXPECT_EQ(Utf8Length("\u00e9x"), 2);
  EXPECT_EQ(Utf8Length("\u20acx"), 3);
  EXPECT_EQ(Utf8Length("\U0001f600x"), 4);
  EXPECT_EQ(Utf8Length("\x80x"), 0);
}

}  // namespace
}  // namespace waiter::cli
