// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/registration.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/budget_member.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

bool IsNull(const DurableStatusFunction& function) {
  if (const auto* const batches = std::get_if<DurableBatches>(&function)) {
    return batches->call == nullptr;
  }
  if (const auto* const async = std::get_if<DurableAsyncFunction>(&function)) {
    return *async == nullptr;
  }
  return std::get<DurableFunction>(function) == nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Registration>> Registration::Make(
    Spec spec, WaitEngine& engine, Clock& clock, RegistrationHooks hooks) {
  if (absl::Status status = CheckName(spec.name); !status.ok()) return status;
  if (IsNull(spec.function)) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.name, ": the status function is null"));
  }
  const auto* const batches = std::get_if<DurableBatches>(&spec.function);
  for (absl::Status status :
       {Validate(spec.options),
        batches == nullptr ? absl::OkStatus() : Validate(batches->options),
        Validate(spec.policy)}) {
    if (!status.ok()) return status;
  }
  return absl::WrapUnique(
      new Registration(std::move(spec), engine, clock, std::move(hooks)));
}

Registration::Registration(Spec spec, WaitEngine& engine, Clock& clock,
                           RegistrationHooks hooks)
    : name_(std::move(spec.name)),
      function_(std::move(spec.function)),
      handler_(std::move(spec.handler)),
      max_held_(spec.options.max_held),
      hooks_(std::move(hooks)),
      engine_(engine),
      delivery_(WaitPolicy::Make({.timeout = absl::InfiniteDuration(),
                                  .max_attempts = 1,
                                  .hooks = {.observer = Nobody()},
                                  .clock = &clock})) {
  if (const auto* const batches = std::get_if<DurableBatches>(&function_)) {
    batches_ = std::make_unique<BatchPoller<DurableKey, std::string>>(
        engine,
        [this](absl::Span<const DurableKey> keys) { return PollMany(keys); },
        batches->options);
  }
  WaitOptions& policy = spec.policy;
  policy.clock = &clock;
  WaitOptions first = policy;
  first.hooks.on_checkpoint = nullptr;
  first.hooks.observer = Nobody();
  first.budgets.rate_limiter = nullptr;
  first_ = WaitPolicy::Make(std::move(first));
  // The worker decides whether the end on the engine is also the wait's.
  policy.hooks.on_failure = nullptr;
  policy.hooks.on_checkpoint =
      [this,
       then = std::move(policy.hooks.on_checkpoint)](const WaitToken& token) {
        if (then != nullptr) then(token);
        hooks_.on_checkpoint(token);
      };
  policy_ = WaitPolicy::Make(std::move(policy));
}

Registration::Beginning Registration::Begin(const std::string& key,
                                            const DurableRecord& record,
                                            nanoseconds age,
                                            const ClockReading& now) const {
  const MonotonicTime start = now.monotonic - age;
  const MonotonicTime deadline =
      record.timeout_us.has_value()
          ? SaturatingAdd(start, microseconds(*record.timeout_us))
          : first_->DeadlineFrom(start);
  Beginning beginning;
  WaitLoop loop(*first_, beginning.report);
  loop.set_name(key);
  const NextStep step = loop.Start(start, deadline, [] { return false; });
  if (step.action() == NextStep::Action::kFinish) return beginning;
  const bool sleeps = step.action() == NextStep::Action::kSleep;
  if (sleeps) beginning.wake_up = step.wake_up();
  beginning.token = SaveWait(loop.state(), beginning.report, key,
                             sleeps ? step.wake_up() : now.monotonic, now);
  return beginning;
}

WaitHandle Registration::Resume(
    const std::string& key, WaitToken token, bool is_cancelled,
    std::function<void(WaitResult<std::string>)> on_end) const {
  StartOptions options = {.name = key, .resume = std::move(token)};
  if (is_cancelled) {
    waiter::stop_source cancel;
    cancel.request_stop();
    options.stop = cancel.get_token();
  }
  if (batches_ != nullptr) {
    return engine_.Start(batches_->Prepare({.key = key}, policy_),
                         std::move(on_end), std::move(options));
  }
  const auto begin_poll = [this, key](const PollContext& context, auto poll,
                                      auto refuse) {
    const std::optional<DurablePollInputs> inputs = hooks_.begin_poll(key);
    if (!inputs.has_value()) return refuse();
    return poll(DurablePoll{.name = name_,
                            .key = key,
                            .args = *inputs->args,
                            .context = context,
                            .fence = inputs->fence,
                            .crashes = inputs->crashes});
  };
  if (const auto* const function = std::get_if<DurableFunction>(&function_)) {
    const auto poll_one = [begin_poll, function](const PollContext& context) {
      return begin_poll(context, *function,
                        [] { return Poll<std::string>(NotReady()); });
    };
    return engine_.Start(Waiter(poll_one, policy_), std::move(on_end),
                         std::move(options));
  }
  const auto poll_one = [begin_poll,
                         function = &std::get<DurableAsyncFunction>(function_)](
                            const PollContext& context,
                            PollCompletion<std::string> done) {
    begin_poll(
        context,
        [&](const DurablePoll& poll) { (*function)(poll, std::move(done)); },
        [&] { done(NotReady()); });
  };
  return engine_.Start(AsyncWaiter(poll_one, policy_), std::move(on_end),
                       std::move(options));
}

absl::StatusOr<BatchAnswer<DurableKey, std::string>> Registration::PollMany(
    absl::Span<const DurableKey> keys) const {
  std::vector<DurableKey> polled;
  for (const DurableKey& key : keys) {
    const std::optional<DurablePollInputs> inputs = hooks_.begin_poll(key.key);
    if (!inputs.has_value()) continue;
    polled.push_back(
        {.key = key.key, .args = *inputs->args, .fence = inputs->fence});
  }
  BatchAnswer<DurableKey, std::string> answers;
  if (polled.empty()) return answers;
  absl::StatusOr<BatchAnswer<std::string, std::string>> found =
      std::get<DurableBatches>(function_).call(polled);
  if (!found.ok()) return found.status();
  for (auto& [key, answer] : *found) {
    answers.emplace(DurableKey{.key = key}, std::move(answer));
  }
  return answers;
}

WaitHandle Registration::Deliver(
    DurableResult result, std::function<void(bool is_accepted)> on_end) const {
  const auto deliver = [this, result = std::move(result)] {
    return handler_(result).ok() ? Success() : Poll<>(NotReady());
  };
  return engine_.Start(Waiter(deliver, delivery_),
                       [on_end = std::move(on_end)](const WaitResult<>& ended) {
                         on_end(ended.ok());
                       });
}

}  // namespace waiter::internal
