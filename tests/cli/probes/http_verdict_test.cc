// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/http_verdict.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/flags/http_flags.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::http_verdict_test {
namespace {

using ::testing::HasSubstr;
using Error = HttpAnswer::Error;

// Parses flags that are separated by blanks.
HttpOptions OptionsOf(std::string_view flags_text) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  const std::vector<std::string> args =
      absl::StrSplit(flags_text, ' ', absl::SkipEmpty());
  EXPECT_TRUE(flags.Parse(args).ok()) << flags_text;
  return *http.Options(flags);
}

HttpAnswer AnswerOf(int status, std::string body = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.reason = "Reason";
  answer.headers = {{"Content-Type", "text/plain"}, {"X-State", "warm"}};
  answer.body = std::move(body);
  return answer;
}

const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5),
                                        absl::UTCTimeZone());

struct StatusRow {
  int status;
  std::string_view flags;
  PollStatus found;
  bool absent = false;
  std::string_view hint = "";
};

TEST(HttpVerdictTest, EachStatusHasItsClass) {
  constexpr PollStatus kSuccess = PollStatus::kSuccess;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kThrottled = PollStatus::kThrottled;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  constexpr PollStatus kFailed = PollStatus::kFailed;
  const std::vector<StatusRow> rows = {
      {200, "", kSuccess},
      {202, "", kSuccess},
      {299, "", kSuccess},
      {302, "--no-redirect", kFailed, false,
       "HTTP 302: accept it with --status=302, or remove --no-redirect"},
      {400, "", kFailed},
      {401, "", kFailed, false,
       "HTTP 401: log in with --header, or use --not-ready-on=401"},
      {403, "", kFailed, false,
       "HTTP 403: log in with --header, or use --not-ready-on=403"},
      {404, "", kNotReady, true},
      {405, "", kFailed, false, "HTTP 405: choose another --method"},
      {408, "", kNotReady},
      {409, "", kNotReady},
      {410, "", kFailed, true},
      {418, "", kFailed},
      {425, "", kNotReady},
      {429, "", kThrottled},
      {500, "", kServerError},
      {501, "", kFailed},
      {502, "", kServerError},
      {503, "", kNotReady},
      {504, "", kServerError},
      {505, "", kFailed},
      {507, "", kServerError},
      // A 2xx status that --status excludes is not ready.
      {200, "--status=204", kNotReady},
      {202, "--status=200", kNotReady},
      {204, "--status=200,204", kSuccess},
      {401, "--status=200-299,401", kSuccess},
      {404, "--status=404", kSuccess},
      {503, "--status=503", kSuccess},
      {401, "--not-ready-on=401,403", kNotReady, false,
       "HTTP 401: log in with --header, or use --not-ready-on=401"},
      {500, "--not-ready-on=500-599", kNotReady},
      {429, "--not-ready-on=429", kNotReady},
      // An expected status wins.
      {401, "--not-ready-on=401 --status=401", kSuccess},
  };
  for (const StatusRow& row : rows) {
    SCOPED_TRACE(testing::Message() << row.status << " " << row.flags);
    const Finding finding =
        JudgeHttp(OptionsOf(row.flags), AnswerOf(row.status), kNow);
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_EQ(finding.absent, row.absent);
    EXPECT_EQ(finding.hint, row.hint);
    EXPECT_EQ(finding.detail, "HTTP " + std::to_string(row.status) + " Reason");
    EXPECT_EQ(finding.retry_after, absl::ZeroDuration());
  }
}

TEST(HttpVerdictTest, RetryAfterMakesAnAnswerThrottled) {
  const auto judge = [](int status, std::string_view flags, std::string name,
                        std::string value) {
    HttpAnswer answer = AnswerOf(status);
    answer.headers.emplace_back(std::move(name), std::move(value));
    const Finding finding = JudgeHttp(OptionsOf(flags), answer, kNow);
    return std::pair(finding.status, finding.retry_after);
  };
  using Found = std::pair<PollStatus, absl::Duration>;

  EXPECT_EQ(judge(503, "", "Retry-After", "7"),
            Found(PollStatus::kThrottled, absl::Seconds(7)));
  EXPECT_EQ(judge(429, "", "retry-after", "Fri, 02 Jan 2026 03:05:05 GMT"),
            Found(PollStatus::kThrottled, absl::Seconds(60)));
  EXPECT_EQ(judge(503, "", "Retry-After", "soon"),
            Found(PollStatus::kNotReady, absl::ZeroDuration()));
  EXPECT_EQ(judge(503, "", "Retry-Later", "7"),
            Found(PollStatus::kNotReady, absl::ZeroDuration()));
  EXPECT_EQ(judge(503, "--not-ready-on=503", "Retry-After", "7"),
            Found(PollStatus::kNotReady, absl::Seconds(7)));
  EXPECT_EQ(judge(202, "--status=200", "Retry-After", "7"),
            Found(PollStatus::kNotReady, absl::Seconds(7)));
  EXPECT_EQ(judge(200, "--body-regex=done", "Retry-After", "7"),
            Found(PollStatus::kNotReady, absl::Seconds(7)));
  EXPECT_EQ(judge(500, "", "Retry-After", "7"),
            Found(PollStatus::kServerError, absl::Seconds(7)));
  EXPECT_EQ(judge(200, "", "Retry-After", "7"),
            Found(PollStatus::kSuccess, absl::ZeroDuration()));
}

struct MismatchRow {
  std::string_view flags;
  std::string_view body;
  std::string_view detail;  // Empty if nothing is missing.
};

TEST(HttpVerdictTest, EveryExpectationMustHold) {
  const std::vector<MismatchRow> rows = {
      {"--body-regex=read[y]", "ready", ""},
      {"--body-regex=ready", "", "HTTP 200, body does not match /ready/"},
      {"--body-regex=a --body-regex=b", "a b", ""},
      {"--body-regex=a --body-regex=b", "a",
       "HTTP 200, body does not match /b/"},
      {"--expect-header=x-state=^warm$", "", ""},
      {"--expect-header=X-State=hot", "",
       "HTTP 200, X-State: warm does not match /hot/"},
      {"--expect-header=X-Other=hot", "", "HTTP 200, no header X-Other"},
      {"--json=.status==\"UP\"", R"({"status": "UP"})", ""},
      {"--json=.status==\"UP\"", R"({"status": "DOWN"})",
       "HTTP 200, .status is \"DOWN\""},
      {"--json=.status==\"UP\"", "{}", "HTTP 200, no .status"},
      {"--json=.status==\"UP\"", "starting", "HTTP 200, body is not JSON: "},
      {"--json=.status==\"UP\"", "", "HTTP 200, body is not JSON: "},
      {"--json=.a==1 --json=.b==2", R"({"a": 1, "b": 3})", "HTTP 200, .b is 3"},
      // Each expectation sees the whole body.
      {"--body-regex=UP --json=.status==\"UP\" --expect-header=X-State=warm",
       R"({"status": "UP"})", ""},
  };
  for (const MismatchRow& row : rows) {
    SCOPED_TRACE(testing::Message() << row.flags << " " << row.body);
    const Finding finding = JudgeHttp(
        OptionsOf(row.flags), AnswerOf(200, std::string(row.body)), kNow);
    if (row.detail.empty()) {
      EXPECT_EQ(finding.status, PollStatus::kSuccess) << finding.detail;
    } else {
      EXPECT_EQ(finding.status, PollStatus::kNotReady);
      EXPECT_THAT(finding.detail, HasSubstr(std::string(row.detail)));
    }
    EXPECT_FALSE(finding.absent);
  }
}

struct FailureRow {
  std::string_view report;
  std::string_view flags;
  int status;
  std::string_view body;
  PollStatus found;
  std::string_view detail;
};

TEST(HttpVerdictTest, JobThatFailedEndsTheWaitWithTheServersReason) {
  constexpr PollStatus kFailed = PollStatus::kFailed;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  const std::vector<FailureRow> rows = {
      {"kubernetes/kubectl#1482",
       "--json=.status.succeeded==1 "
       "--fail-json=.status.failed>=1",
       200, R"({"status": {"failed": 1}})", kFailed,
       "HTTP 200, .status.failed is 1"},
      {"skypilot-org/skypilot#9996", "--fail-json=.status==\"FAILED\"", 200,
       R"({"status": "FAILED", "reason": "no capacity\nat"})", kFailed,
       "HTTP 200, .status is \"FAILED\": no capacity"},
      {"cdap#13476", "--fail-json=.status==\"FAILED\"", 500,
       R"({"status": "FAILED", "error": {"message": "boom"}})", kFailed,
       "HTTP 500, .status is \"FAILED\": boom"},
      {"Azure/msrestazure-for-python#157",
       "--json=.a --fail-json=.a==\"Failed\"", 200, R"({"a": "Failed"})",
       kFailed, "HTTP 200, .a is \"Failed\""},
      {"one of several", "--fail-json=.a --fail-json=.b", 200, R"({"b": 1})",
       kFailed, "HTTP 200, .b is 1"},
      {"none", "--json=.c --fail-json=.a", 200, R"({"b": 1})", kNotReady,
       "HTTP 200, no .c"},
      {"no JSON", "--json=.c --fail-json=.a", 200, "x", kNotReady,
       "HTTP 200, body is not JSON: "},
      {"a status", "--fail-status=410,500-599", 503, "", kFailed,
       "HTTP 503 Reason"},
      {"more statuses", "--fail-status=410 --fail-status=404", 404,
       R"({"message": "no such job"})", kFailed, "HTTP 404, no such job"},
      {"another status", "--fail-status=410", 404, "", kNotReady,
       "HTTP 404 Reason"},
      {"a line", "--fail-body-regex=^error:", 200, "a\nerror: disk\n", kFailed,
       "HTTP 200, body matches /^error:/"},
      {"a status that is ready otherwise", "--status=500 --fail-status=500",
       500, "", kFailed, "HTTP 500 Reason"},
  };
  for (const FailureRow& row : rows) {
    SCOPED_TRACE(row.report);
    const Finding finding =
        JudgeHttp(OptionsOf(row.flags),
                  AnswerOf(row.status, std::string(row.body)), kNow);
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_THAT(finding.detail, HasSubstr(std::string(row.detail)));
    EXPECT_EQ(finding.hint, "");
  }
}

TEST(HttpVerdictTest, FailureForGoodAsksForNoDelay) {
  HttpAnswer answer = AnswerOf(503);
  answer.headers = {{"Retry-After", "9"}};

  EXPECT_EQ(JudgeHttp(OptionsOf("--fail-status=503"), answer, kNow).retry_after,
            absl::ZeroDuration());
}

TEST(HttpVerdictTest, PrintedValueIsThatOfTheSuccess) {
  const auto value = [](std::string_view flags, std::string_view body) {
    return JudgeHttp(OptionsOf(flags), AnswerOf(200, std::string(body)), kNow)
        .value.value_or("none");
  };

  EXPECT_EQ(value("--print=.id", R"({"id": "i-7"})"), "i-7");
  EXPECT_EQ(value("--print=.id", R"({"id": 7})"), "7");
  EXPECT_EQ(value("--print=.id", R"({"id": {"a": [1, null]}})"),
            R"({"a":[1,null]})");
  EXPECT_EQ(value("--print=.id", "{}"), "null");
  EXPECT_EQ(value("--print=.id==7", R"({"id": 7})"), "true");
  EXPECT_EQ(value("--print=.id --json=.done", R"({"id": 7})"), "none");
  EXPECT_EQ(value("", R"({"id": 7})"), "none");
  EXPECT_EQ(
      JudgeHttp(OptionsOf("--print=.id"), AnswerOf(200, "text"), kNow).status,
      PollStatus::kNotReady);
}

// kubernetes/kubectl#1878: the wait is for the end of a condition.
TEST(HttpVerdictTest, AnswerWithoutTheConditionIsUnmet) {
  const auto unmet = [](std::string_view flags, int status,
                        std::string_view body) {
    return JudgeHttp(OptionsOf(flags), AnswerOf(status, std::string(body)),
                     kNow)
        .unmet;
  };

  EXPECT_TRUE(unmet("--json=.a==1", 200, R"({"a": 2})"));
  EXPECT_TRUE(unmet("--json=.a==1", 200, "{}"));
  EXPECT_TRUE(unmet("--body-regex=a", 200, "b"));
  EXPECT_TRUE(unmet("--expect-header=X-State=hot", 200, ""));
  EXPECT_TRUE(unmet("--status=200", 204, ""));
  EXPECT_FALSE(unmet("--json=.a==1", 200, R"({"a": 1})"));
  EXPECT_FALSE(unmet("--json=.a==1", 200, "starting"));
  EXPECT_FALSE(unmet("--json=.a==1", 500, R"({"a": 2})"));
  EXPECT_FALSE(unmet("--json=.a==1", 503, R"({"a": 2})"));
  EXPECT_FALSE(unmet("--json=.a==1", 401, R"({"a": 2})"));
  EXPECT_FALSE(unmet("--status=200 --not-ready-on=204", 204, ""));
}

TEST(HttpVerdictTest, TruncatedBodyIsJudgedByItsBeginning) {
  HttpAnswer answer = AnswerOf(200, R"({"status": "UP"})");
  answer.body_is_cut = true;

  EXPECT_EQ(JudgeHttp(OptionsOf("--body-regex=UP"), answer, kNow).status,
            PollStatus::kSuccess);
  EXPECT_EQ(JudgeHttp(OptionsOf("--body-regex=DOWN"), answer, kNow).detail,
            "HTTP 200, body, of which the first 1 MiB was read, does not match "
            "/DOWN/");
  EXPECT_EQ(JudgeHttp(OptionsOf("--json=.status"), answer, kNow).detail,
            "HTTP 200, body is larger than 1 MiB, the limit for JSON");
}

struct ErrorRow {
  Error error;
  std::string_view text;
  PollStatus found;
  bool absent = false;
  std::string_view hint = "";
};

TEST(HttpVerdictTest, MissingAnswerIsNotAFailure) {
  const std::vector<ErrorRow> rows = {
      {Error::kNotConnected, "no socket", PollStatus::kNotReady},
      {Error::kNameNotFound, "name not found: a", PollStatus::kNotReady},
      {Error::kProtocol, "garbage", PollStatus::kServerError},
      {Error::kTls, "TLS: alert", PollStatus::kServerError},
      {Error::kOptions, "no certificates in f", PollStatus::kFailed},
      {Error::kCertificate, "TLS: certificate has expired",
       PollStatus::kServerError, false,
       "certificate expired: renew it, or use --insecure"},
      {Error::kCertificate, "TLS: self-signed certificate",
       PollStatus::kServerError, false,
       "certificate self-signed: trust it with --ca-file, or use --insecure"},
      {Error::kCertificate, "TLS: self signed certificate",
       PollStatus::kServerError, false,
       "certificate self-signed: trust it with --ca-file, or use --insecure"},
      {Error::kCertificate, "TLS: unable to get local issuer certificate",
       PollStatus::kServerError, false,
       "certificate not trusted: name its authority with --ca-file, or use "
       "--insecure"},
  };
  for (const ErrorRow& row : rows) {
    SCOPED_TRACE(row.text);
    HttpAnswer answer;
    answer.error = row.error;
    answer.error_text = row.text;
    const Finding finding = JudgeHttp({}, answer, kNow);
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_EQ(finding.absent, row.absent);
    EXPECT_EQ(finding.detail, row.text);
    EXPECT_EQ(finding.hint, row.hint);
  }
}

TEST(HttpVerdictTest, OnlyARefusingTargetIsAbsent) {
  HttpAnswer answer;
  answer.error = Error::kNotConnected;
  answer.addresses = {FixedAddresses("127.0.0.1", 80).front(),
                      FixedAddresses("::1", 80).front()};
  answer.connect_error = ECONNREFUSED;

  const Finding refused = JudgeHttp({}, answer, kNow);
  EXPECT_EQ(refused.status, PollStatus::kNotReady);
  EXPECT_EQ(refused.detail, "refused by 127.0.0.1:80 and [::1]:80");
  EXPECT_TRUE(refused.absent);

  // The refusal may come from the proxy.
  answer.may_be_proxied = true;
  EXPECT_FALSE(JudgeHttp({}, answer, kNow).absent);

  answer.may_be_proxied = false;
  answer.connect_error = EHOSTUNREACH;
  const Finding unreachable = JudgeHttp({}, answer, kNow);
  EXPECT_EQ(unreachable.status, PollStatus::kNotReady);
  EXPECT_FALSE(unreachable.absent);
}

TEST(HttpVerdictTest, DeadProxyIsNotCalledTheTarget) {
  HttpAnswer answer;
  answer.error = Error::kNotConnected;
  answer.addresses = {FixedAddresses("10.0.0.1", 3128).front()};
  answer.connect_error = ECONNREFUSED;
  answer.may_be_proxied = true;
  answer.target_port = "80";

  const Finding refused = JudgeHttp({}, answer, kNow);
  EXPECT_EQ(refused.status, PollStatus::kNotReady);
  EXPECT_EQ(refused.detail, "the proxy: refused by 10.0.0.1:3128");
  EXPECT_THAT(refused.hint, ::testing::HasSubstr("no_proxy"));
  EXPECT_FALSE(refused.absent);

  // This is the target itself, because no_proxy names it.
  answer.target_port = "3128";
  EXPECT_EQ(JudgeHttp({}, answer, kNow).detail, "refused by 10.0.0.1:3128");
}

TEST(HttpVerdictTest, TimeoutSaysHowFarThePollCame) {
  const auto judge = [](HttpStage stage) {
    HttpAnswer answer;
    answer.stage = stage;
    answer.addresses = {FixedAddresses("127.0.0.1", 80).front(),
                        FixedAddresses("::1", 80).front()};
    answer.status = stage == HttpStage::kReading ? 200 : 0;
    const Finding finding =
        JudgeHttpTimeout({}, answer, absl::Seconds(10), kNow);
    EXPECT_FALSE(finding.absent);
    return std::pair(finding.status, finding.detail);
  };
  using Found = std::pair<PollStatus, std::string>;

  EXPECT_EQ(judge(HttpStage::kResolving),
            Found(PollStatus::kNotReady, "name not resolved within 10s"));
  EXPECT_EQ(judge(HttpStage::kConnecting),
            Found(PollStatus::kNotReady,
                  "no answer from 127.0.0.1:80 and [::1]:80 within 10s"));
  EXPECT_EQ(
      judge(HttpStage::kHandshake),
      Found(PollStatus::kServerError, "connected, TLS not set up within 10s"));
  EXPECT_EQ(judge(HttpStage::kWaiting),
            Found(PollStatus::kServerError, "connected, no answer within 10s"));
  EXPECT_EQ(judge(HttpStage::kReading),
            Found(PollStatus::kServerError,
                  "HTTP 200, body not complete within 10s"));
}

TEST(HttpVerdictTest, LinesOfABodyThatDoesNotEndMayDecide) {
  struct Row {
    std::string_view flags;
    std::string_view body;
    PollStatus status;
    std::string_view detail;
    std::string_view hint = "";
  };
  constexpr std::string_view kEndless =
      "HTTP 200, a stream of events that did not end in 10s";
  for (const Row& row :
       {Row{"--body-regex=^data:.done",
            "data: done\n\ndata:", PollStatus::kSuccess, "HTTP 200 Reason"},
        {"--fail-body-regex=failed", "failed\n", PollStatus::kFailed,
         "HTTP 200, body matches /failed/"},
        {"--body-regex=done", "data: done", PollStatus::kServerError, kEndless},
        {"--body-regex=done", "", PollStatus::kServerError, kEndless},
        {"--body-regex=done --json=.a", "done\n", PollStatus::kServerError,
         kEndless},
        {"", "data: 1\n", PollStatus::kServerError, kEndless,
         "for a stream of events, use --method=HEAD or --body-regex"}}) {
    HttpAnswer answer = AnswerOf(200);
    answer.stage = HttpStage::kReading;
    answer.headers = {{"Content-Type", "text/event-stream; charset=utf-8"}};
    answer.body = row.body;

    const Finding finding =
        JudgeHttpTimeout(OptionsOf(row.flags), answer, absl::Seconds(10), kNow);

    EXPECT_EQ(finding.status, row.status) << row.flags << row.body;
    EXPECT_EQ(finding.detail, row.detail) << row.flags << row.body;
    EXPECT_EQ(finding.hint, row.hint) << row.flags << row.body;
  }
}

TEST(HttpVerdictTest, DetailsAreShort) {
  HttpAnswer answer = AnswerOf(503);
  answer.reason.assign(100'000, 'r');
  answer.headers = {{"X-Long", std::string(100'000, 'v')}};

  EXPECT_LT(JudgeHttp({}, answer, kNow).detail.size(), 100U);
  EXPECT_LT(JudgeHttp(OptionsOf("--status=503 --expect-header=X-Long=a"),
                      answer, kNow)
                .detail.size(),
            150U);
}

}  // namespace
}  // namespace waiter::cli::http_verdict_test
