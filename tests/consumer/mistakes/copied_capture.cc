// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: unique_ptr

#include <memory>

#include "absl/time/time.h"
#include "waiter/waiter.h"

class Client {
 public:
  bool IsUp();
};

// The capture lacks `= std::move(client)`.
void WaitUntilUp(std::unique_ptr<Client> client) {
  waiter::Waiter wait([client] { return client->IsUp(); },
                      {.timeout = absl::Minutes(5)});
  (void)wait.Wait();
}
