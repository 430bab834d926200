// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The hint in the header fields of an HTTP response, as the SDKs give them.

#ifndef WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_
#define WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_

#include <string_view>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {

// Returns the first valid hint in milliseconds, otherwise the first valid
// `Retry-After`. `fields` is a range of pairs of a name and a value.
template <typename Fields>
RetryAfter HintOfFields(const Fields& fields, absl::Time now) {
  RetryAfter in_seconds;
  for (const auto& [name, value] : fields) {
    const RetryAfter hint = ParseRetryAfterField(name, value, now);
    if (!hint.has_value()) continue;
    if (!absl::EqualsIgnoreCase(ToAbsl(name), "retry-after")) return hint;
    if (!in_seconds.has_value()) in_seconds = hint;
  }
  return in_seconds;
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_HINT_OF_FIELDS_H_
