// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/redis_conversation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

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

// A server without passwords answers AUTH so, the first as of version 6.
bool NeedsNoLogin(std::string_view error) {
  return absl::StrContains(error, "without any password configured") ||
         absl::StrContains(error, "no password is set");
}

// Appends a text in which any byte may occur.
void AppendBulk(std::string_view text, std::string& bytes) {
  absl::StrAppend(&bytes, "$", text.size(), "\r\n", text, "\r\n");
}

class RedisConversation : public Conversation {
 public:
  explicit RedisConversation(Login login)
      : login_(std::move(login)), logs_in_(!login_.password.empty()) {}

  std::string Opening() override {
    std::string bytes;
    if (logs_in_) {
      bytes = login_.user.empty() ? "*2\r\n" : "*3\r\n";
      AppendBulk("AUTH", bytes);
      if (!login_.user.empty()) AppendBulk(login_.user, bytes);
      AppendBulk(login_.password, bytes);
    }
    return absl::StrCat(bytes, "PING\r\n");
  }

  Step Receive(std::string& received) override {
    for (;;) {
      if (received.empty()) return {};
      if (received[0] != '+' && received[0] != '-') return {.is_foreign = true};
      const size_t end = received.find('\n');
      if (end == std::string::npos) {
        return {.is_foreign = received.size() > kLongestLine};
      }
      std::string_view line = received;
      line = line.substr(1, end - 1);
      if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
      const bool is_error = received[0] == '-';
      if (!logs_in_) return FromAnswer(is_error, line);
      if (!is_error && line != "OK") return {.is_foreign = true};
      if (is_error && !NeedsNoLogin(line)) return FromRefusal(line);
      logs_in_ = false;
      received.erase(0, end + 1);
    }
  }

  std::string_view Awaited() const override {
    return logs_in_ ? "answer to AUTH" : "answer to PING";
  }
  std::string_view Server() const override { return "Redis"; }

 private:
  static Step FromRefusal(std::string_view line) {
    if (!absl::StartsWith(line, "WRONGPASS") &&
        !absl::StrContains(line, "invalid password")) {
      return FromAnswer(/*is_error=*/true, line);
    }
    return {
        .finding = Finding{
            .detail = absl::StrCat("Redis refuses the login: ", Excerpt(line)),
            .hint = "are user and password of the URL right?"}};
  }

  static Step FromAnswer(bool is_error, std::string_view line) {
    if (!is_error) {
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

  const Login login_;
  bool logs_in_;  // The answer to AUTH has not come.
};

}  // namespace

std::unique_ptr<Conversation> NewRedisConversation() {
  return std::make_unique<RedisConversation>(Login());
}

std::unique_ptr<Conversation> NewRedisLogin(Login login) {
  return std::make_unique<RedisConversation>(std::move(login));
}

}  // namespace waiter::cli
