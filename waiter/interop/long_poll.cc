// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/long_poll.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter {
namespace {

bool IsCut(const LongPolls::Answer& answer) {
  return answer.took >= absl::Seconds(1) &&
         (answer.status == 0 || answer.status == 408 || answer.status == 502 ||
          answer.status == 504);
}

}  // namespace

LongPolls::LongPolls(HttpLongPoll options)
    : options_(std::move(options)),
      max_hold_(std::min<absl::Duration>(options_.hold, absl::Hours(1))) {}

absl::Duration LongPolls::NextHold(absl::Duration timeout) const {
  const absl::Duration reserve =
      std::clamp(timeout / 10, absl::Seconds(1), absl::Seconds(10));
  const absl::Duration hold = timeout == absl::InfiniteDuration()
                                  ? max_hold_
                                  : std::min(max_hold_, timeout - reserve);
  return absl::Floor(std::max(hold, absl::ZeroDuration()), absl::Seconds(1));
}

std::string LongPolls::Url(const std::string& url, absl::Duration hold) const {
  if (options_.parameter.empty() || hold <= absl::ZeroDuration()) return url;
  const size_t end = std::min(url.find('#'), url.size());
  const bool has_query = url.find('?') < end;
  return absl::StrCat(url.substr(0, end), has_query ? "&" : "?",
                      options_.parameter, "=", absl::ToInt64Seconds(hold),
                      url.substr(end));
}

HttpFields LongPolls::Fields(absl::Duration hold) const {
  if (!options_.parameter.empty() || hold <= absl::ZeroDuration()) return {};
  return {{"Prefer", absl::StrCat("wait=", absl::ToInt64Seconds(hold))}};
}

bool LongPolls::WasHeld(absl::Duration hold, const Answer& answer) {
  if (hold <= absl::ZeroDuration()) return false;
  const bool was_cut_before = std::exchange(was_cut_, IsCut(answer));
  if (was_cut_ && was_cut_before) {
    max_hold_ = std::min(max_hold_, answer.took * 3 / 4);
  }
  const bool held_before = std::exchange(
      holds_, !was_cut_ && answer.status != 0 && answer.took >= hold / 2);
  return holds_ || (held_before && !was_cut_ && answer.status != 0);
}

}  // namespace waiter
