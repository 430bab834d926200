// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls many keys in one call.

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/testing/simulated_clock.h"

namespace fleet_test {
namespace {

using ::testing::Each;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;

struct Instance {
  std::string id;
  std::string state;
};

// Instances run after a minute; "i-13" never does.
class Client {
 public:
  explicit Client(waiter::SimulatedClock& clock) : clock_(clock) {}

  absl::StatusOr<std::vector<Instance>> Describe(
      absl::Span<const std::string> ids) {
    calls_.push_back(ids.size());
    if (calls_.size() == 1) return absl::InternalError("crashed");
    const bool booted = clock_.Elapsed() >= absl::Minutes(1);
    std::vector<Instance> instances;
    for (const std::string& id : ids) {
      instances.push_back({id, !booted        ? "CREATING"
                               : id == "i-13" ? "TERMINATED"
                                              : "RUNNING"});
    }
    return instances;
  }

  const std::vector<size_t>& calls() const { return calls_; }

 private:
  waiter::SimulatedClock& clock_;
  std::vector<size_t> calls_;
};

class Fleet {
 public:
  using Callback = std::function<void(waiter::WaitResult<Instance>)>;

  // `engine` and `client` must outlive the fleet.
  Fleet(waiter::WaitEngine& engine, Client& client, waiter::WaitOptions options)
      : policy_(waiter::WaitPolicy::Make(std::move(options))),
        instances_(engine,
                   [&client](absl::Span<const std::string> ids) {
                     return Describe(client, ids);
                   },
                   {.max_batch = 100, .window = absl::Milliseconds(200)}) {}

  // Calls `done` on the engine's thread when the instance runs or cannot run.
  void Await(std::string id, Callback done) {
    waits_.push_back(instances_.Start(std::move(id), policy_, std::move(done)));
  }

 private:
  using Answer = waiter::BatchAnswer<std::string, Instance>;

  static absl::StatusOr<Answer> Describe(Client& client,
                                         absl::Span<const std::string> ids) {
    absl::StatusOr<std::vector<Instance>> found = client.Describe(ids);
    if (!found.ok()) return found.status();
    Answer answer;  // An instance without an entry is not ready.
    for (const Instance& instance : *found) {
      if (instance.state == "RUNNING") {
        answer.emplace(instance.id, waiter::Success(instance));
      } else if (instance.state == "TERMINATED") {
        answer.emplace(instance.id, waiter::Failed("terminated"));
      }
    }
    return answer;
  }

  std::shared_ptr<const waiter::WaitPolicy> policy_;
  waiter::BatchPoller<std::string, Instance> instances_;
  std::vector<waiter::WaitHandle> waits_;  // Destroyed before the poller.
};

class FleetTest : public testing::Test {
 protected:
  waiter::WaitOptions FiveMinutes() {
    return {.name = "instance", .timeout = absl::Minutes(5), .clock = &clock_};
  }

  waiter::SimulatedClock clock_;
  waiter::WaitEngine engine_{{.threads = 0, .clock = &clock_}};
  Client client_{clock_};
};

TEST_F(FleetTest, CallsHoldManyInstances) {
  constexpr int kInstances = 250;
  Fleet fleet(engine_, client_, FiveMinutes());
  int running = 0;
  std::vector<absl::Status> errors;
  for (int i = 0; i < kInstances; ++i) {
    fleet.Await(absl::StrCat("i-", i), [&](const auto& got) {
      if (got.ok()) {
        ++running;
      } else {
        errors.push_back(got.status());
      }
    });
  }

  engine_.Run();

  EXPECT_EQ(running, kInstances - 1);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(errors[0].message()),
              StartsWith("terminated (instance i-13, after "));
  EXPECT_THAT(client_.calls(), Each(Le(100)));
  const auto polls = std::accumulate(client_.calls().begin(),
                                     client_.calls().end(), size_t{0});
  EXPECT_LT(client_.calls().size(), polls / 5);
}

TEST_F(FleetTest, FleetTakesItsWaitsAlong) {
  int ended = 0;
  {
    Fleet fleet(engine_, client_, FiveMinutes());
    fleet.Await("i-1", [&](const auto&) { ++ended; });
    engine_.RunDue();
  }

  engine_.Run();

  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace fleet_test
