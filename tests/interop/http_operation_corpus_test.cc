// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Replays the corpus in tests/interop/operations, whose README describes it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::http_operation_corpus_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const absl::Time kNow = absl::FromUnixSeconds(1'767'323'045);

struct Exchange {
  std::string request;
  HttpResponse response;
};

struct Case {
  std::string name;
  std::string dialect;
  HttpOperationPlan plan = {};
  std::vector<Exchange> exchanges = {};
  std::string end;
  std::string message;
  Json json;
};

HttpFields FieldsOf(const Json& json) {
  HttpFields fields;
  if (!json.contains("headers")) return fields;
  for (const auto& [name, value] : json["headers"].items()) {
    fields.emplace_back(name, value.get<std::string>());
  }
  return fields;
}

std::string BodyOf(const Json& json) {
  if (!json.contains("body")) return "";
  const Json& body = json["body"];
  return body.is_string() ? body.get<std::string>() : body.dump();
}

Case CaseOf(const std::string& file, const Json& json) {
  Case result = {
      .name = absl::StrCat(file, "/", json["name"].get<std::string>()),
      .dialect = json["dialect"].get<std::string>(),
      .end = json["end"].get<std::string>(),
      .message = json.value("message", ""),
      .json = json};
  const Json& start = json["start"];
  result.plan.request = {.url = start["url"].get<std::string>(),
                         .method = start["method"].get<std::string>(),
                         .headers = FieldsOf(start)};
  if (start.contains("body")) result.plan.request.body = BodyOf(start);
  result.plan.dialect = *HttpDialect::Parse(json.value("told", "auto"));
  for (const Json& exchange : json["exchanges"]) {
    result.exchanges.push_back(
        {.request = exchange["request"].get<std::string>(),
         .response = {.status = exchange["status"].get<int>(),
                      .headers = FieldsOf(exchange),
                      .body = BodyOf(exchange)}});
  }
  return result;
}

std::vector<Case> ReadCorpus() {
  std::vector<Case> cases;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/interop/operations")) {
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
  }
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      cases.push_back(CaseOf(path.stem().string(), Json::parse(line)));
    }
  }
  return cases;
}

std::string LineOf(const HttpRequest& request) {
  const std::string method = !request.method.empty()    ? request.method
                             : request.body.has_value() ? "POST"
                                                        : "GET";
  return absl::StrCat(method, " ", request.url);
}

std::string EndOf(const HttpOperationTracker& tracker) {
  if (!tracker.has_ended()) return "running";
  return tracker.end().status() == PollStatus::kSuccess ? "succeeded"
                                                        : "failed";
}

// Checks the end of a tracker that has all answers of `from`.
void ExpectEnd(const Case& from, const HttpOperationTracker& tracker) {
  EXPECT_EQ(EndOf(tracker), from.end);
  EXPECT_EQ(tracker.dialect().ToString(), from.dialect);
  if (!tracker.has_ended()) return;
  const Poll<>& end = tracker.end();
  EXPECT_THAT(std::string(end.detail()), HasSubstr(from.message));
}

TEST(HttpOperationCorpusTest, CorpusIsLargeEnough) {
  std::set<std::string> dialects;
  std::set<std::string> files;
  std::set<std::string> answers;
  std::set<std::string> reports;
  for (const Case& each : ReadCorpus()) {
    dialects.insert(each.dialect.substr(0, each.dialect.find(':')));
    files.insert(each.name.substr(0, each.name.find('/')));
    reports.insert(each.json.value("report", ""));
    EXPECT_TRUE(
        absl::StartsWith(each.json["source"].get<std::string>(), "https://"))
        << each.name;
    for (const Exchange& exchange : each.exchanges) {
      answers.insert(absl::StrCat(exchange.request, exchange.response.status,
                                  exchange.response.body,
                                  Json(exchange.response.headers).dump()));
    }
  }
  EXPECT_GE(dialects.size(), 12);
  EXPECT_GE(files.size(), 12);
  EXPECT_GE(answers.size(), 300);
  EXPECT_GE(reports.size(), 1 + 3);
}

TEST(HttpOperationCorpusTest, EachCaseEndsAsItShould) {
  for (const Case& each : ReadCorpus()) {
    SCOPED_TRACE(each.name);
    HttpOperationTracker tracker(each.plan);
    for (size_t i = 0; i < each.exchanges.size(); ++i) {
      // The last answer ends the operation, and none before it.
      ASSERT_FALSE(tracker.has_ended()) << i << tracker.end().detail();
      ASSERT_EQ(LineOf(tracker.Next()), each.exchanges[i].request);
      tracker.Take(each.exchanges[i].response, kNow);
    }
    ExpectEnd(each, tracker);
  }
}

// Errors between two answers change nothing, and neither does a restart of the
// process.
TEST(HttpOperationCorpusTest, ErrorsAndRestartsBetweenAnswersChangeNothing) {
  const std::vector<HttpResponse> errors = {
      {.status = 503, .body = "<html>"},
      {.status = 429, .headers = {{"Retry-After", "1"}}},
      {.status = 500, .body = R"({"error": {"message": "oops"}})"}};
  for (const Case& each : ReadCorpus()) {
    SCOPED_TRACE(each.name);
    HttpOperationTracker tracker(each.plan);
    bool is_redirected = false;
    for (size_t i = 0; i < each.exchanges.size(); ++i) {
      ASSERT_EQ(LineOf(tracker.Next()), each.exchanges[i].request);
      // A redirect for one request is followed in the same poll.
      if (i > 0 && !is_redirected) {
        tracker.Take(errors[i % errors.size()], kNow);
        tracker.TakeFailure(ServerError("no answer"), /*was_sent=*/true);
        absl::StatusOr<HttpOperationTracker> restored =
            HttpOperationTracker::Restore(each.plan, tracker.Save());
        ASSERT_TRUE(restored.ok()) << restored.status() << tracker.Save();
        tracker = *std::move(restored);
        ASSERT_EQ(LineOf(tracker.Next()), each.exchanges[i].request);
      }
      is_redirected = tracker.Take(each.exchanges[i].response, kNow).again;
    }
    ExpectEnd(each, tracker);
  }
}

// A case that fails does not succeed if any answer before the last is missing.
TEST(HttpOperationCorpusTest, NoOrderOfTheAnswersMakesAFailureASuccess) {
  for (const Case& each : ReadCorpus()) {
    if (each.end != "failed" || each.exchanges.size() < 3) continue;
    SCOPED_TRACE(each.name);
    // The start stays, and the others are left out one by one.
    for (size_t left_out = 1; left_out + 1 < each.exchanges.size();
         ++left_out) {
      HttpOperationTracker tracker(each.plan);
      for (size_t i = 0; i < each.exchanges.size(); ++i) {
        if (i == left_out || tracker.has_ended()) continue;
        tracker.Next();
        tracker.Take(each.exchanges[i].response, kNow);
      }
      EXPECT_NE(EndOf(tracker), "succeeded") << left_out;
    }
  }
}

bool HasAny(const Json& naive, const char* key, const std::string& body) {
  if (!naive.contains(key)) return false;
  for (const Json& text : naive[key]) {
    if (absl::StrContains(body, text.get<std::string>())) return true;
  }
  return false;
}

// Returns the end for a client that knows only the words of `naive`, and the
// index of the answer that ends it.
std::pair<std::string, size_t> NaiveEnd(const Case& from) {
  const Json& naive = from.json["naive"];
  for (size_t i = 0; i < from.exchanges.size(); ++i) {
    const Exchange& exchange = from.exchanges[i];
    const int status = exchange.response.status;
    if (!absl::StartsWith(exchange.request, "GET ") || status == 202 ||
        status >= 300) {
      continue;
    }
    const std::string& body = exchange.response.body;
    if (HasAny(naive, "failed", body)) return {"failed", i};
    if (HasAny(naive, "succeeded", body)) return {"succeeded", i};
    if (naive.contains("succeeded_without") &&
        !absl::StrContains(body,
                           naive["succeeded_without"].get<std::string>())) {
      return {"succeeded", i};
    }
  }
  return {"running", from.exchanges.size()};
}

// Other clients have these bugs: their rules end these cases differently.
TEST(HttpOperationCorpusTest, NaiveRulesOfOtherClientsEndOtherwise) {
  std::set<std::string> rules;
  for (const Case& each : ReadCorpus()) {
    if (!each.json.contains("naive")) continue;
    SCOPED_TRACE(each.name);
    rules.insert(each.json["naive"]["rule"].get<std::string>());
    EXPECT_NE(NaiveEnd(each), std::pair(each.end, each.exchanges.size() - 1));
  }
  EXPECT_GE(rules.size(), 3);
}

}  // namespace
}  // namespace waiter::http_operation_corpus_test
