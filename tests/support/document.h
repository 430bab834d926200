// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads documents of this project, in tests that hold them to the code:
//
//   for (const std::string& code : CodeBlocks(ReadFile("README.md"))) {
//     EXPECT_THAT(Words(source), HasSubstr(Words(code)));
//   }

#ifndef WAITER_TESTS_SUPPORT_DOCUMENT_H_
#define WAITER_TESTS_SUPPORT_DOCUMENT_H_

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace waiter {

// Returns the text of the file at `path`, in the `data` of the test. Fails the
// test if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reduces `text` to its words: a test indents its code, and prose is wrapped.
inline std::string Words(std::string_view text) {
  return absl::StrJoin(
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

// Returns the C++ code of `markdown`, block by block.
inline std::vector<std::string> CodeBlocks(std::string_view markdown) {
  const std::vector<std::string> parts = absl::StrSplit(markdown, "```cpp\n");
  std::vector<std::string> blocks;
  for (size_t i = 1; i < parts.size(); ++i) {
    blocks.push_back(parts[i].substr(0, parts[i].find("```")));
  }
  return blocks;
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_DOCUMENT_H_
