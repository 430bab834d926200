// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A model of the scripts of durable waits (waiter/durable/store/redis/), in
// C++, for simulations. All times are in microseconds.

#ifndef WAITER_TESTS_SUPPORT_WAIT_BOOK_H_
#define WAITER_TESTS_SUPPORT_WAIT_BOOK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/durable/store.h"

namespace waiter {

// Thread-compatible. A copy is a snapshot.
class WaitBook {
 public:
  // Defects that a test can ask for, to prove that they would be noticed.
  enum class Mutant : uint8_t {
    kNone,
    kSettlesWithoutFence,  // Any worker may settle.
    kEvenFences,           // Leases look like times at which a wait is due.
    kCoarseFences,         // Fences do not grow within some seconds.
    kCountsCrashes,        // Counts each vanished holder as a crash in a poll.
    kForgetsEnqueues,      // Loses some acknowledged enqueues.
    kForgetsEnds,          // The record of a result is not written.
    kDeliversAtOnce,       // Results count as delivered before they are.
    kHalvesLeases,         // Leases end earlier than requested.
    kBackdates,            // Waits begin a minute before their enqueue.
    kForgetsReleases,      // The record of a release is not written.
    kHidesCancels,         // Holders do not learn of them.
    kKeepsNothing,         // Delivered results are in no order.
    kHidesDue,             // A wait that becomes due stays hidden for a while.
    kForgetsNotifications,
    kReleasesNotified,  // Released late despite a notification during the poll.
  };
  Mutant mutant = Mutant::kNone;

  ClaimReply Claim(const ClaimRequest& request, int64_t now);
  SettleReply Settle(const SettleRequest& request, int64_t now);
  absl::StatusOr<EnqueueReply> Enqueue(const EnqueueRequest& request,
                                       int64_t now);
  std::vector<StoredWait> Signal(const SignalRequest& request, int64_t now);
  std::vector<StoredWait> Get(const WaitPartition& partition,
                              const std::vector<std::string>& keys);
  // All waits in one step.
  WaitStore::ScanReply Scan(const WaitPartition& partition);
  WaitStats Stats(const WaitPartition& partition, int64_t now);
  int64_t Mark(const WaitPartition& partition, const std::string& key,
               bool begins);
  CheckReply Check(const WaitPartition& partition);  // All in one step.
  std::vector<FaultyWait> Examine(const ExamineRequest& request, int64_t now);
  int64_t Open(const std::string& space, const std::string& name,
               int64_t partitions);
  std::vector<std::string> Heartbeat(const HeartbeatRequest& request,
                                     int64_t now);

  WaitSpace Describe(const std::string& space, int64_t now);

  // The result of `WaitStore::Inspect`.
  WaitServer server = {.id = "book", .description = "a book", .faults = {}};

  // The structures of a partition, for tests that damage them.
  struct Partition {
    std::map<std::string, int64_t> due;
    std::map<std::string, std::string> records;
    std::map<std::string, std::string> args;
    std::map<std::string, std::string> values;
    std::map<std::string, int64_t> done;
    std::map<std::string, int64_t> crashes;
    std::map<std::string, int64_t> marks;
    std::set<std::string> cancelled;
    std::map<std::string, bool> notified;  // Whether the holder knows it.
    std::map<std::string, int64_t> counters;
    int64_t fence = 0;
    int64_t polls = 0;
  };
  Partition& Of(const WaitPartition& partition);

 private:
  using Order = std::vector<std::pair<int64_t, std::string>>;

  static Order InOrder(const std::map<std::string, int64_t>& scores,
                       int64_t last);
  bool Is(Mutant which) const { return mutant == which; }
  int64_t NextFence(Partition& book, int64_t now, int64_t lease) const;
  void SettleOne(Partition& book, const SettleItem& item,
                 const SettleRequest& request, SettleReply& reply) const;
  static void Forget(Partition& book, const std::string& key);
  static StoredWait Row(const Partition& book, const std::string& key);
  static std::vector<WaitFault> ExamineOne(Partition& book,
                                           const std::string& key, bool repairs,
                                           int64_t now);

  std::map<std::string, Partition> partitions_;
  std::map<std::string, int64_t> names_;
  std::map<std::string, std::map<std::string, int64_t>> workers_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_WAIT_BOOK_H_
