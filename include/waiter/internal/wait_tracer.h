// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The observer that opens and closes the spans of waits for `Traced`
// (telemetry/traced.h).

#ifndef WAITER_INTERNAL_WAIT_TRACER_H_
#define WAITER_INTERNAL_WAIT_TRACER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/observer.h"
#include "waiter/poll_status.h"
#include "waiter/telemetry/tracer.h"
#include "waiter/wait_report.h"

namespace waiter::internal {

// The spans of pending waits. The hooks of one wait run one at a time, so the
// lock guards only the table, and the context, which a poll on an executor
// reads while its wait may end.
template <Tracer T>
class WaitTracer : public WaitObserver {
 public:
  using Context = typename T::Context;

  WaitTracer(T tracer, const TraceOptions& options)
      : tracer_(std::move(tracer)),
        options_(options),
        parent_(tracer_.Current()) {}

  // Makes the span of the current poll of a wait current until the result is
  // destroyed.
  auto Enter(uint64_t wait_id) {
    return tracer_.MakeCurrent(ContextOf(wait_id));
  }

  void OnStart(const StartEvent& start) override {
    const WaitIdentity& wait = start.wait;
    auto spans = std::make_shared<Spans>(
        tracer_.StartSpan(NameOf("wait", wait), parent_), parent_);
    spans->wait_context = tracer_.With(parent_, spans->wait);
    spans->context = spans->wait_context;
    Set(spans->wait, "waiter.name", wait.name);
    if (!wait.operation.empty()) {
      Set(spans->wait, "waiter.operation", wait.operation);
    }
    if (start.timeout != absl::InfiniteDuration()) {
      Set(spans->wait, "waiter.timeout", absl::ToDoubleSeconds(start.timeout));
    }
    const MutexLock lock(mutex_);
    waits_[wait.id] = std::move(spans);
  }

  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override {
    const std::shared_ptr<Spans> spans = Find(wait.id);
    if (attempt > options_.poll_spans) return;
    spans->poll.emplace(
        tracer_.StartSpan(NameOf("poll", wait), spans->wait_context));
    Set(*spans->poll, "waiter.poll.attempt", attempt);
    SetContext(*spans, tracer_.With(spans->wait_context, *spans->poll));
  }

  void AfterPoll(const PollEvent& poll) override {
    const std::shared_ptr<Spans> spans = Find(poll.wait.id);
    if (!spans->poll.has_value()) return;
    Set(*spans->poll, "waiter.poll.status",
        PollStatusName(poll.found.status()));
    if (poll.found.status() == PollStatus::kFailed) {
      tracer_.SetError(*spans->poll, ToStd(poll.found.error().message()));
    }
    tracer_.End(*spans->poll);
    spans->poll.reset();
    SetContext(*spans, spans->wait_context);
  }

  void OnDecision(const DecisionEvent& decision) override {
    const std::shared_ptr<Spans> spans = Find(decision.poll.wait.id);
    if (decision.poll.attempt <= options_.first_events) {
      Write(Event(decision), spans->wait);
    } else if (options_.last_events > 0) {
      const auto kept = static_cast<size_t>(options_.last_events);
      if (spans->last.size() == kept) spans->last.pop_front();
      spans->last.emplace_back(decision);
    }
  }

  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    const std::shared_ptr<Spans> spans = Take(wait.id);
    for (const Event& event : spans->last) Write(event, spans->wait);
    Set(spans->wait, "waiter.polls", report.attempts);
    Set(spans->wait, "waiter.stop_reason", StopReasonName(report.reason));
    if (!report.status.ok()) {
      Set(spans->wait, "error.type",
          absl::StatusCodeToString(report.status.code()));
      tracer_.SetError(spans->wait, ToStd(report.status.message()));
    }
    tracer_.End(spans->wait);
  }

 private:
  using Span = typename T::Span;
  using Value = decltype(TraceAttribute::value);

  // A poll, kept until it is known whether it is one of the last.
  struct Event {
    explicit Event(const DecisionEvent& decision)
        : attempt(decision.poll.attempt),
          status(decision.poll.found.status()),
          detail(decision.poll.found.detail()),
          delay(decision.delay),
          reason(decision.reason) {}

    std::chrono::system_clock::time_point time =
        std::chrono::system_clock::now();
    int64_t attempt;
    PollStatus status;
    std::string detail;
    absl::Duration delay;
    std::optional<SleepReason> reason;
  };

  struct Spans {
    Spans(Span wait_span, const Context& parent)
        : wait(std::move(wait_span)), wait_context(parent), context(parent) {}

    Span wait;
    Context wait_context;
    std::optional<Span> poll;
    Context context;  // Of the poll, or of the wait. Guarded by `mutex_`.
    std::deque<Event> last;
  };

  static std::string NameOf(const char* kind, const WaitIdentity& wait) {
    std::string name = kind;
    if (!wait.operation.empty()) name.append(" ").append(wait.operation);
    return name;
  }

  void Set(Span& span, std::string_view key, Value value) {
    tracer_.SetAttribute(span, TraceAttribute{key, value});
  }

  void Write(const Event& event, Span& span) {
    std::vector<TraceAttribute> attributes = {
        {"attempt", event.attempt}, {"status", PollStatusName(event.status)}};
    if (!event.detail.empty()) {
      attributes.push_back({"detail", std::string_view(event.detail)});
    }
    if (event.reason.has_value()) {
      attributes.push_back({"delay", absl::ToDoubleSeconds(event.delay)});
      attributes.push_back({"reason", SleepReasonName(*event.reason)});
    }
    tracer_.AddEvent(span, "waiter.poll", event.time,
                     std::span<const TraceAttribute>(attributes));
  }

  std::shared_ptr<Spans> Find(uint64_t wait_id) {
    const MutexLock lock(mutex_);
    return waits_.find(wait_id)->second;
  }

  std::shared_ptr<Spans> Take(uint64_t wait_id) {
    const MutexLock lock(mutex_);
    const auto found = waits_.find(wait_id);
    std::shared_ptr<Spans> spans = std::move(found->second);
    waits_.erase(found);
    return spans;
  }

  void SetContext(Spans& spans, Context context) {
    const MutexLock lock(mutex_);
    // Swapped, so that the old context is destroyed after the lock is released.
    using std::swap;
    swap(spans.context, context);
  }

  // Returns the context of a poll whose wait may have ended meanwhile.
  Context ContextOf(uint64_t wait_id) {
    const MutexLock lock(mutex_);
    const auto found = waits_.find(wait_id);
    return found == waits_.end() ? parent_ : found->second->context;
  }

  T tracer_;
  const TraceOptions options_;
  const Context parent_;
  Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Spans>> waits_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_WAIT_TRACER_H_
