// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/interop/followed_operation.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::http_dialect_test {
namespace {

using ::testing::HasSubstr;

// Azure/autorest.csharp#2672 and Azure's guidelines for REST.
TEST(HttpDialectTest, NewestMonitorOfAzureCountsAndPutEndsAtTheResource) {
  Followed operation(Plan("PUT", "https://m/vms/1?api-version=2"));
  ExpectRuns(
      operation.Answer(
          "PUT https://m/vms/1?api-version=2",
          Response(201, R"({"properties": {"provisioningState": "Creating"}})",
                   {{"Azure-AsyncOperation", "https://m/operations/1"},
                    {"Location", "https://m/wrong"},
                    {"Retry-After", "15"}})),
      "started (azure: header Azure-AsyncOperation)");
  ExpectRuns(operation.Answer(
                 "GET https://m/operations/1",
                 Response(200,
                          R"({"status": "InProgress",)"
                          R"( "percentComplete": 40})",
                          {{"Azure-AsyncOperation", "https://m/operations/2"},
                           {"Location", "https://m/result"}})),
             "InProgress, 40 % (azure: header Azure-AsyncOperation)");
  EXPECT_TRUE(operation
                  .Answer("GET https://m/operations/2",
                          Response(200, R"({"status": "succeeded"})"))
                  .again);
  const HttpOperationStep step = operation.Answer(
      "GET https://m/vms/1?api-version=2",
      Response(200, R"({"properties": {"provisioningState": "Succeeded"}})"));
  ExpectSuccess(operation, step);
}

TEST(HttpDialectTest, ResourceLocationOfAzureHasTheResult) {
  Followed operation(Plan("POST", "https://a/analyze"));
  operation.Answer(
      "POST https://a/analyze",
      Response(202, "", {{"Operation-Location", "https://a/operations/1"}}));
  EXPECT_TRUE(operation
                  .Answer("GET https://a/operations/1",
                          Response(200, R"({"status": "Succeeded",)"
                                        R"( "resourceLocation": "/models/4"})"))
                  .again);
  ExpectSuccess(operation,
                operation.Answer("GET https://a/models/4", Response(200)));
}

TEST(HttpDialectTest, ActionOfAzureEndsAtItsLocation) {
  Followed operation(Plan("POST", "https://m/vms/1/capture"));
  operation.Answer("POST https://m/vms/1/capture",
                   Response(202, "",
                            {{"Azure-AsyncOperation", "https://m/operations/1"},
                             {"Location", "https://m/results/1"}}));
  EXPECT_TRUE(operation
                  .Answer("GET https://m/operations/1",
                          Response(200, R"({"status": "Succeeded"})"))
                  .again);
  const HttpOperationStep step =
      operation.Answer("GET https://m/results/1", Response(404));
  ExpectFailed(operation, step, absl::StatusCode::kNotFound,
               "the operation has succeeded, but its result cannot be read");
}

TEST(HttpDialectTest, TerminalStatesOfAzureCountInAnyCase) {
  struct Row {
    std::string body;
    PollStatus found;
    absl::StatusCode code;
  };
  const auto ok = absl::StatusCode::kOk;
  const std::vector<Row> rows = {
      {R"({"status": "SUCCEEDED"})", PollStatus::kSuccess, ok},
      {R"({"status": "failed"})", PollStatus::kFailed,
       absl::StatusCode::kAborted},
      {R"({"status": "Canceled"})", PollStatus::kFailed,
       absl::StatusCode::kCancelled},
      {R"({"status": "CANCELLED"})", PollStatus::kFailed,
       absl::StatusCode::kCancelled},
      {R"({"status": "Running"})", PollStatus::kNotReady, ok},
      {R"({"status": "AlmostThere"})", PollStatus::kNotReady, ok},
      {R"({"status": ""})", PollStatus::kNotReady, ok},
      {R"({"error": {"code": "Conflict", "message": "busy"}})",
       PollStatus::kFailed, absl::StatusCode::kAborted},
      {"", PollStatus::kNotReady, ok},
      {"<html>", PollStatus::kNotReady, ok},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    Followed operation(Plan("DELETE", "https://m/vms/1"));
    operation.Answer(
        "DELETE https://m/vms/1",
        Response(202, "",
                 {{"Azure-AsyncOperation", "https://m/operations/1"}}));
    const HttpOperationStep step =
        operation.Answer("GET https://m/operations/1", Response(200, row.body));
    EXPECT_EQ(step.poll.status(), row.found) << step.poll.detail();
    EXPECT_EQ(step.poll.error().code(), row.code);
  }
}

TEST(HttpDialectTest, DetailsOfAnErrorOfAzureAreShown) {
  Followed operation(Adopt("https://m/deployments/1"));
  ExpectFailed(
      operation,
      operation.Answer(
          "GET https://m/deployments/1",
          Response(
              200,
              R"({"properties": {"provisioningState": "Failed", "error": )"
              R"({"code": "DeploymentFailed", "message": "At least one )"
              R"(resource failed.", "details": [{"code": "SkuNotAvailable",)"
              R"( "message": "no such size here"}]}}})")),
      absl::StatusCode::kAborted, "Failed, SkuNotAvailable: no such size here");
}

TEST(HttpDialectTest, OperationOfGoogleIsFoundByItsName) {
  Followed operation(
      Plan("POST", "https://g/v1beta1/projects/p/instances?x=1"));
  ExpectRuns(operation.Answer(
                 "POST https://g/v1beta1/projects/p/instances?x=1",
                 Response(200, R"({"name": "projects/p/operations/o-1",)"
                               R"( "metadata": {"progressPercent": 20}})")),
             "not done, 20 % (google: name of an operation)");
  ExpectFailed(
      operation,
      operation.Answer("GET https://g/v1beta1/projects/p/operations/o-1",
                       Response(200, R"({"name": "projects/p/operations/o-1",)"
                                     R"( "done": true, "error": {"code": 14,)"
                                     R"( "message": "zone is down"}})")),
      absl::StatusCode::kUnavailable, "zone is down");
}

// The rules of interop/google_cloud.h.
TEST(HttpDialectTest, OperationOfGoogleThatIsDoneWithoutAResultHasFailed) {
  Followed operation(Adopt("https://g/v1/operations/1"));
  ExpectFailed(operation,
               operation.Answer(
                   "GET https://g/v1/operations/1",
                   Response(200, R"({"name": "operations/1", "done": true})")),
               absl::StatusCode::kInternal, "neither a response nor an error");
}

// AIP-151: `:wait` is best effort, and may be missing.
TEST(HttpDialectTest, WaitThatReturnsImmediatelyIsAnOrdinaryPoll) {
  HttpOperationPlan plan = Adopt("https://g/v1/operations/1?alt=json");
  plan.dialect = *HttpDialect::Parse("google:wait");
  Followed operation(plan);
  for (int i = 0; i < 3; ++i) {
    ExpectRuns(operation.Answer("POST https://g/v1/operations/1:wait?alt=json",
                                Response(200, R"({"name": "operations/1"})")),
               "not done (google:wait: as told)");
  }
  for (const int status : {400, 404, 405, 501}) {
    Followed without(plan);
    EXPECT_TRUE(without
                    .Answer("POST https://g/v1/operations/1:wait?alt=json",
                            Response(status, R"({"error": {"code": 12,)"
                                             R"( "status": "UNIMPLEMENTED"}})"))
                    .again);
    ExpectRuns(without.Answer("GET https://g/v1/operations/1?alt=json",
                              Response(200, R"({"name": "operations/1"})")),
               "not done (google:wait: as told)");
  }
}

// Kubernetes: the state to which a list refers is too old.
TEST(HttpDialectTest, GoneOfKubernetesMeansToListAgain) {
  const std::string gone =
      R"({"kind": "Status", "apiVersion": "v1", "status": "Failure",)"
      R"( "reason": "Expired", "code": 410})";
  Followed operation(Adopt(
      "https://k/apis/batch/v1/jobs?resourceVersion=9&limit=5&continue=x"));
  EXPECT_TRUE(operation
                  .Answer("GET https://k/apis/batch/v1/"
                          "jobs?resourceVersion=9&limit=5&continue=x",
                          Response(410, gone))
                  .again);
  ExpectRuns(operation.Answer("GET https://k/apis/batch/v1/jobs?limit=5",
                              Response(410, gone)),
             "HTTP 410, listing again (kubernetes: kind Status)");
}

TEST(HttpDialectTest, ObjectOfKubernetesIsReadInItsNewestGeneration) {
  const auto object = [](int observed, const std::string& available) {
    return Response(
        200,
        absl::StrCat(R"({"apiVersion": "apps/v1", "kind": "Deployment",)"
                     R"( "metadata": {"generation": 3}, "spec":)"
                     R"( {"replicas": 2}, "status": {"observedGeneration": )",
                     observed,
                     R"(, "replicas": 2, "updatedReplicas": 2,)"
                     R"( "availableReplicas": )",
                     available, "}}"));
  };
  Followed operation(Adopt("https://k/d"));
  ExpectRuns(operation.Answer("GET https://k/d", object(2, "2")),
             "observedGeneration 2 is older than generation 3 (kubernetes: "
             "kind Deployment)");
  ExpectRuns(operation.Answer("GET https://k/d", object(3, "1")),
             "2 of 2 replicas updated, 1 available, 2 in all (kubernetes: kind "
             "Deployment)");
  ExpectSuccess(operation, operation.Answer("GET https://k/d", object(3, "2")));
}

// lewagon/wait-on-check-action#153: of several runs with one name, an early run
// fails, and a later one passes.
TEST(HttpDialectTest, RunOfTheSameNameThatPassesLaterCounts) {
  const auto runs = [](const std::string& sibling, const std::string& name) {
    return Response(
        200,
        absl::StrCat(
            R"({"total_count": 2, "check_runs": [)"
            R"({"id": 9, "name": "preview", "status": "completed", )"
            R"("conclusion": "failure", "completed_at": "2026-01-02T03:04:05Z"},)"
            R"({"id": 8, "name": ")",
            name, R"(", )", sibling, "}]}"));
  };
  const std::string busy = R"("status": "in_progress")";
  const std::string passed =
      R"("status": "completed", "conclusion": "success", )"
      R"("completed_at": "2026-01-02T03:05:05Z")";
  Followed operation(Adopt("https://h/check-runs"));
  ExpectRuns(
      operation.Answer("GET https://h/check-runs", runs(busy, "preview")),
      "preview: in_progress (github: member check_runs)");
  ExpectSuccess(operation, operation.Answer("GET https://h/check-runs",
                                            runs(passed, "preview")));

  Followed failed(Adopt("https://h/check-runs"));
  ExpectFailed(failed,
               failed.Answer("GET https://h/check-runs", runs(busy, "other")),
               absl::StatusCode::kAborted, "preview: completed, failure");
}

TEST(HttpDialectTest, ListThatIsCutToAPageIsAnError) {
  Followed operation(Adopt("https://h/check-runs"));
  ExpectFailed(operation,
               operation.Answer(
                   "GET https://h/check-runs",
                   Response(200, R"({"total_count": 31, "check_runs": []})")),
               absl::StatusCode::kAborted,
               "lists 0 of 31 runs; add per_page=100");
}

TEST(HttpDialectTest, PathOfAListAsksAllOfItsElements) {
  HttpOperationPlan plan = Adopt("https://a/instances");
  plan.dialect =
      *HttpDialect::Parse("state:Reservations.Instances.State.Name=running");
  const auto list = [](const std::string& first, const std::string& second) {
    return Response(
        200,
        absl::StrCat(R"({"Reservations": [{"Instances": [{"State":)"
                     R"( {"Name": ")",
                     first, R"("}}]}, {"Instances": [{"State": {"Name": ")",
                     second, R"("}}]}]})"));
  };
  Followed operation(plan);
  ExpectRuns(operation.Answer("GET https://a/instances",
                              Response(200, R"({"Reservations": []})")),
             "no Reservations.Instances.State.Name (state:Reservations."
             "Instances.State.Name=running: as told)");
  EXPECT_EQ(
      operation.Answer("GET https://a/instances", list("running", "pending"))
          .poll.status(),
      PollStatus::kNotReady);
  ExpectSuccess(operation, operation.Answer("GET https://a/instances",
                                            list("running", "running")));
  Followed failed(plan);
  ExpectFailed(
      failed,
      failed.Answer("GET https://a/instances", list("running", "terminated")),
      absl::StatusCode::kAborted, "terminated");
}

TEST(HttpDialectTest, PathMayBeWrittenAsForJq) {
  for (const std::string text : {"state:.a[].b=c", "state:a[].b[]=c"}) {
    const absl::StatusOr<HttpDialect> dialect = HttpDialect::Parse(text);
    ASSERT_TRUE(dialect.ok()) << text;
    EXPECT_EQ(dialect->path, "a.b");
    EXPECT_EQ(dialect->word, "c");
  }
}

TEST(HttpDialectTest, DialectIsReadAndWritten) {
  for (const std::string text :
       {"auto",     "accepted",      "azure",
        "google",   "google:wait",   "compute:wait",
        "bigquery", "kubernetes",    "kubernetes:Available",
        "openai",   "anthropic",     "github",
        "stripe",   "airflow",       "databricks",
        "jenkins",  "elasticsearch", "redfish",
        "state",    "state:a.b",     "state:a.b=c=d"}) {
    const absl::StatusOr<HttpDialect> dialect = HttpDialect::Parse(text);
    ASSERT_TRUE(dialect.ok()) << text;
    EXPECT_EQ(dialect->ToString(), text);
  }
  for (const std::string text : {"", "Azure", "azure:x", "state:", "state:=x",
                                 "google:x", "kubernetes:", "aws"}) {
    const absl::StatusOr<HttpDialect> dialect = HttpDialect::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(dialect.status())) << text;
    EXPECT_THAT(dialect.status().message(), HasSubstr("accepted, azure"));
  }
}

}  // namespace
}  // namespace waiter::http_dialect_test
