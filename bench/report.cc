// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shows the JSON of Google Benchmark as a table, and with a flag as a chart:
//
//   ./bazelw run -c opt //bench:report -- FILE.json [FLAG...]

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/benchmark_file.h"
#include "bench/benchmark_report.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/read_input.h"
#include "cli/flags/flags.h"
#include "cli/run/exit_code.h"

namespace waiter::bench {
namespace {

absl::Status Run(const std::vector<std::string>& args) {
  cli::Flags flags("report", "FILE.json [FLAG...]",
                   "Shows what Google Benchmark wrote with --benchmark_out; "
                   "FILE may be - for standard input.");
  cli::ChartOutput charts;
  charts.AddTo(flags, {"benchmark"});
  const absl::StatusOr<std::vector<std::string>> files = flags.Parse(args);
  if (flags.ShowHelp(std::cout)) return absl::OkStatus();
  if (!files.ok()) return files.status();
  if (files->size() != 1) {
    return absl::InvalidArgumentError("give one file, such as costs.json");
  }
  const std::string& name = files->front();
  const absl::StatusOr<std::string> text = cli::ReadInput(name);
  if (!text.ok()) return text.status();
  const absl::StatusOr<std::vector<MeasuredBenchmark>> benchmarks =
      ParseBenchmarks(*text, name);
  if (!benchmarks.ok()) return benchmarks.status();
  std::cout << BenchmarkTable(*benchmarks);
  return charts.Write({BenchmarkChart(*benchmarks)}, flags, "");
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  return waiter::cli::ExitCode(
      waiter::bench::Run(std::vector<std::string>(argv + 1, argv + argc)),
      "report", std::cerr);
}
