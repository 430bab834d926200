// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks a gRPC server by its health service, grpc.health.v1.Health, whether it
// serves:
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md
//
//   const std::string url = absl::StrCat(origin, waiter::cli::kGrpcHealthPath);
//   client.Start({.url = url, .http2 = true},
//                waiter::cli::GrpcHealthOptions(options, "my.Service"), ...);
//   done(waiter::cli::JudgeGrpcHealth("my.Service", answer, now));
//
// | answer                                     | poll                         |
// | ------------------------------------------ | ---------------------------- |
// | SERVING                                    | success                      |
// | NOT_SERVING, UNKNOWN, a status not known   | not ready                    |
// | SERVICE_UNKNOWN, grpc-status 5 NOT_FOUND   | not ready, and absent        |
// | grpc-status 14 UNAVAILABLE                 | not ready                    |
// | grpc-status 8 RESOURCE_EXHAUSTED           | throttled                    |
// | grpc-status 7, 12, 16: PERMISSION_DENIED,  | failed                       |
// | UNIMPLEMENTED, UNAUTHENTICATED             |                              |
// | every other grpc-status, also one that is  | server error                 |
// | missing or not valid                       |                              |
// | an invalid message                         | server error                 |
// | HTTP 2xx without gRPC or without HTTP/2    | server error                 |
// | another HTTP status, or no answer          | as `JudgeHttp` says          |
//
// The library's `ClassOf` is for operations that may be wrong; a health check
// cannot be. Here 5 is not failed, because the service may be still to come.
// Code 14 is not ready instead of a server error, because servers and the
// proxies before them answer so while they start. Server errors instead of
// failed are 1 CANCELLED, 2 UNKNOWN, 3 INVALID_ARGUMENT, 4 DEADLINE_EXCEEDED, 6
// ALREADY_EXISTS, 9 FAILED_PRECONDITION, 10 ABORTED, 11 OUT_OF_RANGE, 13
// INTERNAL and 15 DATA_LOSS.

#ifndef WAITER_CLI_PROBES_HTTP_GRPC_HEALTH_H_
#define WAITER_CLI_PROBES_HTTP_GRPC_HEALTH_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Path of the call.
inline constexpr std::string_view kGrpcHealthPath =
    "/grpc.health.v1.Health/Check";

// Returns the body of the request. An empty `service` means the whole server.
std::string GrpcHealthRequest(std::string_view service);

// Returns the options of the request: the headers, the trust and the family of
// `options`, and the requirements of gRPC.
HttpOptions GrpcHealthOptions(const HttpOptions& options,
                              std::string_view service);

// Judges `answer`, which may be hostile and came at `now`. Has no side effects.
Finding JudgeGrpcHealth(std::string_view service, const HttpAnswer& answer,
                        absl::Time now);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_GRPC_HEALTH_H_
