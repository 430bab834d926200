// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A process of the chaos test of durable waits. On SIGTERM, it drains and ends.

#include "waiter/durable/worker.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX

#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/durable/chaos/open_store.h"
#include "tests/durable/chaos/truth_server.h"
#include "tests/durable/chaos/worker_log.h"
#include "tests/durable/logged_wait_store.h"
#include "tests/redis/chaos/worker_process.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/poll.h"

ABSL_FLAG(int, worker, 0, "Number of this process.");
ABSL_FLAG(int, api, 0, "Port of the API.");
ABSL_FLAG(std::string, store, "", "As `OpenStore` takes it.");
ABSL_FLAG(std::string, log, "", "File for what this process does.");
ABSL_FLAG(int, partitions, 8, "Of the waits.");
ABSL_FLAG(int64_t, max_attempts, 0, "Of each wait.");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(3), "Lease of waits.");
ABSL_FLAG(absl::Duration, max_delay, absl::Seconds(2), "Between polls.");

namespace waiter::chaos {
namespace {

// Asks the API, one question at a time.
class Api {
 public:
  bool IsReady(const DurablePoll& poll) {
    Question question = {.fence = poll.fence};
    poll.key.copy(question.key.data(), question.key.size() - 1);
    connection_.Send(
        {reinterpret_cast<const char*>(&question), sizeof(question)});
    char answer = '0';
    connection_.Receive(&answer, 1);
    return answer == '1';
  }

 private:
  ApiConnection connection_{absl::GetFlag(FLAGS_api),
                            absl::GetFlag(FLAGS_worker)};
};

bool HasBeenToldToEnd() {
  sigset_t signals;
  sigpending(&signals);
  return sigismember(&signals, SIGTERM) == 1;
}

// Retries while another program locks the store.
absl::StatusOr<std::shared_ptr<WaitStore>> OpenWhenUnlocked() {
  while (true) {
    auto store = OpenStore(absl::GetFlag(FLAGS_store));
    if (!absl::IsAborted(store.status()) || HasBeenToldToEnd()) return store;
  }
}

int Main() {
  // Each thread that polls has its own connection.
  const auto poll = [](const DurablePoll& asked) -> Poll<std::string> {
    thread_local Api api;
    if (!api.IsReady(asked)) return NotReady();
    return Success(absl::StrCat("by ", absl::GetFlag(FLAGS_worker)));
  };
  const auto log = std::make_shared<WorkerLog>(absl::GetFlag(FLAGS_log));
  std::mutex mutex;
  std::mt19937_64 gen(static_cast<uint64_t>(absl::GetFlag(FLAGS_worker)));
  const auto deliver = [&](const DurableResult& result) -> absl::Status {
    const std::lock_guard lock(mutex);
    const bool is_accepted = gen() % 10 != 0;
    log->Delivered(result, is_accepted);
    return is_accepted ? absl::OkStatus() : absl::UnavailableError("busy");
  };

  auto store = OpenWhenUnlocked();
  if (!store.ok()) return absl::IsAborted(store.status()) ? 3 : 2;
  auto waits =
      DurableWaits::Make(std::make_shared<LoggedWaitStore>(*store, log),
                         {.threads = 2,
                          .partitions = absl::GetFlag(FLAGS_partitions),
                          .lease = absl::GetFlag(FLAGS_lease)});
  if (!waits.ok()) return 2;
  const absl::Status status = (*waits)->Register(
      "job",
      {.timeout = absl::Minutes(10),
       .max_attempts = absl::GetFlag(FLAGS_max_attempts),
       .backoff = {.initial_delay = absl::Milliseconds(100),
                   .max_delay = absl::GetFlag(FLAGS_max_delay)}},
      poll, deliver);
  if (!status.ok()) return 2;
  (*waits)->Start();
  AwaitTermination();
  return (*waits)->Drain(absl::Seconds(10)) ? 0 : 3;
}

}  // namespace
}  // namespace waiter::chaos

int main(int argc, char** argv) {
  waiter::chaos::BeginWorker();
  absl::ParseCommandLine(argc, argv);
  return waiter::chaos::Main();
}
