// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks how the judge of HTTP responses handles any response. The first byte
// of the input chooses the status. Header fields follow, one per line, and the
// body after an empty line.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tests/support/check_that.h"
#include "waiter/classify.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace {

using waiter::HttpMemory;
using waiter::HttpResponse;
using waiter::HttpRules;
using waiter::HttpVerdict;
using waiter::Poll;
using waiter::PollStatus;

const absl::Time kNow = absl::FromUnixSeconds(1'767'323'045);

HttpResponse Read(std::string_view text) {
  HttpResponse response = {.status = 200};
  if (text.empty()) return response;
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  // Usually 200.
  if (first >= 0x80) response.status = 100 + 4 * (first - 0x80);
  const size_t end = text.find("\n\n");
  for (const std::string_view line :
       absl::StrSplit(text.substr(0, end), '\n')) {
    const std::pair<std::string_view, std::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    response.headers.emplace_back(field.first, field.second);
  }
  if (end != std::string_view::npos) response.body = text.substr(end + 2);
  return response;
}

bool IsSafe(std::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) return false;
  }
  return text.size() <= 400;
}

void CheckVerdict(const HttpRules& rules, const HttpResponse& response) {
  const HttpVerdict verdict = waiter::JudgeHttp(rules, response, kNow);
  const absl::Duration delay = waiter::Duration(verdict.retry_after);
  CHECK_THAT(delay >= absl::ZeroDuration() && delay <= absl::Hours(7 * 24));
  CHECK_THAT(verdict.retry_after_source.empty() ==
             (delay == absl::ZeroDuration()));
  CHECK_THAT(verdict.status != PollStatus::kFailed ||
             delay == absl::ZeroDuration());
  CHECK_THAT(IsSafe(verdict.why));
  CHECK_THAT(IsSafe(verdict.retry_after_source));
  CHECK_THAT(IsSafe(verdict.ignored_retry_after));
  CHECK_THAT(IsSafe(waiter::ErrorTextOf(response.body)));

  const Poll<> poll = verdict.ToPoll(response);
  CHECK_THAT(poll.status() == verdict.status);
  CHECK_THAT(poll.retry_after() == delay);
  CHECK_THAT((poll.status() == PollStatus::kFailed) <= !poll.error().ok());

  // Delays in seconds do not depend on the server's clock.
  HttpResponse dated = response;
  dated.headers.insert(dated.headers.begin(),
                       {"Date", "Fri, 02 Jan 2026 03:04:05 GMT"});
  if (response.header("Date").empty()) {
    CHECK_THAT(waiter::JudgeHttp(rules, dated, kNow).retry_after ==
               verdict.retry_after);
  }
}

void CheckJson(const HttpResponse& response) {
  const waiter::HttpCondition condition = waiter::JsonIs("status", "FAILED");
  const waiter::HttpMatch match = condition(response);
  CHECK_THAT(IsSafe(match.found));
  CHECK_THAT(match.is_known || !match.holds);
  const HttpVerdict verdict =
      waiter::JudgeHttp({.fail_if = {condition}}, response, kNow);
  CHECK_THAT(!match.holds || verdict.status == PollStatus::kFailed);
  // Neither spaces nor a byte order mark change JSON.
  if (!match.is_known) return;
  HttpResponse padded = response;
  padded.body =
      absl::StrCat("\xEF\xBB\xBF \n", *waiter::TextBodyOf(response), "\r\n\t");
  CHECK_THAT(condition(padded).found == match.found);
}

void CheckMemory(const HttpResponse& response) {
  HttpMemory memory;
  HttpResponse first = response;
  memory.Apply(first);
  const waiter::HttpFields conditions = memory.Conditions();
  CHECK_THAT(conditions.size() <= 1);
  for (const auto& [name, value] : conditions) {
    CHECK_THAT(!value.empty() && IsSafe(value.substr(0, 400)));
  }
  HttpResponse second = {.status = 304};
  memory.Apply(second);
  CHECK_THAT(second.not_modified == !conditions.empty());
  if (second.not_modified) CHECK_THAT(second.body == response.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const HttpResponse response =
      Read(std::string_view(reinterpret_cast<const char*>(data), size));
  CheckVerdict({}, response);
  CheckVerdict({.ready_on = {{{200, 299}}},
                .not_ready_on = {{{403, 403}}},
                .succeed_if = {waiter::JsonIs("status", "DONE")},
                .fail_if = {waiter::BodyContains("error")}},
               response);
  CheckJson(response);
  CheckMemory(response);
  return 0;
}
