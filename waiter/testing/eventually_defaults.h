// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The options of an assertion, completed by `ScopedEventuallyDefaults`.

#ifndef WAITER_TESTING_EVENTUALLY_DEFAULTS_H_
#define WAITER_TESTING_EVENTUALLY_DEFAULTS_H_

#include <optional>

#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal::eventually {

// Returns `options`, in which each field that has its default comes from the
// youngest object that sets it, or nothing if there is no object. Thread-safe.
std::optional<EventuallyOptions> CompleteOptions(
    Kind kind, const EventuallyOptions& options);

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_EVENTUALLY_DEFAULTS_H_
