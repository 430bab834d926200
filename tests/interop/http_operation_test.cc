// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/followed_operation.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::http_operation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// RFC 9110, 15.3.3.
TEST(HttpOperationTest, AcceptedRequestIsFollowedByItsLocation) {
  Followed operation(Plan("POST", "https://h/v1/jobs?dry=1"));
  HttpOperationStep step = operation.Answer(
      "POST https://h/v1/jobs?dry=1",
      Response(202, "", {{"Location", "jobs/7"}, {"Retry-After", "3"}}));
  ExpectRuns(step, "started (accepted: HTTP 202)");
  EXPECT_EQ(step.poll.retry_after(), absl::Seconds(3));

  ExpectRuns(operation.Answer("GET https://h/v1/jobs/7", Response(202)),
             "HTTP 202, no state in the answer (accepted: HTTP 202)");
  ExpectRuns(operation.Answer("GET https://h/v1/jobs/7",
                              Response(202, "", {{"Location", "/other/8"}})),
             "HTTP 202, no state in the answer (accepted: HTTP 202)");
  step = operation.Answer("GET https://h/other/8",
                          Response(303, "", {{"Location", "/results/8"}}));
  EXPECT_TRUE(step.again);
  ExpectSuccess(operation, operation.Answer("GET https://h/results/8",
                                            Response(200, "rows")));
}

TEST(HttpOperationTest, StatusRequestsHaveNoBodyAndNoFieldsOfTheBody) {
  Followed operation(Plan("POST", "https://h/jobs"));
  operation.Answer("POST https://h/jobs",
                   Response(202, "", {{"Location", "/jobs/7"}}));
  EXPECT_EQ(operation.request().body, "{}");
  EXPECT_EQ(operation.request().headers.size(), 2u);

  operation.Answer("GET https://h/jobs/7", Response(202));
  EXPECT_EQ(operation.request().body, std::nullopt);
  EXPECT_THAT(operation.request().headers,
              ElementsAre(Pair("Authorization", "Bearer t")));
}

// Azure/msrestazure-for-python#157: the status of the response proves nothing.
TEST(HttpOperationTest, LocationThatAnswers200WithFailedInItsBodyHasFailed) {
  Followed operation(Plan("DELETE", "https://h/disks/1"));
  operation.Answer(
      "DELETE https://h/disks/1",
      Response(202, "", {{"Location", "/operations/9?api-version=1"}}));
  ExpectFailed(
      operation,
      operation.Answer(
          "GET https://h/operations/9?api-version=1",
          Response(200, R"({"id": "9", "status": "Failed", "error": {"code":)"
                        R"( "ExecutionFailure", "message": "for a test"}})")),
      absl::StatusCode::kAborted,
      "HTTP 200: Failed, ExecutionFailure: for a test");
}

TEST(HttpOperationTest, LocationThatAnswers200WithAWordForRunningGoesOn) {
  Followed operation(Plan("POST", "https://h/jobs"));
  operation.Answer("POST https://h/jobs",
                   Response(202, "", {{"Location", "/jobs/7"}}));
  ExpectRuns(operation.Answer("GET https://h/jobs/7",
                              Response(200, R"({"status": "InProgress"})")),
             "InProgress (accepted: HTTP 202)");
  // If a server uses words, only its words count.
  ExpectRuns(operation.Answer("GET https://h/jobs/7",
                              Response(200, R"({"status": "Tidying"})")),
             "Tidying (accepted: HTTP 202)");
  ExpectSuccess(operation,
                operation.Answer("GET https://h/jobs/7",
                                 Response(200, R"({"status": "Succeeded"})")));
}

// A 202 is never asked for again by the request that caused it.
TEST(HttpOperationTest, StartIsSentOnceAndItsOutcomeIsNoStatus) {
  for (const std::string method : {"POST", "PATCH", "PUT", "DELETE"}) {
    Followed operation(Plan(method, "https://h/jobs"));
    operation.Answer(method + " https://h/jobs",
                     Response(202, "", {{"Location", "/jobs/7"}}));
    operation.Answer("GET https://h/jobs/7", Response(503));
    operation.Lose("GET https://h/jobs/7", /*was_sent=*/true);
    operation.Answer("GET https://h/jobs/7", Response(202));
    ExpectSuccess(operation,
                  operation.Answer("GET https://h/jobs/7", Response(204)));
  }
}

TEST(HttpOperationTest, StartWithoutAnAnswerIsRepeatedOnlyIfThatIsSafe) {
  struct Row {
    std::string method;
    HttpFields headers;
    bool was_sent;
    bool is_repeated;
  };
  const std::vector<Row> rows = {
      {"POST", {}, true, false},
      {"POST", {}, false, true},
      {"POST", {{"idempotency-key", "k"}}, true, true},
      {"POST", {{"Repeatability-Request-ID", "k"}}, true, true},
      {"PATCH", {}, true, false},
      {"PUT", {}, true, true},
      {"DELETE", {}, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << row.method << row.headers.size());
    HttpOperationPlan plan = Plan(row.method, "https://h/jobs");
    plan.request.headers = row.headers;
    Followed operation(std::move(plan));
    const HttpOperationStep step =
        operation.Lose(row.method + " https://h/jobs", row.was_sent);
    EXPECT_EQ(operation.tracker().has_ended(), !row.is_repeated);
    if (row.is_repeated) {
      EXPECT_EQ(step.poll.status(), PollStatus::kServerError);
      operation.Answer(row.method + " https://h/jobs", Response(200));
      continue;
    }
    ExpectFailed(operation, step, absl::StatusCode::kUnknown,
                 "got no answer (no answer within 5s); the operation may be "
                 "running and is not started again");
  }
}

TEST(HttpOperationTest, StartThatWasRefusedIsRepeated) {
  struct Row {
    int status;
    HttpFields headers;
    PollStatus found;
  };
  const std::vector<Row> rows = {
      {429, {}, PollStatus::kThrottled},
      {503, {{"Retry-After", "5"}}, PollStatus::kThrottled},
      {403, {{"Retry-After", "5"}}, PollStatus::kThrottled},
      {503, {}, PollStatus::kFailed},
      {500, {}, PollStatus::kFailed},
      {504, {}, PollStatus::kFailed},
      {400, {}, PollStatus::kFailed},
      {409, {}, PollStatus::kFailed},
      // Stripe: the field wins over the status.
      {409, {{"Stripe-Should-Retry", "true"}}, PollStatus::kServerError},
      {500, {{"Stripe-Should-Retry", "true"}}, PollStatus::kServerError},
      {429, {{"Stripe-Should-Retry", "false"}}, PollStatus::kFailed},
      {503,
       {{"Stripe-Should-Retry", "false"}, {"Retry-After", "5"}},
       PollStatus::kFailed},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.status);
    Followed operation(Plan("POST", "https://h/jobs"));
    EXPECT_EQ(operation
                  .Answer("POST https://h/jobs",
                          Response(row.status, "", row.headers))
                  .poll.status(),
              row.found);
    EXPECT_EQ(operation.tracker().has_ended(),
              row.found == PollStatus::kFailed);
  }
}

TEST(HttpOperationTest, RefusalHasTheCodeAndTheMessageOfTheServer) {
  Followed operation(Plan("PUT", "https://h/vms/1"));
  ExpectFailed(
      operation,
      operation.Answer("PUT https://h/vms/1",
                       Response(409, R"({"error": {"code": "QuotaExceeded",)"
                                     R"( "message": "no cores are left"}})")),
      absl::StatusCode::kAborted, "HTTP 409: QuotaExceeded: no cores are left");
}

// The server ignored `Prefer: respond-async`: no `Preference-Applied`.
TEST(HttpOperationTest, ServerThatIgnoresAWishHasDoneTheWorkAlready) {
  HttpOperationPlan plan = Plan("POST", "https://h/exports");
  plan.request.headers = {{"Prefer", "respond-async, wait=10"}};
  for (const int status : {200, 204}) {
    Followed operation(plan);
    const HttpOperationStep step =
        operation.Answer("POST https://h/exports", Response(status, "rows"));
    ExpectSuccess(operation, step);
    EXPECT_EQ(step.poll.detail(),
              absl::StrCat("HTTP ", status, ", done without waiting"));
  }
  Followed operation(plan);
  operation.Answer("POST https://h/exports",
                   Response(202, "", {{"Location", "/exports/1"}}));
  operation.Answer("GET https://h/exports/1", Response(202));
  EXPECT_THAT(operation.request().headers, IsEmpty());
}

TEST(HttpOperationTest, AcceptedWithoutAnAddressIsAnError) {
  Followed operation(Plan("POST", "https://h/jobs"));
  ExpectFailed(operation,
               operation.Answer("POST https://h/jobs", Response(202)),
               absl::StatusCode::kFailedPrecondition,
               "HTTP 202: the operation is running, but the answer has no "
               "status address");
}

TEST(HttpOperationTest, CreatedResourceIsAskedForItsState) {
  Followed operation(Plan("POST", "https://h/jobs"));
  EXPECT_TRUE(operation
                  .Answer("POST https://h/jobs",
                          Response(201, "", {{"Location", "/jobs/7"}}))
                  .again);
  ExpectRuns(operation.Answer("GET https://h/jobs/7",
                              Response(200, R"({"state": "queued"})")),
             "queued (state: a word for the state)");
  ExpectSuccess(operation,
                operation.Answer("GET https://h/jobs/7",
                                 Response(200, R"({"state": "done"})")));
}

TEST(HttpOperationTest, IdBelowTheCollectionIsTheAddress) {
  Followed operation(Plan("POST", "https://h/v1/batches"));
  ExpectRuns(
      operation.Answer("POST https://h/v1/batches",
                       Response(200, R"({"id": "batch/1", "object": "batch",)"
                                     R"( "status": "validating"})")),
      "validating (openai: object batch)");
  operation.Answer("GET https://h/v1/batches/batch%2F1", Response(503));
}

TEST(HttpOperationTest, DeletedResourceIsGone) {
  Followed operation(Plan("DELETE", "https://m/vms/1"));
  operation.Answer(
      "DELETE https://m/vms/1",
      Response(202, R"({"properties": {"provisioningState": "Deleting"}})"));
  ExpectRuns(
      operation.Answer(
          "GET https://m/vms/1",
          Response(200,
                   R"({"properties": {"provisioningState": "Succeeded"}})")),
      "Succeeded (azure: member properties.provisioningState)");
  ExpectSuccess(operation,
                operation.Answer("GET https://m/vms/1", Response(404)));
}

// googleapis: an operation is kept only for some time.
TEST(HttpOperationTest, OperationThatExpiredAfterItRanHasNoKnownEnd) {
  for (const int status : {404, 410}) {
    Followed operation(Adopt("https://g/v1/operations/1"));
    operation.Answer("GET https://g/v1/operations/1",
                     Response(200, R"({"name": "operations/1", "done": false,)"
                                   R"( "metadata": {}, "response": null})"));
    ExpectFailed(
        operation,
        operation.Answer("GET https://g/v1/operations/1", Response(status)),
        absl::StatusCode::kNotFound,
        "the operation ran and then expired or was deleted");
  }
}

TEST(HttpOperationTest, StatusThatIsNotThereYetIsAwaitedForAWhile) {
  Followed operation(Plan("POST", "https://h/jobs"));
  operation.Answer("POST https://h/jobs",
                   Response(202, "", {{"Location", "/jobs/7"}}));
  operation.Sleep(HttpOperationTracker::kNotFoundGrace - absl::Seconds(1));
  ExpectRuns(operation.Answer("GET https://h/jobs/7", Response(404)),
             "HTTP 404, not there yet (accepted: HTTP 202)");
  operation.Sleep(absl::Seconds(1));
  ExpectFailed(operation,
               operation.Answer("GET https://h/jobs/7", Response(404)),
               absl::StatusCode::kNotFound, "HTTP 404");

  Followed misspelt(Adopt("https://h/jobs/8"));
  ExpectFailed(misspelt, misspelt.Answer("GET https://h/jobs/8", Response(404)),
               absl::StatusCode::kNotFound, "HTTP 404");
}

TEST(HttpOperationTest, AddressesOf4KilobytesAreFollowed) {
  const std::string token(4096, 'k');
  Followed operation(Plan("POST", "https://h/jobs"));
  operation.Answer("POST https://h/jobs",
                   Response(202, "", {{"Location", "/jobs/7?t=" + token}}));
  ExpectSuccess(operation, operation.Answer("GET https://h/jobs/7?t=" + token,
                                            Response(200)));

  Followed endless(Plan("POST", "https://h/jobs"));
  ExpectFailed(
      endless,
      endless.Answer(
          "POST https://h/jobs",
          Response(202, "", {{"Location", "/" + std::string(20'000, 'k')}})),
      absl::StatusCode::kFailedPrecondition,
      "Location: the address has 20001 bytes; the limit is 16384");
}

TEST(HttpOperationTest, OtherOriginGetsNoCredentialsUnlessTrusted) {
  HttpOperationPlan plan = Plan("POST", "https://user:pw@h/jobs");
  Followed operation(plan);
  operation.Answer("POST https://user:pw@h/jobs",
                   Response(202, "", {{"Location", "https://x:y@other/7"}}));
  operation.Answer("GET https://other/7", Response(202));
  EXPECT_THAT(operation.request().headers, IsEmpty());

  plan.trusted_origins = {"https://OTHER:443/ignored"};
  Followed trusting(plan);
  trusting.Answer("POST https://user:pw@h/jobs",
                  Response(202, "", {{"Location", "https://other/7"}}));
  trusting.Answer("GET https://other/7", Response(202));
  EXPECT_THAT(trusting.request().headers,
              ElementsAre(Pair("Authorization", "Bearer t")));

  // The same origin also gets the user and the password.
  Followed same(plan);
  same.Answer("POST https://user:pw@h/jobs",
              Response(202, "", {{"Location", "https://h:443/7"}}));
  same.Answer("GET https://user:pw@h:443/7", Response(202));
  EXPECT_THAT(same.request().headers,
              ElementsAre(Pair("Authorization", "Bearer t")));
}

TEST(HttpOperationTest, NoAddressLeadsFromHttpsToAnotherScheme) {
  for (const std::string location :
       {"http://h/jobs/7", "ftp://h/7", "file:///etc/passwd", "//"}) {
    SCOPED_TRACE(location);
    for (const std::string_view field :
         {"Location", "Operation-Location", "Azure-AsyncOperation"}) {
      Followed operation(Plan("POST", "https://h/jobs"));
      ExpectFailed(
          operation,
          operation.Answer("POST https://h/jobs",
                           Response(202, "", {{std::string(field), location}})),
          absl::StatusCode::kFailedPrecondition, field);
    }
  }
}

TEST(HttpOperationTest, RedirectsEndAfterTenInARow) {
  Followed operation(Adopt("https://h/0"));
  for (int i = 0; i < HttpOperationTracker::kMaxRedirects; ++i) {
    EXPECT_TRUE(operation
                    .Answer(absl::StrCat("GET https://h/", i),
                            Response(i % 2 == 0 ? 302 : 301, "",
                                     {{"Location", absl::StrCat("/", i + 1)}}))
                    .again);
  }
  ExpectFailed(operation,
               operation.Answer("GET https://h/10",
                                Response(303, "", {{"Location", "/0"}})),
               absl::StatusCode::kFailedPrecondition, "more than 10 redirects");
}

TEST(HttpOperationTest, TemporaryRedirectOfAStatusHoldsForOneRequest) {
  Followed operation(Adopt("https://h/jobs/7"));
  operation.Answer("GET https://h/jobs/7",
                   Response(307, "", {{"Location", "https://replica/7"}}));
  operation.Answer("GET https://replica/7",
                   Response(200, R"({"status": "running"})"));
  operation.Answer("GET https://h/jobs/7",
                   Response(308, "", {{"Location", "/moved/7"}}));
  operation.Answer("GET https://h/moved/7",
                   Response(200, R"({"status": "running"})"));
  operation.Answer("GET https://h/moved/7", Response(503));
}

TEST(HttpOperationTest, StartIsNotSentToAnotherOrigin) {
  Followed operation(Plan("POST", "https://h/jobs"));
  ExpectFailed(
      operation,
      operation.Answer("POST https://h/jobs",
                       Response(307, "", {{"Location", "https://other/jobs"}})),
      absl::StatusCode::kFailedPrecondition,
      "the request that starts the operation was redirected");

  Followed same(Plan("POST", "https://h/jobs"));
  EXPECT_TRUE(same.Answer("POST https://h/jobs",
                          Response(308, "", {{"Location", "/v2/jobs"}}))
                  .again);
  EXPECT_FALSE(HttpOperationTracker::Restore(Plan("POST", "https://h/jobs"),
                                             same.tracker().Save())
                   ->has_ended());
  same.Answer("POST https://h/v2/jobs", Response(200));

  Followed see_other(Plan("POST", "https://h/jobs"));
  EXPECT_TRUE(see_other
                  .Answer("POST https://h/jobs",
                          Response(303, "", {{"Location", "/jobs/7"}}))
                  .again);
  see_other.Answer("GET https://h/jobs/7",
                   Response(200, R"({"status": "running"})"));
}

TEST(HttpOperationTest, AnswerInNoDialectIsAnErrorThatSaysWhatHelps) {
  for (const std::string body : {"", "<html>", "{}", "[]", R"({"a": 1})"}) {
    Followed operation(Adopt("https://h/jobs/7"));
    ExpectFailed(operation,
                 operation.Answer("GET https://h/jobs/7", Response(200, body)),
                 absl::StatusCode::kFailedPrecondition,
                 "in an unknown dialect");
    HttpOperationPlan plan = Adopt("https://h/jobs/7");
    plan.dialect = {.kind = HttpDialect::Kind::kAccepted};
    Followed told(plan);
    ExpectSuccess(told,
                  told.Answer("GET https://h/jobs/7", Response(200, body)));
  }
}

TEST(HttpOperationTest, ConditionsOfTheUserDecide) {
  HttpOperationPlan plan = Adopt("https://h/jobs/7");
  plan.rules = {.succeed_if = {JsonIs("ready", "true")},
                .fail_if = {JsonIs("phase", "Bad")}};
  Followed operation(plan);
  EXPECT_EQ(operation
                .Answer("GET https://h/jobs/7",
                        Response(200, R"({"status": "Succeeded"})"))
                .poll.status(),
            PollStatus::kNotReady);
  ExpectSuccess(operation,
                operation.Answer("GET https://h/jobs/7",
                                 Response(200, R"({"ready": true})")));
  Followed failed(plan);
  ExpectFailed(failed,
               failed.Answer("GET https://h/jobs/7",
                             Response(200, R"({"phase": "Bad"})")),
               absl::StatusCode::kAborted, "phase is \"Bad\"");
}

TEST(HttpOperationTest, StatusesAreJudgedAsForOtherPolls) {
  Followed operation(Adopt("https://h/jobs/7"));
  struct Row {
    int status;
    HttpFields headers;
    PollStatus found;
    absl::Duration retry_after;
  };
  for (const Row& row : std::vector<Row>{
           {429, {}, PollStatus::kThrottled, absl::ZeroDuration()},
           {503,
            {{"Retry-After", "9"}},
            PollStatus::kThrottled,
            absl::Seconds(9)},
           {500, {}, PollStatus::kServerError, absl::ZeroDuration()},
           {403,
            {{"X-RateLimit-Remaining", "0"}},
            PollStatus::kThrottled,
            absl::ZeroDuration()}}) {
    const HttpOperationStep step = operation.Answer(
        "GET https://h/jobs/7", Response(row.status, "", row.headers));
    EXPECT_EQ(step.poll.status(), row.found);
    EXPECT_EQ(step.poll.retry_after(), row.retry_after);
  }
  ExpectFailed(operation,
               operation.Answer("GET https://h/jobs/7", Response(401)),
               absl::StatusCode::kUnauthenticated, "HTTP 401");
}

TEST(HttpOperationTest, RestoredTrackerContinues) {
  const HttpOperationPlan plan = Plan("PUT", "https://m/vms/1");
  Followed operation(plan);
  operation.Answer(
      "PUT https://m/vms/1",
      Response(201, "", {{"Azure-AsyncOperation", "https://m/operations/1"}}));
  const absl::StatusOr<HttpOperationTracker> restored =
      HttpOperationTracker::Restore(plan, operation.tracker().Save());
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->Save(), operation.tracker().Save());

  HttpOperationTracker copy = *restored;
  EXPECT_EQ(copy.Next().url, "https://m/operations/1");
  EXPECT_TRUE(
      copy.Take(Response(200, R"({"status": "Succeeded"})"), kNow).again);
  EXPECT_EQ(copy.Next().url, "https://m/vms/1");
}

TEST(HttpOperationTest, StartThatWasUnderWayIsNotRepeatedAfterARestart) {
  for (const std::string method : {"POST", "PUT"}) {
    const HttpOperationPlan plan = Plan(method, "https://h/jobs");
    HttpOperationTracker tracker(plan);
    tracker.Next();
    const absl::StatusOr<HttpOperationTracker> restored =
        HttpOperationTracker::Restore(plan, tracker.Save());
    ASSERT_TRUE(restored.ok()) << restored.status();
    EXPECT_EQ(restored->has_ended(), method == "POST");
  }
}

TEST(HttpOperationTest, EndIsSavedToo) {
  const HttpOperationPlan plan = Plan("PUT", "https://m/vms/1");
  for (const int status : {200, 409}) {
    Followed operation(plan);
    operation.Answer("PUT https://m/vms/1", Response(status));
    const absl::StatusOr<HttpOperationTracker> restored =
        HttpOperationTracker::Restore(plan, operation.tracker().Save());
    ASSERT_TRUE(restored.ok()) << restored.status();
    ASSERT_TRUE(restored->has_ended());
    const Poll<>& end = operation.tracker().end();
    EXPECT_EQ(restored->end().status(), end.status());
    EXPECT_EQ(restored->end().error(), end.error());
    EXPECT_EQ(restored->end().detail(), end.detail());
  }
}

TEST(HttpOperationTest, StateThatIsDamagedIsRefused) {
  const HttpOperationPlan plan = Plan("PUT", "https://m/vms/1");
  Followed operation(plan);
  operation.Answer("PUT https://m/vms/1",
                   Response(202, "", {{"Location", "/operations/1"}}));
  const std::string saved = operation.tracker().Save();
  for (size_t length = 0; length < saved.size(); ++length) {
    EXPECT_FALSE(
        HttpOperationTracker::Restore(plan, saved.substr(0, length)).ok())
        << length;
  }
  EXPECT_FALSE(HttpOperationTracker::Restore(plan, saved + "x").ok());
  // The addresses are checked as if a server had sent them.
  std::string moved = saved;
  moved.replace(moved.find("https://m/op"), 5, "http");
  EXPECT_FALSE(HttpOperationTracker::Restore(plan, moved).ok());
}

TEST(HttpOperationTest, CancelRequestIsThatOfTheDialect) {
  struct Row {
    std::string dialect;
    std::string line;
  };
  for (const Row& row :
       std::vector<Row>{{"google", "POST https://h/o/1:cancel?a=1"},
                        {"openai", "POST https://h/o/1/cancel?a=1"},
                        {"anthropic", "POST https://h/o/1/cancel?a=1"},
                        {"github", "POST https://h/o/1/cancel?a=1"},
                        {"azure", "DELETE https://h/o/1?a=1"},
                        {"state", "DELETE https://h/o/1?a=1"}}) {
    HttpOperationPlan plan = Adopt("https://h/o/1?a=1");
    plan.dialect = *HttpDialect::Parse(row.dialect);
    const std::optional<HttpRequest> request =
        HttpOperationTracker(plan).CancelRequest();
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(absl::StrCat(request->method, " ", request->url), row.line);
  }
  EXPECT_FALSE(HttpOperationTracker(Plan("POST", "https://h/o"))
                   .CancelRequest()
                   .has_value());
}

TEST(HttpOperationTest, JsonOf10MegabytesMayBeDeep) {
  for (const std::string_view part : {"{\"a\":", "["}) {
    std::string body;
    while (body.size() < 10'000'000) body.append(part);
    const HttpResponse response = {
        .status = 200, .url = "http://host/job", .body = body};
    const HttpVerdict verdict =
        JudgeHttp({.succeed_if = {JsonIs("a.a", "1")}}, response, absl::Now());
    EXPECT_EQ(verdict.status, PollStatus::kNotReady) << part;
    HttpOperationTracker tracker({.request = {.url = "http://host/job"}});
    tracker.Next();
    EXPECT_NE(tracker.Take(response, absl::Now()).poll.status(),
              PollStatus::kSuccess)
        << part;
  }
}

}  // namespace
}  // namespace waiter::http_operation_test
