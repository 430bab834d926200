// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/redis_cluster_servers.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/redis_server.h"

namespace waiter {
namespace {

constexpr int kSlots = 16384;

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

RedisClusterServers::RedisClusterServers()
    : folder_(absl::StrCat(testing::TempDir(), "/cluster_", getpid())) {
  std::filesystem::remove_all(folder_);
  for (size_t i = 0; i < kNodes; ++i) {
    // Replicas first write the data that they receive into a file in this
    // folder.
    const std::string folder = absl::StrCat(folder_, "/", i);
    std::filesystem::create_directories(folder);
    bus_ports_.push_back(RedisServer::FreePort());
    nodes_.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--cluster-enabled", "yes", "--cluster-port",
        absl::StrCat(bus_ports_[i]), "--cluster-node-timeout", "1000", "--dir",
        folder, "--cluster-replica-validity-factor", "0",
        "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay",
        "0"}));
    ids_.push_back(nodes_[i]->Run({"CLUSTER", "MYID"}));
    Order(i, {"CLUSTER", "SET-CONFIG-EPOCH", absl::StrCat(i + 1)});
  }
  for (size_t i = 0; i < kPrimaries; ++i) {
    const size_t primaries = kPrimaries;
    Order(i, {"CLUSTER", "ADDSLOTSRANGE", absl::StrCat(i * kSlots / primaries),
              absl::StrCat((i + 1) * kSlots / primaries - 1)});
  }
  for (size_t i = 1; i < kNodes; ++i) {
    Order(0, {"CLUSTER", "MEET", "127.0.0.1", absl::StrCat(nodes_[i]->port()),
              absl::StrCat(bus_ports_[i])});
  }
  AwaitAll("CLUSTER", "INFO", absl::StrCat("cluster_known_nodes:", kNodes), 0,
           kNodes);
  AwaitAll("CLUSTER", "INFO", "cluster_state:ok", 0, kNodes);
  for (size_t i = kPrimaries; i < kNodes; ++i) {
    Order(i, {"CLUSTER", "REPLICATE", ids_[i - kPrimaries]});
  }
  AwaitAll("INFO", "replication", "master_link_status:up", kPrimaries, kNodes);
  AwaitAll("CLUSTER", "INFO", "cluster_state:ok", 0, kNodes);
  // A primary must know its replica before it dies.
  AwaitAll("INFO", "replication", "connected_slaves:1", 0, kPrimaries);
}

RedisClusterServers::~RedisClusterServers() {
  nodes_.clear();
  std::filesystem::remove_all(folder_);
}

std::vector<std::string> RedisClusterServers::Urls() const {
  std::vector<std::string> urls;
  for (const auto& node : nodes_) urls.push_back(node->Url());
  return urls;
}

size_t RedisClusterServers::PrimaryOf(int slot, size_t asked) const {
  const std::string all = nodes_[asked]->Run({"CLUSTER", "NODES"});
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(all, '\n'))) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    for (size_t i = 8; i < words.size(); ++i) {
      const std::vector<std::string> ends = absl::StrSplit(words[i], '-');
      int first = 0;
      int last = 0;
      if (!absl::SimpleAtoi(ends.front(), &first) ||
          !absl::SimpleAtoi(ends.back(), &last) || slot < first ||
          slot > last) {
        continue;
      }
      for (size_t node = 0; node < kNodes; ++node) {
        if (ids_[node] == words[0]) return node;
      }
    }
  }
  ADD_FAILURE() << "no node has the slot " << slot << ":\n" << all;
  return 0;
}

void RedisClusterServers::MoveSlot(int slot, size_t from, size_t to,
                                   const std::function<void()>& between) const {
  if (from == to) return;
  const std::string text = absl::StrCat(slot);
  Order(to, {"CLUSTER", "SETSLOT", text, "IMPORTING", ids_[from]});
  Order(from, {"CLUSTER", "SETSLOT", text, "MIGRATING", ids_[to]});
  bool is_first = true;
  while (true) {
    const std::string count =
        nodes_[from]->Run({"CLUSTER", "COUNTKEYSINSLOT", text});
    const std::string list = nodes_[from]->Run(
        {"CLUSTER", "GETKEYSINSLOT", text, is_first ? "3" : "100"});
    const std::vector<std::string> keys =
        absl::StrSplit(list, '\n', absl::SkipEmpty());
    if (keys.empty()) break;
    std::vector<std::string> command = {
        "MIGRATE", "127.0.0.1", absl::StrCat(nodes_[to]->port()), "", "0",
        "5000",    "KEYS"};
    command.insert(command.end(), keys.begin(), keys.end());
    const std::string answer = nodes_[from]->Run(command);
    if (answer != "OK" && answer != "NOKEY") {
      ADD_FAILURE() << "MIGRATE of " << count << " keys: " << answer;
      return;
    }
    if (is_first && between) between();
    is_first = false;
  }
  for (const size_t node : {to, from}) {
    Order(node, {"CLUSTER", "SETSLOT", text, "NODE", ids_[to]});
  }
}

void RedisClusterServers::AwaitPrimary(size_t node) const {
  for (int i = 0; i < 400; ++i) {
    if (absl::StrContains(nodes_[node]->Run({"INFO", "replication"}),
                          "role:master")) {
      return;
    }
    Sleep(50);
  }
  ADD_FAILURE() << "node " << node << " does not become a primary";
}

void RedisClusterServers::AwaitReplicas() const {
  for (size_t pair = 0; pair < kPrimaries; ++pair) {
    const std::array<size_t, 2> nodes = {pair, pair + kPrimaries};
    bool is_whole = false;
    for (int i = 0; i < 400 && !is_whole; ++i) {
      if (i > 0) Sleep(50);
      int primaries = 0;
      int replicas = 0;
      for (const size_t node : nodes) {
        const std::string info = nodes_[node]->Run({"INFO", "replication"});
        if (absl::StrContains(info, "role:master") &&
            absl::StrContains(info, "state=online")) {
          ++primaries;
        }
        if (absl::StrContains(info, "master_link_status:up")) ++replicas;
      }
      is_whole = primaries == 1 && replicas == 1;
    }
    EXPECT_TRUE(is_whole) << "of nodes " << nodes[0] << " and " << nodes[1];
  }
  AwaitAll("CLUSTER", "INFO", "cluster_state:ok", 0, kNodes);
}

void RedisClusterServers::AwaitAll(const std::string& command,
                                   const std::string& section,
                                   const std::string& line, size_t first,
                                   size_t end) const {
  for (size_t node = first; node < end; ++node) {
    std::string answer;
    bool has_come = false;
    for (int i = 0; i < 400 && !has_come; ++i) {
      if (i > 0) Sleep(50);
      answer = nodes_[node]->Run({command, section});
      has_come = absl::StrContains(answer, line);
    }
    EXPECT_TRUE(has_come) << "node " << node << " without " << line << ":\n"
                          << answer;
  }
}

void RedisClusterServers::Order(size_t node,
                                const std::vector<std::string>& command) const {
  EXPECT_EQ(nodes_[node]->Run(command), "OK")
      << node << ": " << command[0] << " " << command[1];
}

}  // namespace waiter
