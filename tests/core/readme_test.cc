// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compiles and runs the code of README.md, checks that each example is in this
// file word for word, and that docs/headers.md lists all public headers.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"
#include "tests/support/failures.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/presets.h"
#include "waiter/stop_token.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::waiter::CodeBlocks;
using ::waiter::ReadFile;
using ::waiter::Words;

struct Instance {
  std::string state;
};

class Client {
 public:
  absl::StatusOr<Instance> GetInstance(std::string_view id,
                                       absl::Time /*deadline*/) const {
    return Instance{id == id_ ? "RUNNING" : "CREATING"};
  }

 private:
  std::string id_ = "i-0abc";
};

TEST(ReadmeTest, FirstExampleWaitsUntilRunning) {
  const Client client;
  const waiter::stop_token stop_token;

  waiter::Waiter wait_until_running(
      [&](const waiter::PollContext& poll) -> waiter::Poll<Instance> {
        absl::StatusOr<Instance> got =
            client.GetInstance("i-0abc", poll.deadline);
        if (!got.ok()) return waiter::FromStatus(got.status());
        if (got->state != "RUNNING") return waiter::NotReady(got->state);
        return waiter::Success(*std::move(got));
      },
      {.name = "instance i-0abc",
       .timeout = absl::Minutes(5),
       .poll_timeout = absl::Seconds(10)});

  waiter::WaitResult<Instance> result = wait_until_running.Wait(stop_token);

  EXPECT_EQ(result->state, "RUNNING");
  EXPECT_EQ(result.report().attempts, 1);
}

auto MakeWaiter() {
  return waiter::Waiter([] { return waiter::Success(Instance{"RUNNING"}); },
                        {.timeout = absl::Minutes(5)});
}

std::promise<std::string>& UsedState() {
  static auto* const state = new std::promise<std::string>;
  return *state;
}
void Use(const Instance& instance) { UsedState().set_value(instance.state); }

TEST(ReadmeTest, EngineExampleCallsBack) {
  auto wait_until_running = MakeWaiter();

  waiter::WaitEngine engine;
  waiter::WaitHandle wait = engine.Start(
      std::move(wait_until_running), [](waiter::WaitResult<Instance> result) {
        if (result.ok()) Use(*result);
      });

  EXPECT_EQ(UsedState().get_future().get(), "RUNNING");
}

#ifdef WAITER_HAS_COROUTINES
// Destroys its own frame when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached WaitForState(waiter::WaitEngine& engine, std::string& state) {
  auto wait_until_running = MakeWaiter();

  waiter::WaitResult<Instance> result =
      co_await waiter::Await(engine, std::move(wait_until_running));

  state = result->state;
}

TEST(ReadmeTest, CoroutineExampleResumesWithTheResult) {
  waiter::WaitEngine engine({.threads = 0});
  std::string state;

  WaitForState(engine, state);
  engine.Run();

  EXPECT_EQ(state, "RUNNING");
}
#endif  // WAITER_HAS_COROUTINES

TEST(ReadmeTest, TestingExampleWaitsThreeHoursInstantly) {
  waiter::SimulatedClock clock;
  bool job_done = false;
  clock.CallAt(absl::Hours(3), [&] { job_done = true; });

  waiter::Waiter wait_for_job([&] { return job_done; },
                              {.timeout = absl::Hours(5), .clock = &clock});

  EXPECT_TRUE(wait_for_job.Wait().ok());
  EXPECT_GE(clock.Elapsed(), absl::Hours(3));
}

TEST(ReadmeTest, FirstExampleRunsOutOfTimeAsShown) {
  waiter::SimulatedClock clock;
  waiter::Waiter wait_until_running(
      []() -> waiter::Poll<Instance> { return waiter::NotReady("CREATING"); },
      {.name = "instance i-0abc",
       .timeout = absl::Minutes(5),
       .hooks = {.seed = 1},
       .clock = &clock});

  const waiter::WaitResult<Instance> result = wait_until_running.Wait();

  EXPECT_TRUE(absl::StrContains(Words(ReadFile("README.md")),
                                result.status().ToString()))
      << result.status();
}

class Job {
 public:
  explicit Job(waiter::SimulatedClock& clock) : clock_(clock) {}
  std::string State() const {
    return clock_.Elapsed() < absl::Seconds(40) ? "CREATING" : "UPDATING";
  }

 private:
  waiter::SimulatedClock& clock_;
};

TEST(ReadmeTest, EventuallyExampleFailsAsShown) {
  waiter::SimulatedClock clock;
  const Job job(clock);

  const std::string text = waiter::FailureOf([&] {
    EXPECT_EVENTUALLY(job.State(), "DONE",
                      {.timeout = absl::Minutes(1), .clock = &clock},
                      waiter::FailIf("FAILED"));
  });

  EXPECT_THAT(ReadFile("README.md"), HasSubstr("\n```\n" + text + "\n```\n"));
}

TEST(ReadmeTest, PresetExampleWaits) {
  const auto get_status = [] { return waiter::PollStatus::kSuccess; };

  waiter::WaitOptions options = waiter::AwsStandard2026();
  options.timeout = absl::Minutes(5);
  waiter::Waiter wait(get_status, options);

  EXPECT_TRUE(wait.Wait().ok());
}

TEST(ReadmeTest, EveryExampleIsInThisFile) {
  const std::string source = Words(ReadFile("tests/core/readme_test.cc"));
  const std::vector<std::string> blocks = CodeBlocks(ReadFile("README.md"));

  ASSERT_EQ(blocks.size(), 6);
  for (const std::string& code : blocks) {
    const std::vector<std::string> paragraphs = absl::StrSplit(code, "\n\n");
    for (const std::string& paragraph : paragraphs) {
      EXPECT_THAT(source, HasSubstr(Words(paragraph)));
    }
  }
}

// Returns the public headers, as paths below include/waiter/.
std::vector<std::string> PublicHeaders() {
  const std::filesystem::path root = "include/waiter";
  std::vector<std::string> headers;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root)) {
    const std::string path =
        entry.path().lexically_relative(root).generic_string();
    if (absl::EndsWith(path, ".h") && !absl::StrContains(path, "internal/")) {
      headers.push_back(path);
    }
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

// Returns the headers that a document names.
std::vector<std::string> HeadersIn(const std::string& text) {
  std::vector<std::string> headers;
  const std::vector<std::string> parts = absl::StrSplit(text, '`');
  for (const std::string& part : parts) {
    if (absl::EndsWith(part, ".h")) headers.push_back(part);
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

TEST(ReadmeTest, HeadersToStartWithExist) {
  const std::string readme = ReadFile("README.md");
  const size_t begin = readme.find("\n## Where to start\n");
  ASSERT_NE(begin, std::string::npos);

  const std::vector<std::string> named = HeadersIn(readme.substr(begin));
  EXPECT_EQ(named.size(), 6);
  EXPECT_THAT(PublicHeaders(), IsSupersetOf(named));
}

TEST(ReadmeTest, ListOfHeadersHasExactlyThePublicHeaders) {
  EXPECT_EQ(HeadersIn(ReadFile("docs/headers.md")), PublicHeaders());
}

}  // namespace
