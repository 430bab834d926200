// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/classify.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::http_judge_test {
namespace {

constexpr PollStatus kSuccess = PollStatus::kSuccess;
constexpr PollStatus kNotReady = PollStatus::kNotReady;
constexpr PollStatus kThrottled = PollStatus::kThrottled;
constexpr PollStatus kServerError = PollStatus::kServerError;
constexpr PollStatus kFailed = PollStatus::kFailed;

const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5),
                                        absl::UTCTimeZone());

HttpResponse Response(int status, std::string body = "",
                      HttpFields headers = {}) {
  return {.status = status,
          .reason = "Reason",
          .headers = std::move(headers),
          .body = std::move(body)};
}

Poll<> Judge(const HttpRules& rules, const HttpResponse& response) {
  return JudgeHttp(rules, response, kNow).ToPoll(response);
}

TEST(HttpJudgeTest, StatusAloneIsJudgedByItsClass) {
  struct Row {
    int status;
    PollStatus found;
    absl::Status error;
  };
  const std::vector<Row> rows = {
      {200, kSuccess, absl::OkStatus()},
      {202, kNotReady, absl::OkStatus()},
      {204, kSuccess, absl::OkStatus()},
      {302, kFailed, absl::UnknownError("HTTP 302: Reason")},
      {403, kFailed, absl::PermissionDeniedError("HTTP 403: Reason")},
      {404, kFailed, absl::NotFoundError("HTTP 404: Reason")},
      {429, kThrottled, absl::ResourceExhaustedError("HTTP 429: Reason")},
      {500, kServerError, absl::InternalError("HTTP 500: Reason")},
      {503, kServerError, absl::UnavailableError("HTTP 503: Reason")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.status);
    const Poll<> poll = Judge({}, Response(row.status));
    EXPECT_EQ(poll.status(), row.found);
    EXPECT_EQ(poll.error(), row.error);
  }
}

TEST(HttpJudgeTest, StatusIsJudgedWithItsFields) {
  struct Row {
    int status;
    HttpFields headers;
    PollStatus found;
  };
  const std::vector<Row> rows = {
      // hub4j/github-api#220: secondary limits of GitHub come as 403.
      {403, {{"Retry-After", "60"}}, kThrottled},
      {403, {{"x-ratelimit-remaining", "0"}}, kThrottled},
      {403, {{"X-RateLimit-Remaining", "4999"}}, kFailed},
      {403, {{"RateLimit-Reset", "60"}}, kFailed},
      // grove#30: a limit that only the IETF's fields state.
      {429, {{"RateLimit", "\"default\";r=0;t=30"}}, kThrottled},
      {503, {{"RateLimit-Reset", "30"}}, kThrottled},
      {503, {{"X-RateLimit-Reset", "30"}}, kThrottled},
      {503, {{"Retry-After", "30"}}, kThrottled},
      {503, {{"Retry-After", "soon"}}, kServerError},
      {500, {{"Retry-After", "30"}}, kServerError},
      {401, {{"Retry-After", "30"}}, kFailed},
      {200, {{"X-RateLimit-Remaining", "0"}}, kSuccess},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << row.status << " " << row.headers[0].first
                                    << ": " << row.headers[0].second);
    EXPECT_EQ(Judge({}, Response(row.status, "", row.headers)).status(),
              row.found);
  }
}

struct HintRow {
  HttpFields headers = {};
  absl::Duration delay = absl::ZeroDuration();
  std::string source = {};
  std::string ignored = {};
  int status = 503;
  std::string_view body = {};
};

std::string Line(const std::pair<std::string, std::string>& field) {
  return absl::StrCat(field.first, ": ", field.second);
}

// Returns a row whose field of the index `which` sets the delay.
HintRow Heeded(HttpFields headers, absl::Duration delay, size_t which = 0,
               int status = 503) {
  std::string source = Line(headers[which]);
  return {.headers = std::move(headers),
          .delay = delay,
          .source = std::move(source),
          .status = status};
}

// Returns a row whose first field is ignored, as its value means nothing.
HintRow Ignored(HttpFields headers) {
  std::string ignored = Line(headers[0]);
  return {.headers = std::move(headers), .ignored = std::move(ignored)};
}

std::string Text(const HttpFields& headers) {
  std::string text;
  for (const auto& field : headers) absl::StrAppend(&text, Line(field), "; ");
  return text;
}

void ExpectHints(const std::vector<HintRow>& rows) {
  for (const HintRow& row : rows) {
    SCOPED_TRACE(Text(row.headers) + std::string(row.body));
    const HttpResponse response =
        Response(row.status, std::string(row.body), row.headers);
    const HttpVerdict verdict = JudgeHttp({}, response, kNow);
    EXPECT_EQ(absl::Duration(Duration(verdict.retry_after)), row.delay);
    EXPECT_EQ(verdict.retry_after_source, row.source);
    EXPECT_EQ(verdict.ignored_retry_after, row.ignored);
    EXPECT_EQ(verdict.ToPoll(response).retry_after(), row.delay);
  }
}

std::vector<HintRow> RetryAfters() {
  return {
      Heeded({{"Retry-After", "120"}}, absl::Minutes(2)),
      Heeded({{"Retry-After", "1.5"}}, absl::Milliseconds(1500)),
      {.headers = {{"Retry-After", "0"}}},
      Heeded({{"Retry-After", "604800"}}, absl::Hours(168)),
      Ignored({{"Retry-After", "604801"}}),
      Ignored({{"Retry-After", "soon"}}),
      Ignored({{"Retry-After", "-1"}}),
      Ignored({{"Retry-After", "1e3"}}),
      Ignored({{"Retry-After", "1.2.3"}}),
      Ignored({{"Retry-After", "."}}),
      {.headers = {{"Retry-After", "\x1b[2J"}}, .ignored = "Retry-After: ?[2J"},
      // moneysnake#24: a Unix time.
      Heeded({{"Retry-After", "1767323105"}}, absl::Minutes(1)),
      {.headers = {{"Retry-After", "1767323045"}}},
      {.headers = {{"Retry-After", "1000000000"}}},
      Heeded({{"Retry-After", "1767323105000"}}, absl::Minutes(1)),
      Ignored({{"Retry-After", "2767323045"}}),
      Ignored({{"Retry-After", "99999999999999999999"}}),
      {.headers = {{"Retry-After", std::string(400, '9')}},
       .ignored = "Retry-After: " + std::string(60, '9')},
      Heeded({{"retry-after-ms", "1500"}}, absl::Milliseconds(1500)),
      Heeded({{"x-amz-retry-after", "1500"}, {"Retry-After", "9"}},
             absl::Milliseconds(1500)),
      Heeded({{"Retry-After", "7"}, {"Retry-After", "8"}}, absl::Seconds(7)),
      {.headers = {{"Retry-After", "x"}, {"Retry-After", "8"}},
       .delay = absl::Seconds(8),
       .source = "Retry-After: 8",
       .ignored = "Retry-After: x"},
      Heeded({{"openai-poll-after-ms", "2000"}}, absl::Seconds(2)),
      Ignored({{"openai-poll-after-ms", "18446744073709551616"}}),
  };
}

// kNow is 1767323045.
TEST(HttpJudgeTest, RetryAfterIsReadAsServersMeanIt) {
  ExpectHints(RetryAfters());
}

// xllamacpp#155: the clocks of servers differ from the client's clock.
TEST(HttpJudgeTest, TimesCountFromTheDateOfTheAnswer) {
  const std::string an_hour_ahead = "Fri, 02 Jan 2026 04:04:05 GMT";
  const std::string a_day_behind = "Thu, 01 Jan 2026 03:04:05 GMT";
  const std::pair<std::string, std::string> in_3_s = {
      "Retry-After", "Fri, 02 Jan 2026 03:04:08 GMT"};
  ExpectHints({
      Heeded({{"Date", an_hour_ahead},
              {"Retry-After", "Fri, 02 Jan 2026 04:04:08 GMT"}},
             absl::Seconds(3), 1),
      Heeded({{"Retry-After", "Thu, 01 Jan 2026 03:04:08 GMT"},
              {"date", a_day_behind}},
             absl::Seconds(3)),
      Heeded({{"Date", an_hour_ahead}, {"Retry-After", "1767326648"}},
             absl::Seconds(3), 1),
      Heeded({{"Date", an_hour_ahead}, {"Retry-After", "3"}}, absl::Seconds(3),
             1),
      Heeded({in_3_s}, absl::Seconds(3)),
      {.headers = {{"Retry-After", "Thu, 01 Jan 2026 03:04:08 GMT"}}},
      Ignored({{"Retry-After", "Sun, 06 Nov 2050 08:49:37 GMT"}}),
      // An invalid `Date`.
      Heeded({{"Date", "7"}, in_3_s}, absl::Seconds(3), 1),
      Heeded({{"Date", "Fri, 02 Jan 2026 03:04:05 GMT, 7"}, in_3_s},
             absl::Seconds(3), 1),
  });
}

std::vector<HintRow> Quotas() {
  return {
      Heeded({{"X-Poll-Interval", "60"}}, absl::Minutes(1), 0, 202),
      Heeded({{"X-Poll-Interval", "60"}, {"Retry-After", "90"}},
             absl::Seconds(90), 1),
      Heeded({{"X-Poll-Interval", "60"}, {"Retry-After", "30"}},
             absl::Seconds(60)),
      Heeded(
          {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1767323105"}},
          absl::Minutes(1), 1, 403),
      {.headers = {{"X-RateLimit-Remaining", "9"},
                   {"X-RateLimit-Reset", "1767323105"}},
       .status = 500},
      // A 403 with a cause other than the quota.
      Heeded({{"Retry-After", "1"},
              {"X-RateLimit-Remaining", "9"},
              {"X-RateLimit-Reset", "60"}},
             absl::Seconds(1), 0, 403),
      Ignored({{"Retry-After", "x"}, {"X-Poll-Interval", "y"}}),
      Heeded({{"X-RateLimit-Reset", "30"}}, absl::Seconds(30), 0, 429),
      Heeded({{"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "30"}},
             absl::Seconds(30), 1, 500),
      {{{"RateLimit", "\"default\";r=0;t=30"}},
       absl::Seconds(30),
       "RateLimit: 30",
       "",
       500},
      {.headers = {{"RateLimit", "\"default\";r=9;t=30"}}, .status = 429},
      {{{"RateLimit", "\"default\"; t=30"}},
       absl::Seconds(30),
       "RateLimit: 30",
       "",
       429},
      {{{"RateLimit", "limit=10, remaining=0, reset=20"}},
       absl::Seconds(20),
       "RateLimit: 20",
       "",
       500},
      {.headers = {{"RateLimit", ";;=,t=,r"}},
       .ignored = "RateLimit: ",
       .status = 429},
  };
}

// google/go-github#242: polls cost quota. The fields say when the next one is
// worth it.
TEST(HttpJudgeTest, FieldsOfQuotasSetTheEarliestNextPoll) {
  ExpectHints(Quotas());
}

// modelcontextprotocol/modelcontextprotocol#1686.
TEST(HttpJudgeTest, TaskSaysWhenToPollIt) {
  constexpr absl::Duration kNone = absl::ZeroDuration();
  const auto row = [](std::string_view body, absl::Duration delay,
                      std::string source, std::string ignored = "") {
    return HintRow{.delay = delay,
                   .source = std::move(source),
                   .ignored = std::move(ignored),
                   .status = 202,
                   .body = body};
  };
  ExpectHints({
      row(R"({"pollIntervalMs": 5000})", absl::Seconds(5),
          "pollIntervalMs: 5000"),
      row(R"({"result": {"task": {"pollIntervalMs": 5000, "ttlMs": 60000}}})",
          absl::Seconds(5), "pollIntervalMs: 5000"),
      row(R"({"task": {"pollIntervalMs": 5000, "ttlMs": 2000}})",
          absl::Seconds(2), "pollIntervalMs: 5000"),
      row(R"({"pollIntervalMs": 5000, "ttlMs": 0})", absl::Seconds(5),
          "pollIntervalMs: 5000"),
      row(R"({"pollIntervalMs": 5000, "ttlMs": null})", absl::Seconds(5),
          "pollIntervalMs: 5000"),
      row("\xEF\xBB\xBF{\"pollIntervalMs\": 5000}", absl::Seconds(5),
          "pollIntervalMs: 5000"),
      row(R"({"pollIntervalMs": 0})", kNone, ""),
      row(R"({"pollIntervalMs": null})", kNone, ""),
      row(R"({"pollIntervalMs": -5})", kNone, "", "pollIntervalMs: -5"),
      row(R"({"pollIntervalMs": 1e300})", kNone, "", "pollIntervalMs: 1e300"),
      row(R"({"pollIntervalMs": 99999999999999999999})", kNone, "",
          "pollIntervalMs: 99999999999999999999"),
      row(R"({"pollIntervalMs": "5000"})", kNone, "",
          "pollIntervalMs: \"5000\""),
      row("pollIntervalMs", kNone, ""),
  });
}

TEST(HttpJudgeTest, MessageShowsAHintThatIsIgnored) {
  EXPECT_EQ(Judge({}, Response(503, "", {{"Retry-After", "soon"}})).detail(),
            "HTTP 503: Reason (ignored Retry-After: soon)");
}

TEST(HttpJudgeTest, FailureHasNoHint) {
  EXPECT_EQ(Judge({}, Response(404, "", {{"Retry-After", "9"}})).retry_after(),
            absl::ZeroDuration());
}

TEST(HttpJudgeTest, BodyThatIsNotUtf8TextSaysSo) {
  const HttpRules rules = {.succeed_if = {JsonIs("a", "1")}};
  const std::string utf16("\xFF\xFE{\0", 4);

  EXPECT_EQ(Judge(rules, Response(200, utf16)).detail(),
            "HTTP 200: the body is in UTF-16, not in UTF-8");
  EXPECT_EQ(Judge(rules, Response(200, "\xFE\xFF")).detail(),
            "HTTP 200: the body is in UTF-16, not in UTF-8");
  EXPECT_EQ(
      Judge(rules, Response(200, "{}",
                            {{"Content-Type", "text/json; charset=UTF-16LE"}}))
          .detail(),
      "HTTP 200: the body is in UTF-16, not in UTF-8");
  EXPECT_EQ(Judge(rules, Response(204)).detail(),
            "HTTP 204: a response of status 204 has no body");
}

TEST(HttpJudgeTest, ThrottledAnswerSaysSo) {
  const Poll<> poll = Judge({}, Response(403, "", {{"Retry-After", "2"}}));

  EXPECT_EQ(poll.error(), absl::ResourceExhaustedError("HTTP 403: Reason"));
  EXPECT_EQ(poll.retry_after(), absl::Seconds(2));
}

TEST(HttpJudgeTest, StatusesOfTheRulesWinOverClasses) {
  const HttpRules rules = {.ready_on = {{{200, 200}, {404, 404}}},
                           .not_ready_on = {{{403, 403}, {500, 599}}}};

  EXPECT_EQ(Judge(rules, Response(404)).status(), kSuccess);
  EXPECT_EQ(Judge(rules, Response(204)).status(), kNotReady);
  EXPECT_EQ(Judge(rules, Response(503, "", {{"Retry-After", "9"}})).status(),
            kNotReady);
  EXPECT_EQ(Judge(rules, Response(403)).status(), kNotReady);
  EXPECT_EQ(Judge(rules, Response(401)).status(), kFailed);
}

struct OutcomeRow {
  std::string_view report;
  HttpResponse response;
  PollStatus found;
  std::string_view text;
};

// Jobs that had ended while their waiters continued polling.
TEST(HttpJudgeTest, JobThatFailedEndsTheWaitWithTheServersReason) {
  const HttpRules rules = {
      .succeed_if = {JsonIs("status", "SUCCEEDED")},
      .fail_if = {JsonIs("status", "FAILED"), StatusIn({{{410, 410}}}),
                  BodyContains("BackoffLimitExceeded")}};
  const std::vector<OutcomeRow> rows = {
      {"kubernetes/kubectl#1482",
       Response(200, R"({"status": {"conditions": [{"type": "Failed",)"
                     R"("reason": "BackoffLimitExceeded"}]}})"),
       kFailed, "HTTP 200: the body has \"BackoffLimitExceeded\""},
      {"skypilot-org/skypilot#9996",
       Response(200, R"({"status": "FAILED", "reason": "no capacity\nat"})"),
       kFailed, "HTTP 200: status is \"FAILED\": no capacity"},
      {"cdap#13476",
       Response(500, R"({"status": "FAILED", "error": {"message": "boom"}})"),
       kFailed, "HTTP 500: status is \"FAILED\": boom"},
      {"Azure/msrestazure-for-python#157",
       Response(200, R"({"status": "FAILED", "error": "Conflict"})"), kFailed,
       "HTTP 200: status is \"FAILED\": Conflict"},
      {"the resource is gone", Response(410, R"({"message": "expired"})"),
       kFailed, "HTTP 410: expired"},
      {"the job runs", Response(200, R"({"status": "RUNNING"})"), kNotReady,
       "HTTP 200: status is \"RUNNING\""},
      {"the job is done", Response(200, R"({"status": "SUCCEEDED"})"), kSuccess,
       "Reason"},
      {"no job", Response(200, "[]"), kNotReady, "HTTP 200: no status"},
      {"no JSON", Response(200, "starting"), kNotReady,
       "HTTP 200: the body is not JSON"},
  };
  for (const OutcomeRow& row : rows) {
    SCOPED_TRACE(row.report);
    const Poll<> poll = Judge(rules, row.response);
    EXPECT_EQ(poll.status(), row.found);
    EXPECT_EQ(poll.detail(), row.text);
    EXPECT_EQ(poll.error().ok(), row.found != kFailed);
  }
}

TEST(HttpJudgeTest, FailureIsAbortedUnlessTheStatusSaysMore) {
  const HttpRules rules = {.fail_if = {JsonIs("ok", "false")}};

  EXPECT_TRUE(
      absl::IsAborted(Judge(rules, Response(200, R"({"ok":false})")).error()));
  EXPECT_TRUE(
      absl::IsNotFound(Judge(rules, Response(404, R"({"ok":false})")).error()));
}

TEST(HttpJudgeTest, AllConditionsMustHoldInOneAnswer) {
  const HttpRules rules = {
      .succeed_if = {JsonIs("ready", "true"), JsonIs("spec.replicas", "3")}};

  EXPECT_EQ(Judge(rules, Response(200, R"({"ready": true})")).status(),
            kNotReady);
  EXPECT_EQ(
      Judge(rules, Response(200, R"({"spec": {"replicas": 3}})")).status(),
      kNotReady);
  EXPECT_EQ(
      Judge(rules, Response(200, R"({"ready": true, "spec":{"replicas":3}})"))
          .status(),
      kSuccess);
}

TEST(HttpJudgeTest, FailureWinsOverSuccess) {
  const HttpRules rules = {.succeed_if = {BodyContains("done")},
                           .fail_if = {BodyContains("errors")}};

  EXPECT_EQ(Judge(rules, Response(200, "done, with errors")).status(), kFailed);
}

TEST(HttpJudgeTest, CutBodyIsNoJson) {
  HttpResponse response = Response(200, R"({"status": "DONE"})");
  response.body_is_cut = true;
  const Poll<> poll =
      Judge({.succeed_if = {JsonIs("status", "DONE")}}, response);

  EXPECT_EQ(poll.status(), kNotReady);
  EXPECT_EQ(poll.detail(),
            "HTTP 200: the body is larger than 18 bytes, the limit for JSON");
}

struct JsonRow {
  std::string_view body;
  std::string_view path;
  std::string_view value;
};

TEST(HttpJudgeTest, JsonIsReadsWhateverServersWrite) {
  const std::vector<JsonRow> rows = {
      {R"({"a": {"b": "x"}})", "a.b", "x"},
      {R"({"a": [1, {"b": 2}], "b": null})", "b", "null"},
      {R"({"a": -1.5e+3})", "a", "-1.5e+3"},
      {R"({"a": {"c": [true, "}"]}})", "a", R"({"c": [true, "}"]})"},
      {R"({"a": "first", "a": "last"})", "a", "last"},
      {R"({"\u0061": "\u00e9\ud83d\ude00\t\/\"\\"})", "a",
       "\u00e9\U0001F600\t/\"\\"},
      {R"({"a": "\ud83d"})", "a", "\uFFFD"},
      {R"({"a": "\ude00"})", "a", "\uFFFD"},
      {R"({"a": "\ud83d\u0041"})", "a",
       "\uFFFD"
       "A"},
      {"\xEF\xBB\xBF {\"a\": 1}\r\n", "a", "1"},
  };
  for (const JsonRow& row : rows) {
    SCOPED_TRACE(row.body);
    const HttpMatch match =
        JsonIs(std::string(row.path),
               std::string(row.value))(Response(200, std::string(row.body)));
    EXPECT_TRUE(match.holds) << match.found;
  }
}

TEST(HttpJudgeTest, LastOfSeveralMembersCounts) {
  EXPECT_EQ(
      JsonIs("a.b", "1")(Response(200, R"({"a": {"b": 1}, "a": {}})")).found,
      "no a.b");
}

TEST(HttpJudgeTest, OtherTextIsNotJson) {
  const HttpCondition condition = JsonIs("a", "1");
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  for (const std::string_view body : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "{\"a\": 1",
                                      "{\"a\": 1}}",
                                      "{\"a\": 1,}",
                                      "{a: 1}",
                                      "{\"a\" 1}",
                                      "{\"a\": 01}",
                                      "{\"a\": 1.}",
                                      "{\"a\": 1e}",
                                      "{\"a\": -}",
                                      "{\"a\": tru}",
                                      R"({"a": "\x"})",
                                      R"({"a": "\u12"})",
                                      "{\"a\": \"\n\"}",
                                      R"({"a": "})",
                                      "[1 2]",
                                      "[1,]",
                                      "nul"}) {
    EXPECT_EQ(condition(Response(200, std::string(body))).found,
              "the body is not JSON")
        << body;
  }
  EXPECT_EQ(condition(Response(200, "[" + deep + "]")).found,
            "the body is not JSON");
  EXPECT_EQ(condition(Response(200, deep)).found, "no a");
}

TEST(HttpJudgeTest, ErrorTextIsOneSafeLine) {
  struct Row {
    std::string_view body;
    std::string_view text;
  };
  const std::vector<Row> rows = {
      {R"({"error": {"message": "a"}, "message": "b"})", "a"},
      {R"({"error": {"message": ""}, "message": "b"})", "b"},
      {R"({"error": {"code": 7}, "reason": "c", "statusMessage": "d"})", "c"},
      {R"({"statusMessage": "d"})", "d"},
      {"\xEF\xBB\xBF{\"reason\": \"c\"}", "c"},
      {"\xEF\xBB\xBF\xEF\xBB\xBF{\"reason\": \"c\"}", ""},
      {R"({"error": "e"})", "e"},
      {R"({"message": 5})", ""},
      {R"({"message": "\n  two\nlines"})", "two"},
      {R"({"message": "\u001b[2J"})", "?[2J"},
      {"<html>", ""},
      {"", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(ErrorTextOf(row.body), row.text);
  EXPECT_EQ(ErrorTextOf(
                absl::StrCat(R"({"message": ")", std::string(999, 'x'), "\"}"))
                .size(),
            200);
}

}  // namespace
}  // namespace waiter::http_judge_test
