// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Starts a long-running operation over HTTP, or adopts one, and follows it by
// the rules of the library (`HttpOperationTracker` in waiter/interop/http.h).
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::Probe>> probe =
//       waiter::cli::MakeOperationProbe(
//           client, {.url = "https://example.com/v1/jobs"}, options, {});
//   if (!probe.ok()) return probe.status();

#ifndef WAITER_CLI_PROBES_HTTP_OPERATION_PROBE_H_
#define WAITER_CLI_PROBES_HTTP_OPERATION_PROBE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Options that `waiter operation` adds to the options of a request.
struct OperationOptions {
  HttpDialect dialect = {};
  std::vector<std::string> trusted_origins = {};
};

// Returns whether a request with these options starts an operation, instead of
// asking for the status of one.
bool StartsOperation(const HttpOptions& options);

// Returns a probe for the operation at `destination`, or kInvalidArgument if
// that is not valid. A poll sends the request of the options once, and then
// asks for the status; it may make several requests. `client` must outlive the
// probe.
absl::StatusOr<std::unique_ptr<Probe>> MakeOperationProbe(
    HttpClient& client, const HttpDestination& destination,
    std::shared_ptr<const HttpOptions> options, OperationOptions operation);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_OPERATION_PROBE_H_
