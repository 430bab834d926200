// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Lists the tests that came closest to one of their limits:
//
//   ./bazelw test --runs_per_test=20 //...
//   ./bazelw run //tools:near_misses -- [--least=0.5] bazel-testlogs
//
// Takes GoogleTest XML files, and directories that it searches for `*.xml`. It
// skips other XML files there. Exits with 0, or with 2 if an argument is wrong
// or a file cannot be read.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tools/near_misses.h"

namespace {

constexpr int kUsageError = 2;

int Fail(std::string_view path, std::string_view why) {
  std::cerr << "near_misses: " << path << ": " << why << "\n";
  return kUsageError;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  // `bazel run` starts programs in another directory; this variable has the one
  // that it was called from.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  const char* const from = std::getenv("BUILD_WORKING_DIRECTORY");
  std::error_code error;
  if (from != nullptr) fs::current_path(from, error);

  double least = 0.5;
  waiter_tools::NearMisses near_misses;
  bool has_path = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--least=")) {
      if (!absl::SimpleAtod(argument, &least)) {
        return Fail(argv[i], "is not a number; give a share, such as 0.5");
      }
      continue;
    }
    const fs::path path(argument);
    has_path = true;
    if (!fs::is_directory(path, error)) {
      if (!fs::exists(path, error)) return Fail(argument, "does not exist");
      const absl::Status status = near_misses.Add(Read(path));
      if (!status.ok()) return Fail(argument, status.message());
      continue;
    }
    for (fs::recursive_directory_iterator at(
             path, fs::directory_options::follow_directory_symlink, error);
         !error && at != fs::recursive_directory_iterator();
         at.increment(error)) {
      if (at->path().extension() == ".xml") {
        near_misses.Add(Read(at->path())).IgnoreError();
      }
    }
    if (error) return Fail(argument, error.message());
  }
  if (!has_path) {
    std::cerr << "usage: near_misses [--least=0.5] FILE_OR_DIRECTORY...\n";
    return kUsageError;
  }
  std::cout << waiter_tools::FormatTable(near_misses.List(least));
  return EXIT_SUCCESS;
}
