// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks for instances, and prints the progress until all waits have ended:
//
//   STORE=provisioning.db provision 10000
//
// You can kill it and start it again: it never asks for an instance twice.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/durable_provisioning/store.h"
#include "waiter/durable/client.h"

namespace waiter_examples {
namespace {

constexpr const char* kName = "instance-running";

// Each boots for up to `boot_seconds`, as the arguments of its wait say.
std::vector<waiter::DurableRequest> Requests(int64_t instances,
                                             int64_t boot_seconds) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> seconds(1, boot_seconds);
  std::vector<waiter::DurableRequest> requests;
  for (int64_t i = 0; i < instances; ++i) {
    requests.push_back({.key = absl::StrFormat("i-%06d", i),
                        .args = absl::StrCat(absl::ToUnixSeconds(absl::Now()) +
                                             seconds(random))});
  }
  return requests;
}

template <typename T, typename Call>
absl::StatusOr<T> Await(const Call& call) {
  std::promise<absl::StatusOr<T>> promise;
  call([&promise](absl::StatusOr<T> answer) {
    promise.set_value(std::move(answer));
  });
  return promise.get_future().get();
}

int Run(const char* store_name, int64_t instances, int64_t boot_seconds) {
  const auto store = OpenStore(store_name);
  if (!store.ok()) {
    std::cerr << "STORE: " << store.status() << "\n";
    return 2;
  }
  const auto client =
      waiter::DurableClient::Make(*store, {.space = "provisioning"});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 2;
  }
  const absl::StatusOr<int64_t> created = Await<int64_t>([&](auto callback) {
    (*client)->EnqueueMany(kName, Requests(instances, boot_seconds),
                           std::move(callback));
  });
  if (!created.ok()) {
    std::cerr << created.status() << "\n";
    return 1;
  }
  std::cout << *created << " asked for" << std::endl;
  while (true) {
    const absl::StatusOr<waiter::DurableStats> stats =
        Await<waiter::DurableStats>([&](auto callback) {
          (*client)->Stats(kName, std::move(callback));
        });
    if (stats.ok()) {
      std::cout << "pending=" << stats->pending << " overdue=" << stats->overdue
                << " oldest=" << stats->oldest << " polls=" << stats->polls
                << std::endl;
      if (stats->pending == 0) return 0;
    } else {
      std::cout << stats.status() << std::endl;  // Workers also continue.
    }
    absl::SleepFor(absl::Seconds(std::min<int64_t>(10, boot_seconds)));
  }
}

}  // namespace
}  // namespace waiter_examples

int main(int argc, char** argv) {
  const char* const store = std::getenv("STORE");
  const char* const boot = std::getenv("BOOT_SECONDS");
  int64_t instances = 0;
  int64_t boot_seconds = 600;
  if (store == nullptr || argc != 2 || !absl::SimpleAtoi(argv[1], &instances) ||
      (boot != nullptr && !absl::SimpleAtoi(boot, &boot_seconds)) ||
      boot_seconds < 1) {
    std::cerr << "usage: STORE=FILE [BOOT_SECONDS=600] provision "
                 "INSTANCES\n";
    return 2;
  }
  return waiter_examples::Run(store, instances, boot_seconds);
}
