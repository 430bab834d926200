// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Log of a worker of the chaos test. Each event is written immediately, as one
// line, so a kill -9 loses nothing that the worker has acted on:
//
//   auto log = std::make_shared<WorkerLog>(path);            // In the worker.
//   LoggedWaitStore store(inner, log);
//
//   ReadWorkerLog(path, /*worker=*/3, start, history);       // In the test.

#ifndef WAITER_TESTS_DURABLE_CHAOS_WORKER_LOG_H_
#define WAITER_TESTS_DURABLE_CHAOS_WORKER_LOG_H_

#include <cstdint>
#include <string>

#include "tests/durable/durable_history.h"
#include "tests/durable/logged_wait_store.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter::chaos {

// Thread-safe. Keys have no spaces.
class WorkerLog final : public WaitLog {
 public:
  explicit WorkerLog(const std::string& path);
  ~WorkerLog() override;
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  void Claimed(const ClaimReply& reply) override;
  void Sends(int64_t call, const SettleRequest& request) override;
  void Settled(int64_t call, const SettleReply& reply) override;
  void Marks(const std::string& key) override;
  void Delivered(const DurableResult& result, bool is_accepted);

 private:
  // Writes a line with the time, in one call of `write`.
  void Write(char kind, const std::string& rest) const;

  int fd_ = -1;
};

// Adds the log of a worker to `history`. Skips an incomplete last line, which a
// killed worker may leave.
void ReadWorkerLog(const std::string& path, int worker, MonotonicTime start,
                   DurableHistory& history);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_WORKER_LOG_H_
