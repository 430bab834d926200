// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the cost of polling the state of a job in a file, alone and in
// waits:
//
//   $ ./bazelw run -c opt //examples:poll_overhead_benchmark --
//         --benchmark_counters_tabular=true
//
// docs/measuring.md explains the table that it prints.

#include <filesystem>
#include <fstream>
#include <string>

#include "benchmark/benchmark.h"
#include "waiter/poll.h"
#include "waiter/testing/benchmark.h"

namespace {

// The file of a running job.
class JobFile {
 public:
  JobFile() { std::ofstream(path_) << "RUNNING\n"; }
  ~JobFile() { std::filesystem::remove(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / "poll_overhead_benchmark.state";
};

waiter::Poll<> ReadState() {
  static const JobFile job;
  std::ifstream file(job.path());
  std::string state;
  if (!(file >> state)) return waiter::ServerError("no state");
  if (state == "DONE") return waiter::Success();
  if (state == "FAILED") return waiter::Failed("the job has failed");
  return waiter::NotReady(state);
}
WAITER_BENCHMARK(ReadState);

// The cheapest possible status function, for comparison.
bool IsDone() { return false; }
WAITER_BENCHMARK(IsDone);

}  // namespace

WAITER_COUNT_ALLOCATIONS();

BENCHMARK_MAIN();
