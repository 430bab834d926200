// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/http_verdict.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/net/connect_failure.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/json_path.h"
#include "cli/probes/http/text_regex.h"
#include "cli/probes/probe.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "waiter/classify.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Longest text from outside that a detail shows, in bytes.
constexpr size_t kShown = 60;

std::string Shown(std::string_view text) {
  return text.size() <= kShown ? std::string(text)
                               : absl::StrCat(text.substr(0, kShown), "...");
}

// Returns "HTTP 503 Service Unavailable".
std::string StatusText(const HttpAnswer& answer) {
  return absl::StrCat("HTTP ", answer.status, answer.reason.empty() ? "" : " ",
                      Shown(answer.reason));
}

RetryAfter HintOf(const HttpAnswer& answer, absl::Time now) {
  for (const auto& [name, value] : answer.headers) {
    const RetryAfter hint = ParseRetryAfterField(name, value, now);
    if (hint.has_value()) return hint;
  }
  return {};
}

PollStatus ClassOf(const HttpOptions& options, int status, bool has_hint) {
  static const auto* const classes =
      new ErrorClassifier(ErrorClassifier::Http()
                              .With(404, PollStatus::kNotReady)
                              .With(408, PollStatus::kNotReady)
                              .With(409, PollStatus::kNotReady)
                              .With(425, PollStatus::kNotReady)
                              .With(503, PollStatus::kNotReady));
  if (options.not_ready_on.Contains(status)) return PollStatus::kNotReady;
  if (status == 503 && has_hint) return PollStatus::kThrottled;
  const PollStatus found = classes->ClassOf({.http_status = status});
  // A success of another kind than expected.
  return found == PollStatus::kSuccess ? PollStatus::kNotReady : found;
}

std::string HintFor(const HttpAnswer& answer) {
  const int status = answer.status;
  if (status == 401 || status == 403) {
    return absl::StrCat("HTTP ", status, ": --header or --not-ready-on ",
                        status);
  }
  if (status >= 300 && status < 400) {
    return absl::StrCat("HTTP ", status, ": --status ", status,
                        " or no --no-redirect");
  }
  return status == 405 ? "HTTP 405: --method" : "";
}

std::string CertificateHint(std::string_view text) {
  if (absl::StrContains(text, "expired")) {
    return "certificate expired: --insecure";
  }
  if (absl::StrContains(text, "self-signed") ||
      absl::StrContains(text, "self signed")) {
    return "certificate self-signed: --insecure or --ca-file";
  }
  return "certificate not trusted: --insecure or --ca-file";
}

// Returns what is not as expected; empty if all is.
std::string HeaderMismatch(const HttpOptions::HeaderMatch& expected,
                           const HttpAnswer& answer) {
  const std::string* last = nullptr;
  for (const auto& [name, value] : answer.headers) {
    if (!absl::EqualsIgnoreCase(name, expected.name)) continue;
    if (expected.value.Matches(value)) return "";
    last = &value;
  }
  if (last == nullptr) return absl::StrCat("no header ", expected.name);
  return absl::StrCat(expected.name, ": ", Shown(*last), " does not match /",
                      expected.value.pattern(), "/");
}

std::string BodyMismatch(const HttpOptions& options, const HttpAnswer& answer) {
  const std::string_view cut =
      answer.body_is_cut ? ", of which the first 1 MiB was read," : "";
  for (const TextRegex& expected : options.body) {
    if (expected.Matches(answer.body)) continue;
    return absl::StrCat("body", cut, " does not match /", expected.pattern(),
                        "/");
  }
  if (options.json.empty()) return "";
  if (answer.body_is_cut) return "body is larger than 1 MiB, too much for JSON";
  const absl::StatusOr<nlohmann::json> document = ParseJson(answer.body);
  if (!document.ok()) {
    return absl::StrCat("body is not JSON: ", document.status().message());
  }
  for (const JsonPath& expected : options.json) {
    if (!expected.Holds(*document)) return expected.Found(*document);
  }
  return "";
}

std::string Mismatch(const HttpOptions& options, const HttpAnswer& answer) {
  for (const HttpOptions::HeaderMatch& expected : options.expected_headers) {
    std::string mismatch = HeaderMismatch(expected, answer);
    if (!mismatch.empty()) return mismatch;
  }
  return BodyMismatch(options, answer);
}

// Returns whether the connection was certainly one to a proxy.
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
// all addresses; `error` is 0 if there is none yet.
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
      [[fallthrough]];
    case Error::kNameNotFound:
      finding.status = PollStatus::kNotReady;
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
    case Error::kNone:
    case Error::kTls:
    case Error::kProtocol:
    case Error::kNotHttp2:
      break;
  }
  return finding;
}

}  // namespace

Finding JudgeHttp(const HttpOptions& options, const HttpAnswer& answer,
                  absl::Time now) {
  if (answer.error != HttpAnswer::Error::kNone) return JudgeError(answer);
  Finding finding = {.detail = StatusText(answer)};
  if (options.status.Contains(answer.status)) {
    const std::string mismatch = Mismatch(options, answer);
    if (mismatch.empty()) {
      finding.status = PollStatus::kSuccess;
      return finding;
    }
    finding.detail = absl::StrCat("HTTP ", answer.status, ", ", mismatch);
    finding.retry_after = HintOf(answer, now);
    return finding;
  }
  const RetryAfter hint = HintOf(answer, now);
  finding.status = ClassOf(options, answer.status, hint.has_value());
  finding.absent = answer.status == 404 || answer.status == 410;
  finding.hint = HintFor(answer);
  finding.retry_after = hint;
  return finding;
}

Finding JudgeHttpTimeout(const HttpAnswer& answer, absl::Duration timeout) {
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
      finding.detail = absl::StrCat("HTTP ", answer.status,
                                    ", body not complete within ", limit);
      break;
  }
  return finding;
}

}  // namespace waiter::cli
