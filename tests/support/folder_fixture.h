// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Gives each test an empty folder, which is deleted after it.

#ifndef WAITER_TESTS_SUPPORT_FOLDER_FIXTURE_H_
#define WAITER_TESTS_SUPPORT_FOLDER_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace waiter {

class FolderFixture : public testing::Test {
 protected:
  FolderFixture() : folder_(absl::StrCat(testing::TempDir(), "/testXXXXXX")) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr) << folder_;
  }
  ~FolderFixture() override {
    // A process that a test has left may still write there.
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string& folder() const { return folder_; }
  std::string Path(std::string_view name) const {
    return absl::StrCat(folder_, "/", name);
  }
  // Writes a file and returns its path.
  std::string Write(std::string_view name, std::string_view text = "") const {
    std::string path = Path(name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  std::string folder_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_FOLDER_FIXTURE_H_
