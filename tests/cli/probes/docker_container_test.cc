// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/docker_container.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/poll.h"

namespace waiter::cli::docker_container_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Error = HttpAnswer::Error;

Finding Judge(std::string_view body, int status = 200) {
  HttpAnswer answer;
  answer.status = status;
  answer.reason = "Reason";
  answer.body = std::string(body);
  return JudgeDockerContainer("web", answer, absl::UnixEpoch());
}

// Returns the answer for a container with the members `state` of its state.
std::string Container(std::string_view state,
                      std::string_view restart_policy = "no") {
  return absl::StrCat(R"({"Id":"4711","State":{)", state,
                      R"(},"HostConfig":{"RestartPolicy":{"Name":")",
                      restart_policy, R"(","MaximumRetryCount":0}}})");
}

struct StateRow {
  std::string_view state;
  PollStatus found;
  std::string_view detail;
  bool absent = false;
  std::string_view hint = {};
};

std::vector<StateRow> States() {
  constexpr PollStatus kSuccess = PollStatus::kSuccess;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kFailed = PollStatus::kFailed;
  constexpr std::string_view kLogs = "see docker logs web";
  constexpr std::string_view kStaysDown =
      "its restart policy does not start it again; see docker logs web";
  return {
      {R"("Status":"running","Running":true)", kSuccess, "running"},
      {R"("Status":"running","Health":{"Status":"none"})", kSuccess, "running"},
      {R"("Status":"running","Health":{"Status":"","Log":null})", kSuccess,
       "running"},
      {R"("Status":"running","Health":null)", kSuccess, "running"},
      {R"("Status":"running","Health":{"Status":"healthy","Log":[]})", kSuccess,
       "healthy"},
      {R"("Status":"running","Health":{"Status":"starting","Log":[]})",
       kNotReady, "starting"},
      {R"("Status":"running","Health":{"Status":"unhealthy","Log":[
           {"ExitCode":1,"Output":"old"},
           {"ExitCode":1,"Output":"first\nconnection refused \n\n"}]})",
       kNotReady, "unhealthy: connection refused", false, kLogs},
      {R"("Status":"running","Health":{"Status":"unhealthy","Log":[]})",
       kNotReady, "unhealthy", false, kLogs},
      {R"("Status":"running","Health":{"Status":"unhealthy","Log":{"a":1}})",
       kNotReady, "unhealthy", false, kLogs},
      {R"("Status":"running","Health":{"Status":"unhealthy","Log":[1]})",
       kNotReady, "unhealthy", false, kLogs},
      {R"("Status":"running","Health":{"Status":"strange"})", kNotReady,
       "strange"},
      {R"("Status":"running","Paused":true)", kNotReady, "paused"},
      {R"("Status":"running","Restarting":true)", kNotReady, "restarting"},
      {R"("Status":"paused","Health":{"Status":"healthy"})", kNotReady,
       "paused"},
      {R"("Status":"created","ExitCode":0)", kNotReady, "created"},
      {R"("Status":"created","Error":"no such file")", kNotReady,
       "created: no such file"},
      {R"("Status":"restarting","ExitCode":1)", kNotReady,
       "restarting with code 1", false, kLogs},
      {R"("Status":"removing")", kNotReady, "removing"},
      {R"("Status":"exited","ExitCode":1)", kFailed, "exited with code 1", true,
       kStaysDown},
      {R"("Status":"exited","ExitCode":137,"OOMKilled":true)", kFailed,
       "exited with code 137, out of memory", true, kStaysDown},
      {R"("Status":"exited","ExitCode":127,"Error":"exec: not found")", kFailed,
       "exited with code 127: exec: not found", true, kStaysDown},
      {R"("Status":"exited","ExitCode":0)", kFailed, "exited with code 0", true,
       "the container has finished: docker:web?condition=done waits for its "
       "exit"},
      {R"("Status":"exited","ExitCode":1.5)", kFailed, "exited", true,
       kStaysDown},
      {R"("Status":"exited","ExitCode":1e300)", kFailed, "exited", true,
       kStaysDown},
      {R"("Status":"exited","ExitCode":"1","OOMKilled":1)", kFailed, "exited",
       true, kStaysDown},
      {R"("Status":"stopped","ExitCode":1)", kFailed, "stopped with code 1",
       true, kStaysDown},
      {R"("Status":"dead","ExitCode":1)", kFailed, "dead with code 1", true,
       kStaysDown},
  };
}

TEST(DockerContainerTest, EachStateHasItsClass) {
  for (const StateRow& row : States()) {
    SCOPED_TRACE(row.state);
    const Finding finding = Judge(Container(row.state));
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_EQ(finding.detail, row.detail);
    EXPECT_EQ(finding.absent, row.absent);
    EXPECT_EQ(finding.hint, row.hint);
  }
}

TEST(DockerContainerTest, ContainerThatMayBeStartedAgainIsNotFailed) {
  constexpr std::string_view kExited = R"("Status":"exited","ExitCode":1)";
  EXPECT_EQ(Judge(Container(kExited, "")).status, PollStatus::kFailed);
  for (const std::string_view policy :
       {"always", "unless-stopped", "on-failure"}) {
    const Finding finding = Judge(Container(kExited, policy));
    EXPECT_EQ(finding.status, PollStatus::kNotReady) << policy;
    EXPECT_EQ(finding.detail, "exited with code 1");
    EXPECT_EQ(finding.hint, "see docker logs web");
    EXPECT_TRUE(finding.absent);
  }
  // The restart policy is unknown.
  for (const std::string_view more :
       {"", R"(,"HostConfig":null)", R"(,"HostConfig":{"RestartPolicy":"no"})",
        R"(,"HostConfig":{"RestartPolicy":{"Name":0}})"}) {
    const Finding finding =
        Judge(absl::StrCat(R"({"State":{)", kExited, "}", more, "}"));
    EXPECT_EQ(finding.status, PollStatus::kNotReady) << more;
  }
}

TEST(DockerContainerTest, ContainerIsDoneOnceItHasExitedWithZero) {
  struct Row {
    std::string_view state;
    std::string_view restart_policy;
    PollStatus found;
    std::string_view detail;
    bool unmet = false;
  };
  for (const Row& row : std::vector<Row>{
           {R"("Status":"exited","ExitCode":0)", "no", PollStatus::kSuccess,
            "exited with code 0"},
           {R"("Status":"stopped","ExitCode":0)", "no", PollStatus::kSuccess,
            "stopped with code 0"},
           {R"("Status":"exited","ExitCode":1)", "no", PollStatus::kFailed,
            "exited with code 1"},
           {R"("Status":"exited","ExitCode":1)", "on-failure",
            PollStatus::kNotReady, "exited with code 1"},
           {R"("Status":"exited")", "no", PollStatus::kFailed, "exited"},
           {R"("Status":"running","ExitCode":0)", "no", PollStatus::kNotReady,
            "running", true},
           {R"("Status":"created","ExitCode":0)", "no", PollStatus::kNotReady,
            "created"}}) {
    SCOPED_TRACE(row.state);
    HttpAnswer answer;
    answer.status = 200;
    answer.body = Container(row.state, row.restart_policy);
    const Finding finding = JudgeDockerContainer(
        "web", answer, absl::UnixEpoch(), ContainerCondition::kDone);
    EXPECT_EQ(finding.status, row.found);
    EXPECT_EQ(finding.detail, row.detail);
    EXPECT_EQ(finding.unmet, row.unmet);
  }
}

TEST(DockerContainerTest, OtherAnswersAreErrors) {
  for (const std::string_view body :
       {"", "ok", "null", "[]", "{}", "\"running\"", R"({"State":null})",
        R"({"State":"running"})", R"({"State":{"Running":true}})",
        R"({"State":{"Status":true}})", R"({"State":{"Status":""}})",
        R"([{"State":{"Status":"running"}}])", "\xff\xfe{",
        R"({"State":{"Status":"running"})"}) {
    const Finding finding = Judge(body);
    EXPECT_EQ(finding.status, PollStatus::kServerError) << body;
    EXPECT_THAT(finding.detail,
                StartsWith("not a response from Docker's engine: "));
    EXPECT_FALSE(finding.absent);
  }
  const std::string deep(100'000, '[');
  EXPECT_EQ(Judge(deep).status, PollStatus::kServerError);
  HttpAnswer cut;
  cut.status = 200;
  cut.body = Container(R"("Status":"running")");
  cut.body_is_cut = true;
  EXPECT_EQ(JudgeDockerContainer("web", cut, absl::UnixEpoch()).status,
            PollStatus::kServerError);
}

TEST(DockerContainerTest, TextFromOutsideIsCut) {
  const std::string text(100'000, 't');
  for (
      const std::string& state :
      {absl::StrCat(R"("Status":")", text, "\""),
       absl::StrCat(R"("Status":"exited","Error":")", text, "\""),
       absl::StrCat(
           R"("Status":"running","Health":{"Status":"unhealthy","Log":[{"Output":")",
           text, "\"}]}")}) {
    EXPECT_LT(Judge(Container(state)).detail.size(), 200U);
  }
}

TEST(DockerContainerTest, MissingContainerIsAbsentIfTheEngineSaysSo) {
  const Finding missing = Judge(R"({"message":"No such container: web"})", 404);
  EXPECT_EQ(missing.status, PollStatus::kNotReady);
  EXPECT_EQ(missing.detail, "there is no such container");
  EXPECT_TRUE(missing.absent);

  // Another server has no containers at all.
  for (const std::string_view body : {"404 page not found", "{}", "[]"}) {
    const Finding other = Judge(body, 404);
    EXPECT_EQ(other.status, PollStatus::kNotReady);
    EXPECT_FALSE(other.absent) << body;
  }
}

TEST(DockerContainerTest, EngineSaysWhyItRefuses) {
  const Finding broken = Judge(R"({"message":"driver failed"})", 500);
  EXPECT_EQ(broken.status, PollStatus::kServerError);
  EXPECT_EQ(broken.detail, "HTTP 500 Reason: driver failed");
  const Finding refused = Judge("Client sent HTTP to an HTTPS server", 400);
  EXPECT_EQ(refused.status, PollStatus::kFailed);
  EXPECT_EQ(refused.detail, "HTTP 400 Reason");
  const Finding forbidden = Judge("{}", 403);
  EXPECT_EQ(forbidden.status, PollStatus::kFailed);
  EXPECT_EQ(forbidden.hint, "") << "no flag of http targets";
  EXPECT_EQ(Judge(Container(R"("Status":"running")"), 204).status,
            PollStatus::kServerError);
}

TEST(DockerContainerTest, EngineThatIsNotThereSaysNothingOfTheContainer) {
  HttpAnswer answer;
  answer.error = Error::kNotConnected;
  answer.addresses = {UnixAddress("/run/docker.sock")};
  for (const int error : {ENOENT, ECONNREFUSED}) {
    answer.connect_error = error;
    const Finding finding =
        JudgeDockerContainer("web", answer, absl::UnixEpoch());
    EXPECT_EQ(finding.status, PollStatus::kNotReady);
    EXPECT_THAT(finding.detail, HasSubstr("/run/docker.sock"));
    EXPECT_THAT(finding.hint, HasSubstr("DOCKER_HOST"));
    EXPECT_FALSE(finding.absent);
  }
  answer.connect_error = EACCES;
  const Finding forbidden =
      JudgeDockerContainer("web", answer, absl::UnixEpoch());
  EXPECT_EQ(forbidden.status, PollStatus::kFailed);
  EXPECT_THAT(forbidden.detail, HasSubstr("/run/docker.sock"));
  EXPECT_THAT(forbidden.hint, HasSubstr("group docker"));
  EXPECT_FALSE(forbidden.absent);
}

struct HostRow {
  std::string_view docker_host;
  std::string_view url;
  std::string_view socket;
};

TEST(DockerContainerTest, EngineIsThatOfDockerHost) {
  constexpr std::string_view kLocal = "http://localhost/containers/a.b/json";
  const std::vector<HostRow> rows = {
      {"", kLocal, "/var/run/docker.sock"},
      {"unix:///run/podman/podman.sock", kLocal, "/run/podman/podman.sock"},
      {"unix://docker.sock", kLocal, "docker.sock"},
      {"tcp://h:1234", "http://h:1234/containers/a.b/json", ""},
      {"tcp://h/", "http://h:2375/containers/a.b/json", ""},
      {"tcp://[::1]", "http://[::1]:2375/containers/a.b/json", ""},
      {"tcp://[::1]:1", "http://[::1]:1/containers/a.b/json", ""},
  };
  for (const HostRow& row : rows) {
    SCOPED_TRACE(row.docker_host);
    const HttpDestination found = ValueOrFail(
        DockerContainer(row.docker_host, /*wants_tls=*/false, "a.b"));
    EXPECT_EQ(found.url, row.url);
    EXPECT_EQ(found.socket, row.socket);
    EXPECT_FALSE(found.http2);
  }
  // Only tcp:// uses TLS.
  EXPECT_TRUE(DockerContainer("", /*wants_tls=*/true, "a").ok());
}

TEST(DockerContainerTest, OtherEnginesAreRefusedInOneLine) {
  const std::string long_path = absl::StrCat("unix://", std::string(108, 'p'));
  for (const std::string_view docker_host :
       {"ssh://me:secret@h", "npipe:////a", "h:2375", "unix://", "unix://@",
        long_path.c_str(), "tcp://", "tcp://me:secret@h", "tcp://h:0",
        "tcp://h/a", "tcp://h?a:1", "tcp://a b"}) {
    const absl::Status status =
        DockerContainer(docker_host, /*wants_tls=*/false, "a").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << docker_host;
    const std::string message(status.message());
    EXPECT_THAT(message, StartsWith("DOCKER_HOST: "));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ(message.find("secret"), std::string::npos) << message;
  }
  EXPECT_THAT(DockerContainer("tcp://h", /*wants_tls=*/true, "a").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("DOCKER_TLS_VERIFY")));
}

}  // namespace
}  // namespace waiter::cli::docker_container_test
