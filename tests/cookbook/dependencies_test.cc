// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for all, any, or the first few of many.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/testing/simulated_clock.h"

namespace dependencies_test {
namespace {

// Servers are up after these times; all others are gone.
struct Client {
  waiter::Poll<> Ping(const std::string& server) const {
    const auto found = up_after.find(server);
    if (found == up_after.end()) return waiter::Failed("gone");
    if (clock.Elapsed() < found->second) return waiter::NotReady("starting");
    return waiter::Success();
  }

  waiter::SimulatedClock& clock;
  std::map<std::string, absl::Duration> up_after;
};

// A class rather than a lambda, so that a vector can name the type of its
// waits.
struct PingServer {
  waiter::Poll<> operator()() const { return client->Ping(server); }

  Client* client;
  std::string server;
};

std::vector<waiter::Waiter<PingServer>> WaitsFor(
    Client& client, const std::vector<std::string>& servers,
    const waiter::WaitOptions& options) {
  const auto policy = waiter::WaitPolicy::Make(options);
  std::vector<waiter::Waiter<PingServer>> waits;
  waits.reserve(servers.size());
  for (const std::string& server : servers) {
    waits.emplace_back(PingServer{&client, server}, policy);
  }
  return waits;
}

// Blocks until both shards, any cache and a majority of the replicas are up.
// Returns false if that fails.
bool AwaitDependencies(Client& client, const waiter::WaitOptions& options) {
  bool ok = true;
  const auto need = [&ok](std::ptrdiff_t n) {
    return [&ok, n](std::vector<waiter::WaitResult<>> results) {
      const auto is_up = [](const auto& result) { return result.ok(); };
      if (std::count_if(results.begin(), results.end(), is_up) < n) ok = false;
    };
  };
  waiter::WaitEngine engine({.threads = 0, .clock = options.clock});
  const waiter::WaitGroup shards = waiter::All(
      engine, WaitsFor(client, {"shard-a", "shard-b"}, options), need(2));
  const waiter::WaitGroup caches = waiter::Any(
      engine, WaitsFor(client, {"cache-a", "cache-b"}, options), need(1));
  const waiter::WaitGroup replicas = waiter::FirstN(
      2, engine, WaitsFor(client, {"db-1", "db-2", "db-3"}, options), need(2));
  engine.Run();
  return ok;
}

constexpr absl::Duration kNever = absl::InfiniteDuration();

class DependenciesTest : public testing::Test {
 protected:
  bool Await(Client client) {
    return AwaitDependencies(client,
                             {.timeout = absl::Hours(1), .clock = &clock_});
  }

  waiter::SimulatedClock clock_;
};

TEST_F(DependenciesTest, DoesNotAwaitServersThatAreNotNeeded) {
  EXPECT_TRUE(Await({clock_,
                     {{"shard-a", absl::Seconds(1)},
                      {"shard-b", absl::Seconds(2)},
                      {"cache-a", kNever},
                      {"cache-b", absl::Seconds(3)},
                      {"db-1", absl::Seconds(4)},
                      {"db-2", kNever},
                      {"db-3", absl::Minutes(1)}}}));
  EXPECT_GE(clock_.Elapsed(), absl::Minutes(1));
  EXPECT_LT(clock_.Elapsed(), absl::Minutes(10));
}

TEST_F(DependenciesTest, EveryShardIsNeeded) {
  EXPECT_FALSE(Await({clock_,
                      {{"shard-a", kNever},
                       {"cache-a", absl::ZeroDuration()},
                       {"db-1", absl::ZeroDuration()},
                       {"db-2", absl::ZeroDuration()}}}));
  EXPECT_LT(clock_.Elapsed(), absl::Minutes(10));
}

TEST_F(DependenciesTest, MajorityOfReplicasIsNeeded) {
  EXPECT_FALSE(Await({clock_,
                      {{"shard-a", absl::ZeroDuration()},
                       {"shard-b", absl::ZeroDuration()},
                       {"cache-a", absl::ZeroDuration()},
                       {"db-1", kNever}}}));
  EXPECT_LT(clock_.Elapsed(), absl::Minutes(10));
}

}  // namespace
}  // namespace dependencies_test
