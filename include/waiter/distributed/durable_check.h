// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Looks for damage in the durable waits of a name (distributed/durable_waits.h)
// and in the settings of their server, and repairs it:
//
//   waiter::CheckDurableWaits(
//       store, "instance-running", {.space = "prod", .repairs = true},
//       [](absl::StatusOr<waiter::DurableCheckReport> report) {
//         if (!report.ok()) return Complain(report.status());
//         for (const waiter::DurableFinding& finding : report->findings) {
//           LOG(ERROR) << waiter::ToString(finding);
//         }
//       });
//
// Each wait is in several structures of the store, which change together. They
// disagree only if somebody else wrote to the keys, or if a part of them was
// evicted or lost. Workers and clients may go on meanwhile: a wait is compared
// with itself at one time, and looked at again before it counts or is repaired.
// `waiter durable check` does this on the command line.

#ifndef WAITER_DISTRIBUTED_DURABLE_CHECK_H_
#define WAITER_DISTRIBUTED_DURABLE_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/distributed/wait_store.h"

namespace waiter {

struct DurableCheckOptions {
  // As those of the workers.
  std::string space = "default";
  int64_t partitions = 16;

  // Removes leftovers of waits that are gone. A record that nothing leads to
  // becomes due at once: its wait is polled, or its result delivered, again. A
  // result that was delivered is kept for a day more. Counters are set right.
  bool repairs = false;
};

// Something that is wrong with a wait.
struct DurableFinding {
  WaitFault fault = WaitFault::kNoRecord;
  int partition = 0;
  std::string key = {};  // Empty for `kMiscounted`.
  // Of `kMiscounted`: waits that are missing; below zero, those too many.
  int64_t missing = 0;
};

struct DurableCheckReport {
  // Those that have partitions, each once.
  std::vector<WaitServer> servers;

  int64_t records = 0;  // That were looked at.

  // The first thousand, and the number of all, of which all are repaired if
  // that was asked for.
  std::vector<DurableFinding> findings;
  int64_t found = 0;

  // Partitions that changed while they were counted; of those, only gross
  // errors of the counters are found.
  int64_t uncounted = 0;

  bool is_clean() const;
};

// "no-record" and so on, for programs.
std::string_view ToString(WaitFault fault);
// One line for people: what is wrong, and what it means. The key is as it is.
std::string ToString(const DurableFinding& finding);

// Calls back once, as the functions of `DurableClient` do, with the same
// errors; but a server whose settings endanger waits is a fault in the report,
// which ends there if nothing more can be asked of the server. Takes one call
// of the store at a time, about 3 ms of the server for each 1000 waits in all.
void CheckDurableWaits(
    std::shared_ptr<WaitStore> store, const std::string& name,
    const DurableCheckOptions& options,
    std::function<void(absl::StatusOr<DurableCheckReport>)> callback);

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_DURABLE_CHECK_H_
