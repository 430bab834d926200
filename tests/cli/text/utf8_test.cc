// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text/printable.h"
#include "gtest/gtest.h"

namespace waiter::cli::utf8_test {
namespace {

TEST(Utf8Test, FirstOfReadsOneCharacter) {
  struct Case {
    std::string_view text;
    uint32_t point;
    size_t length;
  };
  const std::vector<Case> cases = {
      {"a", 0x61, 1},
      {"ab", 0x61, 1},
      {std::string_view("\0", 1), 0, 1},
      {"\x7f", 0x7f, 1},
      {"\u0080", 0x80, 2},
      {"\u07ff", 0x7ff, 2},
      {"\u0800", 0x800, 3},
      {"\ud7ff", 0xd7ff, 3},
      {"\ue000", 0xe000, 3},
      {"\ufffd", 0xfffd, 3},
      {"\U00010000", 0x10000, 4},
      {"\U0010ffff", 0x10ffff, 4},
  };
  for (const Case& c : cases) {
    const Utf8Character first = FirstOf(c.text);
    EXPECT_EQ(first.point, c.point) << c.text;
    EXPECT_EQ(first.length, c.length) << c.text;
  }
}

TEST(Utf8Test, AnInvalidByteIsAReplacementOfItsOwn) {
  for (const std::string_view text : {
           "\x80",              // A continuation without a lead.
           "\xc3",              // Cut off.
           "\xc3z",             //
           "\xe2\x82",          //
           "\xf0\x9f\x98",      //
           "\xc0\xaf",          // More bytes than needed.
           "\xe0\x9f\xbf",      //
           "\xf0\x8f\xbf\xbf",  //
           "\xed\xa0\x80",      // Half of a surrogate pair.
           "\xed\xbf\xbf",      //
           "\xf4\x90\x80\x80",  // Beyond U+10FFFF.
           "\xf5\x80\x80\x80",  //
           "\xff",              //
       }) {
    const Utf8Character first = FirstOf(text);
    EXPECT_EQ(first.point, kReplacementPoint) << Printable(text);
    EXPECT_EQ(first.length, 1U) << Printable(text);
  }
}

TEST(Utf8Test, PrefixEndsBetweenCharacters) {
  EXPECT_EQ(Utf8Prefix("abc", 3), "abc");
  EXPECT_EQ(Utf8Prefix("abc", 2), "ab");
  EXPECT_EQ(Utf8Prefix("abc", 0), "");
  EXPECT_EQ(Utf8Prefix("日本", 6), "日本");
  EXPECT_EQ(Utf8Prefix("日本", 5), "日");
  EXPECT_EQ(Utf8Prefix("日本", 3), "日");
  EXPECT_EQ(Utf8Prefix("日本", 2), "");
  // Bytes that are not UTF-8 cost at most three.
  EXPECT_EQ(Utf8Prefix(std::string(100, '\x80'), 50).size(), 47U);
}

TEST(PrintableTest, ControlCharactersAndInvalidBytesAreReplaced) {
  EXPECT_EQ(Printable("a\x1b[2J\r\n\x7f"), "a\\x1b[2J\\x0d\\x0a\\x7f");
  EXPECT_EQ(Printable("\u009b1m"), "\\u009b1m");
  EXPECT_EQ(Printable("caf\u00e9 \ufffd <b> \\ \""),
            "caf\u00e9 \ufffd <b> \\ \"");
  EXPECT_EQ(Printable("\xc3z\xff"), "\ufffdz\ufffd");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
}

TEST(PrintableTest, ShortenedKeepsWholeCharacters) {
  EXPECT_EQ(Shortened("日本", 6), "日本");
  EXPECT_EQ(Shortened("日本", 5), "日...");
}

TEST(Utf8Test, ToUtf8ReplacesEachInvalidByte) {
  EXPECT_EQ(ToUtf8(""), "");
  EXPECT_EQ(ToUtf8("a\u20ac\U0001f600"), "a\u20ac\U0001f600");
  EXPECT_EQ(ToUtf8("a\xff\xe2\x82z"), "a\ufffd\ufffd\ufffdz");
  EXPECT_EQ(ToUtf8("\ufffd"), "\ufffd");
}

}  // namespace
}  // namespace waiter::cli::utf8_test
