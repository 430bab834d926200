// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/exec_probe.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "cli/probes/probe_answer.h"
#include "cli/process/exec_error.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "cli/text/printable.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

using How = ProcessEnd::How;

std::string Milliseconds(absl::Duration time) {
  return absl::StrCat(absl::ToInt64Milliseconds(time));
}

}  // namespace

ExecProbe::ExecProbe(ProcessReaper& reaper, ExecProbeOptions options)
    : reaper_(reaper), options_(std::move(options)) {}

void ExecProbe::Start(const PollContext& context, Done done) {
  timeout_ = std::nullopt;
  std::optional<std::string> deadline;
  if (context.remaining < absl::InfiniteDuration()) {
    deadline = Milliseconds(context.remaining);
  }
  options_.command.environment = {
      {"WAITER_ATTEMPT", absl::StrCat(context.attempt)},
      {"WAITER_ELAPSED_MS", Milliseconds(context.elapsed)},
      {"WAITER_DEADLINE_MS", std::move(deadline)},
      {"WAITER_TARGET", options_.target},
  };
  process_ =
      std::make_unique<Process>(reaper_, options_.command,
                                [this, done = std::move(done)](ProcessEnd end) {
                                  Finding finding = Judge(end);
                                  finding.output = std::move(end.out);
                                  process_ = nullptr;
                                  Check(std::move(finding), done);
                                });
}

void ExecProbe::Check(Finding finding, Done done) {
  if (options_.check.words.empty() || finding.status != PollStatus::kNotReady) {
    // The call may destroy this.
    return done(std::move(finding));
  }
  const Command check = std::exchange(options_.check, {});
  process_ = std::make_unique<Process>(
      reaper_, check,
      [this, finding = std::move(finding),
       done = std::move(done)](const ProcessEnd& end) mutable {
        process_ = nullptr;
        if (end.how == How::kExited && end.code != 0 && !end.terminated) {
          finding = {.status = PollStatus::kFailed, .detail = Summary(end)};
        }
        done(std::move(finding));
      });
}

void ExecProbe::TimeOut(absl::Duration timeout) {
  if (process_ == nullptr) return;
  timeout_ = timeout;
  process_->Terminate();
}

Finding ExecProbe::Judge(const ProcessEnd& end) const {
  if (end.terminated && timeout_.has_value()) {
    const std::string_view line = LastLine(end.err);
    return {.status = PollStatus::kServerError,
            .detail = absl::StrCat(
                end.how == How::kGivenUp ? "could not be killed" : "killed",
                " after ", absl::FormatDuration(*timeout_), " (probe timeout)",
                line.empty() ? "" : ": ", Shortened(line, kLongestDetail))};
  }
  if (end.how == How::kExited) {
    if (std::optional<Finding> answer = ParseProbeAnswer(LastLine(end.out))) {
      const std::string_view detail =
          answer->detail.empty() ? LastLine(end.err) : answer->detail;
      answer->detail = Shortened(detail, kLongestDetail);
      return *std::move(answer);
    }
  }
  Finding finding = {.status = PollStatus::kServerError,
                     .detail = Summary(end)};
  switch (end.how) {
    case How::kExited:
      finding.status = options_.codes.OfExitCode(end.code);
      finding.absent = finding.status == PollStatus::kNotReady;
      break;
    case How::kSignalled:
      finding.status = options_.codes.OfSignal();
      break;
    case How::kNotStarted:
      if (end.code != ExecError::kNoResources) {
        finding.status = options_.codes.OfExitCode(end.code);
      }
      break;
    case How::kGivenUp:
      break;
  }
  return finding;
}

}  // namespace waiter::cli
