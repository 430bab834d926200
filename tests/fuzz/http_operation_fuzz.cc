// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Answers the requests of an operation with anything. The first byte of the
// input chooses the method of the first request, and the second byte chooses
// the dialect. Answers follow, separated by "\n===\n". Each has a byte that
// chooses the status, header fields, one per line, and the body after an empty
// line.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tests/support/check_that.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace {

using waiter::HttpDialect;
using waiter::HttpOperationPlan;
using waiter::HttpOperationStep;
using waiter::HttpOperationTracker;
using waiter::HttpRequest;
using waiter::HttpResponse;
using waiter::PollStatus;

const absl::Time kNow = absl::FromUnixSeconds(1'767'323'045);
constexpr std::string_view kOrigin = "https://h/";

int StatusOf(unsigned char byte) {
  constexpr int kUsual[] = {200, 201, 202, 204, 301, 302, 303, 307,
                            404, 410, 429, 500, 503, 400, 304, 409};
  return byte < 0xF0 ? kUsual[byte % 16] : 100 + 32 * (byte - 0xF0);
}

HttpResponse Read(std::string_view text) {
  HttpResponse response = {.status = 200};
  if (text.empty()) return response;
  response.status = StatusOf(static_cast<unsigned char>(text.front()));
  text.remove_prefix(1);
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

HttpOperationPlan PlanOf(unsigned char start, unsigned char dialect) {
  constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "DELETE"};
  constexpr std::string_view kDialects[] = {
      "accepted", "azure",      "google",         "google:wait",
      "compute",  "bigquery",   "kubernetes",     "kubernetes:Ready",
      "openai",   "anthropic",  "github",         "stripe",
      "airflow",  "databricks", "jenkins",        "elasticsearch",
      "redfish",  "state",      "state:a.b=done", "compute:wait"};
  HttpOperationPlan plan = {
      .request = {.url = "https://h/v1/jobs?resourceVersion=1",
                  .method = std::string(kMethods[start % 4]),
                  .headers = {{"Authorization", "secret"}}}};
  if (dialect % 2 == 1) {
    plan.dialect = *HttpDialect::Parse(kDialects[dialect / 2 % 20]);
  }
  return plan;
}

bool IsSafe(std::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) return false;
  }
  return text.size() <= 1200;
}

void CheckRequest(const HttpRequest& request) {
  // Requests never use http, and send the secret only to the first origin.
  CHECK_THAT(absl::StartsWith(request.url, "https://"));
  CHECK_THAT(IsSafe(request.url.substr(0, 1000)));
  CHECK_THAT(request.url.size() <= (size_t{16} << 10) + 8);
  const bool is_own = absl::StartsWith(request.url, kOrigin) ||
                      absl::StartsWith(request.url, "https://h:443/") ||
                      absl::StartsWith(request.url, "https://h:/");
  CHECK_THAT(is_own || request.headers.empty());
}

void CheckStep(const HttpOperationTracker& tracker,
               const HttpOperationStep& step, const HttpResponse& response) {
  CHECK_THAT(IsSafe(step.poll.detail()));
  CHECK_THAT(!step.again || !tracker.has_ended());
  const bool is_end = step.poll.status() == PollStatus::kSuccess ||
                      step.poll.status() == PollStatus::kFailed;
  CHECK_THAT(is_end == tracker.has_ended());
  CHECK_THAT(step.poll.status() != PollStatus::kSuccess ||
             (response.status >= 200 && response.status < 300 &&
              response.status != 202) ||
             response.status == 202 || response.status == 404 ||
             response.status == 410);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const HttpOperationPlan plan = PlanOf(data[0], data[1]);
  const std::string_view rest(reinterpret_cast<const char*>(data + 2),
                              size - 2);
  HttpOperationTracker tracker(plan);
  int starts = 0;
  int refusals = 0;
  for (const std::string_view text : absl::StrSplit(rest, "\n===\n")) {
    if (tracker.has_ended()) break;
    const HttpRequest request = tracker.Next();
    CheckRequest(request);
    const HttpResponse response = Read(text);
    const bool is_start = request.method == plan.request.method &&
                          plan.request.method == "POST" &&
                          !absl::StrContains(request.url, "wait");
    if (is_start) ++starts;
    const HttpOperationStep step = tracker.Take(response, kNow);
    CheckStep(tracker, step, response);
    // A POST is repeated only if the server refused it or moved it.
    if (is_start && !tracker.has_ended() &&
        (response.status < 200 || response.status >= 300)) {
      ++refusals;
    }
    CHECK_THAT(starts <= refusals + 1);
    const absl::StatusOr<HttpOperationTracker> restored =
        HttpOperationTracker::Restore(plan, tracker.Save());
    CHECK_THAT(restored.ok());
    CHECK_THAT(restored->Save() == tracker.Save());
  }
  // The saved state may also be anything.
  const absl::StatusOr<HttpOperationTracker> other =
      HttpOperationTracker::Restore(plan, rest);
  if (other.ok()) CHECK_THAT(other->dialect().ToString().size() <= size + 20);
  return 0;
}
