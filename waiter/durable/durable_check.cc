// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/budget_member.h"

namespace waiter {
namespace {

constexpr size_t kMaxFindings = 1000;
constexpr size_t kMaxExamined = 250;

std::string_view Explanation(WaitFault fault) {
  switch (fault) {
    case WaitFault::kNoRecord:
      return "is due, but its record is gone: no worker can poll it, and it "
             "will never have a result; enqueue it again";
    case WaitFault::kAdrift:
      return "has a record, but no worker will find it: it is neither pending "
             "nor kept";
    case WaitFault::kStillPending:
      return "was delivered, but is still pending: workers claim it again and "
             "again";
    case WaitFault::kNotDelivered:
      return "is kept as delivered, but was not: it will be forgotten without "
             "a result";
    case WaitFault::kKeptNothing:
      return "is kept as delivered, but its record is gone";
    case WaitFault::kLeftover:
      return "left arguments, a value or marks behind, which take memory and "
             "would apply to a new wait with this key";
    case WaitFault::kMiscounted:
      break;
  }
  return "";
}

// One check. Each function makes a call, and its answer is the next step.
class Checker : public std::enable_shared_from_this<Checker> {
 public:
  using Callback = std::function<void(absl::StatusOr<DurableCheckReport>)>;

  Checker(std::shared_ptr<WaitStore> store, const std::string& name,
          const DurableCheckOptions& options, Callback callback)
      : store_(std::move(store)),
        options_(options),
        callback_(std::move(callback)),
        partition_({.space = options.space, .name = name, .index = 0}) {}

  void Begin() {
    store_->Inspect(partition_, Then<WaitServer>(&Checker::OnFirstServer));
  }

 private:
  template <typename T>
  WaitStore::Callback<T> Then(void (Checker::*next)(T&&)) {
    return [self = shared_from_this(), next](absl::StatusOr<T> reply) {
      if (!reply.ok()) return self->callback_(reply.status());
      ((*self).*next)(*std::move(reply));
    };
  }

  void Finish() { callback_(std::move(report_)); }

  void OnFirstServer(WaitServer&& server) {
    const bool is_usable = server.is_usable;
    Add(std::move(server));
    if (!is_usable) return Finish();
    store_->Open(
        partition_.space, partition_.name, options_.partitions,
        [self = shared_from_this()](const absl::StatusOr<int64_t>& count) {
          self->OnOpen(count);
        });
  }

  void OnOpen(const absl::StatusOr<int64_t>& count) {
    // If the store refuses the name because of its settings, the report already
    // says why.
    const bool is_refused = absl::IsFailedPrecondition(count.status()) &&
                            !report_.servers.front().faults.empty();
    if (!count.ok() && !is_refused) return callback_(count.status());
    if (count.ok() && *count != options_.partitions) {
      return callback_(absl::FailedPreconditionError(absl::StrCat(
          partition_.name, " has ", *count, " partitions in the store, and ",
          options_.partitions, " in the options")));
    }
    Step("");
  }

  void OnServer(WaitServer&& server) {
    Add(std::move(server));
    Step("");
  }

  void Add(WaitServer server) {
    for (const WaitServer& known : report_.servers) {
      if (known.id == server.id) return;
    }
    report_.servers.push_back(std::move(server));
  }

  void Step(std::string cursor) {
    store_->Check(partition_, std::move(cursor),
                  Then<CheckReply>(&Checker::OnStep));
  }

  void OnStep(CheckReply&& reply) {
    suspects_.insert(reply.keys.begin(), reply.keys.end());
    if (reply.sees_records) {
      report_.records += reply.records;
      pending_ += reply.pending;
      if (!first_.has_value()) first_ = reply;
      last_ = reply;
    }
    if (!reply.cursor.empty()) return Step(reply.cursor);
    Examine();
  }

  // Looks again at the suspects that a step has found.
  void Examine() {
    if (suspects_.empty()) return Count();
    ExamineRequest request = {.partition = partition_,
                              .repairs = options_.repairs};
    while (!suspects_.empty() && request.keys.size() < kMaxExamined) {
      request.keys.push_back(
          std::move(suspects_.extract(suspects_.begin()).value()));
    }
    store_->Examine(std::move(request),
                    Then<std::vector<FaultyWait>>(&Checker::OnExamined));
  }

  void OnExamined(std::vector<FaultyWait>&& waits) {
    for (FaultyWait& wait : waits) {
      if (wait.fault == WaitFault::kNoRecord) ++orphans_;
      AddFinding({.fault = wait.fault,
                  .partition = partition_.index,
                  .key = std::move(wait.key)});
    }
    Examine();
  }

  void AddFinding(DurableFinding finding) {
    ++report_.found;
    if (report_.findings.size() < kMaxFindings) {
      report_.findings.push_back(std::move(finding));
    }
  }

  // Every wait that was enqueued is pending, has ended, or is an orphan.
  void Count() {
    const int64_t missing = Missing();
    if (missing == 0) return NextPartition();
    AddFinding({.fault = WaitFault::kMiscounted,
                .partition = partition_.index,
                .missing = missing});
    if (!options_.repairs) return NextPartition();
    store_->Examine(
        {.partition = partition_, .repairs = true, .missing = missing},
        Then<std::vector<FaultyWait>>(&Checker::OnCounted));
  }

  void OnCounted(std::vector<FaultyWait>&& /*waits*/) { NextPartition(); }

  int64_t Missing() {
    if (!last_.has_value()) return 0;
    const int64_t unended = last_->enqueued - last_->ended;
    const int64_t orphans = last_->orphans + orphans_;
    if (first_->fence == last_->fence && first_->enqueued == last_->enqueued) {
      const int64_t vanished = unended - pending_;
      if (vanished < 0) return vanished;
      return std::max<int64_t>(0, vanished - orphans);
    }
    ++report_.uncounted;
    if (unended < 0) return unended;
    return std::max<int64_t>(0, unended - orphans - last_->due);
  }

  void NextPartition() {
    suspects_.clear();
    first_.reset();
    last_.reset();
    pending_ = 0;
    orphans_ = 0;
    if (++partition_.index == options_.partitions) return Finish();
    store_->Inspect(partition_, Then<WaitServer>(&Checker::OnServer));
  }

  const std::shared_ptr<WaitStore> store_;
  const DurableCheckOptions options_;
  const Callback callback_;
  DurableCheckReport report_;
  WaitPartition partition_;

  // State of the partition.
  std::set<std::string> suspects_;
  std::optional<CheckReply> first_;  // Replies of the steps that see records.
  std::optional<CheckReply> last_;
  int64_t pending_ = 0;
  int64_t orphans_ = 0;  // Found; the store may count them by now.
};

}  // namespace

bool DurableCheckReport::is_clean() const {
  return found == 0 &&
         std::all_of(servers.begin(), servers.end(),
                     [](const WaitServer& s) { return s.faults.empty(); });
}

std::string_view ToString(WaitFault fault) {
  switch (fault) {
    case WaitFault::kNoRecord:
      return "no-record";
    case WaitFault::kAdrift:
      return "adrift";
    case WaitFault::kStillPending:
      return "still-pending";
    case WaitFault::kNotDelivered:
      return "not-delivered";
    case WaitFault::kKeptNothing:
      return "kept-nothing";
    case WaitFault::kLeftover:
      return "leftover";
    case WaitFault::kMiscounted:
      return "miscounted";
  }
  return "unknown";
}

std::string ToString(const DurableFinding& finding) {
  if (finding.fault != WaitFault::kMiscounted) {
    return absl::StrCat(finding.key, " ",
                        internal::ToAbsl(Explanation(finding.fault)));
  }
  if (finding.missing > 0) {
    return absl::StrCat("partition ", finding.partition, ": ", finding.missing,
                        " waits were enqueued, but are neither pending nor "
                        "ended: they are lost; enqueue again those that still "
                        "matter");
  }
  return absl::StrCat("partition ", finding.partition, ": ", -finding.missing,
                      " more waits than were enqueued: the counters were "
                      "lost, and status shows too few");
}

void CheckDurableWaits(
    std::shared_ptr<WaitStore> store, const std::string& name,
    const DurableCheckOptions& options,
    std::function<void(absl::StatusOr<DurableCheckReport>)> callback) {
  absl::Status status = internal::CheckName(name);
  status.Update(internal::CheckSpace(options.space, options.partitions));
  if (!status.ok()) {
    store->RunAt(MonotonicTime(), [callback = std::move(callback), status] {
      callback(status);
    });
    return;
  }
  std::make_shared<Checker>(std::move(store), name, options,
                            std::move(callback))
      ->Begin();
}

}  // namespace waiter
