// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A model with durations, learned delays from it, and a file of durations.

#ifndef WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_
#define WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

namespace waiter {

inline ObservedDuration Exactly(double seconds) {
  return {.after = absl::Seconds(seconds), .by = absl::Seconds(seconds)};
}

// Fills a model with `count` durations of about `seconds`, spread evenly by
// `spread` to both sides, in an order without a trend.
inline void Fill(DurationModel& model, const std::string& operation,
                 double seconds, double spread, int count) {
  for (int i = 0; i < count; ++i) {
    // 37 has no divisor in common with the counts of these tests.
    const int place = i * 37 % count;
    const double part = count > 1 ? 2.0 * place / (count - 1) - 1 : 0;
    model.Record(operation, Exactly(seconds * (1 + spread * part)));
  }
}

inline std::shared_ptr<LearnedDelays> Learned(
    const std::shared_ptr<DurationModel>& model,
    const LearnedDelaysOptions& options = {}) {
  auto made = LearnedDelays::Make(model, options);
  EXPECT_EQ(made.status(), absl::OkStatus());
  return *made;
}

class LearnedFixture : public testing::Test {
 protected:
  std::shared_ptr<LearnedDelays> Make(
      const LearnedDelaysOptions& options = {}) {
    return Learned(model_, options);
  }

  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
};

// Provides the path of a file in a folder of its own.
class DurationFileFixture : public testing::Test {
 protected:
  DurationFileFixture() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DurationFileFixture() override { std::filesystem::remove_all(folder_); }

  // Opens the file for a model, which must succeed.
  std::unique_ptr<DurationFile> Open(
      const std::shared_ptr<DurationModel>& model) const {
    return Open(path_, model);
  }
  static std::unique_ptr<DurationFile> Open(
      const std::string& path, const std::shared_ptr<DurationModel>& model) {
    auto file = DurationFile::Open(path, model);
    EXPECT_EQ(file.status(), absl::OkStatus());
    return file.ok() ? *std::move(file) : nullptr;
  }

  // Returns the durations that another process reads. Forgets no operation.
  std::vector<ObservedDuration> Saved(std::string_view operation) const {
    DurationModel read({.max_operations = 1'000'000});
    EXPECT_EQ(DurationFile::Read(path_, read), absl::OkStatus());
    return read.Durations(operation);
  }

  const std::string folder_ =
      absl::StrCat(testing::TempDir(), "durations_", getpid());
  const std::string path_ = folder_ + "/durations";
};

}  // namespace waiter

#endif  // WAITER_TESTS_LEARNED_LEARNED_FIXTURE_H_
