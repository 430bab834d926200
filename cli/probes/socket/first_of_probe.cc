// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/first_of_probe.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Returns the common finding of all servers.
Finding Combined(const std::vector<Finding>& findings) {
  Finding all = findings.front();
  for (size_t i = 1; i < findings.size(); ++i) {
    const Finding& next = findings[i];
    absl::StrAppend(&all.detail, "; ", next.detail);
    all.absent = all.absent && next.absent;
    if (next.status == PollStatus::kNotReady) all.status = next.status;
  }
  return all;
}

}  // namespace

FirstOfProbe::FirstOfProbe(EventLoop& loop,
                           std::vector<std::unique_ptr<Probe>> probes)
    : loop_(loop), probes_(std::move(probes)), answered_(probes_.size()) {}

void FirstOfProbe::Start(const PollContext& context, Done done) {
  context_ = context;
  done_ = std::move(done);
  StartNext();
}

void FirstOfProbe::TimeOut(absl::Duration timeout) {
  is_last_ = true;
  for (size_t i = 0; done_ && i < started_; ++i) {
    if (!answered_[i]) probes_[i]->TimeOut(timeout);
  }
}

void FirstOfProbe::Cancel() {
  done_ = nullptr;
  later_ = {};
  for (const std::unique_ptr<Probe>& probe : probes_) probe->Cancel();
  started_ = 0;
  is_last_ = false;
  answers_.clear();
  answered_.assign(probes_.size(), false);
}

void FirstOfProbe::StartNext() {
  const size_t next = started_++;
  is_last_ = started_ == probes_.size();
  later_ = is_last_
               ? EventLoop::Watch()
               : loop_.CallAfter(absl::Seconds(1), [this] { StartNext(); });
  probes_[next]->Start(context_, [this, next](Finding finding) {
    answered_[next] = true;
    OnAnswer(std::move(finding));
  });
}

void FirstOfProbe::OnAnswer(Finding finding) {
  const bool is_success = finding.status == PollStatus::kSuccess;
  answers_.push_back(std::move(finding));
  if (!is_success && !is_last_) return StartNext();
  if (!is_success && answers_.size() < started_) return;
  Finding found = is_success ? answers_.back() : Combined(answers_);
  const Done done = std::move(done_);
  Cancel();
  done(std::move(found));
}

}  // namespace waiter::cli
