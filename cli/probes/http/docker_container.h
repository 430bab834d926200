// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks Docker's engine for the state of a container:
// https://docs.docker.com/reference/api/engine/
//
//   const absl::StatusOr<waiter::cli::HttpDestination> container =
//       waiter::cli::DockerContainer("unix:///var/run/docker.sock",
//                                    /*wants_tls=*/false, "web");
//   if (!container.ok()) return container.status();
//   client.Start(*container, options, ...);
//   done(waiter::cli::JudgeDockerContainer("web", answer, now));
//
// Podman's service speaks the same API.
//
// | state of the container                     | poll                         |
// | ------------------------------------------ | ---------------------------- |
// | running, without a health check            | success                      |
// | running, healthy                           | success                      |
// | running, starting or unhealthy             | not ready                    |
// | created, restarting, paused, and others    | not ready                    |
// | exited or dead, and its restart policy is  | failed, and absent           |
// | `no`                                       |                              |
// | exited or dead                             | not ready, and absent        |
// | no such container (404)                    | not ready, and absent        |
// | no permission for the socket               | failed                       |
// | no connection to the engine                | not ready                    |
// | an answer that is not of an engine         | server error                 |
// | another status of HTTP                     | as `JudgeHttp` says          |
//
// Without the engine, whether a container runs is unknown, so it does not count
// as absent.

#ifndef WAITER_CLI_PROBES_HTTP_DOCKER_CONTAINER_H_
#define WAITER_CLI_PROBES_HTTP_DOCKER_CONTAINER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Returns where to ask for the container `name`, which consists of letters,
// digits, `_`, `.` and `-`, so that a URL takes it as it is. `docker_host` is
// the variable DOCKER_HOST: unix:// or tcp://, or empty for the engine of this
// machine. `wants_tls` is whether DOCKER_TLS_VERIFY is set; TLS is refused.
// kInvalidArgument has one line that names the variable.
absl::StatusOr<HttpDestination> DockerContainer(std::string_view docker_host,
                                                bool wants_tls,
                                                std::string_view name);

// Whether a container must run, or have exited with 0.
enum class ContainerCondition : uint8_t { kRunning, kDone };

// Judges `answer`, which may be hostile and came at `now`. Has no side effects.
Finding JudgeDockerContainer(
    std::string_view name, const HttpAnswer& answer, absl::Time now,
    ContainerCondition wanted = ContainerCondition::kRunning);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_DOCKER_CONTAINER_H_
