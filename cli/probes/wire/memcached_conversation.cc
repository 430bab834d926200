// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/memcached_conversation.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Longer lines are not answers to `version`.
constexpr size_t kLongestMemcachedLine = 2048;

// Errors are in
// https://github.com/memcached/memcached/blob/master/doc/protocol.txt
Finding FromMemcachedError(std::string_view line) {
  PollStatus status = PollStatus::kServerError;
  if (absl::StrContains(line, "Too many open connections")) {
    status = PollStatus::kThrottled;
  } else if (absl::StrContains(line, "unauthenticated")) {
    status = PollStatus::kSuccess;
  }
  return {.status = status,
          .detail = absl::StrCat("memcached answers: ", Excerpt(line))};
}

class MemcachedConversation : public Conversation {
 public:
  std::string Opening() override { return "version\r\n"; }

  Step Receive(std::string& received) override {
    const size_t end = received.find('\n');
    if (end == std::string::npos) {
      return {.is_foreign = received.size() > kLongestMemcachedLine};
    }
    std::string_view line = received;
    line = line.substr(0, end);
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (absl::ConsumePrefix(&line, "VERSION ")) {
      return {.send = "quit\r\n",
              .finding = Finding{.status = PollStatus::kSuccess,
                                 .detail = absl::StrCat(
                                     "memcached ", Excerpt(line), " answers")}};
    }
    if (line == "ERROR" || absl::StartsWith(line, "ERROR ") ||
        absl::StartsWith(line, "CLIENT_ERROR ") ||
        absl::StartsWith(line, "SERVER_ERROR ")) {
      return {.finding = FromMemcachedError(line)};
    }
    return {.is_foreign = true};
  }

  std::string_view Awaited() const override { return "answer to version"; }
  std::string_view Server() const override { return "memcached"; }
};

}  // namespace

std::unique_ptr<Conversation> NewMemcachedConversation() {
  return std::make_unique<MemcachedConversation>();
}

}  // namespace waiter::cli
