// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Files with the text that a scenario must give in every test framework:
// tests/testing/golden/NAME.txt.

#ifndef WAITER_TESTS_TESTING_GOLDEN_H_
#define WAITER_TESTS_TESTING_GOLDEN_H_

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace waiter {

// Returns `text` without the path and the line of the scenario, which differ
// between builds.
inline std::string WithoutPlaces(const std::string& text) {
  static const auto* const place =
      new std::regex(R"(([^ \n]*/)?assertion_scenarios\.h:[0-9]+)");
  return std::regex_replace(text, *place, "FILE:LINE");
}

// Compares `text` with the file. Returns an empty text if they are equal, and a
// message otherwise. With WAITER_WRITE_GOLDEN=FOLDER, writes the file instead.
inline std::string CompareWithGolden(const std::string& name,
                                     const std::string& text) {
  // The same text was compared before; tests repeat scenarios very often.
  static auto* const equal = new std::map<std::string, std::string>();
  const auto known = equal->find(name);
  if (known != equal->end() && known->second == text) return "";
  const std::string actual = WithoutPlaces(text) + "\n";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  if (const char* const folder = std::getenv("WAITER_WRITE_GOLDEN")) {
    std::ofstream(folder + ("/" + name + ".txt")) << actual;
    return "";
  }
  const std::string path = "tests/testing/golden/" + name + ".txt";
  std::ifstream file(path);
  if (!file.good()) return path + " does not exist; the text is\n" + actual;
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() == actual) {
    (*equal)[name] = text;
    return "";
  }
  return path + " differs. Expected:\n" + expected.str() + "Actual:\n" + actual;
}

}  // namespace waiter

#endif  // WAITER_TESTS_TESTING_GOLDEN_H_
