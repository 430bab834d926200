// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace waiter::cli::files_test {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

std::string NewPath(const std::string& name) {
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", name, ".", getpid());
  std::filesystem::remove(path);
  return path;
}

TEST(ReadFileTest, ContentMayHaveAnyBytes) {
  const std::string path = NewPath("file");
  const std::string content = std::string(100'000, 'x') + std::string(1, '\0');
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(ReadFile(path, kMebibyte).value(), content);
}

TEST(ReadFileTest, PipeWithoutAWriterIsGivenUp) {
  const std::string path = NewPath("silent");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(path, kMebibyte, absl::Milliseconds(1)).status().message(),
            "no data came for 1ms");
}

TEST(ReadFileTest, PipeIsReadToItsEnd) {
  const std::string path = NewPath("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  // Opening each end waits for the other.
  std::thread writer([&] { std::ofstream(path) << "abc"; });
  EXPECT_EQ(ReadFile(path, kMebibyte).value(), "abc");
  writer.join();
}

TEST(ReadFileTest, EndlessFileIsTooLarge) {
  EXPECT_EQ(ReadFile("/dev/zero", kMebibyte).status().message(),
            "larger than 1 MiB");
}

TEST(ReadFileTest, ReasonIsThatOfTheSystem) {
  EXPECT_EQ(ReadFile("/no/such", 1).status().message(),
            "No such file or directory");
  EXPECT_EQ(ReadFile("/", 1).status().message(), "Is a directory");
}

}  // namespace
}  // namespace waiter::cli::files_test
