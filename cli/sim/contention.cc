// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/contention.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/sim/event_queue.h"
#include "cli/sim/network.h"
#include "waiter/backoff.h"

namespace waiter::sim {
namespace {

using std::chrono::nanoseconds;

constexpr int kMaxContenders = 10'000;

// A client, whose event is the arrival of its next message at the server. Only
// the server is shared, so nothing that happens at the client needs an event.
struct Contender {
  static constexpr int64_t kReading = -1;
  // Version that the next write builds on, or `kReading` before a read.
  int64_t version_read = kReading;
  BackoffProgress progress;
};

}  // namespace

absl::Status Validate(const ContentionOptions& options) {
  if (options.clients < 1 || options.clients > kMaxContenders) {
    return absl::InvalidArgumentError(
        absl::StrCat("clients is ", options.clients,
                     "; it must be between 1 and ", kMaxContenders));
  }
  absl::Status status = Validate(options.backoff, "backoff");
  if (status.ok()) status = Validate(options.network);
  if (!status.ok()) return status;
  // A client fails at most once for each other client that succeeds.
  const absl::Duration round =
      options.backoff.max_delay +
      4 * (options.network.mean + 10 * options.network.deviation);
  const absl::Duration longest = absl::FromChrono(
      EventQueue::LatestTime(static_cast<size_t>(options.clients)));
  if (round * options.clients > longest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "backoff.max_delay is ",
        absl::FormatDuration(options.backoff.max_delay), "; a run of ",
        options.clients, " clients could last longer than the ",
        absl::FormatDuration(longest),
        " that can be simulated, so shorten it or use fewer clients"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ContentionModel> ContentionModel::Make(
    const ContentionOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return ContentionModel(options);
}

ContentionModel::ContentionModel(const ContentionOptions& options)
    : clients_(options.clients),
      backoff_(options.backoff),
      network_(options.network) {}

template <typename Callable>
ContentionRun ContentionModel::Play(SplitMix64& gen,
                                    const Callable& on_write) const {
  NetworkDelay network = network_;
  const auto hop = [&network, &gen] { return network.Draw(gen); };
  std::vector<Contender> clients(static_cast<size_t>(clients_));
  std::vector<nanoseconds> first_reads(clients.size());
  std::generate(first_reads.begin(), first_reads.end(), hop);

  nanoseconds end{};
  int64_t calls = 0;
  int64_t version = 0;
  for (EventQueue queue(first_reads); !queue.empty();) {
    const nanoseconds now = queue.time();
    Contender& client = clients[queue.client()];
    if (client.version_read == Contender::kReading) {
      client.version_read = version;
      queue.Reschedule(now + hop() + hop());
      continue;
    }
    on_write(now);
    ++calls;
    const nanoseconds answered = now + hop();
    if (client.version_read == version) {
      ++version;
      end = std::max(end, answered);
      queue.Remove();
    } else {
      client.version_read = Contender::kReading;
      queue.Reschedule(answered + backoff_.NextDelay(client.progress, gen) +
                       hop());
    }
  }
  return {.time = absl::FromChrono(end), .calls = calls};
}

ContentionRun ContentionModel::Run(SplitMix64& gen) const {
  return Play(gen, [](nanoseconds /*time*/) {});
}

ContentionRun ContentionModel::Run(SplitMix64& gen, OnWrite on_write) const {
  return Play(gen, on_write);
}

}  // namespace waiter::sim
