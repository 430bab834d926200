// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/test_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/clock.h"

#ifndef __has_feature
#define __has_feature(feature) 0  // clang has it; g++ has macros instead.
#endif

namespace waiter {
namespace {

constexpr absl::Duration kTimeToPrint = absl::Seconds(2);

struct Slowdown {
  double factor;
  std::string_view name;
};

// Returns the factor by which a tool slows tests down: what its makers state as
// typical, with a margin.
Slowdown GetSlowdown([[maybe_unused]] const TestEnvironment& environment) {
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
  return {10, "ThreadSanitizer"};
#elif __has_feature(memory_sanitizer)
  return {5, "MemorySanitizer"};
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  return {3, "AddressSanitizer"};
#else
  if (environment.preload != nullptr &&
      absl::StrContains(environment.preload, "/vgpreload_")) {
    return {20, "Valgrind"};
  }
  return {1, ""};
#endif
}

// Reads the default `value` of a variable, which may be unset, into `time`.
absl::Status ReadTime(absl::string_view name, const char* value,
                      std::optional<absl::Duration>& time) {
  if (value == nullptr) return absl::OkStatus();
  absl::Duration read;
  if (!absl::ParseDuration(value, &read) || read <= absl::ZeroDuration() ||
      read == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is \"", value,
        "\"; it must be a time above 0 with a unit, such as 30s or 500ms"));
  }
  time = read;
  return absl::OkStatus();
}

// The start of the program, as it is initialized before `main`.
const MonotonicTime kProgramStart = GetRealClock().MonotonicNow();

}  // namespace

TestEnvironment GetTestEnvironment() {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs when tests set it
  return {.timeout_scale = std::getenv("WAITER_TEST_TIMEOUT_SCALE"),
          .test_timeout = std::getenv("TEST_TIMEOUT"),
          .preload = std::getenv("LD_PRELOAD"),
          .timeout = std::getenv("WAITER_TEST_TIMEOUT"),
          .hold_for = std::getenv("WAITER_TEST_HOLD_FOR")};
  // NOLINTEND(concurrency-mt-unsafe)
}

absl::StatusOr<TestLimits> ReadTestLimits(const TestEnvironment& environment) {
  TestLimits limits;
  const Slowdown slowdown = GetSlowdown(environment);
  limits.scale = slowdown.factor;
  limits.scaled_by = std::string(slowdown.name);
  if (environment.timeout_scale != nullptr) {
    double scale = 0;
    if (!absl::SimpleAtod(environment.timeout_scale, &scale) ||
        !(scale > 0 && scale <= 1000)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "WAITER_TEST_TIMEOUT_SCALE is \"", environment.timeout_scale,
          "\"; it must be a number above 0 and at most 1000"));
    }
    limits.scale *= scale;
    absl::StrAppend(&limits.scaled_by, limits.scaled_by.empty() ? "" : ", ",
                    "WAITER_TEST_TIMEOUT_SCALE=", environment.timeout_scale);
  }
  for (const absl::Status& status :
       {ReadTime("WAITER_TEST_TIMEOUT", environment.timeout, limits.timeout),
        ReadTime("WAITER_TEST_HOLD_FOR", environment.hold_for,
                 limits.hold_for)}) {
    if (!status.ok()) return status;
  }
  int64_t seconds = 0;
  if (environment.test_timeout != nullptr &&
      absl::SimpleAtoi(environment.test_timeout, &seconds) && seconds > 0) {
    const absl::Duration whole = absl::Seconds(seconds);
    limits.whole = whole - std::min(kTimeToPrint, whole / 4);
  }
  return limits;
}

absl::Duration ProgramAge() {
  return absl::FromChrono(GetRealClock().MonotonicNow() - kProgramStart);
}

bool IsDebugged() {
  std::ifstream file("/proc/self/status");
  std::ostringstream text;
  text << file.rdbuf();
  return IsDebuggedBy(text.str());
}

bool IsDebuggedBy(std::string_view process_status) {
  constexpr std::string_view kField = "\nTracerPid:\t";
  const size_t at = process_status.find(kField);
  return at != std::string_view::npos &&
         !process_status.substr(at + kField.size()).starts_with("0\n");
}

}  // namespace waiter
