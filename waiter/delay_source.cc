// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/delay_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/clock.h"

namespace waiter {

DelayFunction DelayList(std::vector<Duration> delays) {
  return [delays = std::move(delays)](const DelayRequest& request,
                                      absl::BitGenRef /*gen*/) {
    if (delays.empty()) return request.computed();
    const auto index = static_cast<size_t>(request.attempt - 1);
    return std::max<absl::Duration>(delays[std::min(index, delays.size() - 1)],
                                    request.retry_after);
  };
}

}  // namespace waiter
