// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A name that a worker polls, with the program's functions and policy for it.
// Puts waits of the name on the engine:
//
//   auto registration = Registration::Make(spec, engine, clock, hooks);
//   if (!registration.ok()) return registration.status();
//   handle = (*registration)->Resume(key, token, is_cancelled, on_end);

#ifndef WAITER_DURABLE_REGISTRATION_H_
#define WAITER_DURABLE_REGISTRATION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

struct DurableBatches {
  DurableBatchCall call;
  BatchOptions options;
};

using DurableStatusFunction =
    std::variant<DurableFunction, DurableAsyncFunction, DurableBatches>;

// Inputs of one poll. They own `args`, because the wait may end during a call
// that polls many.
struct DurablePollInputs {
  std::shared_ptr<const std::string> args;
  int64_t fence;
  int64_t crashes;
};

// Calls from the engine to the worker about waits of a name, on any thread.
struct RegistrationHooks {
  // Returns nullopt if there must be no poll.
  std::function<std::optional<DurablePollInputs>(std::string_view key)>
      begin_poll;
  std::function<void(const WaitToken& token)> on_checkpoint;
};

// Thread-safe.
class Registration {
 public:
  struct Spec {
    std::string name;
    WaitOptions policy;
    DurableStatusFunction function;
    DurableHandler handler;
    DurableNameOptions options;
  };

  // Returns kInvalidArgument if `spec` is invalid. `hooks` are called from the
  // first `Resume` on.
  static absl::StatusOr<std::unique_ptr<Registration>> Make(
      Spec spec, WaitEngine& engine, Clock& clock, RegistrationHooks hooks);

  const std::string& name() const { return name_; }
  bool has_handler() const { return handler_ != nullptr; }
  int64_t max_held() const { return max_held_; }
  bool is_limited() const {
    return policy_->options().budgets.rate_limiter != nullptr;
  }
  // Null if each call polls one wait.
  const BatchOptions* batches() const {
    const auto* const batches = std::get_if<DurableBatches>(&function_);
    return batches == nullptr ? nullptr : &batches->options;
  }

  // The beginning of a wait that no worker has polled: a token and the time of
  // its first poll or, if it ends immediately, an empty token and `report`.
  struct Beginning {
    WaitToken token;
    MonotonicTime wake_up = {};
    WaitReport report;
  };
  // The wait was enqueued `age` before `now`.
  Beginning Begin(const std::string& key, const DurableRecord& record,
                  std::chrono::nanoseconds age, const ClockReading& now) const;

  // A wait that is cancelled ends without a poll.
  WaitHandle Resume(const std::string& key, WaitToken token, bool is_cancelled,
                    std::function<void(WaitResult<std::string>)> on_end) const;

  // Calls the program's `on_failure` if the report is of a failure.
  void OnFailure(const std::string& key, const WaitReport& report) const {
    first_->CallOnFailureAfter(key, report);
  }

  // Calls the handler, then `on_end` with whether the handler took the result.
  WaitHandle Deliver(DurableResult result,
                     std::function<void(bool is_accepted)> on_end) const;

 private:
  Registration(Spec spec, WaitEngine& engine, Clock& clock,
               RegistrationHooks hooks);

  absl::StatusOr<BatchAnswer<DurableKey, std::string>> PollMany(
      absl::Span<const DurableKey> keys) const;

  const std::string name_;
  const DurableStatusFunction function_;
  const DurableHandler handler_;
  const int64_t max_held_;
  const RegistrationHooks hooks_;
  WaitEngine& engine_;
  std::shared_ptr<const WaitPolicy> policy_;
  // The same, without observer and limiter, for `Begin` and `OnFailure`.
  std::shared_ptr<const WaitPolicy> first_;
  std::shared_ptr<const WaitPolicy> delivery_;
  std::unique_ptr<BatchPoller<DurableKey, std::string>> batches_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_REGISTRATION_H_
