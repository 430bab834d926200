// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests a URL, and judges the answer as http_verdict.h says.
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::Probe>> probe =
//       waiter::cli::MakeHttpProbe(
//           client, {.url = "http://localhost:8080/ready"}, options);
//   if (!probe.ok()) return probe.status();

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Returns a probe for `destination`, or kInvalidArgument if that is not valid.
// `client` must outlive the probe. All targets share the options.
absl::StatusOr<std::unique_ptr<Probe>> MakeHttpProbe(
    HttpClient& client, HttpDestination destination,
    std::shared_ptr<const HttpOptions> options);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_
