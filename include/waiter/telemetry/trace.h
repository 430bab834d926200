// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Traces of waits: a span for each wait, with a span for each of its polls.
//
//   waiter::WaitResult<Instance> result =
//       waiter::Traced(tracer, waiter::Waiter(GetInstance, options)).Wait();
//
//   waiter::WaitHandle handle =
//       engine.Start(waiter::Traced(tracer, wait_until_running), Use);
//
// The span of a poll is current while the status function runs, on any thread,
// so spans of the client that the function calls become its children. The span
// of the wait is a child of the span that was current when `Traced` was called.
//
// `tracer` is a class that implements `Tracer`. docs/observability.md shows one
// for opentelemetry-cpp; Waiter itself depends on no tracing library.

#ifndef WAITER_TELEMETRY_TRACE_H_
#define WAITER_TELEMETRY_TRACE_H_

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/internal/waiter_parts.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/version.h"
#include "waiter/waiter.h"

namespace waiter {

// One attribute of a span or an event. The views are valid during the call that
// receives them.
struct TraceAttribute {
  std::string_view key;
  std::variant<int64_t, double, std::string_view> value;
};

// The interface of a tracing library: a class with eight functions, each of
// them one line that calls the library.
//
//   struct MyTracer {
//     using Context = ...;  // The current span, as the library keeps it.
//     using Span = ...;
//
//     Context Current();  // Of the calling thread.
//     Context With(const Context& parent, const Span& span);
//     auto MakeCurrent(const Context& context);  // Until the result is gone.
//     Span StartSpan(std::string_view name, const Context& parent);
//     void SetAttribute(Span& span, const waiter::TraceAttribute& attribute);
//     void AddEvent(Span& span, std::string_view name,
//                   std::chrono::system_clock::time_point time,
//                   std::span<const waiter::TraceAttribute> attributes);
//     void SetError(Span& span, std::string_view description);
//     void End(Span& span);
//   };
//
// Copies refer to the same tracer. Its functions are called without a lock, for
// different spans possibly on several threads at the same time, and must not
// throw. Results of `MakeCurrent` are destroyed on the thread that called it,
// in reverse order of the calls.
template <typename T>
concept Tracer = std::copy_constructible<T> &&
    std::copy_constructible<typename T::Context> &&
    std::movable<typename T::Span> &&
    requires(T& tracer, const typename T::Context& context,
             typename T::Span& span, const typename T::Span& const_span,
             const TraceAttribute& attribute, std::string_view text,
             std::chrono::system_clock::time_point time,
             std::span<const TraceAttribute> attributes) {
  { tracer.Current() } -> std::convertible_to<typename T::Context>;
  {
    tracer.With(context, const_span)
    } -> std::convertible_to<typename T::Context>;
  { tracer.MakeCurrent(context) } -> std::destructible;
  { tracer.StartSpan(text, context) } -> std::convertible_to<typename T::Span>;
  tracer.SetAttribute(span, attribute);
  tracer.AddEvent(span, text, time, attributes);
  tracer.SetError(span, text);
  tracer.End(span);
};

// Limits of the trace of one wait.
struct TraceOptions {
  // Number of polls that have a span. During later polls, the span of the wait
  // is current.
  int64_t poll_spans = 100;

  // Numbers of polls, at the beginning and end of the wait, that become events
  // of its span.
  int64_t first_events = 8;
  int64_t last_events = 8;
};

namespace internal {

// The observer that opens and closes the spans of waits. The hooks of a wait
// run one at a time, so the lock guards only the table and the contexts, which
// a poll on an executor may read while its wait ends.
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
    Context context;  // The poll's or the wait's. Guarded by `mutex_`.
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
      const std::string_view detail = event.detail;
      attributes.push_back({"detail", detail});
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

  // Returns the context of a poll whose wait may have ended.
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

// The status function of a traced wait, which runs in the span of its poll.
template <Tracer T, typename F>
class TracedFunction {
 public:
  TracedFunction(std::shared_ptr<WaitTracer<T>> tracer, F function)
      : tracer_(std::move(tracer)), function_(std::move(function)) {}

  decltype(auto) operator()(const PollContext& context) {
    [[maybe_unused]] const auto scope = tracer_->Enter(context.wait_id);
    if constexpr (TakesContext<F>) {
      return std::invoke(function_, context);
    } else {
      return std::invoke(function_);
    }
  }

 private:
  std::shared_ptr<WaitTracer<T>> tracer_;
  F function_;
};

// Traces a function that takes a completion.
template <Tracer T, typename F>
class AsyncTracedFunction {
 public:
  AsyncTracedFunction(std::shared_ptr<WaitTracer<T>> tracer, F function)
      : tracer_(std::move(tracer)), function_(std::move(function)) {}

  void operator()(const PollContext& context,
                  PollCompletion<typename AsyncCallOf<F>::type> done) {
    [[maybe_unused]] const auto scope = tracer_->Enter(context.wait_id);
    if constexpr (AsyncCallOf<F>::kTakesContext) {
      std::invoke(function_, context, std::move(done));
    } else {
      std::invoke(function_, std::move(done));
    }
  }

  bool IsAwaited() const requires requires(const F& f) { f.IsAwaited(); }
  { return function_.IsAwaited(); }

 private:
  std::shared_ptr<WaitTracer<T>> tracer_;
  F function_;
};

// Returns `waiter` as a `Result`, whose function is a `Function` and whose
// observer is the policy's, followed by a tracer.
template <typename Result, typename Function, Tracer T, typename W>
Result MakeTraced(T tracer, W waiter, const TraceOptions& trace_options) {
  const auto observer =
      std::make_shared<WaitTracer<T>>(std::move(tracer), trace_options);
  const WaitPolicy& policy = *WaiterParts<W>::Policy(waiter);
  WaitOptions options = policy.options();
  options.hooks.observer =
      std::make_shared<ObserverList>(std::vector<std::shared_ptr<WaitObserver>>{
          std::move(options.hooks.observer), observer});
  return Result(Function(observer, std::move(WaiterParts<W>::Function(waiter))),
                WaitPolicy::Make(std::move(options), policy.status()));
}

}  // namespace internal

// Returns a waiter that does what `waiter` does and traces each of its waits.
// Takes about 1 KB for each pending wait. The observer of the options, if any,
// is called before the tracer.
//
// The span of a wait is named "wait OPERATION", or "wait" without an operation,
// and has the attributes
//
//   waiter.name                        of the options or of `Start`
//   waiter.operation                   unless it is empty
//   waiter.timeout                     seconds, unless infinite
//   waiter.polls, waiter.stop_reason   at its end
//   error.type                         the code, if the wait did not succeed
//
// The span has the status "error" only if the wait did not succeed: a poll that
// finds "not ready" is not an error of the operation. The first and the last
// eight polls (see `TraceOptions`) are also events "waiter.poll" of this span,
// with `attempt`, `status`, `detail`, `delay` in seconds and `reason`. The span
// of a poll is named "poll OPERATION" and has the attributes
// `waiter.poll.attempt` and `waiter.poll.status`; a poll that fails the wait
// has the status "error".
//
// The functions of `tracer` must not throw.
template <Tracer T, typename F>
Waiter<internal::TracedFunction<T, F>> Traced(
    T tracer, Waiter<F> waiter, const TraceOptions& options = {}) {
  using Function = internal::TracedFunction<T, F>;
  return internal::MakeTraced<Waiter<Function>, Function>(
      std::move(tracer), std::move(waiter), options);
}

// Traces a function that takes a completion. The span of a poll is current
// until the function returns, and ends when the poll is answered.
template <Tracer T, typename F>
AsyncWaiter<internal::AsyncTracedFunction<T, F>> Traced(
    T tracer, AsyncWaiter<F> waiter, const TraceOptions& options = {}) {
  using Function = internal::AsyncTracedFunction<T, F>;
  return internal::MakeTraced<AsyncWaiter<Function>, Function>(
      std::move(tracer), std::move(waiter), options);
}

}  // namespace waiter

#endif  // WAITER_TELEMETRY_TRACE_H_
