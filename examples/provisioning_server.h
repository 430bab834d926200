// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A small HTTP server on loopback that takes a while to become ready. For its
// first 0.8 s it refuses connections; then it answers
//
//   503 Service Unavailable, Retry-After: 1
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

// A child process, which ends with this object and also with this process,
// however that ends.
class ProvisioningServer {
 public:
  // Forks, so call it before the first thread is started.
  static absl::StatusOr<std::unique_ptr<ProvisioningServer>> Start();

  ~ProvisioningServer();

  ProvisioningServer(const ProvisioningServer&) = delete;
  ProvisioningServer& operator=(const ProvisioningServer&) = delete;

  // Port of 127.0.0.1. Its own from the start, so nobody else answers there.
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
