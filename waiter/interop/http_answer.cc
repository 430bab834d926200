// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/http_answer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/printable.h"
#include "waiter/poll.h"

namespace waiter::internal {
namespace {

constexpr size_t kLongestReason = 60;
constexpr size_t kLongestText = 300;

std::string Printable(std::string_view text, size_t longest = kLongestText) {
  return PrintableAscii(text, longest);
}

bool IsToken(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains(ToAbsl(kOthers), c);
  });
}

// Returns whether `line` ends a header, as libcurl decides it: a line of spaces
// continues the line before.
bool IsEnd(std::string_view line) {
  return line.empty() || line[0] == '\r' || line[0] == '\n';
}

// Returns the answer to a request that got no response.
Poll<> JudgeConnection(const ErrorClassifier& classifier, absl::Status error) {
  const PollStatus found =
      classifier.ClassOf({.type = ServiceError::Type::kConnection});
  return {found, std::move(error)};
}

}  // namespace

bool HttpReader::ReadLine(std::string_view line) {
  // libcurl follows a redirect even if its header is cut off. After 2xx, the
  // line is a trailer.
  const int kind = response_.status / 100;
  const bool may_begin =
      !header_begun_ || kind == 3 || (header_ended_ && kind != 2);
  if (may_begin && ToAbsl(line).substr(0, 5) == "HTTP/") {
    Take();
    header_begun_ = true;
    header_bytes_ = line.size();
    is_http2_ = ToAbsl(line).substr(0, 6) == "HTTP/2";
    const std::string_view rest =
        Stripped(line.substr(std::min(line.find(' '), line.size())));
    const std::string_view code = rest.substr(0, 3);
    if (!absl::SimpleAtoi(ToAbsl(code), &response_.status)) return false;
    response_.reason =
        Printable(Stripped(rest.substr(code.size())), kLongestReason);
    const bool is_interim = response_.status < 200 && response_.status != 101;
    if (is_interim) response_.status = 0;
    return true;
  }
  header_bytes_ += line.size();
  if (header_is_too_long()) return false;
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    HttpFields& fields = header_ended_ ? trailers_ : response_.headers;
    fields.emplace_back(Stripped(line.substr(0, colon)),
                        Stripped(line.substr(colon + 1)));
  } else if (IsEnd(line) && !header_ended_) {
    // The response follows an interim one.
    header_ended_ = response_.status != 0;
    header_begun_ = header_ended_;
  }
  return true;
}

bool HttpReader::ReadBody(std::string_view part) {
  const size_t room = limits_.body - response_.body.size();
  response_.body.append(part.substr(0, room));
  response_.body_is_cut = part.size() > room;
  return !response_.body_is_cut;
}

HttpResponse HttpReader::Take() {
  HttpResponse response = std::exchange(response_, {});
  trailers_.clear();
  header_bytes_ = 0;
  header_begun_ = header_ended_ = is_http2_ = false;
  return response;
}

absl::Status CheckRequest(const HttpRequest& request) {
  if (!request.method.empty() && !IsToken(request.method)) {
    return absl::InvalidArgumentError(
        absl::StrCat("invalid HTTP method: ", Printable(request.method)));
  }
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("invalid header name: ", Printable(name)));
    }
    if (value.find_first_of(std::string_view("\r\n\0", 3)) !=
        std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value of header ", name, " must be one line"));
    }
  }
  return absl::OkStatus();
}

Poll<> JudgeOutcome(HttpOutcome& outcome, const PollerRules& rules) {
  using Failure = HttpOutcome::Failure;
  const std::string text = Printable(outcome.text);
  switch (outcome.failure) {
    case Failure::kNone:
      break;
    case Failure::kConnection:
      return JudgeConnection(rules.http.classifier,
                             absl::UnavailableError(text));
    case Failure::kTimeout:
      return JudgeConnection(rules.http.classifier,
                             absl::DeadlineExceededError(text));
    case Failure::kUnreachable:
      if (rules.unreachable <= PollStatus::kNotReady) {
        return {rules.unreachable, text};  // As expected, so no error.
      }
      return {rules.unreachable, absl::UnavailableError(text)};
    case Failure::kStopped:
      return NotReady(absl::CancelledError(text));
    case Failure::kRedirects:
      return Failed(absl::FailedPreconditionError(text));
    case Failure::kImpossible:
      return Failed(absl::InvalidArgumentError(text));
  }
  HttpResponse& response = outcome.response;
  const HttpVerdict verdict = JudgeHttp(rules.http, response, outcome.received);
  response.retry_after = verdict.retry_after;
  if (verdict.status == PollStatus::kSuccess && response.body_is_cut &&
      rules.needs_body) {
    return Failed(absl::OutOfRangeError(
        absl::StrCat("HTTP ", response.status, " with a body of more than ",
                     response.body.size(), " bytes")));
  }
  return AddNextPoll(verdict.ToPoll(response),
                     {.retry_after = {}, .is_immediate = outcome.was_held});
}

Poll<HttpResponse> TakeResponse::operator()(HttpResponse response) const {
  const std::string line =
      absl::StrCat("HTTP ", response.status,
                   response.reason.empty() ? "" : ": ", response.reason);
  return Success(std::move(response), line);
}

Poll<> AddNextPoll(Poll<> answer, NextPoll next) {
  if (answer.retry_after() != absl::ZeroDuration() ||
      answer.next_delay().has_value() ||
      answer.status() == PollStatus::kSuccess ||
      answer.status() == PollStatus::kFailed) {
    return answer;
  }
  const RetryAfter hint = next.retry_after;
  if (!hint.has_value() || hint == absl::ZeroDuration()) {
    return next.is_immediate
               ? std::move(answer).WithNextDelay(absl::ZeroDuration())
               : answer;
  }
  if (!answer.error().ok()) return {answer.status(), answer.error(), hint};
  return {answer.status(), answer.detail(), hint};
}

}  // namespace waiter::internal
