// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Common parts of the actions of `waiter durable`: the flags that say which
// store and which part of it they mean, and calls that wait for an answer.
//
//   auto stats = waiter::cli::Answer<waiter::DurableStats>(
//       [&](auto callback) { client->Stats("jobs", std::move(callback)); });

#ifndef WAITER_CLI_COMMANDS_DURABLE_STORE_FLAGS_H_
#define WAITER_CLI_COMMANDS_DURABLE_STORE_FLAGS_H_

#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/flags/flags.h"
#include "waiter/durable/client.h"

namespace waiter::cli {

struct DurableStoreFlags {
  std::string store = {};
  std::string name = "store";  // Its flag's name.
  std::string space = "default";
  int partitions = 16;

  void AddTo(Flags& flags, const std::string& flag = "store") {
    flags.Add(flag, "FILE", "SQLite file, postgres://HOST or redis://HOST",
              store);
    flags.HideValues(flag);
    name = flag;
    flags.Add("space", "default", "separates programs that share a store",
              space);
    flags.Add("partitions", "16",
              "partitions of a name; its workers must have as many", partitions,
              1, 4096);
  }

  // Puts the store in front of the other words, unless it is the first of them,
  // which must then be a URL.
  absl::Status TakeStore(std::vector<std::string>& words) const {
    const bool has_url =
        !words.empty() && (absl::StartsWith(words[0], "redis://") ||
                           absl::StartsWith(words[0], "redis+cluster://"));
    if (store.empty()) {
      if (has_url) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("name the store: --", name, "=FILE, --", name,
                       "=postgres://HOST or --", name, "=redis://HOST"));
    }
    if (has_url) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", name,
          " and a URL before NAME both name a store; give only one"));
    }
    words.insert(words.begin(), store);
    return absl::OkStatus();
  }
};

// Returns "; the space also has a, b", without `name`; empty without others.
inline std::string OtherNames(const DurableSpace& space,
                              std::string_view name) {
  std::vector<std::string> others;
  for (const auto& [other, partitions] : space.names) {
    if (other != name) others.push_back(other);
  }
  return others.empty() ? ""
                        : absl::StrCat("; the space also has ",
                                       absl::StrJoin(others, ", "));
}

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
