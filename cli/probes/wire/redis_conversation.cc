// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/redis_conversation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "cli/text/text_regex.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Longer lines are not answers to PING.
constexpr size_t kLongestRedisLine = 4096;

// Longer texts do not describe a cluster, and of values this much is read.
constexpr size_t kLongestText = 16'384;

struct ErrorMeaning {
  std::string_view begins;
  PollStatus status;
};

// An error begins with a word in capitals:
// https://redis.io/docs/latest/develop/reference/protocol-spec#simple-errors
constexpr std::array<ErrorMeaning, 9> kErrors = {{
    {"NOAUTH ", PollStatus::kSuccess},
    {"NOPERM ", PollStatus::kSuccess},
    {"DENIED ", PollStatus::kSuccess},
    {"LOADING ", PollStatus::kNotReady},
    {"MASTERDOWN ", PollStatus::kNotReady},
    {"CLUSTERDOWN ", PollStatus::kNotReady},
    {"BUSY ", PollStatus::kNotReady},
    {"WRONGTYPE ", PollStatus::kNotReady},
    {"ERR max number of clients", PollStatus::kThrottled},
}};

// A server without passwords answers AUTH so, the first as of version 6.
bool NeedsNoLogin(std::string_view error) {
  return absl::StrContains(error, "without any password configured") ||
         absl::StrContains(error, "no password is set");
}

// Returns a command whose words may contain any byte.
std::string Command(const std::vector<std::string_view>& words) {
  std::string bytes = absl::StrCat("*", words.size(), "\r\n");
  for (const std::string_view word : words) {
    absl::StrAppend(&bytes, "$", word.size(), "\r\n", word, "\r\n");
  }
  return bytes;
}

struct Reply {
  char type = '+';
  std::string text = {};
};

class RedisConversation : public Conversation {
 public:
  RedisConversation(const Login& login, const RedisChecks& checks)
      : match_(checks.match) {
    if (!login.password.empty()) {
      std::vector<std::string_view> words = {"AUTH", login.password};
      if (!login.user.empty()) words.insert(words.begin() + 1, login.user);
      Ask(&RedisConversation::OnAuth, "answer to AUTH", Command(words));
    }
    Ask(&RedisConversation::OnPing, "answer to PING", "PING\r\n");
    if (checks.cluster) {
      Ask(&RedisConversation::OnCluster, "answer to CLUSTER",
          "CLUSTER INFO\r\n");
    }
    if (checks.key.empty()) return;
    if (!login.database.empty() && login.database != "0") {
      Ask(&RedisConversation::OnSelect, "answer to SELECT",
          Command({"SELECT", login.database}));
    }
    Ask(&RedisConversation::OnExists, "answer to EXISTS",
        Command({"EXISTS", checks.key}));
    if (!match_.has_value()) return;
    Ask(&RedisConversation::OnValue, "answer to GETRANGE",
        Command({"GETRANGE", checks.key, "0", absl::StrCat(kLongestText - 1)}));
  }

  std::string Opening() override { return opening_; }

  Step Receive(std::string& received) override {
    while (!received.empty() && !pending_.empty()) {
      bool is_foreign = false;
      const std::optional<Reply> reply = TakeReply(received, is_foreign);
      if (!reply.has_value()) return {.is_foreign = is_foreign};
      const Judge judge = pending_.front().judge;
      pending_.pop_front();
      Step step = (this->*judge)(*reply);
      if (step.finding.has_value() || step.is_foreign) return step;
      if (pending_.empty()) return {.finding = good_};
    }
    return {};
  }

  std::string_view Awaited() const override {
    return pending_.empty() ? "" : pending_.front().awaited;
  }
  std::string_view Server() const override { return "Redis"; }

 private:
  // Returns what ends the conversation, if the reply does.
  using Judge = Step (RedisConversation::*)(const Reply&);

  struct Pending {
    Judge judge;
    std::string_view awaited;
  };

  void Ask(Judge judge, std::string_view awaited, std::string_view command) {
    pending_.push_back({.judge = judge, .awaited = awaited});
    opening_.append(command);
  }

  // Removes one reply from `received`; nothing if it is not complete, or
  // foreign.
  static std::optional<Reply> TakeReply(std::string& received,
                                        bool& is_foreign) {
    const char type = received[0];
    const size_t end = received.find('\n');
    is_foreign = !absl::StrContains("+-:$", type) ||
                 std::min(end, received.size()) > kLongestRedisLine;
    if (is_foreign || end == std::string::npos) return std::nullopt;
    Reply reply = {.type = type, .text = received.substr(1, end - 1)};
    if (absl::EndsWith(reply.text, "\r")) reply.text.pop_back();
    size_t size = end + 1;
    if (type == '$') {
      size_t length = 0;
      is_foreign =
          !absl::SimpleAtoi(reply.text, &length) || length > kLongestText;
      if (is_foreign || received.size() < size + length + 2) {
        return std::nullopt;
      }
      reply.text = received.substr(size, length);
      size += length + 2;
    }
    received.erase(0, size);
    return reply;
  }

  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): for Ask
  Step OnAuth(const Reply& reply) {
    if (reply.type == '+') return {.is_foreign = reply.text != "OK"};
    if (reply.type != '-') return {.is_foreign = true};
    if (NeedsNoLogin(reply.text)) return {};
    if (!absl::StartsWith(reply.text, "WRONGPASS") &&
        !absl::StrContains(reply.text, "invalid password")) {
      return {.finding = FromError(reply.text)};
    }
    return {.finding =
                Finding{.detail = absl::StrCat("Redis refuses the login: ",
                                               Excerpt(reply.text)),
                        .hint = "are the URL's user and password right?"}};
  }

  Step OnPing(const Reply& reply) {
    if (reply.type == '+' && reply.text == "PONG") {
      good_ = {.status = PollStatus::kSuccess, .detail = "Redis answers"};
      return {};
    }
    if (reply.type != '-') return {.is_foreign = true};
    good_ = FromError(reply.text);
    if (good_.status == PollStatus::kSuccess && !pending_.empty()) return {};
    return {.finding = good_};
  }

  Step OnCluster(const Reply& reply) {
    if (reply.type == '-') return Refused(reply);
    if (reply.type != '$') return {.is_foreign = true};
    if (absl::StrContains(reply.text, "cluster_state:ok")) {
      good_.detail = "Redis answers, its cluster is up";
      return {};
    }
    return {.finding = Finding{.detail = "the cluster is down", .unmet = true}};
  }

  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): for Ask
  Step OnSelect(const Reply& reply) {
    return reply.type == '-' ? Refused(reply) : Step();
  }

  Step OnExists(const Reply& reply) {
    if (reply.type == '-') return Refused(reply);
    if (reply.type != ':') return {.is_foreign = true};
    if (reply.text == "0") {
      return {.finding =
                  Finding{.detail = "there is no such key", .unmet = true}};
    }
    good_.detail = "the key exists";
    return {};
  }

  Step OnValue(const Reply& reply) {
    if (reply.type == '-') return Refused(reply);
    if (reply.type != '$') return {.is_foreign = true};
    if (match_->Matches(reply.text)) {
      good_.detail = "the key's value matches";
      return {};
    }
    return {.finding = Finding{.detail = "the key's value does not match",
                               .unmet = true}};
  }

  // Judges an error that answers a check: the check does not hold.
  static Step Refused(const Reply& reply) {
    Finding finding = FromError(reply.text);
    if (finding.status == PollStatus::kSuccess) {
      finding.status = PollStatus::kNotReady;
      finding.hint = "does it need a login? --login sends the URL's";
    } else if (absl::StrContains(reply.text, "cluster support disabled")) {
      finding.status = PollStatus::kFailed;
    }
    return {.finding = finding};
  }

  static Finding FromError(std::string_view line) {
    const auto* const known = std::find_if(
        kErrors.begin(), kErrors.end(), [&](const ErrorMeaning& error) {
          return absl::StartsWith(line, error.begins);
        });
    return {.status = known == kErrors.end() ? PollStatus::kServerError
                                             : known->status,
            .detail = absl::StrCat("Redis answers: ", Excerpt(line))};
  }

  const std::optional<TextRegex> match_;
  std::string opening_;
  std::deque<Pending> pending_;  // Without an answer.
  Finding good_;                 // The result if nothing else is wrong.
};

}  // namespace

std::unique_ptr<Conversation> NewRedisConversation() {
  return NewRedisLogin(Login());
}

std::unique_ptr<Conversation> NewRedisLogin(const Login& login,
                                            const RedisChecks& checks) {
  return std::make_unique<RedisConversation>(login, checks);
}

}  // namespace waiter::cli
