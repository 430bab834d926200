// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/http_judge.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/http_hint.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/json_text.h"
#include "waiter/interop/printable.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

using internal::ToAbsl;

constexpr size_t kMaxErrorText = 200;
constexpr size_t kMaxShownValue = 60;

std::string Shown(std::string_view text) {
  return absl::StrCat(internal::PrintableAscii(text, kMaxShownValue),
                      text.size() > kMaxShownValue ? "..." : "");
}

HttpMatch MatchJson(const std::string& path, const std::string& value,
                    const HttpResponse& response) {
  if (response.body_is_cut) {
    return {
        .is_known = false,
        .found = absl::StrCat("the body is larger than ", response.body.size(),
                              " bytes, the limit for JSON")};
  }
  const absl::StatusOr<std::string_view> body = TextBodyOf(response);
  if (!body.ok()) {
    return {.is_known = false, .found = std::string(body.status().message())};
  }
  const std::optional<std::string_view> found =
      internal::FindJsonText(*body, internal::JsonSteps(path));
  if (!found.has_value()) {
    const bool is_json = internal::FindJsonText(*body, {}).has_value();
    return {
        .is_known = is_json,
        .found = is_json ? absl::StrCat("no ", path) : "the body is not JSON"};
  }
  return {.holds = internal::PlainJsonText(*found) == value,
          .found = absl::StrCat(path, " is ", Shown(*found))};
}

bool HasField(const HttpResponse& response,
              std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return !response.header(name).empty();
  });
}

bool IsThrottled(const HttpResponse& response, bool has_hint) {
  switch (response.status) {
    case 403:
      return has_hint || response.header("X-RateLimit-Remaining") == "0";
    case 429:
    case 503:
      return has_hint ||
             HasField(response,
                      {"RateLimit", "RateLimit-Reset", "RateLimit-Remaining",
                       "X-RateLimit-Reset", "X-RateLimit-Remaining"});
    default:
      return false;
  }
}

std::optional<HttpVerdict> Failure(const HttpRules& rules,
                                   const HttpResponse& response) {
  for (const HttpCondition& condition : rules.fail_if) {
    const HttpMatch match = condition(response);
    if (!match.holds) continue;
    const std::string text = ErrorTextOf(response.body);
    const std::string_view colon =
        match.found.empty() || text.empty() ? "" : ": ";
    return HttpVerdict{.status = PollStatus::kFailed,
                       .reason = HttpVerdict::Reason::kCondition,
                       .why = absl::StrCat(match.found, ToAbsl(colon), text)};
  }
  return std::nullopt;
}

HttpVerdict JudgeWanted(const HttpRules& rules, const HttpResponse& response) {
  for (const HttpCondition& condition : rules.succeed_if) {
    HttpMatch match = condition(response);
    if (match.holds) continue;
    return {.status = PollStatus::kNotReady,
            .reason = match.is_known ? HttpVerdict::Reason::kUnmet
                                     : HttpVerdict::Reason::kUnknown,
            .why = std::move(match.found)};
  }
  return {.status = PollStatus::kSuccess};
}

HttpVerdict Judge(const HttpRules& rules, const HttpResponse& response,
                  bool has_hint) {
  if (std::optional<HttpVerdict> failure = Failure(rules, response)) {
    return *std::move(failure);
  }
  const PollStatus of_status =
      rules.classifier.ClassOf({.http_status = response.status});
  const bool is_wanted = rules.ready_on.ranges.empty()
                             ? of_status == PollStatus::kSuccess
                             : rules.ready_on.Contains(response.status);
  if (is_wanted) return JudgeWanted(rules, response);
  if (rules.not_ready_on.Contains(response.status)) {
    return {.status = PollStatus::kNotReady};
  }
  if (IsThrottled(response, has_hint)) {
    return {.status = PollStatus::kThrottled};
  }
  return {.status = of_status == PollStatus::kSuccess ? PollStatus::kNotReady
                                                      : of_status};
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [field, value] : headers) {
    if (absl::EqualsIgnoreCase(field, ToAbsl(name))) return value;
  }
  return {};
}

HttpCondition StatusIn(HttpStatusSet statuses) {
  return [statuses = std::move(statuses)](const HttpResponse& response) {
    return HttpMatch{.holds = statuses.Contains(response.status)};
  };
}

HttpCondition BodyContains(std::string text) {
  return [text = std::move(text)](const HttpResponse& response) {
    const bool holds = absl::StrContains(response.body, text);
    return HttpMatch{.holds = holds,
                     .found = absl::StrCat("the body has ", holds ? "" : "no ",
                                           "\"", Shown(text), "\"")};
  };
}

HttpCondition JsonIs(std::string path, std::string value) {
  return [path = std::move(path),
          value = std::move(value)](const HttpResponse& response) {
    return MatchJson(path, value, response);
  };
}

HttpVerdict JudgeHttp(const HttpRules& rules, const HttpResponse& response,
                      absl::Time now) {
  internal::HttpHint hint = internal::HintOfResponse(response, now);
  HttpVerdict verdict = Judge(rules, response, hint.asks_to_wait);
  // A failure is final, even if the server asks for more.
  if (verdict.status == PollStatus::kFailed) return verdict;
  verdict.retry_after = hint.delay;
  verdict.retry_after_source = std::move(hint.source);
  verdict.ignored_retry_after = std::move(hint.ignored);
  return verdict;
}

Poll<> HttpVerdict::ToPoll(const HttpResponse& response) const {
  const RetryAfter hint = retry_after;
  if (status == PollStatus::kSuccess) return {status, response.reason, hint};
  std::string text = why.empty() ? response.reason : why;
  if (!ignored_retry_after.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "(ignored ",
                    ignored_retry_after, ")");
  }
  const absl::StatusCode code = CodeOfHttp(response.status);
  const std::string line =
      absl::StrCat("HTTP ", response.status, text.empty() ? "" : ": ", text);
  if (code != absl::StatusCode::kOk) {
    return ErrorClassifier::Http()
        .With(response.status, status)
        .Answer({.http_status = response.status}, text, hint);
  }
  // "The processing has not been completed" is not an error.
  if (status != PollStatus::kFailed) return {status, line, hint};
  return Failed(absl::AbortedError(line));
}

absl::StatusOr<std::string_view> TextBodyOf(const HttpResponse& response) {
  if (response.status == 204 || response.status == 205) {
    return absl::InvalidArgumentError(
        absl::StrCat("a response of status ", response.status, " has no body"));
  }
  const std::string_view body = response.body;
  const std::string type =
      absl::AsciiStrToLower(ToAbsl(response.header("Content-Type")));
  if (absl::StrContains(type, "utf-16") || body.starts_with("\xFF\xFE") ||
      body.starts_with("\xFE\xFF")) {
    return absl::InvalidArgumentError("the body is in UTF-16, not in UTF-8");
  }
  return internal::WithoutByteOrderMark(body);
}

std::string ErrorTextOf(std::string_view body) {
  using Path = std::vector<std::string_view>;
  for (const Path& path :
       {Path{"error", "message"}, Path{"message"}, Path{"reason"},
        Path{"statusMessage"}, Path{"error"}}) {
    const std::optional<std::string_view> json =
        internal::FindJsonText(internal::WithoutByteOrderMark(body), path);
    if (!json.has_value() || !json->starts_with('"')) continue;
    const std::string text = internal::PlainJsonText(*json);
    const absl::string_view line =
        absl::StripLeadingAsciiWhitespace(ToAbsl(text));
    const std::string shown = internal::PrintableAscii(
        internal::ToStd(line.substr(0, line.find_first_of("\r\n"))),
        kMaxErrorText);
    if (!shown.empty()) return shown;
  }
  return {};
}

}  // namespace waiter
