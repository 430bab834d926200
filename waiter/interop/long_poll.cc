// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/long_poll.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter {
namespace {

bool IsCut(int status, absl::Duration took) {
  return took >= absl::Seconds(1) &&
         (status == 0 || status == 408 || status == 502 || status == 504);
}

}  // namespace

LongPolls::LongPolls(HttpLongPoll options)
    : options_(std::move(options)),
      max_hold_(std::min<absl::Duration>(options_.hold, absl::Hours(1))) {}

absl::Duration LongPolls::Begin(absl::Duration timeout, MonotonicTime now) {
  const absl::Duration reserve =
      std::clamp(timeout / 10, absl::Seconds(1), absl::Seconds(10));
  const absl::Duration hold = timeout == absl::InfiniteDuration()
                                  ? max_hold_
                                  : std::min(max_hold_, timeout - reserve);
  sent_ = now;
  hold_ = absl::Floor(std::max(hold, absl::ZeroDuration()), absl::Seconds(1));
  return hold_;
}

std::string LongPolls::Url(const std::string& url) const {
  if (options_.parameter.empty() || hold_ == absl::ZeroDuration()) return url;
  const size_t end = std::min(url.find('#'), url.size());
  const bool has_query = url.find('?') < end;
  return absl::StrCat(url.substr(0, end), has_query ? "&" : "?",
                      options_.parameter, "=", absl::ToInt64Seconds(hold_),
                      url.substr(end));
}

HttpFields LongPolls::Fields() const {
  if (!options_.parameter.empty() || hold_ == absl::ZeroDuration()) return {};
  return {{"Prefer", absl::StrCat("wait=", absl::ToInt64Seconds(hold_))}};
}

bool LongPolls::End(int status, MonotonicTime now) {
  if (hold_ == absl::ZeroDuration()) return false;
  const absl::Duration took = absl::FromChrono(now - sent_);
  const bool was_cut_before = std::exchange(was_cut_, IsCut(status, took));
  if (was_cut_ && was_cut_before) {
    max_hold_ = std::min(max_hold_, took * 3 / 4);
  }
  const bool is_answer = !was_cut_ && status != 0;
  const bool held_before =
      std::exchange(holds_, is_answer && took >= hold_ / 2);
  return is_answer && (holds_ || held_before);
}

}  // namespace waiter
