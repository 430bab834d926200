// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/redis_conversation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll_status.h"

namespace waiter::cli {
namespace {

// Longer lines are not answers to PING.
constexpr size_t kLongestLine = 4096;

struct ErrorMeaning {
  std::string_view begins;
  PollStatus status;
};

// An error begins with a word in capitals:
// https://redis.io/docs/latest/develop/reference/protocol-spec#simple-errors
constexpr std::array<ErrorMeaning, 8> kErrors = {{
    {"NOAUTH ", PollStatus::kSuccess},
    {"NOPERM ", PollStatus::kSuccess},
    {"DENIED ", PollStatus::kSuccess},
    {"LOADING ", PollStatus::kNotReady},
    {"MASTERDOWN ", PollStatus::kNotReady},
    {"CLUSTERDOWN ", PollStatus::kNotReady},
    {"BUSY ", PollStatus::kNotReady},
    {"ERR max number of clients", PollStatus::kThrottled},
}};

class RedisConversation : public Conversation {
 public:
  std::string Opening() override { return "PING\r\n"; }

  Step Receive(std::string& received) override {
    if (received[0] != '+' && received[0] != '-') return {.is_foreign = true};
    const size_t end = received.find('\n');
    if (end == std::string::npos) {
      return {.is_foreign = received.size() > kLongestLine};
    }
    std::string_view line = received;
    line = line.substr(1, end - 1);
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (received[0] == '+') {
      if (line != "PONG") return {.is_foreign = true};
      return {.finding = Finding{.status = PollStatus::kSuccess,
                                 .detail = "Redis answers"}};
    }
    const auto* const known = std::find_if(
        kErrors.begin(), kErrors.end(), [&](const ErrorMeaning& error) {
          return absl::StartsWith(line, error.begins);
        });
    const PollStatus status =
        known == kErrors.end() ? PollStatus::kServerError : known->status;
    return {.finding = Finding{
                .status = status,
                .detail = absl::StrCat("Redis answers: ", Excerpt(line))}};
  }

  std::string_view Awaited() const override { return "answer to PING"; }
  std::string_view Server() const override { return "Redis"; }
};

}  // namespace

std::unique_ptr<Conversation> NewRedisConversation() {
  return std::make_unique<RedisConversation>();
}

}  // namespace waiter::cli
