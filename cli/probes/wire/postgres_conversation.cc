// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/postgres_conversation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Version 3.0 of the protocol. Integers begin with their high byte. The length
// of a message counts itself, but not the type before it.
constexpr uint32_t kPostgresVersion = 3 << 16;
constexpr size_t kLengthSize = 4;
constexpr size_t kPostgresHeader = 1 + kLengthSize;

// Longest message of a start-up.
constexpr uint32_t kLongestPostgresMessage = 30'000;

std::string Number(uint32_t number) {
  std::string bytes;
  AppendBig(number, bytes);
  return bytes;
}

// Returns a field of an error. Each field is a letter, a text and a zero.
std::string_view Field(std::string_view body, char type) {
  while (!body.empty() && body[0] != '\0') {
    const std::string_view text = body.substr(1, body.find('\0') - 1);
    if (body[0] == type) return text;
    body.remove_prefix(std::min(body.size(), text.size() + 2));
  }
  return {};
}

PollStatus StatusFor(std::string_view sql_state) {
  // Starting up, recovering, shutting down.
  if (absl::StartsWith(sql_state, "57P")) return PollStatus::kNotReady;
  // All connections are taken.
  if (sql_state == "53300") return PollStatus::kThrottled;
  return PollStatus::kServerError;
}

// Returns whether the user is refused, or there is no such database.
bool RefusesLogin(std::string_view sql_state) {
  return absl::StartsWith(sql_state, "28") || sql_state == "3D000";
}

class PostgresConversation : public Conversation {
 public:
  explicit PostgresConversation(std::string_view note) : note_(note) {}

  // Any answer that a working server gives to this user will do.
  std::string Opening() override {
    std::string body = Number(kPostgresVersion);
    for (const std::string_view text :
         {"user", "postgres", "database", "postgres", "application_name",
          "waiter", ""}) {
      body.append(text);
      body.push_back('\0');
    }
    return absl::StrCat(
        Number(static_cast<uint32_t>(body.size() + kLengthSize)), body);
  }

  Step Receive(std::string& received) override {
    while (received.size() >= kPostgresHeader) {
      const char type = received[0];
      if (!IsKnown(type)) return {.is_foreign = true};
      const std::string_view bytes = received;
      ByteReader reader(bytes.substr(1));
      const auto length = reader.Big<uint32_t>();
      if (length < kLengthSize || length > kLongestPostgresMessage) {
        return FromOldError(received);
      }
      if (received.size() < 1 + length) return {};
      const std::string body =
          received.substr(kPostgresHeader, length - kLengthSize);
      received.erase(0, 1 + length);
      if (Step step = FromMessage(type, body);
          step.finding.has_value() || step.is_foreign) {
        return step;
      }
    }
    return {.is_foreign = !received.empty() && !IsKnown(received[0])};
  }

  std::string_view Awaited() const override {
    return logged_in_ ? "ReadyForQuery message"
                      : "answer to the start-up packet";
  }
  std::string_view Server() const override { return "PostgreSQL"; }

 private:
  bool IsKnown(char type) const {
    return absl::StrContains(logged_in_ ? "ENSKZ" : "RENv", type);
  }

  Step FromMessage(char type, std::string_view body) {
    switch (type) {
      case 'R':
        if (body.size() < 4) return {.is_foreign = true};
        if (ByteReader(body).Big<uint32_t>() != 0) {
          return {.finding = Finding{
                      .status = PollStatus::kSuccess,
                      .detail = absl::StrCat(
                          "PostgreSQL requests authentication", note_)}};
        }
        // No password is required. The server must finish its greeting before
        // the connection can end in peace.
        logged_in_ = true;
        return {};
      case 'Z':
        return {
            .send = absl::StrCat("X", Number(kLengthSize)),
            .finding = Finding{.status = PollStatus::kSuccess,
                               .detail = absl::StrCat(
                                   "PostgreSQL is ready for queries", note_)}};
      case 'E':
        return {.finding = FromServerError(body)};
      default:
        return {};
    }
  }

  Finding FromServerError(std::string_view body) const {
    const std::string_view sql_state = Field(body, 'C');
    const bool refuses = RefusesLogin(sql_state);
    return {.status = refuses ? PollStatus::kSuccess : StatusFor(sql_state),
            .detail = absl::StrCat(
                "PostgreSQL answers: ", Excerpt(Field(body, 'M')),
                " (SQLSTATE ", Excerpt(sql_state), ")", refuses ? note_ : "")};
  }

  // A server that cannot create a process for the connection reports it as in
  // version 2: a text up to a zero, without a length.
  static Step FromOldError(std::string_view received) {
    if (received[0] != 'E') return {.is_foreign = true};
    const size_t end = received.find('\0');
    if (end == std::string_view::npos) return {};
    return {.finding = Finding{
                .status = PollStatus::kServerError,
                .detail = absl::StrCat("PostgreSQL answers: ",
                                       Excerpt(received.substr(1, end - 1)))}};
  }

  const std::string_view note_;
  bool logged_in_ = false;
};

}  // namespace

std::unique_ptr<Conversation> NewPostgresConversation() {
  return std::make_unique<PostgresConversation>("");
}

std::unique_ptr<Conversation> NewPostgresOfAnyRole() {
  return std::make_unique<PostgresConversation>(
      "; target_session_attrs needs --login");
}

}  // namespace waiter::cli
