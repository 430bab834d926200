// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/amqp_conversation.h"

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

// AMQP 0-9-1, https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf: a frame
// has a type, a channel, a length, its payload and an end. The payload of a
// method begins with the numbers of a class and of the method.
constexpr std::string_view kName = "AMQP";
constexpr std::string_view kHeader("AMQP\x00\x00\x09\x01", 8);
constexpr char kMethodFrame = 1;
constexpr char kFrameEnd = '\xce';
constexpr uint32_t kLongestFrame = 32'768;
constexpr uint16_t kConnection = 10;
constexpr uint16_t kStart = 10;
constexpr uint16_t kClose = 50;
// The operator closes the connection, as on a shutdown.
constexpr uint16_t kConnectionForced = 320;

// Skips the value of a field that has this type. Returns whether the type is
// known.
bool SkipField(char type, ByteReader& reader) {
  switch (type) {
    case 'S':
    case 'A':
    case 'F':
    case 'x':
      reader.Take(reader.Big<uint32_t>());
      return true;
    case 't':
    case 'b':
    case 'B':
      reader.Take(1);
      return true;
    case 's':
    case 'u':
    case 'U':
      reader.Take(2);
      return true;
    case 'I':
    case 'i':
    case 'f':
      reader.Take(4);
      return true;
    case 'L':
    case 'l':
    case 'd':
    case 'T':
      reader.Take(8);
      return true;
    case 'D':
      reader.Take(5);
      return true;
    case 'V':
      return true;
    default:
      return false;
  }
}

// Returns "RabbitMQ 3.10.8" from the server's properties, or "broker".
std::string BrokerProduct(std::string_view properties) {
  std::string product = "broker";
  std::string version;
  ByteReader reader(properties);
  while (!reader.left().empty()) {
    const std::string_view name = reader.Take(reader.Big<uint8_t>());
    const char type = static_cast<char>(reader.Big<uint8_t>());
    if (type == 'S' && (name == "product" || name == "version")) {
      std::string& text = name == "product" ? product : version;
      text = Excerpt(reader.Take(reader.Big<uint32_t>()));
    } else if (!SkipField(type, reader)) {
      break;
    }
  }
  return version.empty() ? product : absl::StrCat(product, " ", version);
}

class AmqpConversation : public Conversation {
 public:
  std::string Opening() override { return std::string(kHeader); }

  Step Receive(std::string& received) override {
    if (received[0] == kName[0]) return FromHeader(received);
    if (received[0] != kMethodFrame) return {.is_foreign = true};
    ByteReader reader(received);
    reader.Take(3);
    const auto length = reader.Big<uint32_t>();
    if (!reader.ok()) return {};
    if (length > kLongestFrame) return {.is_foreign = true};
    const std::string_view payload = reader.Take(length);
    const std::string_view end = reader.Take(1);
    if (!reader.ok()) return {};
    if (end[0] != kFrameEnd) return {.is_foreign = true};
    return FromMethod(payload);
  }

  std::string_view Awaited() const override {
    return "answer to the protocol header";
  }
  std::string_view Server() const override { return "AMQP"; }

 private:
  // A broker that does not speak 0-9-1 names a version that it speaks.
  static Step FromHeader(std::string_view received) {
    const size_t known = std::min(received.size(), kName.size());
    if (received.substr(0, known) != kName.substr(0, known)) {
      return {.is_foreign = true};
    }
    if (received.size() < kHeader.size()) return {};
    ByteReader version(received.substr(kName.size() + 1));
    const int major = version.Big<uint8_t>();
    const int minor = version.Big<uint8_t>();
    const int revision = version.Big<uint8_t>();
    return {.finding = Finding{
                .status = PollStatus::kSuccess,
                .detail = absl::StrCat("broker of AMQP ", major, "-", minor,
                                       "-", revision, " answers")}};
  }

  static Step FromMethod(std::string_view payload) {
    ByteReader reader(payload);
    const auto method_class = reader.Big<uint16_t>();
    const auto method = reader.Big<uint16_t>();
    if (!reader.ok() || method_class != kConnection) {
      return {.is_foreign = true};
    }
    if (method == kClose) return {.finding = FromClose(reader)};
    if (method != kStart) return {.is_foreign = true};
    reader.Take(2);  // The version.
    const std::string_view properties = reader.Take(reader.Big<uint32_t>());
    if (!reader.ok()) return {.is_foreign = true};
    return {.finding = Finding{
                .status = PollStatus::kSuccess,
                .detail = absl::StrCat(BrokerProduct(properties), " answers")}};
  }

  static Finding FromClose(ByteReader& reader) {
    const auto code = reader.Big<uint16_t>();
    const std::string_view text = reader.Take(reader.Big<uint8_t>());
    return {.status = code == kConnectionForced ? PollStatus::kNotReady
                                                : PollStatus::kServerError,
            .detail = absl::StrCat("broker answers: ", Excerpt(text), " (",
                                   code, ")")};
  }
};

}  // namespace

std::unique_ptr<Conversation> NewAmqpConversation() {
  return std::make_unique<AmqpConversation>();
}

}  // namespace waiter::cli
