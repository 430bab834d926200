// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The rows that `BenchmarkPolls` makes. No test asserts a time.
// counted_allocations.cc counts the allocations.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"
#include "waiter/testing/benchmark.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {
namespace {

using ::absl::Milliseconds;
using ::absl::Seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A reported row.
struct Row {
  std::string name;
  std::string error;
  std::string label;
  int64_t iterations = 0;
  benchmark::UserCounters counters;

  double Counter(const std::string& key) const {
    const auto found = counters.find(key);
    return found == counters.end() ? -1 : found->second.value;
  }
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << " " << row.error << row.label;
}

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      rows.push_back({run.benchmark_name(), ErrorOf(run), run.report_label,
                      run.iterations, run.counters});
    }
  }

  std::vector<Row> rows;

 private:
  // Versions of Google Benchmark report errors differently.
  template <typename R>
  static std::string ErrorOf(const R& run) {
    if constexpr (requires { run.error_message; }) {
      return run.error_message;
    } else {
      return run.skip_message;
    }
  }
};

class PollBenchmarkTest : public testing::Test {
 protected:
  PollBenchmarkTest() { benchmark::ClearRegisteredBenchmarks(); }
  ~PollBenchmarkTest() override { benchmark::ClearRegisteredBenchmarks(); }

  // Runs all rows of `function`, each for `iterations`.
  template <typename F>
  std::vector<Row> RunRows(F function, int iterations,
                           const PollBenchmarkOptions& options,
                           int threads = 1) {
    for (BenchmarkRow* const row :
         BenchmarkPolls("poll", std::move(function), options)) {
      row->Iterations(iterations);
      if (threads > 1) row->Threads(threads);
    }
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    benchmark::ClearRegisteredBenchmarks();
    return collector.rows;
  }
  template <typename F>
  std::vector<Row> RunRows(F function, int iterations = 100) {
    return RunRows(std::move(function), iterations, Simulated());
  }

  PollBenchmarkOptions Simulated() {
    return {.engine_loads = {{1, Milliseconds(10)}, {1000, Milliseconds(100)}},
            .clock = &clock_};
  }

  SimulatedClock clock_;
};

auto Errors(const auto& matcher) { return Each(Field(&Row::error, matcher)); }
auto Labels(const auto& matcher) { return Each(Field(&Row::label, matcher)); }

TEST_F(PollBenchmarkTest, NamesSayHowTheFunctionIsPolled) {
  std::vector<std::string> names;
  for (const Row& row : RunRows([] { return true; })) {
    names.push_back(row.name.substr(0, row.name.find("/iterations")));
  }
  EXPECT_THAT(names,
              ElementsAre("poll/alone", "poll/wait", "poll/wait/delay:1ms",
                          "poll/engine/waits:1/delay:10ms",
                          "poll/engine/waits:1000/delay:100ms"));
}

// Three calls precede each row; on an engine, at least one more per wait does.
TEST_F(PollBenchmarkTest, IterationIsAPoll) {
  struct Case {
    std::string row;
    int64_t least_calls;
    int64_t most_calls;
  };
  for (const Case& c : {
           Case{"poll/alone/", 2003, 2003},
           Case{"poll/wait/iterations", 2003, 2003},
           Case{"poll/wait/delay:", 2003, 2003},
           Case{"poll/engine/waits:1/", 2004, 2005},
           // Some waits poll again before all have polled, and the engine's
           // last round may poll a few more.
           Case{"poll/engine/waits:1000/", 3003, 4603},
       }) {
    int64_t calls = 0;
    for (BenchmarkRow* const row : BenchmarkPolls(
             "poll", [&] { return ++calls < 0; }, Simulated())) {
      row->Iterations(2000);
    }
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector, c.row);
    benchmark::ClearRegisteredBenchmarks();

    ASSERT_THAT(collector.rows, SizeIs(1)) << c.row;
    EXPECT_EQ(collector.rows[0].iterations, 2000) << c.row;
    EXPECT_GE(calls, c.least_calls) << c.row;
    EXPECT_LE(calls, c.most_calls) << c.row;
  }
}

TEST_F(PollBenchmarkTest, AllocationsAreThoseOfAPoll) {
  const std::vector<Row> none = RunRows([] { return false; }, 1000);
  const std::vector<Row> two = RunRows(
      [] {
        auto first = std::make_unique<int>(1);
        benchmark::DoNotOptimize(*first);
        struct alignas(64) Wide {
          int x;
        };
        auto second = std::make_unique<Wide>();
        benchmark::DoNotOptimize(*second);
        return false;
      },
      1000);

  for (const size_t row : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(none[row].Counter("allocs"), 0) << none[row].name;
    EXPECT_EQ(two[row].Counter("allocs"), 2) << two[row].name;
  }
  for (const Row& row : two) EXPECT_GE(row.Counter("allocs"), 2) << row.name;
}

TEST_F(PollBenchmarkTest, EveryRowHasItsCounters) {
  for (const Row& row : RunRows([] { return false; }, 1000)) {
    EXPECT_EQ(row.error, "") << row.name;
    EXPECT_GT(row.Counter("cpu_ns"), 0) << row.name;
    EXPECT_GE(row.Counter("wakeups"), 0) << row.name;
    EXPECT_GT(row.Counter("polls"), 0) << row.name;
    EXPECT_THAT(row.counters, SizeIs(4));
  }
}

// Runs on the real clock. A single wait sleeps before most of its polls, though
// not before all of them on a busy machine. Many waits of an engine wake up
// together.
TEST_F(PollBenchmarkTest, WaitsOfAnEngineShareTheirWakeUps) {
  const std::vector<Row> rows = RunRows(
      [] { return false; }, 50,
      {.engine_loads = {{1, Milliseconds(1)}, {1000, Milliseconds(20)}}});

  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_GE(rows[2].Counter("wakeups"), 0.3);
  EXPECT_GE(rows[3].Counter("wakeups"), 0.3);
  EXPECT_LE(rows[4].Counter("wakeups"), 0.3);
}

TEST_F(PollBenchmarkTest, FunctionIsPolledOnWhateverItFinds) {
  EXPECT_THAT(RunRows([] { return true; }), Labels("success"));
  EXPECT_THAT(RunRows([] { return false; }), Labels("not ready"));
  EXPECT_THAT(RunRows([] { return absl::UnavailableError("reset"); }),
              Labels("server error"));
  EXPECT_THAT(RunRows([] {
                return absl::StatusOr<int>(absl::ResourceExhaustedError(""));
              }),
              Labels("throttled"));
  EXPECT_THAT(RunRows([] { return Poll<std::string>(Success("value")); }),
              Labels("success"));
}

TEST_F(PollBenchmarkTest, HintsDoNotSlowARowDown) {
  const std::vector<Row> rows =
      RunRows([] { return Throttled("429", absl::Hours(1)); });

  EXPECT_THAT(rows, Labels("throttled"));
  EXPECT_LT(clock_.Elapsed(), Seconds(10));
}

TEST_F(PollBenchmarkTest, ExceptionEndsItsRowWithAnError) {
  const std::vector<Row> rows =
      RunRows([]() -> bool { throw std::runtime_error("no route"); });

  EXPECT_THAT(rows, SizeIs(5));
  EXPECT_THAT(rows, Errors("the status function threw an exception: no route"));
  EXPECT_THAT(RunRows([]() -> bool { throw 42; }),
              Errors(HasSubstr("threw an exception")));
}

TEST_F(PollBenchmarkTest, LateExceptionEndsItsRowToo) {
  int calls = 0;
  const std::vector<Row> rows = RunRows([&]() -> bool {
    if (++calls % 50 == 0) throw std::runtime_error("no route");
    return false;
  });

  EXPECT_THAT(rows, SizeIs(5));
  EXPECT_THAT(rows, Errors(HasSubstr("no route")));
}

TEST_F(PollBenchmarkTest, FailureEndsItsRowWithAnError) {
  EXPECT_THAT(RunRows([] { return absl::NotFoundError("no job 42"); }),
              Errors("the status function returned failure: NOT_FOUND: no job "
                     "42"));
  EXPECT_THAT(RunRows([] { return Failed("broken"); }),
              Errors(HasSubstr("returned failure: ")));
  int calls = 0;
  const std::vector<Row> late = RunRows([&] {
    return ++calls % 50 == 0 ? PollStatus::kFailed : PollStatus::kNotReady;
  });
  for (const Row& row : late) {
    // The row "alone" ignores the function's result.
    if (absl::StrContains(row.name, "/alone")) continue;
    EXPECT_THAT(row.error, HasSubstr("returned failure")) << row.name;
  }
}

TEST_F(PollBenchmarkTest, RowAfterAnErrorStartsAnew) {
  bool broken = true;
  const auto poll = [&] {
    if (broken) return absl::NotFoundError("no job 42");
    return absl::OkStatus();
  };
  std::vector<BenchmarkRow*> rows = BenchmarkPolls("poll", poll, Simulated());
  for (BenchmarkRow* const row : rows) row->Iterations(10);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  broken = false;
  benchmark::RunSpecifiedBenchmarks(&collector);

  ASSERT_THAT(collector.rows, SizeIs(10));
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(collector.rows[i].error.empty(), i >= 5);
  }
}

TEST_F(PollBenchmarkTest, EmptyFunctionIsReported) {
  EXPECT_THAT(RunRows(std::function<bool()>()),
              Errors(HasSubstr("the status function is empty")));
}

TEST_F(PollBenchmarkTest, FunctionThatIsTooSlowForALoadIsReported) {
  PollBenchmarkOptions options = Simulated();
  options.engine_loads = {{1, Seconds(1)}, {100'000, Seconds(1)}};
  const std::vector<Row> rows = RunRows(
      [&] {
        clock_.AdvanceTime(Milliseconds(1));
        return false;
      },
      20, options);

  ASSERT_THAT(rows, SizeIs(5));
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(rows[row].error, "");
  EXPECT_EQ(rows[4].error,
            "a poll takes 1ms, so 100000 of them take longer than the delay");
  EXPECT_LT(clock_.Elapsed(), Seconds(60));
}

TEST_F(PollBenchmarkTest, InvalidOptionsAreReported) {
  PollBenchmarkOptions options = Simulated();
  options.wait_delay = absl::ZeroDuration() - Seconds(1);
  options.engine_loads = {{0, Seconds(1)},
                          {-1, Seconds(1)},
                          {1, absl::ZeroDuration()},
                          {1, absl::InfiniteDuration()}};
  const std::vector<Row> rows = RunRows([] { return true; }, 10, options);

  ASSERT_THAT(rows, SizeIs(7));
  EXPECT_EQ(rows[0].error, "");
  EXPECT_EQ(rows[1].error, "");
  EXPECT_THAT(rows[2].error, HasSubstr("delay must be"));
  EXPECT_THAT(rows[3].error, HasSubstr("number of waits must be"));
  EXPECT_THAT(rows[4].error, HasSubstr("number of waits must be"));
  EXPECT_THAT(rows[5].error, HasSubstr("delay must be"));
  EXPECT_THAT(rows[6].error, HasSubstr("delay must be"));
}

TEST_F(PollBenchmarkTest, SeveralThreadsAreReported) {
  const std::vector<Row> rows =
      RunRows([] { return true; }, 10, Simulated(), /*threads=*/2);

  EXPECT_THAT(rows, SizeIs(5));
  EXPECT_THAT(rows, Errors(HasSubstr("one thread")));
}

TEST_F(PollBenchmarkTest, FunctionThatTakesAContextGetsOne) {
  int bounded = 0;
  int unbounded = 0;
  const std::vector<Row> rows = RunRows([&](const PollContext& context) {
    ++(context.remaining < absl::InfiniteDuration() ? bounded : unbounded);
    return false;
  });

  EXPECT_THAT(rows, Labels("not ready"));
  EXPECT_GE(bounded, 400);
  EXPECT_GE(unbounded, 100);
}

}  // namespace
}  // namespace waiter
