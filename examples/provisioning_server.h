// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A small HTTP server on loopback that takes a while to become ready. For its
// first 0.8 s it refuses connections; then it answers
//
//   503 Service Unavailable
//   429 Too Many Requests, Retry-After: 1
//   200 OK, from now on

#ifndef WAITER_EXAMPLES_PROVISIONING_SERVER_H_
#define WAITER_EXAMPLES_PROVISIONING_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "examples/file_descriptor.h"

namespace waiter_examples {

// A child process that ends with this object and with this process, even if
// this process is killed.
class ProvisioningServer {
 public:
  // Starts the server. Forks, so call it before the first thread is started.
  static absl::StatusOr<std::unique_ptr<ProvisioningServer>> Start();

  ~ProvisioningServer();

  ProvisioningServer(const ProvisioningServer&) = delete;
  ProvisioningServer& operator=(const ProvisioningServer&) = delete;

  // Returns the port of 127.0.0.1. The server holds it from the start, so no
  // other program answers there.
  uint16_t port() const { return port_; }

 private:
  ProvisioningServer(pid_t pid, uint16_t port, FileDescriptor lifeline)
      : pid_(pid), port_(port), lifeline_(std::move(lifeline)) {}

  pid_t pid_;
  uint16_t port_;
  FileDescriptor lifeline_;
};

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_PROVISIONING_SERVER_H_
