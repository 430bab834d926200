// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/docker_container.h"

#include <sys/un.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/probes/host_port.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_verdict.h"
#include "cli/probes/probe.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kDefaultSocket = "/var/run/docker.sock";
constexpr uint16_t kDefaultPort = 2375;  // For an engine without TLS.

// Longest text from outside that a detail shows, in bytes.
constexpr size_t kLongestDockerText = 100;

absl::Status InvalidDockerHost(std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("DOCKER_HOST: ", why));
}

// Returns the last line with text, without blanks at its ends.
std::string_view LastLine(std::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  return absl::StripAsciiWhitespace(text.substr(text.rfind('\n') + 1));
}

// Returns `, ` or `: `, and the text as far as it is shown; empty if it is.
std::string After(std::string_view separator, std::string_view text) {
  return text.empty()
             ? ""
             : absl::StrCat(separator, Shortened(text, kLongestDockerText));
}

Finding NotAnEngine(std::string_view what) {
  return {.status = PollStatus::kServerError,
          .detail = absl::StrCat("not a response from Docker's engine: ", what),
          .hint = "is DOCKER_HOST the engine's address?"};
}

std::string LogsHint(std::string_view name) {
  return absl::StrCat("see docker logs ", name);
}

// Judges a running container. A container without a health check has no
// `health`, or in Podman one without a status.
Finding JudgeHealth(std::string_view name, const nlohmann::json* health) {
  const std::string_view status =
      health == nullptr ? std::string_view() : TextOf(*health, "Status");
  if (status.empty() || status == "none") {
    return {.status = PollStatus::kSuccess, .detail = "running"};
  }
  if (status == "healthy") {
    return {.status = PollStatus::kSuccess, .detail = "healthy"};
  }
  std::string_view output;
  const nlohmann::json* const log = FindMember(*health, "Log");
  if (status == "unhealthy" && log != nullptr && log->is_array() &&
      !log->empty()) {
    output = LastLine(TextOf(log->back(), "Output"));
  }
  return {.detail = absl::StrCat(Shortened(status, kLongestDockerText),
                                 After(": ", output)),
          .hint = status == "unhealthy" ? LogsHint(name) : ""};
}

// Returns "exited with code 137, out of memory".
std::string EndText(std::string_view status, const nlohmann::json& state) {
  std::string text = Shortened(status, kLongestDockerText);
  const std::optional<double> code = FindNumber(state, "ExitCode");
  if (code.has_value() && std::trunc(*code) == *code && std::abs(*code) < 1e9) {
    absl::StrAppend(&text, " with code ", static_cast<int64_t>(*code));
  }
  if (IsTrue(state, "OOMKilled")) absl::StrAppend(&text, ", out of memory");
  return absl::StrCat(text, After(": ", TextOf(state, "Error")));
}

// Returns whether the engine does not restart the container when it ends.
bool StaysDown(const nlohmann::json& container) {
  const nlohmann::json* const host = FindMember(container, "HostConfig");
  const nlohmann::json* const policy =
      host == nullptr ? nullptr : FindMember(*host, "RestartPolicy");
  const std::string* const name =
      policy == nullptr ? nullptr : FindString(*policy, "Name");
  return name != nullptr && (name->empty() || *name == "no");
}

std::string StaysDownHint(std::string_view name, const nlohmann::json& state) {
  if (FindNumber(state, "ExitCode") == 0.0) {
    return absl::StrCat("the container has finished: docker:", name,
                        "?condition=done waits for its exit");
  }
  return absl::StrCat("its restart policy does not start it again; ",
                      LogsHint(name));
}

Finding JudgeState(std::string_view name, const nlohmann::json& container,
                   const nlohmann::json& state, std::string_view status,
                   ContainerCondition wanted) {
  const bool wants_done = wanted == ContainerCondition::kDone;
  if (!wants_done && status == "running" && !IsTrue(state, "Paused") &&
      !IsTrue(state, "Restarting")) {
    return JudgeHealth(name, FindMember(state, "Health"));
  }
  if (status == "running") {
    return {.detail = IsTrue(state, "Paused")       ? "paused"
                      : IsTrue(state, "Restarting") ? "restarting"
                                                    : "running",
            .unmet = wants_done};
  }
  // In Podman, a container may also be stopped.
  if (status == "exited" || status == "dead" || status == "stopped") {
    if (wants_done && FindNumber(state, "ExitCode") == 0.0) {
      return {.status = PollStatus::kSuccess, .detail = EndText(status, state)};
    }
    const bool stays_down = StaysDown(container);
    return {.status = stays_down ? PollStatus::kFailed : PollStatus::kNotReady,
            .detail = EndText(status, state),
            .hint = stays_down ? StaysDownHint(name, state) : LogsHint(name),
            .absent = true};
  }
  if (status == "restarting") {
    return {.detail = EndText(status, state), .hint = LogsHint(name)};
  }
  return {.detail = absl::StrCat(Shortened(status, kLongestDockerText),
                                 After(": ", TextOf(state, "Error")))};
}

Finding JudgeContainer(std::string_view name, const nlohmann::json& container,
                       ContainerCondition wanted) {
  const nlohmann::json* const state = FindMember(container, "State");
  const std::string* const status =
      state == nullptr ? nullptr : FindString(*state, "Status");
  return status == nullptr || status->empty()
             ? NotAnEngine("the JSON has no container state")
             : JudgeState(name, container, *state, *status, wanted);
}

// Judges an answer with another status than 200. An engine says why.
Finding JudgeRefusal(const HttpAnswer& answer, std::string_view message,
                     absl::Time now) {
  Finding finding = JudgeHttp({}, answer, now);
  if (answer.status == 404 && !message.empty()) {
    finding.detail = "there is no such container";
    finding.hint = "is its name right, as docker ps --all shows it?";
    return finding;
  }
  if (finding.status == PollStatus::kSuccess) {
    finding.status = PollStatus::kServerError;
  }
  // The hint may name flags of http targets.
  finding.hint.clear();
  finding.absent = false;
  absl::StrAppend(&finding.detail, After(": ", message));
  return finding;
}

Finding JudgeNoAnswer(const HttpAnswer& answer, absl::Time now) {
  Finding finding = JudgeHttp({}, answer, now);
  finding.absent = false;
  if (answer.error != HttpAnswer::Error::kNotConnected) return finding;
  finding.hint = finding.status == PollStatus::kFailed
                     ? "this user has no permission: is it in the group docker?"
                     : "is Docker started? DOCKER_HOST names another engine, "
                       "such as unix:///run/podman/podman.sock";
  return finding;
}

// Returns where an engine at `address`, HOST or HOST:PORT, has `path`.
absl::StatusOr<HttpDestination> EngineAt(std::string_view address,
                                         bool wants_tls,
                                         std::string_view path) {
  if (wants_tls) {
    return InvalidDockerHost(
        "TLS, which DOCKER_TLS_VERIFY asks for, is not supported; use "
        "exec:'docker inspect ...'");
  }
  absl::ConsumeSuffix(&address, "/");
  const absl::StatusOr<HostPort> engine = ParseHostPort(address, kDefaultPort);
  if (!engine.ok()) {
    return InvalidDockerHost(std::string(engine.status().message()));
  }
  const std::string& host = engine->host;
  if (host.find_first_of("/?#") != std::string::npos) {
    return InvalidDockerHost("only a host and a port may follow tcp://");
  }
  const bool is_ipv6 = absl::StrContains(host, ':');
  return HttpDestination{.url = absl::StrCat("http://", is_ipv6 ? "[" : "",
                                             host, is_ipv6 ? "]" : "", ":",
                                             engine->port, path)};
}

}  // namespace

absl::StatusOr<HttpDestination> DockerContainer(std::string_view docker_host,
                                                bool wants_tls,
                                                std::string_view name) {
  const std::string path = absl::StrCat("/containers/", name, "/json");
  const std::string local = absl::StrCat("http://localhost", path);
  if (docker_host.empty()) {
    return HttpDestination{.url = local, .socket = std::string(kDefaultSocket)};
  }
  if (absl::ConsumePrefix(&docker_host, "unix://")) {
    if (docker_host.empty() || docker_host == "@") {
      return InvalidDockerHost("the socket's path is missing after unix://");
    }
    if (docker_host.size() >= sizeof(sockaddr_un::sun_path)) {
      return InvalidDockerHost("the path of the socket is too long");
    }
    return HttpDestination{.url = local, .socket = std::string(docker_host)};
  }
  if (absl::ConsumePrefix(&docker_host, "tcp://")) {
    return EngineAt(docker_host, wants_tls, path);
  }
  return InvalidDockerHost(
      "only unix://PATH and tcp://HOST:PORT are supported; use exec:'docker "
      "inspect ...' for others");
}

Finding JudgeDockerContainer(std::string_view name, const HttpAnswer& answer,
                             absl::Time now, ContainerCondition wanted) {
  if (answer.error != HttpAnswer::Error::kNone) {
    return JudgeNoAnswer(answer, now);
  }
  const absl::StatusOr<nlohmann::json> body = ParseJson(answer.body);
  if (answer.status != 200) {
    return JudgeRefusal(answer, body.ok() ? TextOf(*body, "message") : "", now);
  }
  if (answer.body_is_cut) return NotAnEngine("it is larger than 1 MiB");
  return body.ok() ? JudgeContainer(name, *body, wanted)
                   : NotAnEngine("it is not JSON");
}

}  // namespace waiter::cli
