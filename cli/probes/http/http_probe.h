// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests a URL, and judges the answer: as http_verdict.h says, or by the
// rules of a service whose protocol is HTTP.
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::Probe>> probe =
//       waiter::cli::MakeHttpProbe(
//           client, {.url = "http://localhost:8080/ready"}, options);
//   if (!probe.ok()) return probe.status();

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Judges an answer that came at the given time, or an error.
using HttpJudge = std::function<Finding(const HttpAnswer&, absl::Time)>;

// Returns a probe for `destination`, or kInvalidArgument if that is not valid.
// `client` must outlive the probe. Targets may share the options. Without a
// `judge`, answers are judged by the options.
absl::StatusOr<std::unique_ptr<Probe>> MakeHttpProbe(
    HttpClient& client, HttpDestination destination,
    std::shared_ptr<const HttpOptions> options, HttpJudge judge = nullptr);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_PROBE_H_
