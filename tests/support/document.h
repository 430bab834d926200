// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads documents of this project, in tests that compare them with the code:
//
//   for (const std::string& code : CodeBlocks(ReadFile("README.md"))) {
//     EXPECT_THAT(Words(source), HasSubstr(Words(code)));
//   }
//
// A document whose code is in the tests of one folder:
//
//   ExpectCodeStandsInTests("docs/cookbook.md", "tests/cookbook");

#ifndef WAITER_TESTS_SUPPORT_DOCUMENT_H_
#define WAITER_TESTS_SUPPORT_DOCUMENT_H_

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
  const std::vector<std::string> words = absl::StrSplit(
      std::string(text), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

// Returns the C++ code of `markdown`, block by block.
inline std::vector<std::string> CodeBlocks(std::string_view markdown) {
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(markdown), "```cpp\n");
  std::vector<std::string> blocks;
  for (size_t i = 1; i < parts.size(); ++i) {
    blocks.push_back(parts[i].substr(0, parts[i].find("```")));
  }
  return blocks;
}

// Includes and other code, which has the includes of a whole test around it.
struct Code {
  std::set<std::string> includes;
  std::string words;
};

inline Code CodeOf(std::string_view text) {
  Code code;
  std::string rest;
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(text), '\n');
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, "#include ")) {
      code.includes.insert(line);
    } else {
      absl::StrAppend(&rest, line, "\n");
    }
  }
  code.words = Words(rest);
  return code;
}

// Returns the code of each test of `folder`, by its path. Tests of documents,
// whose names end in "_doc_test.cc", are left out.
inline std::map<std::string, Code> CodeOfTests(const std::string& folder) {
  std::map<std::string, Code> tests;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, "_test.cc") &&
        !absl::EndsWith(path, "_doc_test.cc")) {
      tests[path] = CodeOf(ReadFile(path));
    }
  }
  return tests;
}

// Fails the test for each block of C++ in `document` that is not word for word
// in a test of `folder`, and for each test of `folder` without a block. Also
// fails for each line of code with more than 80 columns.
inline void ExpectCodeStandsInTests(const std::string& document,
                                    const std::string& folder) {
  const std::map<std::string, Code> tests = CodeOfTests(folder);
  std::set<std::string> without_block;
  for (const auto& [path, test] : tests) without_block.insert(path);

  for (const std::string& block : CodeBlocks(ReadFile(document))) {
    const Code code = CodeOf(block);
    const auto found =
        std::find_if(tests.begin(), tests.end(), [&](const auto& test) {
          return absl::StrContains(test.second.words, code.words);
        });
    if (found == tests.end()) {
      ADD_FAILURE() << "no test of " << folder << " has this code:\n" << block;
      continue;
    }
    const auto& [path, test] = *found;
    EXPECT_TRUE(std::includes(test.includes.begin(), test.includes.end(),
                              code.includes.begin(), code.includes.end()))
        << path << " lacks an include of this code:\n"
        << block;
    without_block.erase(path);
    const std::vector<std::string> lines = absl::StrSplit(block, '\n');
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), 80) << line;
    }
  }

  EXPECT_EQ(absl::StrJoin(without_block, ", "), "")
      << "these tests have no block in " << document;
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_DOCUMENT_H_
