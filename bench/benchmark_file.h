// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads what Google Benchmark wrote with --benchmark_out=FILE (its JSON), with
// repetitions, with aggregates, or with both:
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

// Times are nanoseconds of one item, which is a poll in the benchmarks of
// Waiter, or of one iteration if no items are counted; of the processor, or of
// the clock if the benchmark asks for real or manual time.
struct MeasuredBenchmark {
  std::string name;  // Without its `BM_`.
  double median;

  // The shortest and the longest of the repetitions; a standard deviation below
  // and above the median if the file has only aggregates.
  double low;
  double high;

  int64_t repetitions;  // Zero if the file does not say.
};

// Returns the benchmarks in the order in which they are defined, those left out
// that were skipped or failed. kInvalidArgument begins with `file`, and says
// which benchmark lacks what.
absl::StatusOr<std::vector<MeasuredBenchmark>> ParseBenchmarks(
    std::string_view text, std::string_view file);

}  // namespace waiter::bench

#endif  // WAITER_BENCH_BENCHMARK_FILE_H_
