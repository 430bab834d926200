// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds the API server of Kubernetes, and how to log in there:
//
//   const absl::StatusOr<waiter::cli::KubernetesAccess> access =
//       waiter::cli::ReadKubernetesAccess({.kubeconfig = path});
//   if (!access.ok()) return access.status();

#ifndef WAITER_CLI_PROBES_HTTP_KUBERNETES_ACCESS_H_
#define WAITER_CLI_PROBES_HTTP_KUBERNETES_ACCESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {

// Where to look, in this order.
struct KubernetesPlaces {
  std::string kubeconfig = {};  // The variable KUBECONFIG: one file.

  // In a pod, the variables KUBERNETES_SERVICE_HOST and _PORT, and the folder
  // with token, ca.crt and namespace.
  std::string service_host = {};
  std::string service_port = {};
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";

  std::string home = {};  // The variable HOME, which has .kube/config.
};

struct KubernetesAccess {
  std::string server = {};  // https or http, host and port, without a path.
  std::string default_namespace = "default";

  // Header fields with the token, and certificates. Must not be shown.
  HttpOptions options = {};
};

// Reads the files at the first of the places that is set. A kubeconfig must be
// JSON, as `kubectl config view --raw --flatten -o json` writes it; its current
// context counts. kInvalidArgument has one line that names the file or the
// variable and the problem, and contains no secret.
absl::StatusOr<KubernetesAccess> ReadKubernetesAccess(
    const KubernetesPlaces& places);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_KUBERNETES_ACCESS_H_
