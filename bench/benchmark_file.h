// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads the JSON that Google Benchmark writes with --benchmark_out=FILE, with
// repetitions, aggregates or both:
//
//   absl::StatusOr<std::vector<waiter::bench::MeasuredBenchmark>> benchmarks =
//       waiter::bench::ParseBenchmarks(text, "bench.json");

#ifndef WAITER_BENCH_BENCHMARK_FILE_H_
#define WAITER_BENCH_BENCHMARK_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace waiter::bench {

// A benchmark and its times. Times are nanoseconds per item, which is a poll in
// the benchmarks of Waiter, or per iteration if no items are counted. They are
// CPU time, or real time if the benchmark asks for real or manual time.
struct MeasuredBenchmark {
  std::string name;  // Without its `BM_`.
  double median;

  // The shortest and the longest repetition. If the file has only aggregates,
  // one standard deviation below and above the median.
  double low;
  double high;

  int64_t repetitions;  // Zero if the file does not say.
};

// Returns the benchmarks in the order of their definition, without skipped and
// failed ones. kInvalidArgument begins with `file`, and names the benchmark and
// its fault.
absl::StatusOr<std::vector<MeasuredBenchmark>> ParseBenchmarks(
    std::string_view text, std::string_view file);

}  // namespace waiter::bench

#endif  // WAITER_BENCH_BENCHMARK_FILE_H_
