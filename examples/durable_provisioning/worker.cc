// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One of many workers that wait until instances run:
//
//   STORE=provisioning.db RESULTS=results worker
//
// You can run any number of workers, and kill each of them at any time: the
// others take over its waits. After SIGINT or SIGTERM, a worker gives all its
// waits back and ends.

#include "waiter/durable/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/durable_provisioning/store.h"
#include "examples/stop_on_signal.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter_examples {
namespace {

// Replace this with the API of your cloud. Here, an instance runs from the time
// in its arguments, except that every hundredth instance fails.
waiter::Poll<std::string> Describe(const waiter::DurablePoll& poll) {
  int64_t runs_at = 0;
  if (!absl::SimpleAtoi(std::string(poll.args), &runs_at)) {
    return waiter::Failed("unknown instance");
  }
  if (absl::Now() < absl::FromUnixSeconds(runs_at)) {
    return waiter::NotReady("booting");
  }
  if (poll.key.substr(poll.key.size() - 2) == "99") {
    return waiter::Failed("no capacity");
  }
  return waiter::Success("running");
}

// Replace this with the code that takes your results. It must be idempotent,
// because it may be called again for the same idempotency key. Here, a reader
// of the file counts equal lines only once.
absl::Status Publish(int file, const waiter::DurableResult& result) {
  const std::string line =
      absl::StrCat(result.idempotency_key, " ", result.key, " ",
                   result.value.ok() ? *result.value : "failed", "\n");
  if (write(file, line.data(), line.size()) ==
      static_cast<ssize_t>(line.size())) {
    return absl::OkStatus();
  }
  return absl::UnavailableError("the file cannot be written");
}

int Run(const char* store_name, const char* results, int64_t lease_seconds) {
  StopOnSignal stop;
  const auto store = OpenStore(store_name);
  if (!store.ok()) {
    std::cerr << "STORE: " << store.status() << "\n";
    return 2;
  }
  const int file =
      open(results, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    std::cerr << "RESULTS: " << results << " cannot be opened\n";
    return 2;
  }
  const auto waits = waiter::DurableWaits::Make(
      *store, {.space = "provisioning", .lease = absl::Seconds(lease_seconds)});
  if (!waits.ok()) {
    std::cerr << "LEASE_SECONDS: " << waits.status() << "\n";
    return 2;
  }
  const absl::Status status =
      (*waits)->Register("instance-running",
                         {.timeout = absl::Minutes(40),
                          .backoff = {.initial_delay = absl::Seconds(1),
                                      .max_delay = absl::Seconds(10)}},
                         Describe, [file](const waiter::DurableResult& result) {
                           return Publish(file, result);
                         });
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 2;
  }
  (*waits)->Start();
  waiter::Clock& clock = waiter::GetRealClock();
  while (!stop.token().stop_requested()) {
    clock.SleepUntil(clock.MonotonicNow() + std::chrono::seconds(10),
                     stop.token(), "worker");
    const waiter::DurableWaitsState state = (*waits)->State();
    std::cout << "held=" << state.held << " polls=" << state.polls
              << " delivered=" << state.delivered << " lost=" << state.lost
              << " " << state.last_error << std::endl;
  }
  return (*waits)->Drain(absl::Seconds(20)) ? 0 : 1;
}

}  // namespace
}  // namespace waiter_examples

int main() {
  const char* const store = std::getenv("STORE");
  const char* const results = std::getenv("RESULTS");
  const char* const lease = std::getenv("LEASE_SECONDS");
  int64_t lease_seconds = 15;
  if (store == nullptr || results == nullptr ||
      (lease != nullptr && !absl::SimpleAtoi(lease, &lease_seconds))) {
    std::cerr << "worker: set STORE, RESULTS and, if you like, "
                 "LEASE_SECONDS\n";
    return 2;
  }
  return waiter_examples::Run(store, results, lease_seconds);
}
