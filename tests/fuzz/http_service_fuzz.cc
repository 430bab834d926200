// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks the findings for any answers of services that use HTTP: gRPC's health
// service and Docker's engine. The first byte of the input chooses the service
// and the HTTP status, and the second byte chooses the gRPC status.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/http/docker_container.h"
#include "cli/probes/http/grpc_health.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/probe.h"
#include "tests/support/check_that.h"
#include "waiter/poll.h"

namespace {

using waiter::PollStatus;
using waiter::cli::Finding;
using waiter::cli::HttpAnswer;

void CheckBoth(const Finding& finding) {
  CHECK_THAT(!finding.detail.empty());
  CHECK_THAT(finding.detail.size() < 400);
  CHECK_THAT(finding.hint.size() < 400);
  CHECK_THAT(!finding.absent || finding.status == PollStatus::kNotReady ||
             finding.status == PollStatus::kFailed);
}

void CheckGrpc(HttpAnswer answer, int grpc_status) {
  answer.is_http2 = true;
  answer.trailers = {{"grpc-status", absl::StrCat(grpc_status)},
                     {"grpc-message", answer.body}};
  const Finding finding =
      waiter::cli::JudgeGrpcHealth("a.B", answer, absl::UnixEpoch());
  CheckBoth(finding);
  if (finding.status != PollStatus::kSuccess) return;
  CHECK_THAT(finding.detail == "SERVING");
  CHECK_THAT(answer.status == 200 && grpc_status == 0);
  CHECK_THAT(answer.body.size() >= 7);
  // A change of any byte of the prefix is an error.
  for (size_t i = 0; i < 5; ++i) {
    HttpAnswer other = answer;
    other.body[i] = static_cast<char>(other.body[i] + 1);
    CHECK_THAT(
        waiter::cli::JudgeGrpcHealth("a.B", other, absl::UnixEpoch()).status ==
        PollStatus::kServerError);
  }
}

void CheckDocker(const HttpAnswer& answer) {
  const Finding finding =
      waiter::cli::JudgeDockerContainer("web", answer, absl::UnixEpoch());
  CheckBoth(finding);
  if (finding.status != PollStatus::kSuccess) return;
  CHECK_THAT(answer.status == 200);
  CHECK_THAT(finding.detail == "running" || finding.detail == "healthy");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  HttpAnswer answer;
  // Usually 200.
  answer.status = data[0] < 0xc0 ? 200 : 100 + 8 * (data[0] - 0xc0);
  answer.body = std::string(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] % 2 == 0) {
    CheckGrpc(std::move(answer), data[1] < 0x80 ? 0 : data[1] - 0x80);
  } else {
    CheckDocker(answer);
  }
  return 0;
}
