// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/nats_conversation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Longest line that a client must accept; a greeting of a large cluster lists
// its servers.
constexpr size_t kLongestNatsLine = 32'768;

// How lines of a server begin.
constexpr std::array<std::string_view, 5> kNatsWords = {"INFO ", "+OK", "-ERR",
                                                        "PING", "PONG"};

// Messages are in
// https://docs.nats.io/reference/reference-protocols/nats-protocol#ok-err
Finding FromNatsError(std::string_view text) {
  PollStatus status = PollStatus::kServerError;
  const std::string known = absl::AsciiStrToLower(text);
  if (absl::StrContains(known, "authorization") ||
      absl::StrContains(known, "authentication")) {
    status = PollStatus::kSuccess;
  } else if (absl::StrContains(known, "connections exceeded")) {
    status = PollStatus::kThrottled;
  } else if (absl::StrContains(known, "shutdown")) {
    status = PollStatus::kNotReady;
  }
  return {.status = status,
          .detail = absl::StrCat("NATS answers: ", Excerpt(text))};
}

class NatsConversation : public Conversation {
 public:
  Step Receive(std::string& received) override {
    std::string sending;
    size_t end = received.find('\n');
    for (; end != std::string::npos; end = received.find('\n')) {
      std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      if (absl::EndsWith(line, "\r")) line.pop_back();
      Step step = FromLine(line);
      sending.append(step.send);
      if (step.finding.has_value() || step.is_foreign) {
        step.send = std::move(sending);
        return step;
      }
    }
    return {.send = std::move(sending),
            .is_foreign =
                received.size() > kLongestNatsLine || !MayBegin(received)};
  }

  std::string_view Awaited() const override {
    return greeted_ ? "answer to PING" : "greeting";
  }
  std::string_view Server() const override { return "NATS"; }

 private:
  // Returns whether `part`, which is the begin of a line, may become one.
  static bool MayBegin(std::string_view part) {
    return std::any_of(kNatsWords.begin(), kNatsWords.end(), [&](auto word) {
      return absl::StartsWithIgnoreCase(word, part.substr(0, word.size()));
    });
  }

  Step FromLine(std::string_view line) {
    if (absl::StartsWithIgnoreCase(line, "INFO ")) {
      return greeted_ ? Step{} : FromGreeting(line.substr(5));
    }
    if (absl::StartsWithIgnoreCase(line, "-ERR")) {
      return {.finding = FromNatsError(
                  absl::StripLeadingAsciiWhitespace(line.substr(4)))};
    }
    if (!greeted_) return {.is_foreign = true};
    if (absl::EqualsIgnoreCase(line, "PONG")) {
      return {.finding = Finding{.status = PollStatus::kSuccess,
                                 .detail = Answers("")}};
    }
    // A server may measure the round trip, or confirm a message.
    if (absl::EqualsIgnoreCase(line, "PING")) return {.send = "PONG\r\n"};
    return {.is_foreign = !absl::EqualsIgnoreCase(line, "+OK")};
  }

  Step FromGreeting(std::string_view text) {
    const absl::StatusOr<nlohmann::json> info = ParseJson(text);
    if (!info.ok() || !info->is_object()) return {.is_foreign = true};
    greeted_ = true;
    if (const std::string* const version = FindString(*info, "version")) {
      version_ = absl::StrCat(" ", Excerpt(*version));
    }
    if (IsTrue(*info, "ldm")) {
      return {.finding = Finding{.detail = absl::StrCat(
                                     "NATS", version_,
                                     " sends its clients away (lame duck)")}};
    }
    for (const std::string_view needed : {"tls_required", "auth_required"}) {
      if (IsTrue(*info, needed)) {
        return {.finding =
                    Finding{.status = PollStatus::kSuccess,
                            .detail = Answers(absl::StrCat(": ", needed))}};
      }
    }
    return {.send =
                "CONNECT {\"verbose\":false,\"pedantic\":false,"
                "\"name\":\"waiter\",\"lang\":\"waiter\",\"version\":\"1\","
                "\"protocol\":1}\r\nPING\r\n"};
  }

  std::string Answers(std::string_view more) const {
    return absl::StrCat("NATS", version_, " answers", more);
  }

  bool greeted_ = false;
  std::string version_;
};

}  // namespace

std::unique_ptr<Conversation> NewNatsConversation() {
  return std::make_unique<NatsConversation>();
}

}  // namespace waiter::cli
