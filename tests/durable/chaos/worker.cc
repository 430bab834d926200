// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A process of the chaos test of durable waits. Ends at SIGTERM, after a drain.

#ifdef WAITER_HAS_HIREDIS

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/distributed/chaos/api_protocol.h"
#include "tests/durable/chaos/truth_server.h"
#include "tests/durable/chaos/worker_log.h"
#include "tests/durable/logged_wait_store.h"
#include "waiter/distributed/durable_function.h"
#include "waiter/distributed/durable_result.h"
#include "waiter/distributed/durable_waits.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_cluster.h"
#include "waiter/distributed/redis_wait_store.h"
#include "waiter/distributed/wait_store.h"
#include "waiter/poll.h"

ABSL_FLAG(int, worker, 0, "Number of this process.");
ABSL_FLAG(int, api, 0, "Port of the API.");
ABSL_FLAG(std::string, redis, "", "URL of Redis, or some of a cluster.");
ABSL_FLAG(std::string, log, "", "File for what this process does.");
ABSL_FLAG(int, partitions, 8, "Of the waits.");
ABSL_FLAG(int64_t, max_attempts, 0, "Of each wait.");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(3), "Lease of waits.");

namespace waiter::chaos {
namespace {

// Asks the API, one question at a time.
class Api {
 public:
  Api() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(absl::GetFlag(FLAGS_api)));
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
        0) {
      Give("no API");
    }
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const Hello hello = {.worker = absl::GetFlag(FLAGS_worker),
                         .wall_micros = absl::ToUnixMicros(absl::Now())};
    Send({reinterpret_cast<const char*>(&hello), sizeof(hello)});
  }

  bool IsReady(const DurablePoll& poll) {
    Question question = {.fence = poll.fence};
    poll.key.copy(question.key.data(), question.key.size() - 1);
    Send({reinterpret_cast<const char*>(&question), sizeof(question)});
    char answer = '0';
    if (recv(fd_, &answer, 1, MSG_WAITALL) != 1) Give("the API is gone");
    return answer == '1';
  }

 private:
  [[noreturn]] static void Give(const char* why) {
    // The test has ended.
    std::fprintf(stderr, "worker: %s\n", why);
    _exit(1);
  }
  void Send(const std::string& bytes) const {
    if (send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(bytes.size())) {
      Give("the API is gone");
    }
  }

  const int fd_;
};

std::shared_ptr<WaitStore> MakeStore() {
  const std::vector<std::string> urls =
      absl::StrSplit(absl::GetFlag(FLAGS_redis), ',');
  if (urls.size() > 1) {
    const auto cluster =
        RedisCluster::Make(urls, {.call_timeout = absl::Seconds(2)});
    if (!cluster.ok()) return nullptr;
    return std::make_shared<RedisWaitStore>(*cluster);
  }
  const auto client =
      RedisClient::Make(urls[0], {.call_timeout = absl::Seconds(2)});
  if (!client.ok()) return nullptr;
  return std::make_shared<RedisWaitStore>(*client);
}

int Main() {
  // All threads leave it to `sigwait`.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);

  // Each thread that polls has a connection of its own.
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

  const std::shared_ptr<WaitStore> store = MakeStore();
  if (store == nullptr) return 2;
  auto waits =
      DurableWaits::Make(std::make_shared<LoggedWaitStore>(store, log),
                         {.threads = 2,
                          .partitions = absl::GetFlag(FLAGS_partitions),
                          .lease = absl::GetFlag(FLAGS_lease)});
  if (!waits.ok()) return 2;
  const absl::Status status =
      (*waits)->Register("job",
                         {.timeout = absl::Minutes(10),
                          .max_attempts = absl::GetFlag(FLAGS_max_attempts),
                          .backoff = {.initial_delay = absl::Milliseconds(100),
                                      .max_delay = absl::Seconds(2)}},
                         poll, deliver);
  if (!status.ok()) return 2;
  (*waits)->Start();
  int got = 0;
  sigwait(&set, &got);
  return (*waits)->Drain(absl::Seconds(10)) ? 0 : 3;
}

}  // namespace
}  // namespace waiter::chaos

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  absl::ParseCommandLine(argc, argv);
  return waiter::chaos::Main();
}

#else

int main() { return 2; }

#endif  // WAITER_HAS_HIREDIS
