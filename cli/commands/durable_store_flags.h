// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the actions of `waiter durable` have in common: the flags that say which
// part of a store they mean, and calls that wait for an answer.
//
//   auto stats = waiter::cli::Answer<waiter::DurableStats>(
//       [&](auto callback) { client->Stats("jobs", std::move(callback)); });

#ifndef WAITER_CLI_COMMANDS_DURABLE_STORE_FLAGS_H_
#define WAITER_CLI_COMMANDS_DURABLE_STORE_FLAGS_H_

#include <future>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "waiter/durable/client.h"

namespace waiter::cli {

struct DurableStoreFlags {
  std::string space = "default";
  int partitions = 16;

  void AddTo(Flags& flags) {
    flags.Add("space", "default", "separates programs that share a store",
              space);
    flags.Add("partitions", "16", "parts of a name, as its workers have them",
              partitions, 1, 4096);
  }
};

// Returns the answer to a call that takes a callback.
template <typename T, typename Call>
absl::StatusOr<T> Answer(const Call& call) {
  std::promise<absl::StatusOr<T>> promise;
  call(DurableClient::Callback<T>([&promise](absl::StatusOr<T> answer) {
    promise.set_value(std::move(answer));
  }));
  return promise.get_future().get();
}

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_DURABLE_STORE_FLAGS_H_
