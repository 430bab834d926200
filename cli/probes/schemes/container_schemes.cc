// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schemes of containers: docker: and kubernetes:.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/probes/http/docker_container.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/kubernetes_access.h"
#include "cli/probes/http/kubernetes_object.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"

namespace waiter::cli {
namespace {

// Reads the name or the id of a container, in the characters that Docker
// allows.
absl::Status ParseDocker(std::string_view rest, const Scheme& scheme,
                         Target& target) {
  std::array<Parameter, 1> parameters = {{{.name = "condition"}}};
  auto& container = target.what.emplace<NamedTarget>();
  if (absl::Status status = ReadParameters(rest, scheme, container.name,
                                           absl::MakeSpan(parameters));
      !status.ok()) {
    return status;
  }
  const std::string& name = container.name;
  const std::string_view condition = parameters[0].value;
  const auto is_alnum = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  if (name.empty() || !is_alnum(name[0]) ||
      !std::all_of(name.begin(), name.end(), IsLabelCharacter)) {
    return InvalidForm("not a container's name", scheme);
  }
  if (condition.empty()) return absl::OkStatus();
  container.parameters.emplace_back("condition", condition);
  return condition == "done"
             ? absl::OkStatus()
             : Invalid("the only condition of a container is done");
}

absl::StatusOr<std::unique_ptr<Probe>> MakeDocker(const Target& target,
                                                  ProbeFactory& factory) {
  const auto& named = std::get<NamedTarget>(target.what);
  const std::string& name = named.name;
  const auto wanted = named.Parameter("condition").empty()
                          ? ContainerCondition::kRunning
                          : ContainerCondition::kDone;
  absl::StatusOr<HttpDestination> container = DockerContainer(
      EnvironmentVariable("DOCKER_HOST"),
      /*wants_tls=*/!EnvironmentVariable("DOCKER_TLS_VERIFY").empty(), name);
  if (!container.ok()) return container.status();
  return factory.MakeHttp(
      *std::move(container),
      std::make_shared<const HttpOptions>(
          HttpOptions{.follow_redirects = false, .family = factory.family()}),
      [name, wanted](const HttpAnswer& answer, absl::Time now) {
        return JudgeDockerContainer(name, answer, now, wanted);
      });
}

// Returns the object that a target names.
absl::StatusOr<KubernetesObject> ObjectOf(const NamedTarget& target) {
  return KubernetesObject::Parse(target.name, target.Parameter("condition"));
}

absl::Status ParseKubernetes(std::string_view rest, const Scheme& scheme,
                             Target& target) {
  std::array<Parameter, 2> parameters = {
      {{.name = "condition"}, {.name = "namespace"}}};
  NamedTarget& named = target.what.emplace<NamedTarget>();
  absl::Status status =
      ReadParameters(rest, scheme, named.name, absl::MakeSpan(parameters));
  if (!status.ok()) return status;
  for (const Parameter& parameter : parameters) {
    named.parameters.emplace_back(parameter.name, parameter.value);
  }
  const std::string_view name = named.Parameter("namespace");
  if (!name.empty() && !IsKubernetesName(name)) {
    return InvalidForm("not a valid namespace", scheme);
  }
  const absl::StatusOr<KubernetesObject> object = ObjectOf(named);
  return object.ok()
             ? absl::OkStatus()
             : InvalidForm(std::string(object.status().message()), scheme);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeKubernetes(const Target& target,
                                                      ProbeFactory& factory) {
  const auto& named = std::get<NamedTarget>(target.what);
  absl::StatusOr<KubernetesObject> object = ObjectOf(named);
  if (!object.ok()) return object.status();
  absl::StatusOr<KubernetesAccess> access = ReadKubernetesAccess(
      {.kubeconfig = std::string(EnvironmentVariable("KUBECONFIG")),
       .service_host =
           std::string(EnvironmentVariable("KUBERNETES_SERVICE_HOST")),
       .service_port =
           std::string(EnvironmentVariable("KUBERNETES_SERVICE_PORT")),
       .home = std::string(EnvironmentVariable("HOME"))});
  if (!access.ok()) return access.status();
  access->options.family = factory.family();
  const std::string_view given = named.Parameter("namespace");
  const std::string path =
      object->Path(given.empty() ? access->default_namespace : given);
  return factory.MakeHttp(
      {.url = absl::StrCat(access->server, path)},
      std::make_shared<const HttpOptions>(std::move(access->options)),
      [object = *std::move(object)](const HttpAnswer& answer, absl::Time now) {
        return JudgeKubernetesObject(object, answer, now);
      });
}

constexpr auto kContainerSchemes = std::to_array<Scheme>({
    {.name = "docker",
     .form = "`docker:CONTAINER[?condition=done]`",
     .ready_when = "the container is running and, if it has a health check, "
                   "healthy; with `condition=done`, it has exited with 0; for "
                   "Podman, set `DOCKER_HOST`",
     .brief = "docker:NAME",
     .example = "docker:web",
     .may_be_host = true,
     .parse = ParseDocker,
     .make = MakeDocker},
    {.name = "kubernetes",
     .form = "`kubernetes:KIND/NAME[?condition=Ready]`",
     .ready_when = "the object has the condition; `condition=Ready=False` "
                   "requires another status, `condition=Succeeded` that a pod "
                   "has exited with 0; `&namespace=NAME` chooses the namespace",
     .brief = "kubernetes:KIND/NAME",
     .example = "kubernetes:pod/web?condition=Ready",
     .may_be_host = true,
     .parse = ParseKubernetes,
     .make = MakeKubernetes},
});

}  // namespace

absl::Span<const Scheme> ContainerSchemes() { return kContainerSchemes; }

}  // namespace waiter::cli
