// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/eventually_plan.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter {
namespace {

// The objects that exist, the youngest first.
struct Scopes {
  std::mutex mutex;
  std::vector<std::shared_ptr<const EventuallyOptions>> defaults;
};

// Never destroyed, as a global object may have defaults.
Scopes& GetScopes() {
  static auto* const scopes = new Scopes();
  return *scopes;
}

}  // namespace

ScopedEventuallyDefaults::ScopedEventuallyDefaults(EventuallyOptions defaults)
    : defaults_(
          std::make_shared<const EventuallyOptions>(std::move(defaults))) {
  Scopes& scopes = GetScopes();
  const std::lock_guard lock(scopes.mutex);
  scopes.defaults.insert(scopes.defaults.begin(), defaults_);
}

ScopedEventuallyDefaults::~ScopedEventuallyDefaults() {
  Scopes& scopes = GetScopes();
  const std::lock_guard lock(scopes.mutex);
  scopes.defaults.erase(
      std::find(scopes.defaults.begin(), scopes.defaults.end(), defaults_));
}

namespace internal::eventually {
namespace {

// Completes `options` by `defaults`, field by field.
void Complete(Kind kind, const EventuallyOptions& defaults,
              EventuallyOptions& options) {
  static const auto* const unset = new EventuallyOptions();
  const auto fill = [&](auto field) {
    if (options.*field == unset->*field) options.*field = defaults.*field;
  };
  if (MustHold(kind)) {
    // Either field sets how long it must hold.
    if (!options.hold_for.has_value() && options.successes_required == 1) {
      options.hold_for = defaults.hold_for;
      options.successes_required = defaults.successes_required;
    }
  } else {
    fill(&EventuallyOptions::timeout);
    if (!options.retry_exceptions) {
      options.retry_exceptions = defaults.retry_exceptions;
    }
  }
  // Only one of these three sets the delays.
  if (options.backoff == unset->backoff && options.delay_source == nullptr &&
      !options.policy.has_value()) {
    options.backoff = defaults.backoff;
    options.delay_source = defaults.delay_source;
    options.policy = defaults.policy;
  }
  if (options.first_poll_delay == absl::ZeroDuration()) {
    options.first_poll_delay = defaults.first_poll_delay;
  }
  fill(&EventuallyOptions::history_lines);
  fill(&EventuallyOptions::observer);
  fill(&EventuallyOptions::clock);
  fill(&EventuallyOptions::seed);
}

}  // namespace

std::optional<EventuallyOptions> CompleteOptions(
    Kind kind, const EventuallyOptions& options) {
  Scopes& scopes = GetScopes();
  const std::lock_guard lock(scopes.mutex);
  if (scopes.defaults.empty()) return std::nullopt;
  EventuallyOptions complete = options;
  for (const auto& defaults : scopes.defaults) {
    Complete(kind, *defaults, complete);
  }
  return complete;
}

}  // namespace internal::eventually
}  // namespace waiter
