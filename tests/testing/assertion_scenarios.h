// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Scenarios that give the same text in every test framework. Before including
// this header, each test program defines:
//
//   EVENTUALLY(...), CONSISTENTLY(...), NEVER(...), PASSES(...)
//                           the assertions that continue
//   FATAL_EVENTUALLY(...)   the one that ends the test
//   BLOCK_FAIL(text)        an assertion in a block that fails with this text
//   BLOCK_REQUIRE(condition)   one that ends the run of the block
//
// A scenario that continues notes its observations. Its golden file has the
// text of its failures, and then the notes.

#ifndef WAITER_TESTS_TESTING_ASSERTION_SCENARIOS_H_
#define WAITER_TESTS_TESTING_ASSERTION_SCENARIOS_H_

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// A job that is created, runs from 2 s on, and is done after 4 s.
struct ScenarioWorld {
  SimulatedClock clock;
  std::ostringstream notes;

  std::string State() {
    if (clock.Elapsed() >= absl::Seconds(4)) return "DONE";
    return clock.Elapsed() >= absl::Seconds(2) ? "RUNNING" : "CREATING";
  }
  int Progress() {
    return static_cast<int>(absl::ToInt64Seconds(clock.Elapsed())) * 10;
  }

  // Polls every second.
  EventuallyOptions Within(absl::Duration timeout) {
    return {.timeout = timeout,
            .backoff = {.initial_delay = absl::Seconds(1),
                        .max_delay = absl::Seconds(1)},
            .clock = &clock};
  }
  EventuallyOptions HoldFor(absl::Duration time) {
    return {.backoff = {.initial_delay = absl::Seconds(1),
                        .max_delay = absl::Seconds(1)},
            .hold_for = time,
            .clock = &clock};
  }
};

struct Scenario {
  const char* name;
  std::function<void(ScenarioWorld& world)> run;
};

// A value with an operator<<, as every framework prints it.
struct ScenarioJob {
  std::string state;
  int progress;

  friend std::ostream& operator<<(std::ostream& out, const ScenarioJob& job) {
    return out << job.state << " at " << job.progress << "%";
  }
};

// A value that no framework can print.
struct ScenarioSecret {
  int number;
};

// The history cuts long paths, which differ between builds.
inline EventuallyOptions WithoutHistory(EventuallyOptions options) {
  options.history_lines = 0;
  return options;
}

inline int ThrowFromDepth(int depth) {
  if (depth > 0) return ThrowFromDepth(depth - 1);
  throw StopTrying("job 42 was deleted");
}

// Outcomes of matchers and expressions.
inline void AddExpressionScenarios(std::vector<Scenario>& list) {
  list.push_back({"text", [](ScenarioWorld& w) {
                    EVENTUALLY(w.State(), "FINISHED",
                               w.Within(absl::Seconds(5)));
                  }});
  list.push_back({"number", [](ScenarioWorld& w) {
                    EVENTUALLY(w.Progress(), 100, w.Within(absl::Seconds(3)));
                  }});
  list.push_back({"condition_alone", [](ScenarioWorld& w) {
                    EVENTUALLY(w.Progress() > 100, w.Within(absl::Seconds(2)));
                  }});
  list.push_back(
      {"function_as_matcher", [](ScenarioWorld& w) {
         const auto get = [&] { return ScenarioJob{w.State(), w.Progress()}; };
         EVENTUALLY(
             get(), [](const ScenarioJob& job) { return job.progress >= 100; },
             w.Within(absl::Seconds(5)));
       }});
  list.push_back({"text_with_escapes", [](ScenarioWorld& w) {
                    EVENTUALLY(std::string("a \"b\"\n\tc"), "",
                               w.Within(absl::Seconds(1)));
                  }});
  list.push_back({"fail_if", [](ScenarioWorld& w) {
                    EVENTUALLY(w.State(), "DONE", w.Within(absl::Minutes(1)),
                               FailIf("RUNNING"));
                  }});
  list.push_back({"error", [](ScenarioWorld& w) {
                    const auto get = [&]() -> absl::Status {
                      if (w.Progress() < 20) {
                        return absl::UnavailableError("starting");
                      }
                      return absl::NotFoundError("no job 42");
                    };
                    EVENTUALLY(get().ok(), w.Within(absl::ZeroDuration()));
                    EVENTUALLY(get(), absl::OkStatus(),
                               w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"exception", [](ScenarioWorld& w) {
                    const auto get = [&]() -> std::string {
                      if (w.Progress() == 20) {
                        throw std::out_of_range("no job 42");
                      }
                      return w.State();
                    };
                    EVENTUALLY(get(), "DONE", w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"consistently", [](ScenarioWorld& w) {
                    CONSISTENTLY(w.State(), "CREATING",
                                 w.HoldFor(absl::Seconds(5)));
                  }});
  list.push_back({"never", [](ScenarioWorld& w) {
                    NEVER(w.State(), "RUNNING", w.HoldFor(absl::Seconds(5)));
                  }});
  list.push_back({"hold", [](ScenarioWorld& w) {
                    EventuallyOptions options = w.Within(absl::Seconds(5));
                    options.hold_for = absl::Seconds(3);
                    options.name = "job 42";
                    EVENTUALLY(w.State(), "DONE", options);
                  }});
  list.push_back({"everything_passes", [](ScenarioWorld& w) {
                    EVENTUALLY(w.State(), "DONE", w.Within(absl::Minutes(1)));
                    CONSISTENTLY(w.State() == "DONE",
                                 w.HoldFor(absl::Seconds(2)));
                    NEVER(w.State(), "FAILED", w.HoldFor(absl::Seconds(2)),
                          PassIf("DONE"));
                    PASSES({ BLOCK_REQUIRE(w.State() == "DONE"); },
                           w.Within(absl::Minutes(1)));
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  list.push_back({"fatal_form_ends_the_test", [](ScenarioWorld& w) {
                    w.notes << "before";
                    FATAL_EVENTUALLY(w.State(), "NEVER",
                                     w.Within(absl::Seconds(1)));
                    w.notes << ", after";
                  }});
}

// gomega#386, kotest#145, varlog#1214: a way to stop, and to choose the delay,
// from deep within.
inline void AddStopScenarios(std::vector<Scenario>& list) {
  list.push_back({"stop_trying_thrown", [](ScenarioWorld& w) {
                    const auto get = [&] {
                      return w.Progress() < 20 ? 0 : ThrowFromDepth(10);
                    };
                    EVENTUALLY(get(), 1, w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"stop_trying_returned", [](ScenarioWorld& w) {
                    const auto get = [&]() -> Poll<std::string> {
                      if (w.Progress() < 20) return NotReady(w.State());
                      return StopTrying("job 42 was deleted");
                    };
                    EVENTUALLY(get(), "DONE", w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"status_function_fails", [](ScenarioWorld& w) {
                    const auto get = [&]() -> Poll<> {
                      return Failed(absl::NotFoundError("no job 42"));
                    };
                    EVENTUALLY(get(), w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"try_again_after_thrown", [](ScenarioWorld& w) {
                    std::vector<absl::Duration> times;
                    const auto get = [&] {
                      times.push_back(w.clock.Elapsed());
                      if (times.size() == 2) {
                        throw TryAgainAfter(absl::Seconds(7), "warming up");
                      }
                      return w.State();
                    };
                    EVENTUALLY(get(), "GONE", w.Within(absl::Seconds(10)));
                    w.notes << "polls at";
                    for (const absl::Duration time : times) {
                      w.notes << " " << time;
                    }
                  }});
  list.push_back({"try_again_after_returned", [](ScenarioWorld& w) {
                    const auto get = [&]() -> Poll<std::string> {
                      if (w.clock.Elapsed() == absl::ZeroDuration()) {
                        return TryAgainAfter(absl::Seconds(9));
                      }
                      return Success(w.State());
                    };
                    EVENTUALLY(get(), "DONE", w.Within(absl::Minutes(1)));
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  list.push_back({"try_again_after_in_consistently", [](ScenarioWorld& w) {
                    const auto get = [&]() -> int {
                      throw TryAgainAfter(absl::Seconds(9));
                    };
                    CONSISTENTLY(get(), 0, w.HoldFor(absl::Seconds(2)));
                  }});
}

// One outcome for each statement that a block may contain.
inline void AddBlockScenarios(std::vector<Scenario>& list) {
  list.push_back({"block", [](ScenarioWorld& w) {
                    PASSES(
                        {
                          if (w.Progress() < 20) BLOCK_FAIL("does not run");
                          if (w.Progress() < 50) BLOCK_FAIL("is not done");
                        },
                        WithoutHistory(w.Within(absl::Seconds(3))));
                  }});
  list.push_back({"block_has_side_effects_in_each_run", [](ScenarioWorld& w) {
                    int runs = 0;
                    PASSES({ BLOCK_REQUIRE(++runs == 3); },
                           w.Within(absl::Minutes(1)));
                    w.notes << "runs: " << runs;
                  }});
  list.push_back({"block_fatal_assertion_ends_a_run", [](ScenarioWorld& w) {
                    int runs = 0;
                    int whole_runs = 0;
                    PASSES(
                        {
                          BLOCK_REQUIRE(++runs == 4);
                          ++whole_runs;
                        },
                        w.Within(absl::Minutes(1)));
                    w.notes << "runs: " << runs << ", whole: " << whole_runs;
                  }});
  list.push_back({"block_exception", [](ScenarioWorld& w) {
                    int runs = 0;
                    PASSES(
                        {
                          if (++runs == 3) throw std::runtime_error("reset");
                          BLOCK_FAIL("not yet");
                        },
                        WithoutHistory(w.Within(absl::Minutes(1))));
                    w.notes << "runs: " << runs;
                  }});
  // The exception alone would not name the problem.
  list.push_back({"block_failure_before_an_exception", [](ScenarioWorld& w) {
                    PASSES(
                        {
                          BLOCK_FAIL("status is 503");
                          throw std::runtime_error("reset");
                        },
                        w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"block_failure_before_stop_trying", [](ScenarioWorld& w) {
                    PASSES(
                        {
                          BLOCK_FAIL("status is 410");
                          ThrowFromDepth(3);
                        },
                        w.Within(absl::Minutes(1)));
                  }});
  list.push_back({"block_in_a_block", [](ScenarioWorld& w) {
                    int runs = 0;
                    PASSES(
                        {
                          PASSES({ BLOCK_REQUIRE(++runs == 3); },
                                 w.Within(absl::ZeroDuration()));
                        },
                        w.Within(absl::Minutes(1)));
                    w.notes << "runs: " << runs;
                  }});
  list.push_back(
      {"block_with_an_assertion_that_polls", [](ScenarioWorld& w) {
         PASSES(
             { EVENTUALLY(w.State(), "DONE", w.Within(absl::ZeroDuration())); },
             w.Within(absl::Minutes(1)));
         w.notes << "elapsed: " << w.clock.Elapsed();
       }});
  list.push_back({"block_listed_exception", [](ScenarioWorld& w) {
                    int runs = 0;
                    EventuallyOptions options = w.Within(absl::Minutes(1));
                    options.retry_exceptions = RetryOn<std::runtime_error>();
                    PASSES(
                        {
                          if (++runs < 3) throw std::runtime_error("reset");
                        },
                        options);
                    w.notes << "runs: " << runs;
                  }});
  list.push_back({"block_stop_trying", [](ScenarioWorld& w) {
                    PASSES(
                        {
                          if (w.Progress() == 20) ThrowFromDepth(3);
                          BLOCK_FAIL("not yet");
                        },
                        WithoutHistory(w.Within(absl::Minutes(1))));
                  }});
  list.push_back({"block_try_again_after", [](ScenarioWorld& w) {
                    int runs = 0;
                    PASSES(
                        {
                          if (++runs == 1) throw TryAgainAfter(absl::Hours(1));
                        },
                        w.Within(absl::Hours(2)));
                    w.notes << "runs: " << runs
                            << ", elapsed: " << w.clock.Elapsed();
                  }});
}

// Input that must neither hang, crash nor pass by chance.
inline void AddBadInputScenarios(std::vector<Scenario>& list) {
  list.push_back({"matcher_that_throws", [](ScenarioWorld& w) {
                    EVENTUALLY(
                        w.State(),
                        [](const std::string& state) -> bool {
                          throw std::out_of_range(state);
                        },
                        w.Within(absl::Minutes(1)));
                  }});
  list.push_back(
      {"value_that_cannot_be_printed", [](ScenarioWorld& w) {
         const auto get = [&] { return ScenarioSecret{w.Progress()}; };
         EVENTUALLY(
             get(),
             [](const ScenarioSecret& secret) { return secret.number == 20; },
             w.Within(absl::Seconds(5)));
         w.notes << "elapsed: " << w.clock.Elapsed();
       }});
  list.push_back({"value_of_10_megabytes", [](ScenarioWorld& w) {
                    EVENTUALLY(std::string(10'000'000, 'x'), "",
                               w.Within(absl::ZeroDuration()));
                  }});
  list.push_back({"expression_with_side_effects", [](ScenarioWorld& w) {
                    int polls = 0;
                    EVENTUALLY(++polls, 3, w.Within(absl::Minutes(1)));
                    w.notes << "polls: " << polls;
                  }});
  list.push_back(
      {"value_that_is_no_bool", [](ScenarioWorld& w) {
         const auto get = [&] { return w.Progress() < 20 ? nullptr : &w; };
         EVENTUALLY(w.Progress(), w.Within(absl::Minutes(1)));
         w.notes << "elapsed: " << w.clock.Elapsed();
         EVENTUALLY(get(), w.Within(absl::Minutes(1)));
         w.notes << " " << w.clock.Elapsed();
         EVENTUALLY(0 * w.Progress(), w.Within(absl::ZeroDuration()));
       }});
  list.push_back({"null_pointer", [](ScenarioWorld& w) {
                    const char* name = "job 42";
                    const auto get = [&] {
                      return w.Progress() < 20 ? name : nullptr;
                    };
                    EVENTUALLY(get(), nullptr, w.Within(absl::Minutes(1)));
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  list.push_back({"volatile_value", [](ScenarioWorld& w) {
                    volatile std::sig_atomic_t signals = 0;
                    w.clock.CallAt(absl::Seconds(2), [&] { signals = 1; });
                    EVENTUALLY(signals, 1, w.Within(absl::Minutes(1)));
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  list.push_back({"limit_of_zero", [](ScenarioWorld& w) {
                    EVENTUALLY(w.State(), "DONE",
                               w.Within(absl::ZeroDuration()));
                  }});
  list.push_back({"infinite_limit_without_a_stop", [](ScenarioWorld& w) {
                    EVENTUALLY(w.State(), "DONE",
                               w.Within(absl::InfiniteDuration()));
                  }});
  list.push_back({"last_poll_is_at_the_limit", [](ScenarioWorld& w) {
                    EventuallyOptions options = w.Within(absl::Seconds(4));
                    options.backoff.initial_delay = absl::Seconds(3);
                    options.backoff.max_delay = absl::Seconds(3);
                    EVENTUALLY(w.State(), "DONE", options);
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  // testify#1652: the limit passes without a poll.
  list.push_back({"limit_before_the_first_poll", [](ScenarioWorld& w) {
                    EventuallyOptions options = w.Within(absl::Seconds(3));
                    options.first_poll_delay = absl::Seconds(10);
                    EVENTUALLY(w.State(), "DONE", options);
                    w.notes << "elapsed: " << w.clock.Elapsed();
                  }});
  list.push_back({"delays_as_a_list", [](ScenarioWorld& w) {
                    std::vector<absl::Duration> times;
                    const auto get = [&] {
                      times.push_back(w.clock.Elapsed());
                      return times.size();
                    };
                    EVENTUALLY(get(), 5,
                               {.timeout = absl::Minutes(1),
                                .delay_source = DelayList(
                                    {absl::Seconds(1), absl::Seconds(2)}),
                                .clock = &w.clock});
                    for (const absl::Duration time : times) {
                      w.notes << " " << time;
                    }
                  }});
}

// Returns all scenarios. With WAITER_SCENARIO_RUNS=N, the list has them N
// times, except one that takes a long time.
inline std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> list;
  AddExpressionScenarios(list);
  AddStopScenarios(list);
  AddBlockScenarios(list);
  AddBadInputScenarios(list);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const runs = std::getenv("WAITER_SCENARIO_RUNS");
  if (runs == nullptr) return list;
  std::erase_if(list, [](const Scenario& scenario) {
    return std::string(scenario.name) == "value_of_10_megabytes";
  });
  const std::vector<Scenario> once = list;
  for (int64_t run = std::atoll(runs); run > 1; --run) {
    list.insert(list.end(), once.begin(), once.end());
  }
  return list;
}

// Returns the content of the golden file.
inline std::string TextOf(const std::vector<std::string>& failures,
                          const ScenarioWorld& world) {
  std::string text;
  for (const std::string& failure : failures) text += failure + "\n";
  return text + "Notes: " + world.notes.str();
}

}  // namespace waiter

#endif  // WAITER_TESTS_TESTING_ASSERTION_SCENARIOS_H_
