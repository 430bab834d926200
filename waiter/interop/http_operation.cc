// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/http_operation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/http_dialect.h"
#include "waiter/interop/http_url.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/json_view.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

using internal::HttpUrl;
using internal::JsonView;
using internal::OperationState;
using internal::ToAbsl;
using Kind = HttpDialect::Kind;

bool IsSuccess(int status) { return status >= 200 && status < 300; }

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 ||
         status == 308;
}

bool HasName(std::string_view field, std::string_view name) {
  return absl::EqualsIgnoreCase(ToAbsl(field), ToAbsl(name));
}

std::string MethodOf(const HttpRequest& request) {
  if (!request.method.empty()) return request.method;
  return request.body.has_value() ? "POST" : "GET";
}

// Returns the JSON of a body; empty if it is not JSON or is cut.
std::string_view JsonOf(const HttpResponse& response) {
  if (response.body_is_cut) return {};
  const absl::StatusOr<std::string_view> body = TextBodyOf(response);
  return body.ok() ? *body : std::string_view();
}

// Returns whether a field of the start also belongs in later requests.
bool IsForStatus(std::string_view name, std::string_view value) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(name));
  return !absl::StartsWith(lower, "content-") &&
         !absl::StartsWith(lower, "if-") && lower != "transfer-encoding" &&
         lower != "idempotency-key" &&
         !absl::StartsWith(lower, "repeatability-") &&
         !(lower == "prefer" &&
           absl::StrContains(ToAbsl(value), "respond-async"));
}

std::string Escaped(std::string_view text) {
  return internal::PercentEncoded(text, [](unsigned char byte) {
    return absl::ascii_isalnum(byte) || byte == '-' || byte == '_' ||
           byte == '.' || byte == '~';
  });
}

// Returns whether `segment` is a version such as "v1" or "v1beta1".
bool IsVersion(std::string_view segment) {
  return segment.size() >= 2 && segment.size() <= 12 && segment[0] == 'v' &&
         absl::ascii_isdigit(static_cast<unsigned char>(segment[1])) &&
         std::all_of(segment.begin(), segment.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c));
         });
}

// Returns the path of the operation `name`, below the version in `path`.
std::string GooglePath(std::string_view path, std::string_view name) {
  size_t begin = 1;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (IsVersion(path.substr(begin, end - begin))) {
      return absl::StrCat(ToAbsl(path.substr(0, end)), "/", ToAbsl(name));
    }
    begin = end + 1;
  }
  return absl::StrCat("/", ToAbsl(name));
}

// Returns `query` without the parameters that name an old state of a list.
std::string WithoutVersion(std::string_view query) {
  std::string kept;
  std::string_view rest = query.substr(std::min<size_t>(query.size(), 1));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.starts_with("resourceVersion") || part.starts_with("continue=")) {
      continue;
    }
    absl::StrAppend(&kept, kept.empty() ? "?" : "&", ToAbsl(part));
  }
  return kept;
}

// Puts the error of the server into a verdict about a status.
void AddError(const HttpResponse& response, HttpVerdict& verdict) {
  if (response.status < 400 || !verdict.why.empty()) return;
  const std::string error =
      internal::OperationErrorOf(JsonView(JsonOf(response)));
  if (error.empty()) return;
  verdict.why = response.reason.empty()
                    ? error
                    : absl::StrCat(response.reason, ", ", error);
}

// `Stripe-Should-Retry` wins over the status.
HttpVerdict JudgeTransport(HttpRules rules, const HttpResponse& response,
                           absl::Time now) {
  const std::string_view retry = response.header("Stripe-Should-Retry");
  if (retry == "true" && response.status >= 400) {
    rules.classifier =
        rules.classifier.With(response.status, PollStatus::kServerError);
  }
  HttpVerdict verdict = JudgeHttp(rules, response, now);
  if (retry == "false" && response.status >= 400) {
    verdict.status = PollStatus::kFailed;
    verdict.retry_after = {};
  }
  AddError(response, verdict);
  return verdict;
}

}  // namespace

HttpOperationTracker::HttpOperationTracker(HttpOperationPlan plan)
    : plan_(std::move(plan)),
      dialect_(plan_.dialect),
      method_(MethodOf(plan_.request)),
      url_(plan_.request.url) {
  if (dialect_.kind != Kind::kAuto) reason_ = "as told";
  if (absl::StatusOr<HttpUrl> url = HttpUrl::Parse(url_); !url.ok()) {
    end_ = Failed(url.status());
  }
  if (method_ == "GET" && !plan_.request.body.has_value()) {
    phase_ = Phase::kStatus;
  }
}

HttpRequest HttpOperationTracker::Ask(const std::string& url) const {
  HttpRequest request = {.url = url};
  const absl::StatusOr<HttpUrl> first = HttpUrl::Parse(plan_.request.url);
  const absl::StatusOr<HttpUrl> asked = HttpUrl::Parse(url);
  if (!first.ok() || !asked.ok()) return request;
  const std::string origin = asked->Origin();
  bool is_trusted = origin == first->Origin();
  for (const std::string& trusted : plan_.trusted_origins) {
    const absl::StatusOr<HttpUrl> other = HttpUrl::Parse(trusted);
    is_trusted |= other.ok() && other->Origin() == origin;
  }
  if (is_trusted) request.headers = plan_.request.headers;
  return request;
}

bool HttpOperationTracker::asks_by_wait() const {
  return dialect_.word == "wait" && offers_wait_ && hop_url_.empty() &&
         (dialect_.kind == Kind::kGoogle || dialect_.kind == Kind::kCompute);
}

HttpRequest HttpOperationTracker::Next() {
  if (phase_ == Phase::kStart) {
    was_sent_ = true;
    HttpRequest start = Ask(url_);
    start.method = plan_.request.method;
    start.body = plan_.request.body;
    return start;
  }
  HttpRequest request = Ask(phase_ == Phase::kResult ? result_url_
                            : hop_url_.empty()       ? url_
                                                     : hop_url_);
  std::erase_if(request.headers, [](const auto& field) {
    return !IsForStatus(field.first, field.second);
  });
  if (phase_ != Phase::kStatus || !asks_by_wait()) return request;
  const size_t query = std::min(request.url.find('?'), request.url.size());
  request.url.insert(query, dialect_.kind == Kind::kGoogle ? ":wait" : "/wait");
  request.method = "POST";
  request.body = "";
  return request;
}

bool HttpOperationTracker::is_start_repeatable() const {
  for (const auto& [name, value] : plan_.request.headers) {
    if (HasName(name, "Idempotency-Key") ||
        HasName(name, "Repeatability-Request-ID")) {
      return true;
    }
  }
  return method_ == "PUT" || method_ == "DELETE" || method_ == "HEAD" ||
         method_ == "GET" || method_ == "OPTIONS";
}

std::string HttpOperationTracker::Explained(std::string_view text) const {
  if (dialect_.kind == Kind::kAuto) return std::string(text);
  return absl::StrCat(ToAbsl(text), text.empty() ? "" : " ", "(",
                      dialect_.ToString(), ": ", reason_, ")");
}

HttpOperationStep HttpOperationTracker::End(Poll<> answer) {
  end_ = std::move(answer);
  return {.poll = *end_};
}

HttpOperationStep HttpOperationTracker::Fail(absl::Status error) {
  return End(Failed(std::move(error)));
}

HttpOperationStep HttpOperationTracker::Take(const HttpResponse& response,
                                             absl::Time now) {
  if (end_.has_value()) return {.poll = *end_};
  const HttpVerdict verdict = JudgeTransport(
      {.classifier = plan_.rules.classifier, .fail_if = plan_.rules.fail_if},
      response, now);
  if (verdict.reason == HttpVerdict::Reason::kCondition) {
    return End(verdict.ToPoll(response));
  }
  if (IsRedirect(response.status) && !response.header("Location").empty()) {
    return Redirect(response);
  }
  redirects_ = 0;
  HttpOperationStep step;
  switch (phase_) {
    case Phase::kStart:
      step = TakeStart(response, now, verdict);
      break;
    case Phase::kStatus:
      step = TakeStatus(response, now, verdict);
      break;
    case Phase::kResult:
      step = TakeResult(response, verdict);
      break;
  }
  hop_url_.clear();
  return step;
}

HttpOperationStep HttpOperationTracker::TakeFailure(Poll<> found,
                                                    bool was_sent) {
  if (end_.has_value()) return {.poll = *end_};
  hop_url_.clear();
  redirects_ = 0;
  if (found.status() == PollStatus::kFailed) return End(std::move(found));
  if (phase_ != Phase::kStart) return {.poll = std::move(found)};
  if (!was_sent || is_start_repeatable()) {
    was_sent_ = false;
    return {.poll = std::move(found)};
  }
  return Fail(absl::UnknownError(absl::StrCat(
      method_, " got no answer (", ToAbsl(found.detail()),
      "); the operation may be running and is not started again. Find it and "
      "follow its URL, or send an Idempotency-Key")));
}

HttpOperationStep HttpOperationTracker::TakeStart(const HttpResponse& response,
                                                  absl::Time now,
                                                  const HttpVerdict& verdict) {
  if (IsSuccess(response.status)) {
    started_ = now;
    return TakeStarted(response, verdict);
  }
  if (verdict.status == PollStatus::kFailed) {
    return End(verdict.ToPoll(response));
  }
  const bool was_refused = verdict.status == PollStatus::kThrottled ||
                           response.header("Stripe-Should-Retry") == "true";
  if (was_refused || is_start_repeatable()) {
    was_sent_ = false;
    return {.poll = verdict.ToPoll(response)};
  }
  return Fail(absl::UnknownError(absl::StrCat(
      method_, " got HTTP ", response.status, verdict.why.empty() ? "" : ", ",
      verdict.why,
      "; the operation may be running and is not started again. Find it and "
      "follow its URL, or send an Idempotency-Key")));
}

HttpOperationStep HttpOperationTracker::TakeStarted(
    const HttpResponse& response, const HttpVerdict& verdict) {
  Recognize(response);
  if (absl::Status status = UseFields(response); !status.ok()) {
    return Fail(std::move(status));
  }
  const bool has_status =
      source_ == Source::kMonitor ||
      (source_ == Source::kLocation && response.status == 202);
  phase_ = Phase::kStatus;
  if (has_status) {
    return {.poll = NotReady(Explained("started"), verdict.retry_after)};
  }
  const JsonView body(JsonOf(response));
  OperationState state;
  if (dialect_.kind != Kind::kAuto && dialect_.kind != Kind::kAccepted) {
    state = internal::ReadState(dialect_, body, /*is_monitor=*/false);
  }
  using StateKind = OperationState::Kind;
  const bool asks_conditions = !plan_.rules.succeed_if.empty();
  if (!asks_conditions &&
      (state.kind == StateKind::kFailed ||
       (state.kind == StateKind::kSucceeded && response.status != 202))) {
    return TakeState(response, verdict);
  }
  if (source_ == Source::kLocation && state.kind == StateKind::kNone) {
    may_be_done_ = true;
    return {.again = true};
  }
  if (response.status == 202 || state.kind != StateKind::kNone ||
      asks_conditions) {
    if (source_ != Source::kLocation) {
      if (absl::Status status = UseBody(response); !status.ok()) {
        return Fail(std::move(status));
      }
    }
    return {.poll = NotReady(Explained(state.text), verdict.retry_after)};
  }
  return End({PollStatus::kSuccess, absl::StrCat("HTTP ", response.status,
                                                 ", done without waiting")});
}

void HttpOperationTracker::Recognize(const HttpResponse& response) {
  if (plan_.dialect.kind != Kind::kAuto) return;
  const bool is_open = dialect_.kind == Kind::kAuto ||
                       dialect_.kind == Kind::kAccepted ||
                       dialect_.kind == Kind::kState;
  if (!is_open) return;
  internal::RecognizedDialect found =
      internal::RecognizeDialect(response, JsonView(JsonOf(response)));
  const Kind kind = found.dialect.kind;
  const bool is_certain =
      kind != Kind::kAuto && kind != Kind::kAccepted && kind != Kind::kState;
  if (!is_certain && dialect_.kind != Kind::kAuto) return;
  dialect_ = std::move(found.dialect);
  reason_ = std::move(found.reason);
}

absl::StatusOr<std::string> HttpOperationTracker::Resolve(
    std::string_view reference, std::string_view source) const {
  const auto error = [&](std::string_view text) {
    return absl::FailedPreconditionError(
        absl::StrCat(ToAbsl(source), ": ", ToAbsl(text)));
  };
  const absl::StatusOr<HttpUrl> first = HttpUrl::Parse(plan_.request.url);
  const std::string& current = phase_ == Phase::kResult ? result_url_
                               : hop_url_.empty()       ? url_
                                                        : hop_url_;
  const absl::StatusOr<HttpUrl> base = HttpUrl::Parse(current);
  if (!first.ok() || !base.ok()) return error("the base address is invalid");
  absl::StatusOr<HttpUrl> url = base->Resolve(reference);
  if (!url.ok()) return error(internal::ToStd(url.status().message()));
  if (url->scheme == "http" &&
      (base->scheme == "https" || first->scheme == "https")) {
    return error(absl::StrCat("going from https to http is not allowed: ",
                              url->Shown()));
  }
  url->user_info =
      url->Origin() == first->Origin() ? first->user_info : std::string();
  std::string text = url->ToString();
  if (text.size() > HttpUrl::kMaxSize) {
    return error(absl::StrCat("the address has ", text.size(),
                              " bytes; the limit is ", HttpUrl::kMaxSize));
  }
  return text;
}

// The newest field counts. Once a monitor is known, `Location` is the result.
absl::Status HttpOperationTracker::UseFields(const HttpResponse& response) {
  for (const std::string_view name :
       {"Operation-Location", "Azure-AsyncOperation"}) {
    const std::string_view value = response.header(name);
    if (value.empty()) continue;
    absl::StatusOr<std::string> url = Resolve(value, name);
    if (!url.ok()) return url.status();
    const bool is_first = source_ == Source::kRequest;
    const std::string location(response.header("Location"));
    if (is_first && (method_ == "PUT" || method_ == "PATCH")) {
      result_url_ = url_;
    } else if (is_first && method_ == "POST" && !location.empty()) {
      absl::StatusOr<std::string> result = Resolve(location, "Location");
      if (!result.ok()) return result.status();
      result_url_ = *std::move(result);
    }
    url_ = *std::move(url);
    source_ = Source::kMonitor;
    return absl::OkStatus();
  }
  const std::string_view location = response.header("Location");
  const bool counts = response.status == 202 || response.status == 201;
  if (source_ == Source::kMonitor || !counts || location.empty()) {
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> url = Resolve(location, "Location");
  if (!url.ok()) return url.status();
  url_ = *std::move(url);
  source_ = Source::kLocation;
  return absl::OkStatus();
}

// Finds the address of the status in the answer to the start.
absl::Status HttpOperationTracker::UseBody(const HttpResponse& response) {
  const JsonView body(JsonOf(response));
  absl::StatusOr<HttpUrl> url = HttpUrl::Parse(url_);
  if (!url.ok()) return url.status();
  std::string link = internal::StatusLinkOf(dialect_, body);
  const std::string name =
      dialect_.kind == Kind::kGoogle ? body.Word("name") : "";
  if (link.empty() && !name.empty()) link = GooglePath(url->path, name);
  if (link.empty() && method_ == "POST") {
    const std::string id = internal::OperationIdOf(dialect_, body);
    if (id.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "HTTP ", response.status,
          ": the operation is running, but the answer has no status address: "
          "no Location, no Operation-Location, no link and no id"));
    }
    while (url->path.ends_with('/')) url->path.pop_back();
    link = absl::StrCat(url->path, "/", Escaped(id));
  }
  if (link.empty()) return absl::OkStatus();  // The resource itself.
  absl::StatusOr<std::string> found = Resolve(link, "address of the status");
  if (!found.ok()) return found.status();
  url_ = *std::move(found);
  source_ = Source::kBody;
  return absl::OkStatus();
}

HttpOperationStep HttpOperationTracker::Redirect(const HttpResponse& response) {
  const int status = response.status;
  if (++redirects_ > kMaxRedirects) {
    return Fail(absl::FailedPreconditionError(
        absl::StrCat("more than ", kMaxRedirects,
                     " redirects, the last with HTTP ", status)));
  }
  absl::StatusOr<std::string> target =
      Resolve(response.header("Location"), "Location");
  if (!target.ok()) return Fail(target.status());
  const bool keeps_method = status == 307 || status == 308;
  if (phase_ == Phase::kStart && keeps_method) {
    const bool has_headers = !Ask(*target).headers.empty() ||
                             HttpUrl::Parse(*target)->Origin() ==
                                 HttpUrl::Parse(plan_.request.url)->Origin();
    if (!has_headers) {
      return Fail(absl::FailedPreconditionError(
          "the request that starts the operation was redirected to another "
          "origin, and is not sent there"));
    }
    was_sent_ = false;
    url_ = *std::move(target);
  } else if (phase_ == Phase::kStart) {
    phase_ = Phase::kStatus;
    source_ = Source::kLocation;
    may_be_done_ = true;
    url_ = *std::move(target);
  } else if (phase_ == Phase::kResult || status == 303) {
    phase_ = Phase::kResult;
    result_url_ = *std::move(target);
  } else if (status == 301 || status == 308) {
    url_ = *std::move(target);
    hop_url_.clear();
  } else {
    hop_url_ = *std::move(target);
  }
  return {.again = true};
}

HttpOperationStep HttpOperationTracker::TakeStatus(const HttpResponse& response,
                                                   absl::Time now,
                                                   const HttpVerdict& verdict) {
  const int status = response.status;
  if (asks_by_wait() &&
      (status == 400 || status == 404 || status == 405 || status == 501)) {
    offers_wait_ = false;
    return {.again = true};
  }
  if (status == 404 || status == 410) {
    return TakeMissing(response, now, verdict);
  }
  if (!IsSuccess(status)) {
    Poll<> poll = verdict.ToPoll(response);
    return verdict.status == PollStatus::kFailed
               ? End(std::move(poll))
               : HttpOperationStep{.poll = std::move(poll)};
  }
  Recognize(response);
  if (absl::Status error = UseFields(response); !error.ok()) {
    return Fail(std::move(error));
  }
  if (!plan_.rules.succeed_if.empty()) return TakeConditions(response, now);
  if (dialect_.kind != Kind::kAuto) return TakeState(response, verdict);
  if (may_be_done_) return Finish(response, "");
  return Fail(absl::FailedPreconditionError(absl::StrCat(
      "HTTP ", status,
      ": the answer is in an unknown dialect; set one, such as "
      "state:PATH=WORD, or accepted if every 2xx but 202 is success")));
}

HttpOperationStep HttpOperationTracker::TakeMissing(
    const HttpResponse& response, absl::Time now, const HttpVerdict& verdict) {
  Recognize(response);
  if (verdict.status != PollStatus::kFailed) {
    return {.poll = verdict.ToPoll(response)};
  }
  if (response.status == 410 && dialect_.kind == Kind::kKubernetes) {
    if (ListAgain()) return {.again = true};
    return {.poll = NotReady(Explained("HTTP 410, listing again"))};
  }
  if (method_ == "DELETE" && source_ == Source::kRequest) {
    return End({PollStatus::kSuccess,
                absl::StrCat("HTTP ", response.status, ", it is gone")});
  }
  if (!has_run_ && now < started_ + kNotFoundGrace &&
      started_ != absl::InfinitePast()) {
    return {.poll = NotReady(Explained(
                absl::StrCat("HTTP ", response.status, ", not there yet")))};
  }
  if (!has_run_) return End(verdict.ToPoll(response));
  return Fail(absl::NotFoundError(absl::StrCat(
      "HTTP ", response.status,
      ": the operation ran and then expired or was deleted; its result is "
      "unknown",
      verdict.why.empty() ? "" : ": ", verdict.why)));
}

bool HttpOperationTracker::ListAgain() {
  absl::StatusOr<HttpUrl> url = HttpUrl::Parse(url_);
  if (!url.ok()) return false;
  std::string query = WithoutVersion(url->query);
  if (query == url->query) return false;
  url->query = std::move(query);
  url_ = url->ToString();
  return true;
}

HttpOperationStep HttpOperationTracker::TakeConditions(
    const HttpResponse& response, absl::Time now) {
  has_run_ = true;
  const HttpVerdict verdict = JudgeHttp(
      {.ready_on = {{{200, 299}}}, .succeed_if = plan_.rules.succeed_if},
      response, now);
  if (verdict.status == PollStatus::kSuccess) return Finish(response, "");
  return {.poll = verdict.ToPoll(response)};
}

HttpOperationStep HttpOperationTracker::TakeState(const HttpResponse& response,
                                                  const HttpVerdict& verdict) {
  const JsonView body(JsonOf(response));
  const OperationState state = internal::ReadState(
      dialect_, body, /*is_monitor=*/source_ == Source::kMonitor);
  has_run_ = true;
  if (state.kind != OperationState::Kind::kNone && state.has_word) {
    has_word_ = true;
  }
  const bool is_accepted =
      response.status == 202 && dialect_.kind == Kind::kAccepted;
  const bool is_still_there =
      method_ == "DELETE" && source_ == Source::kRequest;
  switch (state.kind) {
    case OperationState::Kind::kNone:
      return TakeWithoutState(response, verdict, state.text);
    case OperationState::Kind::kFailed:
      return Fail(absl::Status(
          state.code,
          absl::StrCat("HTTP ", response.status, ": ", Explained(state.text))));
    case OperationState::Kind::kSucceeded:
      if (is_accepted || is_still_there) break;
      return Finish(response, state.text);
    case OperationState::Kind::kRunning:
      break;
  }
  return {.poll = NotReady(Explained(state.text), verdict.retry_after)};
}

HttpOperationStep HttpOperationTracker::TakeWithoutState(
    const HttpResponse& response, const HttpVerdict& verdict,
    std::string_view word) {
  const bool status_tells =
      may_be_done_ || (dialect_.kind == Kind::kAccepted && !has_word_) ||
      (dialect_.kind == Kind::kAzure && source_ != Source::kMonitor &&
       !response.body_is_cut);
  const bool is_there = method_ != "DELETE" || source_ != Source::kRequest;
  if (response.status != 202 && status_tells && is_there) {
    return Finish(response, "");
  }
  const std::string text =
      !word.empty() ? std::string(word)
      : response.body_is_cut
          ? absl::StrCat("a body of more than ", response.body.size(), " bytes")
          : absl::StrCat("HTTP ", response.status, ", no state in the answer");
  return {.poll = NotReady(Explained(text), verdict.retry_after)};
}

HttpOperationStep HttpOperationTracker::Finish(const HttpResponse& response,
                                               std::string_view text) {
  if (dialect_.kind == Kind::kAzure) {
    const std::string location =
        JsonView(JsonOf(response)).Word("resourceLocation");
    if (!location.empty()) {
      absl::StatusOr<std::string> url = Resolve(location, "resourceLocation");
      if (!url.ok()) return Fail(url.status());
      result_url_ = *std::move(url);
    }
  }
  if (!result_url_.empty() && phase_ != Phase::kResult) {
    phase_ = Phase::kResult;
    return {.again = true};
  }
  return End({PollStatus::kSuccess,
              Explained(text.empty() ? absl::StrCat("HTTP ", response.status)
                                     : std::string(text))});
}

HttpOperationStep HttpOperationTracker::TakeResult(const HttpResponse& response,
                                                   const HttpVerdict& verdict) {
  if (response.status == 202) {
    return {.poll = NotReady(Explained("the result is not there yet"),
                             verdict.retry_after)};
  }
  if (IsSuccess(response.status)) {
    Recognize(response);
    const OperationState state = internal::ReadState(
        dialect_, JsonView(JsonOf(response)), /*is_monitor=*/false);
    if (state.kind != OperationState::Kind::kFailed) {
      return End({PollStatus::kSuccess,
                  Explained(absl::StrCat("HTTP ", response.status))});
    }
    return Fail(absl::Status(
        state.code,
        absl::StrCat("HTTP ", response.status, ": ", Explained(state.text))));
  }
  Poll<> poll = verdict.ToPoll(response);
  if (verdict.status != PollStatus::kFailed) return {.poll = std::move(poll)};
  return Fail(absl::Status(
      poll.error().code(),
      absl::StrCat("the operation has succeeded, but its result cannot be "
                   "read: ",
                   poll.error().message())));
}

std::optional<HttpRequest> HttpOperationTracker::CancelRequest() const {
  if (phase_ == Phase::kStart) return std::nullopt;
  HttpRequest request = Ask(url_);
  std::erase_if(request.headers, [](const auto& field) {
    return !IsForStatus(field.first, field.second);
  });
  request.method = "DELETE";
  std::string_view method;
  switch (dialect_.kind) {
    case Kind::kGoogle:
      method = ":cancel";
      break;
    case Kind::kOpenAi:
    case Kind::kAnthropic:
    case Kind::kGitHub:
      method = "/cancel";
      break;
    default:
      return request;
  }
  const size_t query = std::min(request.url.find('?'), request.url.size());
  request.url.insert(query, std::string(method));
  request.method = "POST";
  request.body = "";
  return request;
}

}  // namespace waiter
