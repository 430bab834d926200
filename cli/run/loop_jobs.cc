// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/loop_jobs.h"

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "waiter/poll.h"

namespace waiter::cli {

LoopJobs::LoopJobs(ProcessReaper& reaper)
    : loop_(reaper.loop()), reaper_(reaper) {}

template <typename T>
T LoopJobs::Run(
    const T& given_up,
    const std::function<void(Job&, std::function<void(T)>)>& start) {
  const auto promise = std::make_shared<std::promise<T>>();
  std::future<T> answer = promise->get_future();
  // The caller blocks until the answer, so everything this refers to lives
  // until then.
  loop_.Post([this, promise, &given_up, &start] {
    if (is_closed_) return promise->set_value(given_up);
    const uint64_t id = next_id_++;
    Job& job = jobs_[id];
    job.give_up = [promise, given_up] { promise->set_value(given_up); };
    start(job, [this, promise, id](T found) {
      Job& ended = jobs_.at(id);
      ended.time_out = {};
      ended.give_up = nullptr;
      // A probe must not be destroyed by its own answer.
      loop_.Post([this, id] { jobs_.erase(id); });
      promise->set_value(std::move(found));
    });
  });
  return answer.get();
}

Finding LoopJobs::RunProbe(const NewProbe& make, const PollContext& context) {
  return Run<Finding>(
      {.detail = "the worker is ending"},
      [&](Job& job, std::function<void(Finding)> done) {
        absl::StatusOr<std::unique_ptr<Probe>> probe = make();
        if (!probe.ok()) {
          return done({.status = PollStatus::kFailed,
                       .detail = std::string(probe.status().message())});
        }
        job.probe = *std::move(probe);
        if (context.timeout < absl::InfiniteDuration()) {
          job.time_out = loop_.CallAfter(
              context.timeout, [&asked = *job.probe, limit = context.timeout] {
                asked.TimeOut(limit);
              });
        }
        job.probe->Start(context, std::move(done));
      });
}

ProcessEnd LoopJobs::RunProgram(const Command& command) {
  return Run<ProcessEnd>({.how = ProcessEnd::How::kGivenUp, .terminated = true},
                         [&](Job& job, std::function<void(ProcessEnd)> done) {
                           job.process = std::make_unique<Process>(
                               reaper_, command, std::move(done));
                         });
}

void LoopJobs::Close() {
  is_closed_ = true;
  std::map<uint64_t, Job> jobs;
  jobs.swap(jobs_);
  for (auto& [id, job] : jobs) {
    if (job.give_up != nullptr) job.give_up();
  }
}

}  // namespace waiter::cli
