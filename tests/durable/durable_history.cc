// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/durable_history.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/distributed/durable_result.h"
#include "waiter/wait_report.h"

namespace waiter {
namespace {

bool AreEqual(const DurableResult& a, const DurableResult& b) {
  return a.key == b.key && a.reason == b.reason && a.attempts == b.attempts &&
         a.elapsed == b.elapsed && a.idempotency_key == b.idempotency_key &&
         a.value == b.value;
}

// Of one wait.
struct Seen {
  int64_t polls = 0;
  absl::Duration last_poll = -absl::InfiniteDuration();
  bool found = false;
};

}  // namespace

std::vector<std::string> Violations(const DurableHistory& history) {
  std::vector<std::string> violations;
  const auto add = [&](const auto&... parts) {
    violations.push_back(absl::StrCat(parts...));
  };
  std::map<std::string, Seen> seen;
  std::map<std::string, int64_t> fences;
  for (const DurableHistory::PollSeen& poll : history.polls) {
    int64_t& fence = fences[poll.key];
    if (poll.fence < fence) {
      add("fences: ", poll.key, " was polled by worker ", poll.worker, " at ",
          absl::FormatDuration(poll.time), " with ", poll.fence, " after ",
          fence);
    }
    fence = std::max(fence, poll.fence);
    Seen& wait = seen[poll.key];
    ++wait.polls;
    wait.last_poll = poll.time;
    wait.found |= poll.found;
    const auto asked = history.waits.find(poll.key);
    if (asked == history.waits.end()) continue;
    if (asked->second.cancelled.has_value() &&
        poll.time > *asked->second.cancelled + history.lease) {
      add("cancel: ", poll.key, " was polled at ",
          absl::FormatDuration(poll.time), ", cancelled at ",
          absl::FormatDuration(*asked->second.cancelled));
    }
  }
  std::map<std::string, DurableResult> by_key;
  for (const DurableHistory::Delivery& delivery : history.deliveries) {
    const DurableResult& result = delivery.result;
    const auto [first, is_new] = by_key.emplace(result.key, result);
    if (!is_new && !AreEqual(first->second, result)) {
      add("same-result: ", result.key, " was delivered as ",
          first->second.value.status().ToString(), " and ",
          result.value.status().ToString());
    }
  }
  for (const auto& [key, wait] : history.waits) {
    const auto result = history.rest.results.find(key);
    if (result == history.rest.results.end()) {
      add("one-result: ", key, " has no result");
      continue;
    }
    const DurableResult& recorded = result->second;
    const auto delivered = by_key.find(key);
    if (delivered == by_key.end()) {
      add("delivered: ", key, " was not delivered");
    } else if (!AreEqual(delivered->second, recorded)) {
      add("delivered: ", key, " was delivered as ",
          delivered->second.value.status().ToString(), " and recorded as ",
          recorded.value.status().ToString());
    }
    const Seen& of_wait = seen[key];
    const absl::Duration end = wait.enqueued + recorded.elapsed;
    switch (recorded.reason) {
      case StopReason::kSuccess:
        if (!of_wait.found || end + history.slack < wait.ready) {
          add("truth: ", key, " succeeded after ",
              absl::FormatDuration(recorded.elapsed), ", ready at ",
              absl::FormatDuration(wait.ready));
        }
        break;
      case StopReason::kDeadline:
        if (recorded.elapsed + history.slack < wait.timeout) {
          add("early: ", key, " ended by its deadline after ",
              absl::FormatDuration(recorded.elapsed), " of ",
              absl::FormatDuration(wait.timeout));
        }
        if (of_wait.last_poll + history.slack < wait.enqueued + wait.timeout) {
          add("last-poll: ", key, " was last polled at ",
              absl::FormatDuration(of_wait.last_poll), ", deadline ",
              absl::FormatDuration(wait.enqueued + wait.timeout));
        }
        break;
      case StopReason::kAttempts:
        if (recorded.attempts < history.max_attempts) {
          add("early: ", key, " ended by its attempts after ",
              recorded.attempts);
        }
        break;
      case StopReason::kCancelled:
        if (!wait.cancelled.has_value()) {
          add("early: ", key, " ended as cancelled, which nobody asked for");
        }
        break;
      default:
        break;
    }
    if (history.max_attempts > 0 && recorded.attempts > history.max_attempts) {
      add("attempts: ", key, " has ", recorded.attempts, " of ",
          history.max_attempts);
    }
  }
  const DurableHistory::AtRest& rest = history.rest;
  if (rest.pending > 0 || rest.held > 0 || rest.enqueued != rest.ended ||
      rest.enqueued != static_cast<int64_t>(rest.results.size())) {
    add("rest: ", rest.pending, " pending, ", rest.held, " held, ",
        rest.enqueued, " enqueued, ", rest.ended, " ended, ",
        rest.results.size(), " results");
  }
  return violations;
}

}  // namespace waiter
