// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parts of the programs that a chaos test starts as workers:
//
//   int main(int argc, char** argv) {
//     waiter::chaos::BeginWorker();
//     ...
//     waiter::chaos::ApiConnection api(port, worker);
//     ...
//     waiter::chaos::AwaitTermination();
//   }

#ifndef WAITER_TESTS_REDIS_CHAOS_WORKER_PROCESS_H_
#define WAITER_TESTS_REDIS_CHAOS_WORKER_PROCESS_H_

#include <cstddef>
#include <string_view>

namespace waiter::chaos {

// Makes this process end with its parent, and blocks SIGTERM in this thread and
// in the threads that it starts. Call it first.
void BeginWorker();

// Blocks until SIGTERM.
void AwaitTermination();

// A connection to a `LoopbackServer`. The process ends with an error when the
// server is gone, because then the test has ended. For one thread.
class ApiConnection {
 public:
  // Sends a `Hello` of the worker.
  ApiConnection(int port, int worker);
  ~ApiConnection();
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  void Send(std::string_view bytes) const;
  // Blocks until `size` bytes have come.
  void Receive(char* bytes, size_t size) const;

 private:
  const int fd_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_WORKER_PROCESS_H_
