// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/hash/hash.h"
#include "absl/time/time.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/observer.h"
#include "waiter/result.h"
#include "waiter/telemetry/metrics.h"

namespace waiter {
namespace {

// Returns a number that no other table of this process has.
uint64_t NextTableId() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

// The operations that have been seen: a hash table that only grows, so that it
// is read without a lock.
class MetricsObserver::Operations {
 public:
  struct Operation {
    std::string name;
    int index;
  };

  ~Operations() {
    for (const std::atomic<Operation*>& slot : slots_) delete slot.load();
  }

  // Returns the operation of `wait`, or "other" if there are too many.
  const Operation& Find(const WaitIdentity& wait) {
    // Most often a thread asks for its last wait again, or for another one with
    // the same operation. The entry belongs to this table, so it is still
    // there.
    thread_local uint64_t last_table = 0;
    thread_local uint64_t last_wait = 0;
    thread_local const Operation* last = nullptr;
    if (last != nullptr && last_table == id_ &&
        (last_wait == wait.id || last->name == wait.operation)) {
      last_wait = wait.id;
      return *last;
    }
    last = &Lookup(wait.operation);
    last_table = id_;
    last_wait = wait.id;
    return *last;
  }

 private:
  static constexpr size_t kSlots = 256;
  static_assert(kSlots > size_t{2} * MetricSeries::kMaxOperations);

  const Operation& Lookup(std::string_view name) {
    size_t at =
        absl::Hash<absl::string_view>()(internal::ToAbsl(name)) % kSlots;
    if (const Operation* found = Probe(name, at)) return *found;
    // Two series with the same labels would not be valid metrics.
    if (name == other_.name) return other_;
    if (is_full_.load(std::memory_order_acquire)) {
      // It may have been the last that was added.
      const Operation* found = Probe(name, at);
      return found != nullptr ? *found : other_;
    }
    const internal::MutexLock lock(mutex_);
    if (const Operation* found = Probe(name, at)) return *found;
    if (size_ == MetricSeries::kMaxOperations) return other_;
    auto* const added = new Operation{std::string(name), size_++};
    slots_[at].store(added, std::memory_order_release);
    if (size_ == MetricSeries::kMaxOperations) {
      is_full_.store(true, std::memory_order_release);
    }
    return *added;
  }

  // Looks for the operation from the slot `at` on. Without one, returns
  // null, and `at` is the first free slot.
  const Operation* Probe(std::string_view name, size_t& at) const {
    for (;; at = (at + 1) % kSlots) {
      const Operation* const found = slots_[at].load(std::memory_order_acquire);
      if (found == nullptr || found->name == name) return found;
    }
  }

  const uint64_t id_ = NextTableId();
  const Operation other_ = {"other", MetricSeries::kOtherOperation};
  std::array<std::atomic<Operation*>, kSlots> slots_ = {};
  std::atomic<bool> is_full_ = false;
  internal::Mutex mutex_;
  int size_ ABSL_GUARDED_BY(mutex_) = 0;
};

MetricsObserver::MetricsObserver(std::shared_ptr<MetricsSink> sink)
    : sink_(std::move(sink)), operations_(std::make_unique<Operations>()) {}

MetricsObserver::~MetricsObserver() = default;

void MetricsObserver::OnStart(const StartEvent& start) {
  const auto& [name, index] = operations_->Find(start.wait);
  sink_->Add(MetricSeries::WaitActive(index, name), 1);
}

void MetricsObserver::AfterPoll(const PollEvent& poll) {
  const auto& [name, index] = operations_->Find(poll.wait);
  sink_->Record(
      MetricSeries::PollDuration(index, name, poll.found.status()),
      // Several times as fast as `absl::ToDoubleSeconds`.
      // NOLINTNEXTLINE(abseil-duration-conversion-cast)
      static_cast<double>(absl::ToInt64Nanoseconds(poll.took)) * 1e-9);
}

void MetricsObserver::OnDone(const WaitIdentity& wait,
                             const WaitReport& report) {
  const auto& [name, index] = operations_->Find(wait);
  sink_->Record(MetricSeries::WaitDuration(index, name, report.reason,
                                           report.status.code()),
                absl::ToDoubleSeconds(report.elapsed));
  sink_->Record(MetricSeries::WaitPolls(index, name, report.reason),
                static_cast<double>(report.attempts));
  sink_->Record(MetricSeries::WaitDelay(index, name),
                absl::ToDoubleSeconds(report.slept));
  sink_->Add(MetricSeries::WaitActive(index, name), -1);
}

WaitObserver::PollHooks MetricsObserver::poll_hooks() const {
  return {.before_poll = false, .on_decision = false, .before_sleep = false};
}

}  // namespace waiter
