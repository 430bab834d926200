// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/cluster_breaker.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_cluster_servers.h"
#include "waiter/clock.h"

namespace waiter::chaos {

std::string ClusterBreaker::Url() const {
  return absl::StrJoin(cluster_.Urls(), ",");
}

void ClusterBreaker::Break(MonotonicTime start, uint64_t seed,
                           std::vector<std::pair<double, double>> bursts) {
  timeline_.emplace(start);
  dice_.emplace(seed);
  thread_ = JoiningThread([this, bursts = std::move(bursts)] {
    for (const auto& [from, to] : bursts) {
      timeline_->SleepUntil(from);
      while (timeline_->Now() < to) {
        BreakOnce();
        Sleep(0.2, 3);
      }
    }
    is_whole_ = true;
    while (!ends_) Sleep(0.05, 0.05);
  });
}

void ClusterBreaker::Sleep(double least, double most) {
  timeline_->SleepUntil(timeline_->Now() + dice_->Uniform(least, most));
}

void ClusterBreaker::BreakOnce() {
  constexpr auto kPrimaries = RedisClusterServers::kPrimaries;
  const size_t primary = cluster_.PrimaryOf(dice_->Index(16384));
  const size_t replica = (primary + kPrimaries) % (2 * kPrimaries);
  const double begun = timeline_->Now();
  Event event = Fault(primary, replica);
  if (dice_->Chance(0.2)) {
    cluster_.node(replica).Run({"SCRIPT", "FLUSH"});
    cluster_.node(replica).Run({"CLIENT", "KILL", "TYPE", "normal"});
  }
  cluster_.AwaitReplicas();
  event.from = begun;
  event.to = timeline_->Now();
  events_.push_back(std::move(event));
}

ClusterBreaker::Event ClusterBreaker::Fault(size_t primary, size_t replica) {
  const std::optional<double> lost_from = timeline_->Now() - 2;
  switch (dice_->Index(7)) {
    case 0:
      cluster_.node(primary).Kill();
      cluster_.AwaitPrimary(replica);
      Sleep(0, 2);
      cluster_.node(primary).Start();
      return {.what = "primary killed", .lost_from = lost_from};
    case 1:
      cluster_.node(primary).Pause();
      cluster_.AwaitPrimary(replica);
      Sleep(0, 2);
      cluster_.node(primary).Resume();
      return {.what = "primary stopped", .lost_from = lost_from};
    case 2:
      cluster_.node(replica).Run({"CLUSTER", "FAILOVER", "TAKEOVER"});
      cluster_.AwaitPrimary(replica);
      return {.what = "replica takes over", .lost_from = lost_from};
    case 3:
      cluster_.node(primary).Pause();
      Sleep(0.1, 0.5);
      cluster_.node(primary).Resume();
      return {.what = "primary stopped for a moment"};
    case 4:
      // The primary hands over all writes that it has acknowledged.
      cluster_.node(replica).Run({"CLUSTER", "FAILOVER"});
      cluster_.AwaitPrimary(replica);
      return {.what = "replica takes over in order"};
    default:
      MoveASlot();
      return {.what = "slot moved"};
  }
}

void ClusterBreaker::MoveASlot() {
  const int slot = SlotOf(dice_->Index(partitions_));
  const size_t from = cluster_.PrimaryOf(slot);
  cluster_.MoveSlot(slot, from, AnotherPrimary(from), [this] { Sleep(0, 1); });
}

int ClusterBreaker::SlotOf(int partition) {
  return std::stoi(cluster_.node(0).Run(
      {"CLUSTER", "KEYSLOT",
       absl::StrCat("waiter:{default/job/", partition, "}:due")}));
}

size_t ClusterBreaker::AnotherPrimary(size_t node) {
  std::vector<size_t> primaries;
  for (int i = 0; i < 3; ++i) {
    const size_t primary = cluster_.PrimaryOf(i * 5461 + 100);
    if (primary != node) primaries.push_back(primary);
  }
  return primaries.at(
      static_cast<size_t>(dice_->Index(static_cast<int>(primaries.size()))));
}

}  // namespace waiter::chaos
