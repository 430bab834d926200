// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/durable/client.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/poll.h"
#include "waiter/redis/budget_member.h"
#include "waiter/result.h"
#include "waiter/text.h"

namespace waiter {

namespace internal {
namespace {

// Maximum number of items in one call of the store.
constexpr size_t kMaxItems = 250;

EnqueueItem ToItem(DurableRequest request) {
  DurableRecord record;
  if (request.timeout.has_value()) {
    record.timeout_us = absl::ToInt64Microseconds(*request.timeout);
  }
  return {.key = std::move(request.key),
          .delay_us = absl::ToInt64Microseconds(request.first_delay),
          .record = record.EncodeRest(),
          .args = std::move(request.args)};
}

DurableStatus ToStatus(const std::string& space, const std::string& name,
                       const StoredWait& wait) {
  DurableStatus status = {
      .key = wait.key, .is_cancelled = wait.is_cancelled, .args = wait.args};
  const absl::StatusOr<DurableRecord> record = ParseRecord(wait.record);
  if (!wait.exists()) return status;
  if (!record.ok()) {
    status.phase = DurableStatus::Phase::kPending;
    status.last_poll = std::string(record.status().message());
    return status;
  }
  status.enqueued = absl::FromUnixMicros(record->born_us);
  if (wait.due_us.has_value()) {
    status.due = absl::FromUnixMicros(*wait.due_us);
    status.is_held = DueNumber(*wait.due_us).is_leased();
  }
  if (record->phase == WaitPhase::kPending) {
    status.phase = DurableStatus::Phase::kPending;
    if (!record->token.empty()) {
      const SavedWait saved =
          RestoreWait(record->token, {{}, absl::InfinitePast()});
      status.attempts = saved.report.attempts;
      status.last_poll = std::string(saved.report.last_poll.detail());
    }
    return status;
  }
  status.phase = record->phase == WaitPhase::kEnded
                     ? DurableStatus::Phase::kEnded
                     : DurableStatus::Phase::kDelivered;
  status.attempts = record->attempts;
  status.result = ToResult(space, name, wait.key, *record, wait.value);
  return status;
}

// Calls the callback after the last of several answers.
struct EnqueueProgress {
  size_t left = 0;
  DurableClient::Callback<int64_t> callback = nullptr;
  int64_t created = 0;
  absl::Status status = {};

  void Add(const absl::StatusOr<EnqueueReply>& reply) {
    status.Update(reply.status());
    if (reply.ok()) {
      created += std::count(reply->created.begin(), reply->created.end(), true);
    }
    if (--left > 0) return;
    if (status.ok()) {
      callback(created);
    } else {
      callback(status);
    }
  }
};

struct StatsProgress {
  int64_t left = 0;
  DurableClient::Callback<DurableStats> callback = nullptr;
  DurableStats stats = {};
  std::map<std::string, int64_t> counters = {};
  absl::Status status = {};

  void Add(const absl::StatusOr<WaitStats>& reply) {
    status.Update(reply.status());
    if (reply.ok()) AddCounts(*reply);
    if (--left > 0) return;
    stats.counters.assign(counters.begin(), counters.end());
    if (status.ok()) {
      callback(std::move(stats));
    } else {
      callback(status);
    }
  }

  void AddCounts(const WaitStats& of_partition) {
    stats.pending += of_partition.pending;
    stats.overdue += of_partition.overdue;
    stats.kept += of_partition.kept;
    stats.polls += of_partition.polls;
    // Waits that were added, have no result and were not lost.
    int64_t unended = 0;
    if (of_partition.next_us.has_value()) {
      stats.oldest = std::max(
          stats.oldest,
          absl::Microseconds(of_partition.now_us - *of_partition.next_us));
    }
    for (const auto& [counter, count] : of_partition.counters) {
      counters[counter] += count;
      unended += counter == "enqueued" ? count : -count;
    }
    stats.undelivered += std::max<int64_t>(
        0, of_partition.pending - std::max<int64_t>(0, unended));
  }
};

Poll<DurableResult> ToPoll(const std::string& name, const std::string& key,
                           const absl::StatusOr<DurableStatus>& status) {
  if (!status.ok()) return FromStatus(status.status());
  if (status->result.has_value()) return {std::in_place, *status->result};
  if (status->phase == DurableStatus::Phase::kUnknown) {
    return Failed(absl::NotFoundError(
        absl::StrCat(name, " ", key, ": there is no such wait")));
  }
  return NotReady(status->last_poll);
}

}  // namespace

// The functions of `DurableClient`.
class DurableClientImpl
    : public std::enable_shared_from_this<DurableClientImpl> {
 public:
  template <typename T>
  using Callback = DurableClient::Callback<T>;
  using Task = std::function<void(const absl::Status&)>;

  DurableClientImpl(std::shared_ptr<WaitStore> store,
                    DurableClientOptions options)
      : store_(std::move(store)), options_(std::move(options)) {}

  // Calls `task` once the store confirms the number of partitions of the name.
  void Open(const std::string& name, Task task) {
    if (absl::Status status = CheckName(name); !status.ok()) {
      return Later([task = std::move(task), status] { task(status); });
    }
    {
      const MutexLock lock(mutex_);
      NameState& entry = names_[name];
      if (!entry.is_open) {
        entry.tasks.push_back(std::move(task));
        if (entry.tasks.size() > 1) return;
        task = nullptr;
      }
    }
    if (task != nullptr) return task(absl::OkStatus());
    store_->Open(options_.space, name, options_.partitions,
                 [self = shared_from_this(),
                  name](const absl::StatusOr<int64_t>& count) {
                   self->OnOpen(name, count);
                 });
  }

  void EnqueueMany(const std::string& name,
                   std::vector<DurableRequest> requests,
                   Callback<int64_t> callback);
  // Sends the signal, if any, and passes on the state of the wait.
  void One(const std::string& name, const std::string& key,
           std::optional<WaitSignal> signal, Callback<DurableStatus> callback);
  void List(const std::string& name, const std::string& cursor,
            Callback<DurableClient::Listed> callback);
  void Stats(const std::string& name, Callback<DurableStats> callback);
  void Describe(Callback<DurableSpace> callback);

 private:
  struct NameState {
    bool is_open = false;
    std::vector<Task> tasks;
  };

  void OnOpen(const std::string& name, const absl::StatusOr<int64_t>& count) {
    std::vector<Task> tasks;
    absl::Status status = count.status();
    if (count.ok() && *count != options_.partitions) {
      status = absl::FailedPreconditionError(
          absl::StrCat(name, " has ", *count, " partitions in the store, and ",
                       options_.partitions, " in the options"));
    }
    {
      const MutexLock lock(mutex_);
      NameState& entry = names_[name];
      entry.is_open = status.ok();
      tasks.swap(entry.tasks);
    }
    for (const Task& task : tasks) task(status);
  }

  std::vector<EnqueueRequest> Batches(
      const std::string& name,
      const std::vector<DurableRequest>& requests) const;

  WaitPartition Partition(const std::string& name, int index) const {
    return {.space = options_.space, .name = name, .index = index};
  }

  // Calls `function` on the thread of the store.
  void Later(std::function<void()> function) {
    store_->RunAt(MonotonicTime(), std::move(function));
  }

  const std::shared_ptr<WaitStore> store_;
  const DurableClientOptions options_;
  Mutex mutex_;
  std::map<std::string, NameState> names_ ABSL_GUARDED_BY(mutex_);
};

void DurableClientImpl::EnqueueMany(const std::string& name,
                                    std::vector<DurableRequest> requests,
                                    Callback<int64_t> callback) {
  for (const DurableRequest& request : requests) {
    if (absl::Status status = CheckRequest(request); !status.ok()) {
      return Later([callback, status] { callback(status); });
    }
  }
  Open(name, [self = shared_from_this(), name, requests = std::move(requests),
              callback = std::move(callback)](const absl::Status& status) {
    if (!status.ok()) return callback(status);
    std::vector<EnqueueRequest> batches = self->Batches(name, requests);
    if (batches.empty()) return callback(0);
    // The callbacks come on one thread.
    const auto progress = std::make_shared<EnqueueProgress>(
        EnqueueProgress{.left = batches.size(), .callback = callback});
    for (EnqueueRequest& batch : batches) {
      self->store_->Enqueue(
          std::move(batch),
          [progress](const absl::StatusOr<EnqueueReply>& reply) {
            progress->Add(reply);
          });
    }
  });
}

// One or more for each partition.
std::vector<EnqueueRequest> DurableClientImpl::Batches(
    const std::string& name,
    const std::vector<DurableRequest>& requests) const {
  const int64_t most_pending =
      std::max<int64_t>(1, options_.max_pending / options_.partitions);
  std::map<int, EnqueueRequest> open;
  std::vector<EnqueueRequest> batches;
  for (const DurableRequest& request : requests) {
    const int index = PartitionOf(request.key, options_.partitions);
    EnqueueRequest& batch = open[index];
    batch.partition = Partition(name, index);
    batch.most_pending = most_pending;
    batch.items.push_back(ToItem(request));
    if (batch.items.size() < kMaxItems) continue;
    batches.push_back(std::move(batch));
    open.erase(index);
  }
  for (auto& [index, batch] : open) batches.push_back(std::move(batch));
  return batches;
}

void DurableClientImpl::One(const std::string& name, const std::string& key,
                            std::optional<WaitSignal> signal,
                            Callback<DurableStatus> callback) {
  if (absl::Status status = CheckKey(key); !status.ok()) {
    return Later([callback, status] { callback(status); });
  }
  Open(name, [self = shared_from_this(), name, key, signal,
              callback = std::move(callback)](const absl::Status& status) {
    if (!status.ok()) return callback(status);
    const auto answer =
        [self, name,
         callback](const absl::StatusOr<std::vector<StoredWait>>& rows) {
          if (!rows.ok()) return callback(rows.status());
          if (rows->size() != 1) {
            return callback(absl::InternalError("the store returned no wait"));
          }
          callback(ToStatus(self->options_.space, name, rows->front()));
        };
    const WaitPartition partition =
        self->Partition(name, PartitionOf(key, self->options_.partitions));
    if (signal.has_value()) {
      self->store_->Signal(
          {.partition = partition, .keys = {key}, .signal = *signal}, answer);
    } else {
      self->store_->Get(partition, {key}, answer);
    }
  });
}

// A cursor is the partition, a colon, and the cursor of the store.
void DurableClientImpl::List(const std::string& name, const std::string& cursor,
                             Callback<DurableClient::Listed> callback) {
  const size_t colon = std::min(cursor.find(':'), cursor.size());
  const std::string first = cursor.substr(0, colon);
  int index = 0;
  if (!cursor.empty() &&
      (colon == cursor.size() || !absl::SimpleAtoi(first, &index) ||
       first != absl::StrCat(index) || index < 0 ||
       index >= options_.partitions)) {
    return Later([callback] {
      callback(absl::InvalidArgumentError("the cursor did not come from List"));
    });
  }
  const std::string of_store =
      cursor.empty() ? std::string("0") : cursor.substr(colon + 1);
  Open(name, [self = shared_from_this(), name, index, of_store,
              callback = std::move(callback)](const absl::Status& status) {
    if (!status.ok()) return callback(status);
    self->store_->Scan(
        self->Partition(name, index), of_store,
        [self, name, index,
         callback](const absl::StatusOr<WaitStore::ScanReply>& reply) {
          if (!reply.ok()) return callback(reply.status());
          DurableClient::Listed listed;
          for (const StoredWait& wait : reply->waits) {
            // Forgotten since the step.
            if (!wait.exists()) continue;
            listed.waits.push_back(ToStatus(self->options_.space, name, wait));
          }
          if (reply->cursor != "0") {
            listed.cursor = absl::StrCat(index, ":", reply->cursor);
          } else if (index + 1 < self->options_.partitions) {
            listed.cursor = absl::StrCat(index + 1, ":0");
          }
          callback(std::move(listed));
        });
  });
}

void DurableClientImpl::Stats(const std::string& name,
                              Callback<DurableStats> callback) {
  Open(name, [self = shared_from_this(), name,
              callback = std::move(callback)](const absl::Status& status) {
    if (!status.ok()) return callback(status);
    const auto progress = std::make_shared<StatsProgress>(
        StatsProgress{.left = self->options_.partitions, .callback = callback});
    for (int i = 0; i < self->options_.partitions; ++i) {
      self->store_->Stats(self->Partition(name, i),
                          [progress](const absl::StatusOr<WaitStats>& reply) {
                            progress->Add(reply);
                          });
    }
  });
}

void DurableClientImpl::Describe(Callback<DurableSpace> callback) {
  store_->Describe(options_.space, [callback = std::move(callback)](
                                       const absl::StatusOr<WaitSpace>& space) {
    if (!space.ok()) return callback(space.status());
    callback(DurableSpace{.names = space->names,
                          .workers = std::ssize(space->workers)});
  });
}

}  // namespace internal

std::string_view ToString(DurableStatus::Phase phase) {
  switch (phase) {
    case DurableStatus::Phase::kUnknown:
      return "unknown";
    case DurableStatus::Phase::kPending:
      return "pending";
    case DurableStatus::Phase::kEnded:
      return "ended";
    case DurableStatus::Phase::kDelivered:
      break;
  }
  return "delivered";
}

absl::StatusOr<std::unique_ptr<DurableClient>> DurableClient::Make(
    std::shared_ptr<WaitStore> store, const DurableClientOptions& options) {
  if (store == nullptr) return absl::InvalidArgumentError("store is null");
  if (absl::Status status =
          internal::CheckSpace(options.space, options.partitions);
      !status.ok()) {
    return status;
  }
  if (options.max_pending < 1) {
    return internal::InvalidOption("max_pending", options.max_pending,
                                   "at least 1");
  }
  return absl::WrapUnique(
      new DurableClient(std::make_shared<internal::DurableClientImpl>(
          std::move(store), options)));
}

DurableClient::DurableClient(std::shared_ptr<internal::DurableClientImpl> impl)
    : impl_(std::move(impl)) {}

DurableClient::~DurableClient() = default;

void DurableClient::Enqueue(const std::string& name, DurableRequest request,
                            Callback<bool> callback) {
  std::vector<DurableRequest> requests;
  requests.push_back(std::move(request));
  impl_->EnqueueMany(
      name, std::move(requests),
      [callback = std::move(callback)](const absl::StatusOr<int64_t>& created) {
        if (created.ok()) {
          callback(*created == 1);
        } else {
          callback(created.status());
        }
      });
}

void DurableClient::EnqueueMany(const std::string& name,
                                std::vector<DurableRequest> requests,
                                Callback<int64_t> callback) {
  impl_->EnqueueMany(name, std::move(requests), std::move(callback));
}

void DurableClient::Cancel(const std::string& name, const std::string& key,
                           Callback<DurableStatus> callback) {
  impl_->One(name, key, WaitSignal::kCancel, std::move(callback));
}

void DurableClient::Notify(const std::string& name, const std::string& key,
                           Callback<DurableStatus> callback) {
  impl_->One(name, key, WaitSignal::kNotify, std::move(callback));
}

void DurableClient::Forget(const std::string& name, const std::string& key,
                           Callback<DurableStatus> callback) {
  impl_->One(name, key, WaitSignal::kForget, std::move(callback));
}

void DurableClient::Get(const std::string& name, const std::string& key,
                        Callback<DurableStatus> callback) {
  impl_->One(name, key, std::nullopt, std::move(callback));
}

std::function<void(PollCompletion<DurableResult>)> DurableClient::Result(
    const std::string& name, const std::string& key) {
  return [impl = impl_, name, key](PollCompletion<DurableResult> done) {
    impl->One(name, key, std::nullopt,
              [name, key, done = std::move(done)](
                  const absl::StatusOr<DurableStatus>& status) {
                done(internal::ToPoll(name, key, status));
              });
  };
}

void DurableClient::List(const std::string& name, const std::string& cursor,
                         Callback<Listed> callback) {
  impl_->List(name, cursor, std::move(callback));
}

void DurableClient::Stats(const std::string& name,
                          Callback<DurableStats> callback) {
  impl_->Stats(name, std::move(callback));
}

void DurableClient::Describe(Callback<DurableSpace> callback) {
  impl_->Describe(std::move(callback));
}

}  // namespace waiter
