// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/wait_book.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/durable/store.h"

namespace waiter {
namespace {

// Microseconds that mutants use.
constexpr int64_t kCoarse = 20'000'000;
constexpr int64_t kHidden = 3'000'000;
constexpr int64_t kBefore = 60'000'000;

int64_t Even(int64_t value) { return value - value % 2; }

template <typename Map>
typename Map::mapped_type EntryOf(const Map& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

// Return whether the book has texts of a wait, and whether it has what only a
// pending wait has.
template <typename Book>
bool HasText(const Book& book, const std::string& key) {
  return book.args.contains(key) || book.values.contains(key);
}
template <typename Book>
bool HasMarks(const Book& book, const std::string& key) {
  return book.crashes.contains(key) || book.marks.contains(key) ||
         book.cancelled.contains(key) || book.notified.contains(key);
}

}  // namespace

WaitBook::Partition& WaitBook::Of(const WaitPartition& partition) {
  return partitions_[absl::StrCat(partition.space, "/", partition.name, "/",
                                  partition.index)];
}

// Like a sorted set: by score, then by key.
WaitBook::Order WaitBook::InOrder(const std::map<std::string, int64_t>& scores,
                                  int64_t last) {
  Order order;
  for (const auto& [key, score] : scores) {
    if (score <= last) order.emplace_back(score, key);
  }
  std::sort(order.begin(), order.end());
  return order;
}

int64_t WaitBook::NextFence(Partition& book, int64_t now, int64_t lease) const {
  if (Is(Mutant::kHalvesLeases)) lease /= 2;
  int64_t end = std::max(now + lease, book.fence + 1);
  if (Is(Mutant::kCoarseFences)) {
    end = ((now + lease) / kCoarse + 1) * kCoarse;
  }
  book.fence = Even(end) + (Is(Mutant::kEvenFences) ? 2 : 1);
  return book.fence;
}

StoredWait WaitBook::Row(const Partition& book, const std::string& key) {
  StoredWait row = {.key = key,
                    .record = EntryOf(book.records, key),
                    .args = EntryOf(book.args, key),
                    .value = EntryOf(book.values, key),
                    .due_us = std::nullopt,
                    .is_cancelled = book.cancelled.contains(key)};
  const auto due = book.due.find(key);
  if (due != book.due.end()) row.due_us = due->second;
  return row;
}

ClaimReply WaitBook::Claim(const ClaimRequest& request, int64_t now) {
  Partition& book = Of(request.partition);
  ClaimReply reply = {.now_us = now};
  Order found = InOrder(book.due, Is(Mutant::kHidesDue) ? now - kHidden : now);
  found.resize(std::min(found.size(), static_cast<size_t>(request.most)));
  if (!found.empty()) reply.fence = NextFence(book, now, request.lease_us);
  for (const auto& [score, key] : found) {
    if (score % 2 == 1) {
      ++book.crashes[key];
      if (Is(Mutant::kCountsCrashes)) ++book.marks[key];
    }
    if (!book.records.contains(key)) {
      book.due.erase(key);
      book.crashes.erase(key);
      ++book.counters["orphans"];
      continue;
    }
    book.due[key] = reply.fence;
    reply.waits.push_back({.key = key,
                           .record = book.records[key],
                           .args = EntryOf(book.args, key),
                           .crashes = EntryOf(book.crashes, key),
                           .marks = EntryOf(book.marks, key),
                           .is_cancelled = !Is(Mutant::kHidesCancels) &&
                                           book.cancelled.contains(key),
                           .is_notified = book.notified.contains(key)});
    if (const auto notified = book.notified.find(key);
        notified != book.notified.end()) {
      notified->second = true;
    }
  }
  if (found.size() < static_cast<size_t>(request.most) && !book.due.empty()) {
    reply.next_us = InOrder(book.due, INT64_MAX).front().first;
  }
  return reply;
}

// The caller holds the wait.
void WaitBook::SettleOne(Partition& book, const SettleItem& item,
                         const SettleRequest& request,
                         SettleReply& reply) const {
  const bool keeps = request.retain_us > 0;
  const bool ends = item.action == SettleAction::kEnd ||
                    item.action == SettleAction::kEndUnheard;
  const bool stays = item.action != SettleAction::kDelivered &&
                     item.action != SettleAction::kEndUnheard;
  const bool is_cancelled = book.cancelled.contains(item.key);
  const bool forgets =
      (Is(Mutant::kForgetsEnds) && item.action == SettleAction::kEnd) ||
      (Is(Mutant::kForgetsReleases) && item.action == SettleAction::kRelease);
  if (!item.record.empty() && (stays || keeps) && !forgets) {
    book.records[item.key] = item.record;
  }
  book.crashes.erase(item.key);
  if (ends) ++book.counters[item.reason];
  if (ends && !item.value.empty() && (stays || keeps)) {
    book.values[item.key] = item.value;
  }
  if (item.action == SettleAction::kRelease) {
    book.due[item.key] = Even(reply.now_us);
    const auto notified = book.notified.find(item.key);
    const bool is_notified = notified != book.notified.end() &&
                             !notified->second &&
                             !Is(Mutant::kReleasesNotified);
    if (!is_notified) book.notified.erase(item.key);
    if (!is_cancelled && !is_notified) {
      book.due[item.key] += Even(item.delay_us + 1);
    }
    return;
  }
  if (item.action == SettleAction::kEnd && Is(Mutant::kDeliversAtOnce)) {
    book.records[item.key][0] = static_cast<char>(WaitPhase::kDelivered);
  } else if (stays) {
    book.due[item.key] = reply.fence;
    if (item.action == SettleAction::kHold && is_cancelled &&
        !Is(Mutant::kHidesCancels)) {
      reply.cancelled.push_back(item.key);
    }
    return;
  }
  book.due.erase(item.key);
  book.cancelled.erase(item.key);
  book.notified.erase(item.key);
  book.marks.erase(item.key);
  if (keeps) {
    if (Is(Mutant::kKeepsNothing)) return;
    book.done[item.key] = reply.now_us + request.retain_us;
    return;
  }
  Forget(book, item.key);
}

SettleReply WaitBook::Settle(const SettleRequest& request, int64_t now) {
  Partition& book = Of(request.partition);
  SettleReply reply = {.now_us = now,
                       .fence = NextFence(book, now, request.lease_us)};
  book.polls += request.polls;
  for (const SettleItem& item : request.items) {
    const auto due = book.due.find(item.key);
    if (due == book.due.end() ||
        (due->second != item.fence && !Is(Mutant::kSettlesWithoutFence))) {
      reply.lost.push_back(item.key);
      continue;
    }
    SettleOne(book, item, request, reply);
  }
  Order old = InOrder(book.done, now);
  old.resize(std::min(old.size(), 2 * request.items.size()));
  for (const auto& [score, key] : old) Forget(book, key);
  return reply;
}

void WaitBook::Forget(Partition& book, const std::string& key) {
  book.done.erase(key);
  book.records.erase(key);
  book.args.erase(key);
  book.values.erase(key);
}

absl::StatusOr<EnqueueReply> WaitBook::Enqueue(const EnqueueRequest& request,
                                               int64_t now) {
  Partition& book = Of(request.partition);
  EnqueueReply reply = {.now_us = now};
  std::set<std::string> seen;
  for (const EnqueueItem& item : request.items) {
    const auto done = book.done.find(item.key);
    const bool is_old = done != book.done.end() && done->second <= now;
    reply.created.push_back((!book.records.contains(item.key) || is_old) &&
                            seen.insert(item.key).second);
  }
  const auto count =
      std::count(reply.created.begin(), reply.created.end(), true);
  if (count == 0) return reply;
  if (static_cast<int64_t>(book.due.size()) + count > request.most_pending) {
    return absl::ResourceExhaustedError("FULL");
  }
  if (Is(Mutant::kForgetsEnqueues) && now % 7 == 0) return reply;
  if (Is(Mutant::kBackdates)) now -= kBefore;
  book.counters["enqueued"] += count;
  for (size_t i = 0; i < request.items.size(); ++i) {
    const EnqueueItem& item = request.items[i];
    if (!reply.created[i]) continue;
    book.done.erase(item.key);
    book.args.erase(item.key);
    book.values.erase(item.key);
    book.records[item.key] =
        absl::StrCat("0", now - item.age_us, " ", item.record);
    book.due.emplace(item.key, Even(now + item.delay_us));
    if (!item.args.empty()) book.args[item.key] = item.args;
  }
  return reply;
}

std::vector<StoredWait> WaitBook::Signal(const SignalRequest& request,
                                         int64_t now) {
  Partition& book = Of(request.partition);
  for (const std::string& key : request.keys) {
    const auto due = book.due.find(key);
    const auto record = book.records.find(key);
    if (request.signal == WaitSignal::kForget) {
      if (due == book.due.end() && record != book.records.end() &&
          record->second.front() == static_cast<char>(WaitPhase::kDelivered)) {
        Forget(book, key);
      }
      continue;
    }
    if (due == book.due.end() || record == book.records.end() ||
        record->second.front() != static_cast<char>(WaitPhase::kPending)) {
      continue;
    }
    if (request.signal == WaitSignal::kNotify &&
        Is(Mutant::kForgetsNotifications)) {
      continue;
    }
    if (due->second % 2 == 0) due->second = std::min(due->second, Even(now));
    if (request.signal == WaitSignal::kCancel) {
      book.cancelled.insert(key);
    } else {
      book.notified[key] = false;
    }
  }
  return Get(request.partition, request.keys);
}

std::vector<StoredWait> WaitBook::Get(const WaitPartition& partition,
                                      const std::vector<std::string>& keys) {
  const Partition& book = Of(partition);
  std::vector<StoredWait> rows;
  rows.reserve(keys.size());
  for (const std::string& key : keys) rows.push_back(Row(book, key));
  return rows;
}

WaitStore::ScanReply WaitBook::Scan(const WaitPartition& partition) {
  const Partition& book = Of(partition);
  WaitStore::ScanReply reply = {.cursor = "0", .waits = {}};
  for (const auto& [key, record] : book.records) {
    reply.waits.push_back(Row(book, key));
  }
  return reply;
}

WaitStats WaitBook::Stats(const WaitPartition& partition, int64_t now) {
  const Partition& book = Of(partition);
  WaitStats stats = {.now_us = now,
                     .pending = static_cast<int64_t>(book.due.size()),
                     .overdue = static_cast<int64_t>(
                         InOrder(book.due, now - 2'000'000).size()),
                     .next_us = std::nullopt,
                     .kept = static_cast<int64_t>(book.done.size()),
                     .polls = book.polls,
                     .counters = {}};
  if (!book.due.empty()) {
    stats.next_us = InOrder(book.due, INT64_MAX).front().first;
  }
  stats.counters.assign(book.counters.begin(), book.counters.end());
  return stats;
}

int64_t WaitBook::Mark(const WaitPartition& partition, const std::string& key,
                       bool begins) {
  Partition& book = Of(partition);
  if (begins) return ++book.marks[key];
  book.marks.erase(key);
  book.crashes.erase(key);
  return 0;
}

CheckReply WaitBook::Check(const WaitPartition& partition) {
  Partition& book = Of(partition);
  CheckReply reply = {
      .records = static_cast<int64_t>(book.records.size()),
      .sees_records = true,
      .due = static_cast<int64_t>(book.due.size()),
      .fence = book.fence,
      .enqueued = EntryOf(book.counters, "enqueued"),
      .orphans = EntryOf(book.counters, "orphans"),
  };
  for (const auto& [counter, count] : book.counters) {
    if (counter != "enqueued" && counter != "orphans") reply.ended += count;
  }
  std::set<std::string> keys(book.cancelled.begin(), book.cancelled.end());
  const auto add = [&keys](const auto& map) {
    for (const auto& [key, value] : map) keys.insert(key);
  };
  add(book.notified);
  add(book.due);
  add(book.records);
  add(book.args);
  add(book.values);
  add(book.done);
  add(book.crashes);
  add(book.marks);
  for (const std::string& key : keys) {
    if (!ExamineOne(book, key, /*repairs=*/false, 0).empty()) {
      reply.keys.push_back(key);
    }
  }
  for (const auto& [key, record] : book.records) {
    if (record.empty() || (record[0] != '1' && record[0] != '2')) {
      ++reply.pending;
    }
  }
  return reply;
}

// Returns the faults before a repair.
std::vector<WaitFault> WaitBook::ExamineOne(Partition& book,
                                            const std::string& key,
                                            bool repairs, int64_t now) {
  constexpr int64_t kDay = 86'400'000'000;
  const bool has_record = book.records.contains(key);
  const bool is_delivered =
      has_record && EntryOf(book.records, key).substr(0, 1) == "2";
  const bool is_over = !has_record || is_delivered;
  const bool is_due = book.due.contains(key);
  const bool is_kept = book.done.contains(key);
  std::vector<WaitFault> faults;
  if (!has_record && is_due) faults.push_back(WaitFault::kNoRecord);
  if (!has_record && is_kept) faults.push_back(WaitFault::kKeptNothing);
  if (is_delivered && is_due) faults.push_back(WaitFault::kStillPending);
  if (!is_over && is_kept) faults.push_back(WaitFault::kNotDelivered);
  if (has_record && !is_due && !is_kept) faults.push_back(WaitFault::kAdrift);
  if ((!has_record && HasText(book, key)) || (is_over && HasMarks(book, key))) {
    faults.push_back(WaitFault::kLeftover);
  }
  if (!repairs) return faults;
  if (!has_record && is_due) ++book.counters["orphans"];
  if (is_over) book.due.erase(key);
  if (is_over != is_kept || !has_record) book.done.erase(key);
  if (is_delivered) book.done.emplace(key, now + kDay);
  if (!is_over) book.due.emplace(key, Even(now));
  if (!has_record) {
    book.args.erase(key);
    book.values.erase(key);
  }
  if (is_over) {
    book.crashes.erase(key);
    book.marks.erase(key);
    book.cancelled.erase(key);
    book.notified.erase(key);
  }
  return faults;
}

std::vector<FaultyWait> WaitBook::Examine(const ExamineRequest& request,
                                          int64_t now) {
  Partition& book = Of(request.partition);
  std::vector<FaultyWait> waits;
  for (const std::string& key : request.keys) {
    for (const WaitFault fault : ExamineOne(book, key, request.repairs, now)) {
      waits.push_back({.key = key, .fault = fault});
    }
  }
  if (request.repairs && request.missing > 0) {
    book.counters["orphans"] += request.missing;
  } else if (request.repairs && request.missing < 0) {
    book.counters["enqueued"] -= request.missing;
  }
  return waits;
}

int64_t WaitBook::Open(const std::string& space, const std::string& name,
                       int64_t partitions) {
  return names_.emplace(absl::StrCat(space, "/", name), partitions)
      .first->second;
}

std::vector<std::string> WaitBook::Heartbeat(const HeartbeatRequest& request,
                                             int64_t now) {
  std::map<std::string, int64_t>& beats = workers_[request.space];
  beats[request.worker] = now;
  if (request.leaves) beats.erase(request.worker);
  std::vector<std::string> live;
  for (const auto& [time, id] : InOrder(beats, INT64_MAX)) {
    if (time > now - 10'000'000) {
      live.push_back(id);
    } else {
      beats.erase(id);
    }
  }
  return live;
}

WaitSpace WaitBook::Describe(const std::string& space, int64_t now) {
  WaitSpace all;
  const std::string prefix = absl::StrCat(space, "/");
  for (const auto& [name, partitions] : names_) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    all.names.emplace_back(name.substr(prefix.size()), partitions);
  }
  for (const auto& [time, id] : InOrder(workers_[space], INT64_MAX)) {
    if (time >= now - 10'000'000) all.workers.push_back(id);
  }
  return all;
}

}  // namespace waiter
