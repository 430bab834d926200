// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/http_hint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/hint_of_fields.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/json_text.h"
#include "waiter/interop/printable.h"

namespace waiter::internal {
namespace {

constexpr size_t kMaxShown = 60;

bool HasName(std::string_view field, std::string_view name) {
  return absl::EqualsIgnoreCase(ToAbsl(field), ToAbsl(name));
}

// Collects the hints of one response.
class Hints {
 public:
  explicit Hints(absl::Time server_time) : now_(server_time) {}

  // Takes a value of `name`. Returns whether it is plausible.
  bool Add(std::string_view name, std::string_view value, HintUnit unit,
           absl::Duration limit = absl::InfiniteDuration()) {
    const RetryAfter read = ReadHint(value, unit, now_);
    const std::string source =
        absl::StrCat(PrintableAscii(name, kMaxShown), ": ",
                     PrintableAscii(value, kMaxShown));
    if (!read.has_value()) {
      if (hint_.ignored.empty()) hint_.ignored = source;
      return false;
    }
    const absl::Duration delay =
        std::min<absl::Duration>(Duration{read}, limit);
    if (delay > Duration{hint_.delay}) {
      hint_.delay = RetryAfter(delay);
      hint_.source = source;
    }
    return true;
  }

  HttpHint& hint() { return hint_; }

 private:
  const absl::Time now_;
  HttpHint hint_;
};

// Adds the first valid field in milliseconds, or the first `Retry-After`.
void AddRetryAfter(const HttpFields& fields, Hints& hints) {
  for (const HintUnit wanted : {HintUnit::kMilliseconds, HintUnit::kSeconds}) {
    for (const auto& [name, value] : fields) {
      if (UnitOfHint(name) == wanted && hints.Add(name, value, wanted)) {
        hints.hint().asks_to_wait = true;
        return;
      }
    }
  }
}

// Returns the number of `key` in the value of `RateLimit`, as in
// `"default";r=0;t=30` or `limit=10, remaining=0, reset=30`.
std::optional<std::string_view> Parameter(std::string_view value,
                                          std::string_view key) {
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of(",;"), value.size());
    const std::string_view part = Stripped(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
    const size_t equals = std::min(part.find('='), part.size());
    if (equals < part.size() && Stripped(part.substr(0, equals)) == key) {
      return Stripped(part.substr(equals + 1));
    }
  }
  return std::nullopt;
}

void AddRateLimit(const HttpResponse& response, Hints& hints) {
  const bool is_refused = response.status == 403 || response.status == 429 ||
                          response.status == 503;
  for (const std::string_view prefix :
       {"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"}) {
    const std::string name = absl::StrCat(ToAbsl(prefix), "Reset");
    const std::string_view reset = response.header(name);
    const std::string_view remaining =
        response.header(absl::StrCat(ToAbsl(prefix), "Remaining"));
    // A 403 has another cause while something remains.
    const bool counts =
        remaining == "0" ||
        (is_refused && (remaining.empty() || response.status != 403));
    if (!reset.empty() && counts) hints.Add(name, reset, HintUnit::kSeconds);
  }
  const std::string_view combined = response.header("RateLimit");
  for (const auto& [left_key, reset_key] :
       {std::pair("r", "t"), std::pair("remaining", "reset")}) {
    const std::optional<std::string_view> left = Parameter(combined, left_key);
    const std::optional<std::string_view> reset =
        Parameter(combined, reset_key);
    if (reset.has_value() && (left == "0" || (is_refused && !left))) {
      hints.Add("RateLimit", *reset, HintUnit::kSeconds);
    }
  }
}

// Adds the hint of a task of MCP, as a whole body or in an answer of
// JSON-RPC.
void AddTask(const HttpResponse& response, Hints& hints) {
  constexpr std::string_view kInterval = "pollIntervalMs";
  if (response.body_is_cut ||
      response.body.find(kInterval) == std::string::npos) {
    return;
  }
  const std::string_view body = WithoutByteOrderMark(response.body);
  const std::array<std::vector<std::string_view>, 4> places = {
      {{}, {"task"}, {"result"}, {"result", "task"}}};
  for (std::vector<std::string_view> path : places) {
    path.push_back(kInterval);
    const std::optional<std::string_view> interval = FindJsonText(body, path);
    if (!interval.has_value() || *interval == "null") continue;
    path.back() = "ttlMs";
    const RetryAfter ttl = ReadHint(FindJsonText(body, path).value_or(""),
                                    HintUnit::kMilliseconds, absl::UnixEpoch());
    const absl::Duration limit = Duration{ttl};
    hints.Add(kInterval, *interval, HintUnit::kMilliseconds,
              limit > absl::ZeroDuration() ? limit : absl::InfiniteDuration());
    return;
  }
}

}  // namespace

HttpHint HintOfResponse(const HttpResponse& response, absl::Time now) {
  Hints hints(ServerTime(response.headers, now));
  AddRetryAfter(response.headers, hints);
  for (const auto& [name, value] : response.headers) {
    if (HasName(name, "X-Poll-Interval")) {
      hints.Add(name, value, HintUnit::kSeconds);
    }
  }
  AddRateLimit(response, hints);
  AddTask(response, hints);
  return hints.hint();
}

}  // namespace waiter::internal
