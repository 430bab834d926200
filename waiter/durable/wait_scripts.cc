// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/wait_scripts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/lua_files.h"
#include "waiter/durable/server_info.h"
#include "waiter/durable/store.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {
namespace {

// Returns a script with the files that it includes.
RedisScript Script(absl::string_view file) {
  std::string text(LuaFile(ToStd(file)));
  for (const absl::string_view part :
       {"partition.lua", "fence.lua", "rows.lua"}) {
    absl::StrReplaceAll({{absl::StrCat("-- include ", part, "\n"),
                          ToAbsl(LuaFile(ToStd(part)))}},
                        &text);
  }
  return RedisScript(text);
}

absl::Status Unexpected() {
  return absl::InternalError("Redis: a script returned an unexpected reply");
}

// Reads the elements of a reply one by one. Once one is not as expected,
// `failed` is true.
class Elements {
 public:
  explicit Elements(const RedisReply& reply) : reply_(reply) {}

  bool failed() const { return failed_; }
  bool done() const { return at_ == reply_.elements.size(); }

  const RedisReply& Next() {
    static const auto& nothing = *new RedisReply;
    if (done()) {
      failed_ = true;
      return nothing;
    }
    return reply_.elements[at_++];
  }
  const std::string& Text() { return Next().text; }
  int64_t Number() {
    const RedisReply& next = Next();
    if (next.type == RedisReply::Type::kInteger) return next.integer;
    int64_t number = 0;
    if (!absl::SimpleAtoi(next.text, &number)) failed_ = true;
    return number;
  }
  std::optional<int64_t> OptionalNumber() {
    if (done() || !reply_.elements[at_].text.empty()) return Number();
    ++at_;
    return std::nullopt;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const RedisReply& element : Next().elements) {
      texts.push_back(element.text);
    }
    return texts;
  }

 private:
  const RedisReply& reply_;
  size_t at_ = 0;
  bool failed_ = false;
};

std::vector<StoredWait> ReadWaits(const RedisReply& rows, bool& failed) {
  std::vector<StoredWait> waits;
  for (const RedisReply& row : rows.elements) {
    Elements from(row);
    StoredWait& wait = waits.emplace_back();
    wait.key = from.Text();
    wait.record = from.Text();
    wait.args = from.Text();
    wait.value = from.Text();
    wait.due_us = from.OptionalNumber();
    wait.is_cancelled = from.Text() == "1";
    failed |= from.failed();
  }
  return waits;
}

}  // namespace

const WaitScripts& Scripts() {
  static const auto& scripts =
      *new WaitScripts{.claim = Script("claim.lua"),
                       .settle = Script("settle.lua"),
                       .enqueue = Script("enqueue.lua"),
                       .signal = Script("signal.lua"),
                       .get = Script("get.lua"),
                       .scan = Script("scan.lua"),
                       .stats = Script("stats.lua"),
                       .mark = Script("mark.lua"),
                       .open = Script("open.lua"),
                       .heartbeat = Script("heartbeat.lua"),
                       .space = Script("space.lua"),
                       .check = Script("check.lua"),
                       .examine = Script("examine.lua"),
                       .inspect = Script("inspect.lua")};
  return scripts;
}

// The braces let a cluster keep all keys of a partition on one node.
std::vector<std::string> PartitionKeys(const WaitPartition& partition) {
  const std::string prefix =
      absl::StrCat("waiter:{", partition.space, "/", partition.name, "/",
                   partition.index, "}:");
  std::vector<std::string> keys;
  for (const char* key : {"due", "rec", "args", "res", "done", "crash", "mark",
                          "cancel", "leases", "meta", "notify"}) {
    keys.push_back(absl::StrCat(prefix, key));
  }
  return keys;
}

// Both keys are on one node.
std::string NamesKey(const std::string& space) {
  return absl::StrCat("waiter:{", space, "}:names");
}
std::string WorkersKey(const std::string& space) {
  return absl::StrCat("waiter:{", space, "}:workers");
}

std::vector<std::string> ClaimArguments(const ClaimRequest& request) {
  return {absl::StrCat(request.most), absl::StrCat(request.lease_us)};
}

std::vector<std::string> SettleArguments(SettleRequest request) {
  std::vector<SettleItem*> items;
  items.reserve(request.items.size());
  for (SettleItem& item : request.items) items.push_back(&item);
  const auto group = [](const SettleItem* item) {
    return std::pair(item->action, item->fence);
  };
  std::stable_sort(items.begin(), items.end(),
                   [&](const SettleItem* a, const SettleItem* b) {
                     return group(a) < group(b);
                   });
  std::vector<std::string> arguments = {absl::StrCat(request.lease_us),
                                        absl::StrCat(request.retain_us),
                                        absl::StrCat(request.polls)};
  arguments.reserve(3 + 4 * items.size());
  for (auto first = items.begin(); first != items.end();) {
    const auto last = std::find_if(
        first, items.end(),
        [&](const SettleItem* item) { return group(item) != group(*first); });
    arguments.emplace_back(1, static_cast<char>((*first)->action));
    arguments.push_back(absl::StrCat((*first)->fence));
    arguments.push_back(absl::StrCat(last - first));
    for (; first != last; ++first) {
      SettleItem& item = **first;
      arguments.push_back(std::move(item.key));
      arguments.push_back(std::move(item.record));
      if (item.action == SettleAction::kRelease) {
        arguments.push_back(absl::StrCat(DueNumber::FreeDelay(item.delay_us)));
      } else if (item.action == SettleAction::kEnd ||
                 item.action == SettleAction::kEndUnheard) {
        arguments.push_back(std::move(item.value));
        arguments.push_back(std::move(item.reason));
      }
    }
  }
  return arguments;
}

std::vector<std::string> EnqueueArguments(const EnqueueRequest& request) {
  std::vector<std::string> arguments = {absl::StrCat(request.most_pending)};
  arguments.reserve(1 + 5 * request.items.size());
  for (const EnqueueItem& item : request.items) {
    arguments.push_back(item.key);
    arguments.push_back(absl::StrCat(item.delay_us));
    arguments.push_back(item.record);
    arguments.push_back(item.args);
    arguments.push_back(absl::StrCat(item.age_us));
  }
  return arguments;
}

std::vector<std::string> SignalArguments(SignalRequest request) {
  std::vector<std::string> arguments = std::move(request.keys);
  arguments.insert(arguments.begin(),
                   std::string(1, static_cast<char>(request.signal)));
  return arguments;
}

std::vector<std::string> ExamineArguments(const ExamineRequest& request) {
  std::vector<std::string> arguments = {request.repairs ? "1" : "0",
                                        absl::StrCat(request.missing)};
  arguments.insert(arguments.end(), request.keys.begin(), request.keys.end());
  return arguments;
}

absl::StatusOr<ClaimReply> ToClaimReply(RedisReply reply) {
  std::vector<RedisReply>& parts = reply.elements;
  if (parts.size() != 10) return Unexpected();
  Elements from(reply);
  ClaimReply claimed;
  claimed.now_us = from.Number();
  claimed.fence = from.Number();
  claimed.next_us = from.OptionalNumber();
  std::vector<RedisReply>& keys = parts[3].elements;
  std::vector<RedisReply>& records = parts[4].elements;
  if (from.failed() || records.size() != keys.size()) return Unexpected();
  bool failed = false;
  const auto count = [&](const RedisReply& field) {
    int64_t number = 0;
    if (!field.text.empty()) {
      failed |= !absl::SimpleAtoi(field.text, &number);
    }
    return number;
  };
  claimed.waits.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    // Waits without a record have short rows.
    const auto column = [&](size_t part) -> const RedisReply& {
      static const auto& nothing = *new RedisReply;
      const std::vector<RedisReply>& fields = parts[part].elements;
      return i < fields.size() ? fields[i] : nothing;
    };
    claimed.waits.push_back({.key = std::move(keys[i].text),
                             .record = std::move(records[i].text),
                             .args = column(5).text,
                             .crashes = count(column(6)),
                             .marks = count(column(7)),
                             .is_cancelled = column(8).integer == 1,
                             .is_notified = !column(9).text.empty()});
  }
  if (failed) return Unexpected();
  return claimed;
}

absl::StatusOr<SettleReply> ToSettleReply(const RedisReply& reply) {
  Elements from(reply);
  SettleReply settled;
  settled.now_us = from.Number();
  settled.fence = from.Number();
  settled.lost = from.Texts();
  settled.cancelled = from.Texts();
  if (from.failed()) return Unexpected();
  return settled;
}

absl::StatusOr<EnqueueReply> ToEnqueueReply(const RedisReply& reply) {
  Elements from(reply);
  EnqueueReply enqueued;
  enqueued.now_us = from.Number();
  for (const char created : from.Text()) {
    enqueued.created.push_back(created == '1');
  }
  if (from.failed()) return Unexpected();
  return enqueued;
}

absl::StatusOr<std::vector<StoredWait>> ToStoredWaits(const RedisReply& reply) {
  bool failed = false;
  std::vector<StoredWait> waits = ReadWaits(reply, failed);
  if (failed) return Unexpected();
  return waits;
}

absl::StatusOr<WaitStore::ScanReply> ToScanReply(const RedisReply& reply) {
  Elements from(reply);
  WaitStore::ScanReply scanned;
  scanned.cursor = from.Text();
  bool failed = false;
  scanned.waits = ReadWaits(from.Next(), failed);
  if (failed || from.failed() || scanned.cursor.empty()) return Unexpected();
  return scanned;
}

absl::StatusOr<WaitStats> ToWaitStats(const RedisReply& reply) {
  Elements from(reply);
  WaitStats stats;
  stats.now_us = from.Number();
  stats.pending = from.Number();
  stats.overdue = from.Number();
  stats.next_us = from.OptionalNumber();
  stats.kept = from.Number();
  const std::vector<std::string> meta = from.Texts();
  for (size_t i = 0; i + 1 < meta.size(); i += 2) {
    int64_t count = 0;
    if (meta[i] == "fence" || !absl::SimpleAtoi(meta[i + 1], &count)) continue;
    if (meta[i] == "polls") {
      stats.polls = count;
    } else {
      stats.counters.emplace_back(meta[i], count);
    }
  }
  if (from.failed()) return Unexpected();
  return stats;
}

absl::StatusOr<WaitSpace> ToWaitSpace(const RedisReply& reply) {
  Elements from(reply);
  WaitSpace space;
  const std::vector<std::string> names = from.Texts();
  for (size_t i = 0; i + 1 < names.size(); i += 2) {
    int64_t partitions = 0;
    if (!absl::SimpleAtoi(names[i + 1], &partitions)) return Unexpected();
    space.names.emplace_back(names[i], partitions);
  }
  space.workers = from.Texts();
  if (from.failed()) return Unexpected();
  std::sort(space.names.begin(), space.names.end());
  return space;
}

absl::StatusOr<CheckReply> ToCheckReply(const RedisReply& reply) {
  Elements from(reply);
  CheckReply checked;
  checked.cursor = from.Text();
  checked.sees_records = from.Number() == 1;
  const int64_t members = from.Number();
  checked.records = checked.sees_records ? members : 0;
  checked.pending = from.Number();
  checked.due = from.Number();
  const std::vector<std::string> meta = from.Texts();
  for (size_t i = 0; i + 1 < meta.size(); i += 2) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(meta[i + 1], &count)) continue;
    if (meta[i] == "fence") {
      checked.fence = count;
    } else if (meta[i] == "enqueued") {
      checked.enqueued = count;
    } else if (meta[i] == "orphans") {
      checked.orphans = count;
    } else if (meta[i] != "polls") {
      checked.ended += count;
    }
  }
  checked.keys = from.Texts();
  if (from.failed()) return Unexpected();
  return checked;
}

absl::StatusOr<std::vector<FaultyWait>> ToFaultyWaits(const RedisReply& reply) {
  std::vector<FaultyWait> waits;
  for (const RedisReply& row : reply.elements) {
    Elements from(row);
    FaultyWait& wait = waits.emplace_back();
    wait.key = from.Text();
    const std::string& fault = from.Text();
    if (from.failed() || fault.size() != 1) return Unexpected();
    wait.fault = static_cast<WaitFault>(fault[0]);
  }
  return waits;
}

absl::StatusOr<WaitServer> ToWaitServer(const RedisReply& reply) {
  return ReadServer(reply.text);
}

}  // namespace waiter::internal
