// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/server_info.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/durable/store.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

constexpr int kMinRedisVersion = 7;

// The lines "field:value" of INFO.
class Info {
 public:
  explicit Info(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view()
                                           : text.substr(end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      fields_.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
  }

  // Return an empty text or zero for a field that the server does not send.
  std::string Text(const std::string& field) const {
    const auto it = fields_.find(field);
    return it == fields_.end() ? std::string() : it->second;
  }
  int64_t Number(const std::string& field) const {
    int64_t number = 0;
    return absl::SimpleAtoi(Text(field), &number) ? number : 0;
  }

 private:
  std::map<std::string, std::string> fields_;
};

int MajorOf(const std::string& version) {
  int major = 0;
  return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) ? major
                                                                        : 0;
}

void AddFaults(const Info& info, WaitServer& server) {
  const std::string policy = info.Text("maxmemory_policy");
  if (absl::StartsWith(policy, "allkeys")) {
    server.faults.push_back(absl::StrCat(
        "maxmemory-policy is ", policy,
        ": the server deletes waits when its memory is full, and workers "
        "refuse it; set it to noeviction, with CONFIG SET and in the server's "
        "configuration file"));
  }
  if (info.Text("aof_enabled") == "0") {
    server.faults.emplace_back(
        "appendonly is no: a restart loses what changed since the last "
        "snapshot; set it to yes, with CONFIG SET and in the server's "
        "configuration file");
  }
  if (info.Text("aof_last_write_status") == "err") {
    server.faults.emplace_back(
        "the last write to the append-only file has failed: a restart may lose "
        "waits; look at the disk and the log of the server");
  }
  if (info.Text("aof_last_bgrewrite_status") == "err") {
    server.faults.emplace_back(
        "the last rewrite of the append-only file has failed, so it grows; "
        "look at the disk, the memory and the log of the server");
  }
  const int64_t most = info.Number("maxmemory");
  const int64_t used = info.Number("used_memory");
  if (most > 0 && used >= most / 10 * 9) {
    server.faults.push_back(
        absl::StrCat("memory is ", used / (most / 100 + 1),
                     "% of maxmemory: no waits can "
                     "be added once it is full; give the server more"));
  }
}

}  // namespace

WaitServer ReadServer(std::string_view text) {
  WaitServer server;
  const Info info(text);
  server.id = info.Text("run_id");
  const std::string redis = info.Text("redis_version");
  if (redis.empty()) {
    server.description = "a server that does not report its settings";
    return server;
  }
  const std::string valkey = info.Text("valkey_version");
  server.description = valkey.empty() ? "Redis " + redis : "Valkey " + valkey;
  if (MajorOf(redis) < kMinRedisVersion) {
    server.is_usable = false;
    server.faults.push_back(
        absl::StrCat("its version is ", redis, ": 7.0 or newer is needed"));
    return server;
  }
  absl::StrAppend(&server.description, ", maxmemory-policy ",
                  info.Text("maxmemory_policy"), ", appendonly ",
                  info.Text("aof_enabled") == "1" ? "yes" : "no", ", ",
                  info.Text("role") == "master" ? "primary" : "replica",
                  " with ", info.Number("connected_slaves"), " replicas");
  AddFaults(info, server);
  return server;
}

}  // namespace waiter::internal
