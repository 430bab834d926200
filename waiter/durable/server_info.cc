// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/server_info.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/durable/store.h"
#include "waiter/redis/redis_info.h"

namespace waiter::internal {
namespace {

constexpr int kMinRedisVersion = 7;

// Returns zero for a line that the server does not send.
int64_t InfoNumber(std::string_view info, std::string_view name) {
  int64_t number = 0;
  return absl::SimpleAtoi(InfoLine(info, name), &number) ? number : 0;
}

int MajorOf(const std::string& version) {
  int major = 0;
  return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) ? major
                                                                        : 0;
}

void AddFaults(std::string_view info, WaitServer& server) {
  const std::string policy = InfoLine(info, "maxmemory_policy");
  if (absl::StartsWith(policy, "allkeys")) {
    server.faults.push_back(absl::StrCat(
        "maxmemory-policy is ", policy,
        ": the server deletes waits when its memory is full, and workers "
        "refuse it; set it to noeviction, with CONFIG SET and in the server's "
        "configuration file"));
  }
  if (InfoLine(info, "aof_enabled") == "0") {
    server.faults.emplace_back(
        "appendonly is no: a restart loses what changed since the last "
        "snapshot; set it to yes, with CONFIG SET and in the server's "
        "configuration file");
  }
  if (InfoLine(info, "aof_last_write_status") == "err") {
    server.faults.emplace_back(
        "the last write to the append-only file has failed: a restart may lose "
        "waits; look at the disk and the log of the server");
  }
  if (InfoLine(info, "aof_last_bgrewrite_status") == "err") {
    server.faults.emplace_back(
        "the last rewrite of the append-only file has failed, so it grows; "
        "look at the disk, the memory and the log of the server");
  }
  const int64_t most = InfoNumber(info, "maxmemory");
  const int64_t used = InfoNumber(info, "used_memory");
  if (most > 0 && used >= most / 10 * 9) {
    server.faults.push_back(
        absl::StrCat("memory is ", used / (most / 100 + 1),
                     "% of maxmemory: no waits can "
                     "be added once it is full; give the server more"));
  }
}

}  // namespace

WaitServer ReadServer(std::string_view info) {
  WaitServer server;
  server.id = InfoLine(info, "run_id");
  const std::string redis = InfoLine(info, "redis_version");
  if (redis.empty()) {
    server.description = "a server that does not report its settings";
    return server;
  }
  const std::string valkey = InfoLine(info, "valkey_version");
  server.description = valkey.empty() ? "Redis " + redis : "Valkey " + valkey;
  if (MajorOf(redis) < kMinRedisVersion) {
    server.is_usable = false;
    server.faults.push_back(
        absl::StrCat("its version is ", redis, ": 7.0 or newer is needed"));
    return server;
  }
  absl::StrAppend(&server.description, ", maxmemory-policy ",
                  InfoLine(info, "maxmemory_policy"), ", appendonly ",
                  InfoLine(info, "aof_enabled") == "1" ? "yes" : "no", ", ",
                  InfoLine(info, "role") == "master" ? "primary" : "replica",
                  " with ", InfoNumber(info, "connected_slaves"), " replicas");
  AddFaults(info, server);
  return server;
}

}  // namespace waiter::internal
