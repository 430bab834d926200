// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the recipes of docs/http-jobs.md, with servers that answer as in
// tests/interop/operations.

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/waiter_process.h"
#include "tests/support/document.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/socket_server.h"

namespace waiter::cli::http_jobs_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Connection = SocketServer::Connection;
using Json = nlohmann::ordered_json;

constexpr std::string_view kServiceAccount =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// Returns `text` with `origin` instead of every https origin.
std::string At(const std::string& origin, const std::string& text) {
  static const auto* const kOrigin = new std::regex(R"(https://[^/"' ]+)");
  return std::regex_replace(text, *kOrigin, origin);
}

// A request, as its method and its path, and the answer to it.
struct Exchange {
  std::string request;
  std::string response;
};

std::string Response(int status, const Json& json) {
  std::string body;
  if (json.contains("body")) {
    body = json["body"].is_string() ? json["body"].get<std::string>()
                                    : json["body"].dump();
  }
  std::string head = absl::StrCat("HTTP/1.1 ", status, " Status\r\n");
  if (json.contains("headers")) {
    for (const auto& [name, value] : json["headers"].items()) {
      absl::StrAppend(&head, name, ": ", value.get<std::string>(), "\r\n");
    }
  }
  return absl::StrCat(head, "\r\n", body);
}

// Reads the exchanges of the case `file/name` of the corpus.
std::vector<Exchange> ReadCase(const std::string& place) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(place, absl::MaxSplits('/', 1));
  const std::string text = ReadFile(
      absl::StrCat("tests/interop/operations/", parts.first, ".jsonl"));
  std::vector<Exchange> exchanges;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    const Json json = Json::parse(line);
    if (json["name"] != parts.second) continue;
    for (const Json& one : json["exchanges"]) {
      exchanges.push_back({At("", one["request"].get<std::string>()),
                           Response(one["status"].get<int>(), one)});
    }
  }
  EXPECT_FALSE(exchanges.empty()) << place;
  return exchanges;
}

// Plays exchanges, and expects exactly their requests.
class JobServer {
 public:
  explicit JobServer(std::vector<Exchange> exchanges)
      : exchanges_(std::move(exchanges)),
        server_([this](Connection& connection) {
          const std::string head = connection.ReadRequest();
          const auto turn = static_cast<size_t>(connection.ordinal()) - 1;
          if (turn >= exchanges_.size()) return;
          EXPECT_TRUE(absl::StartsWith(
              head, absl::StrCat(exchanges_[turn].request, " HTTP/1.1\r\n")))
              << head << exchanges_[turn].request;
          connection.Send(At(origin(), exchanges_[turn].response));
        }) {}

  std::string origin() const { return server_.Url(""); }
  bool has_played_all() const {
    return server_.requests().size() == exchanges_.size();
  }

 private:
  const std::vector<Exchange> exchanges_;
  SocketServer server_;
};

class HttpJobsTest : public FolderFixture {
 protected:
  void SetUp() override {
    if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
    for (const char* const name :
         {"vm.json", "database.json", "patch.json", "job.json", "batch.json"}) {
      Write(name, "{}");
    }
    for (const char* const name : {"token", "ca.crt"}) {
      Write(name, "token\n");
    }
  }

  struct Recipe {
    std::string title;
    std::string command;
  };

  static std::vector<Recipe> Recipes() {
    const std::string page = ReadFile("docs/http-jobs.md");
    std::vector<Recipe> recipes;
    for (const std::string_view part : absl::StrSplit(page, "\n## ")) {
      const size_t begin = part.find("```sh\n");
      if (begin == std::string_view::npos) continue;
      const std::string_view code = part.substr(begin + 6);
      recipes.push_back({std::string(part.substr(0, part.find('\n'))),
                         std::string(code.substr(0, code.find("\n```")))});
    }
    return recipes;
  }

  // Runs a command with quick polls.
  Ended Run(const std::string& command, const JobServer& server) const {
    const std::string script = absl::StrCat(
        "waiter() { ", WaiterPath(), " \"$@\"; }\ncd ", folder(), "\n",
        absl::StrReplaceAll(At(server.origin(), command),
                            {{kServiceAccount, "."}}),
        " --every=10ms --retry-after=ignore\n");
    std::vector<std::string> variables;
    for (const char* const name :
         {"GITHUB_TOKEN", "GITLAB_TOKEN", "AZURE_TOKEN", "GOOGLE_TOKEN",
          "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ARGO_TOKEN",
          "AIRFLOW_TOKEN"}) {
      variables.push_back(absl::StrCat(name, "=secret"));
    }
    return Call({"-c", script},
                {.program = "/bin/sh", .environment = variables});
  }
};

// S3 does not say when an object will exist.
const std::vector<Exchange>& PresignedExchanges() {
  static const auto* const kExchanges = [] {
    const std::string request =
        "GET /2026-01.csv?X-Amz-Expires=3600&X-Amz-Signature=fe5f80";
    return new std::vector<Exchange>{
        {request, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"},
        {request, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {request, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na,b\n"}};
  }();
  return *kExchanges;
}

TEST_F(HttpJobsTest, RecipesWaitForTheResult) {
  struct Row {
    const char* place;  // In the corpus; null for S3.
    std::string_view out;
  };
  const std::vector<Row> rows = {{"github/run-0", ""},
                                 {"services/gitlab-pipeline-0", ""},
                                 {"azure/async-operation-put", "Succeeded\n"},
                                 {"google/spanner-create-database", ""},
                                 {"kubernetes/rollout", ""},
                                 {"kubernetes/job-completes", ""},
                                 {"openai/batch-completes", "file-out\n"},
                                 {"anthropic/batch-ends-with-errors",
                                  "/v1/messages/batches/msgbatch_2/results\n"},
                                 {"argo/workflow-0", ""},
                                 {"airflow/dag-run", ""},
                                 {nullptr, ""},
                                 {"rfc9110/report-done-by-303", "1841\n"}};
  const std::vector<Recipe> recipes = Recipes();
  ASSERT_THAT(recipes, SizeIs(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(recipes[i].title);
    const JobServer server(rows[i].place == nullptr ? PresignedExchanges()
                                                    : ReadCase(rows[i].place));
    const Ended end = Run(recipes[i].command, server);

    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_EQ(absl::StripPrefix(end.out, server.origin()), rows[i].out);
    EXPECT_TRUE(server.has_played_all()) << end.err;
    EXPECT_FALSE(absl::StrContains(end.err, "secret")) << end.err;
  }
}

TEST_F(HttpJobsTest, JobsThatFailEndTheWaitWithTheReason) {
  struct Row {
    size_t recipe;  // Counted from 1.
    const char* place;
    std::pair<const char*, const char*> instead;
    std::string_view message;
  };
  const std::vector<Recipe> recipes = Recipes();
  for (const Row& row :
       {Row{1, "github/run-1", {"30433640", "30433641"}, "failure"},
        {3, "azure/async-operation-put-fails", {"", ""}, "SkuNotAvailable"},
        {8,
         "anthropic/batch-of-which-all-items-failed",
         {"msgbatch_2", "msgbatch_3"},
         "5 errored"},
        {9, "argo/workflow-1", {"", ""}, "child 'hello-x-1' failed"}}) {
    ASSERT_LE(row.recipe, recipes.size());
    const Recipe& recipe = recipes[row.recipe - 1];
    SCOPED_TRACE(recipe.title);
    const JobServer server(ReadCase(row.place));
    const std::string command =
        *row.instead.first == '\0'
            ? recipe.command
            : absl::StrReplaceAll(recipe.command,
                                  {{row.instead.first, row.instead.second}});
    const Ended end = Run(command, server);

    EXPECT_EQ(end.code, 1) << end.err;
    EXPECT_THAT(end.err, HasSubstr(std::string(row.message)));
    EXPECT_EQ(end.out, "");
  }
}

}  // namespace
}  // namespace waiter::cli::http_jobs_test
