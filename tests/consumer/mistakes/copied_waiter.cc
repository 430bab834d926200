// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: engine.Start(wait,

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "waiter/engine/engine.h"

class Client {
 public:
  bool IsUp();
};

// The start lacks `std::move(wait)`.
waiter::WaitHandle WaitUntilUp(waiter::WaitEngine& engine,
                               std::unique_ptr<Client> client) {
  waiter::Waiter wait([client = std::move(client)] { return client->IsUp(); },
                      {.timeout = absl::Minutes(5)});
  return engine.Start(wait, [](const waiter::WaitResult<>&) {});
}
