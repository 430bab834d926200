// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/mysql_conversation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// A packet consists of a length of three bytes, low byte first, a sequence
// number, and a body.
constexpr size_t kMysqlHeader = 4;
constexpr size_t kLongestBody = 16'384;
constexpr char kProtocol = 10;
constexpr char kOk = '\x00';
constexpr char kSwitchMethod = '\xfe';
constexpr char kMoreToCome = '\x01';
constexpr char kMysqlError = '\xff';
constexpr char kQuit = '\x01';

std::string Packet(int sequence, std::string_view body) {
  const auto byte = [&](int shift) {
    return std::string(1, static_cast<char>(body.size() >> shift & 0xff));
  };
  return absl::StrCat(byte(0), byte(8), byte(16),
                      std::string(1, static_cast<char>(sequence)), body);
}

// The capabilities of the login: protocol 4.1, a password of any length, here
// empty, and the name of its method.
std::string LogIn() {
  constexpr std::string_view kCapabilities("\x01\x82\x08\x00", 4);
  constexpr std::string_view kMaxPacket("\x00\x00\x00\x01", 4);
  constexpr char kUtf8 = 33;
  std::string body = absl::StrCat(kCapabilities, kMaxPacket,
                                  std::string(1, kUtf8), std::string(23, '\0'));
  absl::StrAppend(&body, "waiter", std::string(1, '\0'));
  body.push_back('\0');  // The length of the password.
  absl::StrAppend(&body, "mysql_native_password", std::string(1, '\0'));
  return body;
}

struct ServerError {
  int code = 0;
  std::string text = {};
};

ServerError ReadError(std::string_view body) {
  if (body.size() < 3) return {};
  ServerError error;
  error.code = static_cast<unsigned char>(body[1]) |
               static_cast<unsigned char>(body[2]) << 8;
  body.remove_prefix(3);
  // Before the login, some servers omit the SQLSTATE.
  if (body.size() >= 6 && body[0] == '#') body.remove_prefix(6);
  error.text = absl::StrCat(Excerpt(body), " (error ", error.code, ")");
  return error;
}

// MariaDB reports "5.5.5-10.11.6-MariaDB", because old clients require MySQL.
std::string ServerProduct(std::string_view version) {
  const size_t maria = version.find("-MariaDB");
  if (maria == std::string_view::npos) {
    return absl::StrCat("MySQL ", Excerpt(version));
  }
  version = version.substr(0, maria);
  absl::ConsumePrefix(&version, "5.5.5-");
  return absl::StrCat("MariaDB ", Excerpt(version));
}

class MysqlConversation : public Conversation {
 public:
  Step Receive(std::string& received) override {
    std::string sending;
    while (received.size() >= kMysqlHeader) {
      const size_t length =
          static_cast<unsigned char>(received[0]) |
          static_cast<size_t>(static_cast<unsigned char>(received[1])) << 8 |
          static_cast<size_t>(static_cast<unsigned char>(received[2])) << 16;
      const int sequence = static_cast<unsigned char>(received[3]);
      if (length == 0 || length > kLongestBody) return {.is_foreign = true};
      if (received.size() < kMysqlHeader + length) break;
      const std::string body = received.substr(kMysqlHeader, length);
      received.erase(0, kMysqlHeader + length);
      Step step = greeted_ ? FromAnswer(sequence, body) : FromGreeting(body);
      sending.append(step.send);
      if (step.finding.has_value() || step.is_foreign) {
        step.send = std::move(sending);
        return step;
      }
    }
    return {.send = std::move(sending)};
  }

  std::string_view Awaited() const override {
    return greeted_ ? "answer to the login" : "greeting";
  }
  std::string_view Server() const override { return "MySQL"; }

  std::optional<Finding> AtEnd() const override {
    if (!answered_) return std::nullopt;
    return Finding{.status = PollStatus::kSuccess, .detail = version_};
  }

 private:
  Step FromGreeting(std::string_view body) {
    if (body[0] == kMysqlError) return {.finding = FromError(ReadError(body))};
    const size_t end = body.find('\0');
    if (body[0] != kProtocol || end == std::string_view::npos) {
      return {.is_foreign = true};
    }
    greeted_ = true;
    version_ = absl::StrCat(ServerProduct(body.substr(1, end - 1)), " answers");
    return {.send = Packet(1, LogIn())};
  }

  Step FromAnswer(int sequence, std::string_view body) {
    answered_ = true;
    switch (body[0]) {
      case kOk:
        return {.send = Packet(0, std::string(1, kQuit)), .finding = AtEnd()};
      case kSwitchMethod:
        // No password by this method, either; the server then ends the login.
        return {.send = Packet(sequence + 1, "")};
      case kMoreToCome:
        return {};
      case kMysqlError:
        return {.finding = FromError(ReadError(body))};
      default:
        return {.is_foreign = true};
    }
  }

  Finding FromError(const ServerError& error) const {
    const std::string detail = absl::StrCat("MySQL answers: ", error.text);
    switch (error.code) {
      case 1040:  // Too many connections.
      case 1203:  // Too many connections of this user.
        return {.status = PollStatus::kThrottled, .detail = detail};
      case 1053:  // The server shuts down.
      case 3032:  // Only administrators may connect.
        return {.status = PollStatus::kNotReady, .detail = detail};
      // Waiting does not help: after connection errors, the server has blocked
      // this host until an administrator unblocks it.
      case 1129:
        return {.status = PollStatus::kFailed,
                .detail = detail,
                .hint = "unblock this host with mysqladmin flush-hosts"};
      case 1130:  // No user may log in from this host: the server works.
        return {.status = PollStatus::kSuccess, .detail = detail};
      default:
        // All other answers to a login refuse the user, so the server works.
        return greeted_
                   ? Finding{.status = PollStatus::kSuccess, .detail = version_}
                   : Finding{.status = PollStatus::kServerError,
                             .detail = detail};
    }
  }

  bool greeted_ = false;
  bool answered_ = false;
  std::string version_;
};

}  // namespace

std::unique_ptr<Conversation> NewMysqlConversation() {
  return std::make_unique<MysqlConversation>();
}

}  // namespace waiter::cli
