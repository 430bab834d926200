// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/kubernetes_access.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/host_port.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/kubernetes_object.h"
#include "cli/text/files.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

constexpr size_t kLargestFile = size_t{1} << 20;

absl::Status InvalidAt(std::string_view where, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", why));
}

absl::StatusOr<std::string> ReadTrimmed(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kLargestFile);
  if (!text.ok()) return InvalidAt(path, std::string(text.status().message()));
  absl::StripAsciiWhitespace(&*text);
  return text;
}

absl::Status AddToken(std::string_view token, std::string_view where,
                      HttpOptions& options) {
  if (token.empty() ||
      std::any_of(token.begin(), token.end(), IsBlankOrControl)) {
    return InvalidAt(where,
                     "the token is empty, or has a blank or a control "
                     "character");
  }
  options.headers.emplace_back("Authorization", absl::StrCat("Bearer ", token));
  return absl::OkStatus();
}

absl::StatusOr<KubernetesAccess> ReadServiceAccount(
    const KubernetesPlaces& places) {
  const std::string& folder = places.service_account;
  const absl::StatusOr<std::string> token = ReadTrimmed(folder + "/token");
  if (!token.ok()) return token.status();
  const bool is_ipv6 = absl::StrContains(places.service_host, ':');
  KubernetesAccess access = {
      .server = absl::StrCat(
          "https://", is_ipv6 ? "[" : "", places.service_host,
          is_ipv6 ? "]" : "", ":",
          places.service_port.empty() ? "443" : places.service_port)};
  access.options.ca_file = folder + "/ca.crt";
  // The default namespace is the pod's.
  absl::StatusOr<std::string> pods = ReadTrimmed(folder + "/namespace");
  if (pods.ok() && IsKubernetesName(*pods)) {
    access.default_namespace = *std::move(pods);
  }
  absl::Status status = AddToken(*token, folder + "/token", access.options);
  if (!status.ok()) return status;
  return access;
}

// A kubeconfig, and where it came from.
struct Config {
  std::string path;
  nlohmann::json json;

  // Returns the member `kind` of the element called `name` of the list `kind`s.
  absl::StatusOr<nlohmann::json> Find(const std::string& kind,
                                      std::string_view name) const {
    const nlohmann::json* const list = FindMember(json, kind + "s");
    if (list != nullptr && list->is_array()) {
      for (const nlohmann::json& element : *list) {
        const nlohmann::json* const found = FindMember(element, kind);
        if (found != nullptr && TextOf(element, "name") == name) return *found;
      }
    }
    return InvalidAt(path, absl::StrCat("no ", kind, " ", name));
  }

  // Returns the content of the member `name`-data in base64, or of the file
  // that the member `name` names; empty if there is neither.
  absl::StatusOr<std::string> DataOf(const nlohmann::json& object,
                                     const std::string& name) const {
    std::string data;
    const std::string encoded(TextOf(object, name + "-data"));
    if (!encoded.empty()) {
      if (absl::Base64Unescape(encoded, &data)) return data;
      return InvalidAt(path, absl::StrCat(name, "-data is not base64"));
    }
    std::string file(TextOf(object, name));
    if (file.empty()) return data;
    // A relative name is relative to the folder of the kubeconfig.
    if (!absl::StartsWith(file, "/") && absl::StrContains(path, '/')) {
      file = absl::StrCat(path.substr(0, path.rfind('/') + 1), file);
    }
    return ReadTrimmed(file);
  }
};

absl::Status ReadCluster(const Config& config, const nlohmann::json& cluster,
                         KubernetesAccess& access) {
  access.server = TextOf(cluster, "server");
  while (absl::EndsWith(access.server, "/")) access.server.pop_back();
  if (!absl::StartsWith(access.server, "https://") &&
      !absl::StartsWith(access.server, "http://")) {
    return InvalidAt(config.path, "server must begin with https:// or http://");
  }
  for (const std::string_view name : {"tls-server-name", "proxy-url"}) {
    if (FindMember(cluster, name) == nullptr) continue;
    return InvalidAt(config.path, absl::StrCat(name, " is not supported"));
  }
  access.options.verify = !IsTrue(cluster, "insecure-skip-tls-verify");
  absl::StatusOr<std::string> ca =
      config.DataOf(cluster, "certificate-authority");
  if (!ca.ok()) return ca.status();
  access.options.ca_pem = *std::move(ca);
  return absl::OkStatus();
}

absl::Status ReadUser(const Config& config, const nlohmann::json& user,
                      KubernetesAccess& access) {
  for (const std::string_view name : {"exec", "auth-provider"}) {
    if (FindMember(user, name) == nullptr) continue;
    return InvalidAt(config.path,
                     absl::StrCat(name,
                                  " is not supported; copy the file, and put a "
                                  "token from kubectl create token in it"));
  }
  absl::StatusOr<std::string> certificate =
      config.DataOf(user, "client-certificate");
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = config.DataOf(user, "client-key");
  if (!key.ok()) return key.status();
  access.options.client_certificate_pem = *std::move(certificate);
  access.options.client_key_pem = *std::move(key);
  std::string token(TextOf(user, "token"));
  if (const std::string file(TextOf(user, "tokenFile")); !file.empty()) {
    absl::StatusOr<std::string> read = ReadTrimmed(file);
    if (!read.ok()) return read.status();
    token = *std::move(read);
  }
  return token.empty() ? absl::OkStatus()
                       : AddToken(token, config.path, access.options);
}

absl::StatusOr<KubernetesAccess> ReadKubeconfig(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTrimmed(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<nlohmann::json> json = ParseJson(*text);
  if (!json.ok()) {
    return InvalidAt(path,
                     "not JSON; write it with kubectl config view --raw "
                     "--flatten -o json, and name it in KUBECONFIG");
  }
  const Config config = {.path = path, .json = *std::move(json)};
  const absl::StatusOr<nlohmann::json> context =
      config.Find("context", TextOf(config.json, "current-context"));
  if (!context.ok()) return context.status();
  const absl::StatusOr<nlohmann::json> cluster =
      config.Find("cluster", TextOf(*context, "cluster"));
  if (!cluster.ok()) return cluster.status();
  const absl::StatusOr<nlohmann::json> user =
      config.Find("user", TextOf(*context, "user"));
  if (!user.ok()) return user.status();
  KubernetesAccess access;
  const std::string name(TextOf(*context, "namespace"));
  if (IsKubernetesName(name)) access.default_namespace = name;
  absl::Status status = ReadCluster(config, *cluster, access);
  if (status.ok()) status = ReadUser(config, *user, access);
  if (!status.ok()) return status;
  return access;
}

}  // namespace

absl::StatusOr<KubernetesAccess> ReadKubernetesAccess(
    const KubernetesPlaces& places) {
  absl::StatusOr<KubernetesAccess> access =
      !places.kubeconfig.empty() ? ReadKubeconfig(places.kubeconfig)
      : !places.service_host.empty()
          ? ReadServiceAccount(places)
          : ReadKubeconfig(places.home + "/.kube/config");
  // The API server is asked directly, and does not redirect.
  if (access.ok()) access->options.follow_redirects = false;
  return access;
}

}  // namespace waiter::cli
