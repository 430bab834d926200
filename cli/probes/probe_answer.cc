// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/probe_answer.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/code_map.h"
#include "cli/probes/probe.h"
#include "cli/text/duration_text.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

absl::StatusOr<Finding> Read(const nlohmann::json& answer) {
  Finding finding;
  const std::string* const word = FindString(answer, "waiter");
  const std::optional<PollStatus> status =
      word == nullptr ? std::nullopt : ParsePollStatus(*word);
  if (!status.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"waiter\" must be one of ", kPollStatusWords));
  }
  finding.status = *status;
  finding.absent = *status == PollStatus::kNotReady;

  if (answer.contains("detail")) {
    const std::string* const detail = FindString(answer, "detail");
    if (detail == nullptr) {
      return absl::InvalidArgumentError("\"detail\" is not a string");
    }
    finding.detail = *detail;
  }
  if (answer.contains("progress")) {
    const std::optional<double> progress = FindNumber(answer, "progress");
    if (!progress.has_value() || *progress < 0 || *progress > 1) {
      return absl::InvalidArgumentError(
          "\"progress\" is not a number from 0 to 1");
    }
    finding.progress = progress;
  }
  if (answer.contains("retry_after")) {
    const std::string* const text = FindString(answer, "retry_after");
    if (text == nullptr) {
      return absl::InvalidArgumentError(
          R"("retry_after" is not a string such as "30s")");
    }
    const absl::StatusOr<absl::Duration> delay = ParseDurationText(*text);
    if (!delay.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"retry_after\": ", delay.status().message()));
    }
    finding.retry_after = *delay;
  }
  return finding;
}

}  // namespace

std::optional<Finding> ParseProbeAnswer(std::string_view line) {
  if (!absl::StartsWith(line, "{")) return std::nullopt;
  const absl::StatusOr<nlohmann::json> answer = ParseJson(line);
  absl::StatusOr<Finding> finding;
  if (answer.ok()) {
    if (!answer->contains("waiter")) return std::nullopt;
    finding = Read(*answer);
  } else {
    // Output of another kind may also begin with a brace.
    if (!absl::StrContains(line, "\"waiter\"")) return std::nullopt;
    finding = answer.status();
  }
  if (finding.ok()) return *std::move(finding);
  return Finding{.status = PollStatus::kServerError,
                 .detail = absl::StrCat("invalid answer from the probe: ",
                                        finding.status().message())};
}

}  // namespace waiter::cli
