// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Delays from sources other than the backoffs of options.h: from a function,
// from how long earlier waits took (learned/learned_delays.h), or from your own
// class.
//
// A function replaces all delays. This one polls once per minute after an hour,
// and until then as the other options say:
//
//   options.delay_source = [](const waiter::DelayRequest& request,
//                             absl::BitGenRef gen) {
//     if (request.elapsed > absl::Hours(1)) return absl::Minutes(1);
//     return request.computed();
//   };
//
// It may also end the wait, here when polling is pointless:
//
//   [](const waiter::DelayRequest& request,
//      absl::BitGenRef gen) -> std::optional<absl::Duration> {
//     if (request.found.detail() == "PAUSED") return std::nullopt;
//     return request.computed();
//   };
//
// The limits of a wait, its deadline and its last poll also apply to these
// delays. A source does not classify answers; that is the task of the status
// function.

#ifndef WAITER_DELAY_SOURCE_H_
#define WAITER_DELAY_SOURCE_H_

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter {

// The situation after a poll that found neither success nor failure. Valid only
// during the call to the source.
struct DelayRequest {
  // The answer of the poll.
  const Poll<>& found;

  // Number of polls so far, at least 1.
  int64_t attempt;

  // Time since the start of the wait.
  absl::Duration elapsed;

  // Time until the deadline of the wait: above zero, infinite without one.
  absl::Duration remaining;

  // The server's `retry_after`, at most `max_retry_after`; zero without one.
  absl::Duration retry_after = absl::ZeroDuration();

  // Returns the delay that the source replaces, before it is fitted to the
  // deadline. The first call draws from the generator and advances the
  // backoffs; later calls repeat it.
  absl::FunctionRef<absl::Duration()> computed;
};

// Duration of one operation, as bounded by polls: the operation ended after
// `after` and by `by`, both counted from the start of the wait. If the duration
// is exact, the two are equal. If the wait ended before its operation, `by` is
// infinite: the duration then counts as at least `after`, not as short.
struct ObservedDuration {
  absl::Duration after = absl::ZeroDuration();
  absl::Duration by = absl::InfiniteDuration();
};

// Waits on several threads use the same source, so its functions must be safe
// to call concurrently. It keeps no state for each wait: a delay should depend
// on the request.
class DelaySource {
 public:
  // The delays of the options that a source replaces.
  enum class Replaces : uint8_t {
    // After "not ready": `backoff`, but neither its `min_delay` nor a server's
    // `retry_after`.
    kBackoff,
    // After every status but success: all backoffs and `retry_after`.
    kAllDelays,
  };

  virtual ~DelaySource() = default;

  // Returns the source for waits for `operation`, or null if it is this object.
  // Called once for each policy, whose waits use `clock`.
  virtual std::shared_ptr<DelaySource> ForOperation(
      std::string_view /*operation*/, Clock& /*clock*/) {
    return nullptr;
  }

  // Returns a source with the same delays that records nothing, for simulated
  // waits, or null if this object is such a source.
  virtual std::shared_ptr<DelaySource> ForSimulation() const { return nullptr; }

  // The result must not change.
  virtual Replaces replaces() const { return Replaces::kAllDelays; }

  // Returns the delay before the next poll. A negative or infinite delay, such
  // as NaN arithmetic yields, is replaced by `computed()`. nullopt ends the
  // wait with `StopReason::kDelaySource`, or, from a source that replaces
  // `kBackoff`, leaves the delay to `backoff`.
  //
  // Draw random delays from `gen`, so that `WaitOptions::seed` and tests
  // control them; it is valid only during the call. An exception ends the wait,
  // like one from the status function.
  virtual std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                                  absl::BitGenRef gen) = 0;

  // Returns whether waits call `RecordDuration`, which costs memory per wait.
  // The result must not change.
  virtual bool records_durations() const { return false; }

  // Takes the duration of the operation, as a wait that ended at `now` observed
  // it. Not called for a wait that observed nothing: one whose first poll
  // succeeded, or one that ended without success and never found "not ready"
  // after its start.
  virtual void RecordDuration(const ObservedDuration& /*duration*/,
                              MonotonicTime /*now*/) {}
};

// A function as a source: `NextDelay` of a source that replaces all delays.
using DelayFunction = std::function<std::optional<absl::Duration>(
    const DelayRequest& request, absl::BitGenRef gen)>;

// Returns a source whose nth delay is the nth of `delays`; the last one
// repeats.
//
//   options.delay_source = waiter::DelayList({100ms, 250ms, 500ms, 1s});
//
// A longer `retry_after` replaces a delay. With an empty list, the other
// options set all delays.
DelayFunction DelayList(std::vector<Duration> delays);

// Delays of waits to which a watch (an event stream, a subscription, a
// connection with notifications) reports changes. While it is connected, polls
// are rare; when it breaks, the waits poll immediately and then by their
// backoff, until it is connected again.
//
//   waiter::PollNotifier changed;
//   const auto watched = std::make_shared<waiter::WatchedDelays>(
//       [changed] { changed.PollNow(); }, absl::Seconds(30));
//   std::thread watcher([&] {
//     while (!is_over) {
//       Stream events = client.Subscribe("jobs/7");
//       watched->OnConnected();
//       while (events.Next()) watched->OnChange();
//       watched->OnBroken();
//     }
//   });
//   waiter::Waiter wait(GetJob, {.delay_source = watched});
//   wait.Wait({.stop = stop_token, .notifier = &changed});
//
// A watch only says when to poll, so one that loses a change delays the end of
// a wait but does not prevent it. With the backoff's `max_delay` as `delay`, a
// loss costs no more than polling without a watch. `HttpWatch` (interop/http.h)
// follows streams over HTTP.
//
// Replaces the backoff after "not ready". Thread-safe.
class WatchedDelays : public DelaySource {
 public:
  // `poll_now` makes the waits poll, by `PollNotifier::PollNow` or
  // `WaitHandle::PollNow`, and must be safe to call on the threads of the
  // watch. While the watch is connected, polls are delayed by `delay` minus up
  // to a quarter.
  WatchedDelays(std::function<void()> poll_now, Duration delay);

  // Report events of the watch. Each makes the waits poll, which also finds a
  // change between their last poll and the connection.
  void OnConnected();
  void OnChange();
  void OnBroken();

  bool is_connected() const;

  Replaces replaces() const override { return Replaces::kBackoff; }
  std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                          absl::BitGenRef gen) override;

 private:
  const std::function<void()> poll_now_;
  const absl::Duration delay_;
  std::atomic<bool> is_connected_ = false;
};

// The value of `WaitOptions::delay_source`: a source that waits share, or none.
// Converts from a `std::shared_ptr` and from a function.
class SharedDelaySource {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `{.delay_source = function}`
  SharedDelaySource(std::nullptr_t = nullptr) {}
  template <std::derived_from<DelaySource> Source>
  SharedDelaySource(std::shared_ptr<Source> source)
      : source_(std::move(source)) {}
  template <std::convertible_to<DelayFunction> Function>
  SharedDelaySource(Function function) : source_(From(std::move(function))) {}
  // NOLINTEND(google-explicit-constructor)

  DelaySource* get() const { return source_.get(); }
  DelaySource* operator->() const { return source_.get(); }
  friend bool operator==(const SharedDelaySource& a, std::nullptr_t) {
    return a.source_ == nullptr;
  }

  // Call the source, which must be set. Return the source itself instead of
  // null.
  SharedDelaySource ForOperation(std::string_view operation,
                                 Clock& clock) const {
    return OrThis(source_->ForOperation(operation, clock));
  }
  SharedDelaySource ForSimulation() const {
    return OrThis(source_->ForSimulation());
  }

 private:
  class FromFunction : public DelaySource {
   public:
    explicit FromFunction(DelayFunction function)
        : function_(std::move(function)) {}

    std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                            absl::BitGenRef gen) override {
      return function_(request, gen);
    }

   private:
    const DelayFunction function_;
  };

  static std::shared_ptr<DelaySource> From(DelayFunction function) {
    if (function == nullptr) return nullptr;
    return std::make_shared<FromFunction>(std::move(function));
  }

  SharedDelaySource OrThis(std::shared_ptr<DelaySource> source) const {
    return source == nullptr ? *this : SharedDelaySource(std::move(source));
  }

  std::shared_ptr<DelaySource> source_;
};

}  // namespace waiter

#endif  // WAITER_DELAY_SOURCE_H_
