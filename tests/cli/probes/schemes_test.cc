// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The table of schemes, and the path of some targets from their text to an
// answer. The only argument is docs/command.md.

#include "cli/probes/schemes/schemes.h"

#include <stdlib.h>

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/target.h"
#include "cli/process/process_reaper.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/document.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/http_server.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_server.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string* const command_md = new std::string();

TEST(SchemesTest, DocumentationHasTheTableOfTheRows) {
  EXPECT_THAT(ReadFile(*command_md), HasSubstr(SchemesTable()))
      << "docs/command.md must have this table";
}

TEST(SchemesTest, EachRowIsCompleteAndItsExampleIsParsed) {
  std::set<std::string_view> names;
  for (const Scheme* const row : AllSchemes()) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second) << "two rows";
    EXPECT_EQ(row->name, absl::AsciiStrToLower(row->name));
    EXPECT_EQ(row->form.empty(), row->ready_when.empty());
    if (!row->form.empty()) {
      EXPECT_THAT(std::string(row->form),
                  StartsWith(absl::StrCat("`", row->name, ":")));
    }
    const absl::StatusOr<Target> target = ParseTarget(row->example);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->scheme, row);
    EXPECT_EQ(FindScheme(row->example), row);
  }
}

TEST(SchemesTest, HelpNamesEachSchemeOfTheDocumentation) {
  const std::string help = SchemesHelp();
  for (const Scheme* const row : AllSchemes()) {
    if (row->form.empty()) continue;
    EXPECT_THAT(help, HasSubstr(absl::StrCat("  ", row->name, ":")));
  }
  const std::string all = SchemesSummary() + help;
  for (const std::string_view line : absl::StrSplit(all, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

class ProbeOfSchemeTest : public FolderFixture {
 protected:
  Finding Poll(Probe& probe) {
    std::optional<Finding> found;
    probe.Start({}, [&](Finding finding) { found = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return found.has_value(); }));
    return found.value_or(Finding());
  }

  absl::StatusOr<std::unique_ptr<Probe>> Make(std::string_view text) {
    const absl::StatusOr<Target> target = ParseTarget(text);
    if (!target.ok()) return target.status();
    return factory_.Make(*target);
  }

  Finding Poll(std::string_view text) {
    const absl::StatusOr<std::unique_ptr<Probe>> probe = Make(text);
    EXPECT_TRUE(probe.ok()) << probe.status();
    return probe.ok() ? Poll(**probe) : Finding();
  }

  // Returns `text` of a target with the port of a server instead of PORT.
  static std::string At(std::string_view text, int port) {
    return absl::StrReplaceAll(text, {{"PORT", absl::StrCat(port)}});
  }

  EventLoop loop_;
  ProcessReaper reaper_{loop_};
  ProbeFactory factory_{loop_, reaper_, {}};
};

TEST_F(ProbeOfSchemeTest, MqttBrokerIsReadyOnceItAnswersConnect) {
  const ScriptedServer server(
      loop_, BindTcp("127.0.0.1"),
      {.turns = {{.expect = std::string("\x10\x0c\0\4MQTT\4\2\0\x3c\0\0", 14),
                  .send = std::string("\x20\2\0\0", 4)}}});
  const Finding found =
      Poll(At("mqtt://user:pw@127.0.0.1:PORT", server.port()));
  EXPECT_EQ(found.status, PollStatus::kSuccess);
  EXPECT_EQ(found.detail, "MQTT broker answers");
}

struct WsRow {
  std::string_view reply;
  PollStatus status;
  std::string_view detail;
};

TEST_F(ProbeOfSchemeTest, WebSocketIsReadyOnceTheUpgradeIsAccepted) {
  if (!factory_.http_client().ok()) GTEST_SKIP() << "no libcurl";
  for (const WsRow& row : std::vector<WsRow>{
           {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            PollStatus::kSuccess, "upgrade accepted"},
           {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
            PollStatus::kServerError,
            "HTTP 101, but the upgrade is not to WebSocket"},
           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            PollStatus::kNotReady, "HTTP 200"},
           {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            PollStatus::kNotReady, "HTTP 503"}}) {
    SCOPED_TRACE(row.reply);
    HttpServer server(loop_);
    // The server keeps the connection open, as one of WebSocket does.
    server.Play(
        {.bytes = std::string(row.reply), .then = HttpReply::Then::kHang});
    const Finding found =
        Poll(At("ws://user:pw@127.0.0.1:PORT/socket", server.port()));
    EXPECT_EQ(found.status, row.status);
    EXPECT_THAT(found.detail, HasSubstr(std::string(row.detail)));
    ASSERT_EQ(server.requests().size(), 1u);
    EXPECT_THAT(server.requests()[0],
                AllOf(StartsWith("GET /socket HTTP/1.1\r\n"),
                      HasSubstr("Upgrade: websocket\r\n"),
                      HasSubstr("Authorization: Basic ")));
  }
  EXPECT_EQ(ParseTarget("wss://h/x")->scheme->port, 443);
}

TEST_F(ProbeOfSchemeTest, ConditionOfAKubernetesObjectIsAskedFor) {
  if (!factory_.http_client().ok()) GTEST_SKIP() << "no libcurl";
  HttpServer server(loop_);
  const std::string body = R"({"kind":"Pod","status":{"conditions":[)"
                           R"({"type":"Ready","status":"True"}]}})";
  server.Play({.bytes = absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ",
                                     body.size(), "\r\n\r\n", body)});
  const std::string config =
      Write("config", At(R"({"current-context":"c","contexts":[{"name":"c",
           "context":{"cluster":"k","user":"u","namespace":"apps"}}],
           "clusters":[{"name":"k",
           "cluster":{"server":"http://127.0.0.1:PORT/"}}],
           "users":[{"name":"u","user":{"token":"t0ken"}}]})",
                         server.port()));
  setenv("KUBECONFIG", config.c_str(), 1);
  const Finding found = Poll("kubernetes:pod/web?condition=Ready");
  EXPECT_EQ(found.status, PollStatus::kSuccess);
  EXPECT_EQ(found.detail, "Ready is True");
  Poll("kubernetes:deploy/web?namespace=other");
  unsetenv("KUBECONFIG");
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_THAT(server.requests()[0],
              AllOf(StartsWith("GET /api/v1/namespaces/apps/pods/web "),
                    HasSubstr("Authorization: Bearer t0ken\r\n")));
  EXPECT_THAT(
      server.requests()[1],
      StartsWith("GET /apis/apps/v1/namespaces/other/deployments/web "));
}

TEST_F(ProbeOfSchemeTest, LinesOfALogAreCountedAsTheyCome) {
  const std::string path = Write("app.log", "ready=1\nbusy\n");
  const absl::StatusOr<std::unique_ptr<Probe>> probe =
      Make(absl::StrCat("log:", path, "?match=^ready=%5B0-9%5D&count=2"));
  ASSERT_TRUE(probe.ok()) << probe.status();
  EXPECT_EQ(Poll(**probe).detail, "1 of 2 lines");
  std::ofstream(path, std::ios::app) << "ready=2\n";
  const Finding found = Poll(**probe);
  EXPECT_EQ(found.status, PollStatus::kSuccess);
  EXPECT_EQ(found.detail, "2 of 2 lines, the last: ready=2");
}

TEST(NewSchemesTest, ErrorSaysHowToWriteTheTarget) {
  for (const auto& [text, error] :
       std::vector<std::pair<std::string_view, std::string_view>>{
           {"log:a",
            "match is missing; write it as log:app.log?match=ready&count=2"},
           {"log:?match=a", "the path is missing"},
           {"log:a?match=(", "match: not a regular expression"},
           {"log:a?match=a&count=0", "count=0: it must be from 1 to"},
           {"log:a?find=b",
            "unknown parameter \"find\", only match, count are"},
           {"ws:h", "no // after ws:; write it as ws://h"},
           {"wss://h:0", "the port must be a number"},
           {"kubernetes:web",
            "it must be KIND/NAME; write it as kubernetes:pod/web"},
           {"kubernetes:pod/Web", "it must be KIND/NAME"},
           {"kubernetes:service/web", "this kind has no default condition"},
           {"kubernetes:thing/web", "unknown kind thing, only pod, node"},
           {"kubernetes:pod/a?namespace=A_", "not a valid namespace"},
           {"mqtt://a,b", "a target must have one host"}}) {
    EXPECT_THAT(std::string(ParseTarget(text).status().message()),
                HasSubstr(std::string(error)));
  }
  // Hosts with the name of a scheme.
  EXPECT_EQ(ParseTarget("kubernetes:443")->scheme->name, "tcp");
  EXPECT_EQ(ParseTarget("mqtt:1883")->scheme->name, "tcp");
}

}  // namespace
}  // namespace waiter::cli

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 1) *waiter::cli::command_md = argv[1];
  return RUN_ALL_TESTS();
}
