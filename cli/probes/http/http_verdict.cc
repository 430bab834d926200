// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/http_verdict.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/net/connect_failure.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/json_expression.h"
#include "cli/probes/probe.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "cli/text/text_regex.h"
#include "nlohmann/json.hpp"
#include "waiter/classify.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Largest part of a text from outside that a detail shows, in bytes.
constexpr size_t kMaxShown = 60;

std::string Shown(std::string_view text) { return Shortened(text, kMaxShown); }

// Returns "HTTP 503 Service Unavailable".
std::string StatusText(const HttpResponse& answer) {
  return absl::StrCat("HTTP ", answer.status, answer.reason.empty() ? "" : " ",
                      Shown(answer.reason));
}

std::string HintFor(const HttpResponse& answer) {
  const int status = answer.status;
  if (status == 401 || status == 403) {
    return absl::StrCat(
        "HTTP ", status,
        ": log in with --header, or use --not-ready-on=", status);
  }
  if (status >= 300 && status < 400) {
    return absl::StrCat("HTTP ", status, ": accept it with --status=", status,
                        ", or remove --no-redirect");
  }
  // nginx, Apache and Go say this.
  if (status == 400 && absl::StrContains(answer.body, "HTTPS")) {
    return "the port speaks TLS: write https://";
  }
  return status == 405 ? "HTTP 405: choose another --method" : "";
}

// Returns whether OpenSSL says that the peer does not speak TLS.
bool IsWithoutTls(std::string_view text) {
  return absl::StrContains(text, "wrong version number") ||
         absl::StrContains(text, "packet length too long");
}

std::string CertificateHint(std::string_view text) {
  if (absl::StrContains(text, "target host name") ||
      absl::StrContains(text, "does not match")) {
    return "the certificate is for another name: use that name in the URL, or "
           "--insecure";
  }
  if (absl::StrContains(text, "expired")) {
    return "certificate expired: renew it, or use --insecure";
  }
  if (absl::StrContains(text, "self-signed") ||
      absl::StrContains(text, "self signed")) {
    return "certificate self-signed: trust it with --ca-file, or use "
           "--insecure";
  }
  return "certificate not trusted: name its authority with --ca-file, or use "
         "--insecure";
}

HttpMatch MatchHeader(const HttpOptions::HeaderMatch& expected,
                      const HttpResponse& response) {
  const std::string* last = nullptr;
  for (const auto& [name, value] : response.headers) {
    if (!absl::EqualsIgnoreCase(name, expected.name)) continue;
    if (expected.value.Matches(value)) return {.holds = true};
    last = &value;
  }
  if (last == nullptr) {
    return {.found = absl::StrCat("no header ", expected.name)};
  }
  return {.found =
              absl::StrCat(expected.name, ": ", Shown(*last),
                           " does not match /", expected.value.pattern(), "/")};
}

HttpMatch Unknown(const absl::Status& why) {
  return {.is_known = false, .found = std::string(why.message())};
}

HttpMatch MatchBody(const TextRegex& expected, const HttpResponse& response) {
  const absl::StatusOr<std::string_view> body = TextBodyOf(response);
  if (!body.ok()) return Unknown(body.status());
  const bool matches = expected.Matches(*body);
  return {
      .holds = matches,
      .found = absl::StrCat(
          "body",
          response.body_is_cut ? ", of which the first 1 MiB was read," : "",
          matches ? " matches /" : " does not match /", expected.pattern(),
          "/")};
}

// The JSON of one body, parsed when it is first needed.
class JsonBody {
 public:
  explicit JsonBody(const HttpResponse& response) : response_(response) {}

  HttpMatch Match(const JsonExpression& expected) {
    std::string value;
    return Evaluate(expected, value);
  }

  // Holds if `wanted` gives a value.
  HttpMatch Print(const JsonExpression& wanted) {
    std::string value;
    HttpMatch match = Evaluate(wanted, value);
    match.holds = match.is_known;
    if (match.holds) printed_ = std::move(value);
    return match;
  }

  const std::optional<std::string>& printed() const { return printed_; }

  // The expression that exceeded a limit; empty without one.
  const std::string& excess() const { return excess_; }

 private:
  HttpMatch Evaluate(const JsonExpression& expression, std::string& value) {
    HttpMatch match = IsJson();
    if (!match.holds) return match;
    JsonExpression::Result result =
        expression.Evaluate(**document_, *TextBodyOf(response_));
    if (absl::IsResourceExhausted(result.status)) excess_ = result.found;
    value = std::move(result.value);
    return {.holds = result.holds,
            .is_known = result.status.ok(),
            .found = std::move(result.found)};
  }

  HttpMatch IsJson() {
    if (response_.body_is_cut) {
      return {.is_known = false,
              .found = "body is larger than 1 MiB, the limit for JSON"};
    }
    const absl::StatusOr<std::string_view> body = TextBodyOf(response_);
    if (!body.ok()) return Unknown(body.status());
    if (!document_.has_value()) document_ = ParseJson(*body);
    if (document_->ok()) return {.holds = true};
    return {.is_known = false,
            .found = absl::StrCat("body is not JSON: ",
                                  document_->status().message())};
  }

  const HttpResponse& response_;
  std::optional<std::string> printed_;
  std::string excess_;
  std::optional<absl::StatusOr<nlohmann::json>> document_;
};

using JsonMatcher =
    std::function<HttpMatch(const JsonExpression&, const HttpResponse&)>;

// Adds the conditions of `options`, to which they refer. `match` is for `json`,
// `match_failure` for `fail_json`.
void AddConditions(const HttpOptions& options, const JsonMatcher& match,
                   const JsonMatcher& match_failure, HttpRules& rules) {
  for (const HttpOptions::HeaderMatch& expected : options.expected_headers) {
    rules.succeed_if.emplace_back([&expected](const HttpResponse& response) {
      return MatchHeader(expected, response);
    });
  }
  for (const TextRegex& expected : options.body) {
    rules.succeed_if.emplace_back([&expected](const HttpResponse& response) {
      return MatchBody(expected, response);
    });
  }
  for (const JsonExpression& expected : options.json) {
    rules.succeed_if.emplace_back(
        [&expected, match](const HttpResponse& response) {
          return match(expected, response);
        });
  }
  for (const JsonExpression& expected : options.fail_json) {
    rules.fail_if.emplace_back(
        [&expected, match_failure](const HttpResponse& response) {
          return match_failure(expected, response);
        });
  }
  for (const TextRegex& expected : options.fail_body) {
    rules.fail_if.emplace_back([&expected](const HttpResponse& response) {
      return MatchBody(expected, response);
    });
  }
  if (!options.fail_status.ranges.empty()) {
    rules.fail_if.push_back(StatusIn(options.fail_status));
  }
}

// Returns the rules that `options` make for one answer. They refer to the
// arguments.
HttpRules RulesOf(const HttpOptions& options, JsonBody& json) {
  static const auto* const classifier =
      new ErrorClassifier(ErrorClassifier::Http()
                              .With(404, PollStatus::kNotReady)
                              .With(408, PollStatus::kNotReady)
                              .With(409, PollStatus::kNotReady)
                              .With(425, PollStatus::kNotReady)
                              .With(503, PollStatus::kNotReady));
  HttpRules rules = {.classifier = *classifier,
                     .ready_on = options.status,
                     .not_ready_on = options.not_ready_on};
  const auto match = [&json](const JsonExpression& expected,
                             const HttpResponse&) {
    return json.Match(expected);
  };
  AddConditions(options, match, match, rules);
  if (options.print.has_value()) {
    rules.succeed_if.emplace_back([&options, &json](const HttpResponse&) {
      return json.Print(*options.print);
    });
  }
  return rules;
}

// Returns whether the connection certainly went to a proxy.
bool WentToProxy(const HttpAnswer& answer) {
  return answer.may_be_proxied && !answer.target_port.empty() &&
         std::none_of(answer.addresses.begin(), answer.addresses.end(),
                      [&](const SocketAddress& address) {
                        return absl::EndsWith(
                            address.ToString(),
                            absl::StrCat(":", answer.target_port));
                      });
}

// Describes the failure as for any other target. libcurl reports one error for
// all addresses; `error` is 0 if none.
Finding NotConnected(const HttpAnswer& answer, int error,
                     absl::Duration timeout) {
  std::vector<ConnectFailure> failures;
  failures.reserve(answer.addresses.size());
  for (const SocketAddress& address : answer.addresses) {
    failures.push_back({.address = address, .error = error});
  }
  Finding finding = DescribeFailures(failures, timeout);
  finding.absent &= !answer.may_be_proxied;
  if (WentToProxy(answer)) {
    finding.detail = absl::StrCat("the proxy: ", finding.detail);
    finding.hint =
        "is the proxy right? see http_proxy, https_proxy, all_proxy and "
        "no_proxy";
  }
  return finding;
}

Finding JudgeError(const HttpAnswer& answer) {
  using Error = HttpAnswer::Error;
  Finding finding = {.status = PollStatus::kServerError,
                     .detail = answer.error_text};
  switch (answer.error) {
    case Error::kNotConnected:
      if (answer.connect_error != 0 && !answer.addresses.empty()) {
        return NotConnected(answer, answer.connect_error,
                            absl::InfiniteDuration());
      }
      finding.status = PollStatus::kNotReady;
      break;
    case Error::kNameNotFound:
      finding.status = PollStatus::kNotReady;
      finding.no_host = !answer.may_be_proxied;
      break;
    case Error::kCertificate:
      finding.hint = CertificateHint(answer.error_text);
      break;
    case Error::kOptions:
      finding.status = PollStatus::kFailed;
      break;
    case Error::kTimeout:
      // The client itself gives up after some minutes.
      finding.status = answer.stage <= HttpStage::kConnecting
                           ? PollStatus::kNotReady
                           : PollStatus::kServerError;
      break;
    case Error::kTls:
      if (IsWithoutTls(answer.error_text)) {
        finding.hint = "the port speaks no TLS: write http://";
      } else if (absl::StrContains(answer.error_text, "certificate required") ||
                 absl::StrContains(answer.error_text, "handshake failure")) {
        finding.hint =
            "if the server wants a certificate, use --cert and --key";
      }
      break;
    case Error::kNone:
    case Error::kProtocol:
      break;
    case Error::kNotHttp2:
      finding.hint = "does it speak HTTP/2? If not, leave out --http2";
      break;
  }
  return finding;
}

}  // namespace

Finding JudgeHttp(const HttpOptions& options, const HttpAnswer& answer,
                  absl::Time now) {
  if (answer.error != HttpAnswer::Error::kNone) return JudgeError(answer);
  using Reason = HttpVerdict::Reason;
  JsonBody json(answer);
  const HttpVerdict verdict =
      waiter::JudgeHttp(RulesOf(options, json), answer, now);
  Finding finding = {
      .status = verdict.status,
      .detail = verdict.why.empty()
                    ? StatusText(answer)
                    : absl::StrCat("HTTP ", answer.status, ", ", verdict.why),
      .retry_after = verdict.retry_after,
      .retry_after_source = verdict.retry_after_source};
  if (!verdict.ignored_retry_after.empty()) {
    absl::StrAppend(&finding.detail, " (ignored ", verdict.ignored_retry_after,
                    ")");
  }
  if (verdict.status == PollStatus::kSuccess) {
    finding.retry_after = absl::ZeroDuration();
    finding.value = json.printed();
  } else if (verdict.reason == Reason::kStatus) {
    finding.unmet = answer.status >= 200 && answer.status < 300 &&
                    verdict.status == PollStatus::kNotReady &&
                    !options.not_ready_on.Contains(answer.status);
    finding.absent = answer.status == 404 || answer.status == 410;
    finding.hint = HintFor(answer);
  }
  finding.unmet |= verdict.reason == Reason::kUnmet;
  if (!json.excess().empty()) {
    return {.status = PollStatus::kFailed, .detail = json.excess()};
  }
  return finding;
}

HttpRules ConditionsOf(const HttpOptions& options) {
  HttpRules rules;
  for (const JsonExpression& expected : options.json) {
    rules.fail_if.emplace_back([&expected](const HttpResponse& response) {
      JsonBody json(response);
      json.Match(expected);
      return HttpMatch{.holds = !json.excess().empty(), .found = json.excess()};
    });
  }
  AddConditions(
      options,
      [](const JsonExpression& expected, const HttpResponse& response) {
        return JsonBody(response).Match(expected);
      },
      [](const JsonExpression& expected, const HttpResponse& response) {
        JsonBody json(response);
        HttpMatch match = json.Match(expected);
        match.holds |= !json.excess().empty();
        return match;
      },
      rules);
  return rules;
}

void PrintInto(const HttpOptions& options, const HttpAnswer& answer,
               Finding& finding) {
  if (!options.print.has_value()) return;
  JsonBody json(answer);
  const HttpMatch match = json.Print(*options.print);
  if (match.holds) {
    finding.value = json.printed();
    return;
  }
  finding.status = PollStatus::kFailed;
  finding.detail = absl::StrCat(
      "the operation has succeeded, but --print "
      "finds nothing in its result: ",
      match.found);
}

namespace {

// Returns the finding if the lines of an unfinished body decide it.
std::optional<Finding> JudgeLines(const HttpOptions& options, HttpAnswer answer,
                                  absl::Time now) {
  if (options.body.empty() && options.fail_body.empty()) return std::nullopt;
  answer.body.resize(answer.body.rfind('\n') + 1);  // 0 if there is no line.
  Finding finding = JudgeHttp(options, answer, now);
  if (finding.status != PollStatus::kSuccess &&
      finding.status != PollStatus::kFailed) {
    return std::nullopt;
  }
  return finding;
}

Finding EndlessBody(const HttpOptions& options, const HttpAnswer& answer,
                    std::string_view limit) {
  const std::string_view type = answer.header("Content-Type");
  const bool is_stream = absl::StartsWithIgnoreCase(type, "text/event-stream");
  Finding finding = {.status = PollStatus::kServerError,
                     .detail = absl::StrCat(
                         "HTTP ", answer.status,
                         is_stream ? ", a stream of events that did not end in "
                                   : ", body not complete within ",
                         limit)};
  if (is_stream && options.body.empty() && options.json.empty()) {
    finding.hint = "for a stream of events, use --method=HEAD or --body-regex";
  }
  return finding;
}

}  // namespace

Finding JudgeHttpTimeout(const HttpOptions& options, const HttpAnswer& answer,
                         absl::Duration timeout, absl::Time now) {
  const std::string limit = absl::FormatDuration(timeout);
  Finding finding = {.status = PollStatus::kServerError};
  switch (answer.stage) {
    case HttpStage::kResolving:
      finding.status = PollStatus::kNotReady;
      finding.detail = absl::StrCat("name not resolved within ", limit);
      break;
    case HttpStage::kConnecting:
      return NotConnected(answer, /*error=*/0, timeout);
    case HttpStage::kHandshake:
      finding.detail = absl::StrCat("connected, TLS not set up within ", limit);
      break;
    case HttpStage::kWaiting:
      finding.detail = absl::StrCat("connected, no answer within ", limit);
      break;
    case HttpStage::kReading:
      return JudgeLines(options, answer, now)
          .value_or(EndlessBody(options, answer, limit));
  }
  return finding;
}

}  // namespace waiter::cli
