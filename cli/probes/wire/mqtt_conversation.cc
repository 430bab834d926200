// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/mqtt_conversation.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Packets begin with their type, and the number of the bytes that follow. A
// CONNACK of MQTT 5, which a broker may send to a client of 3.1.1 to refuse it,
// is longer than one of 3.1.1.
constexpr char kConnack = '\x20';
constexpr size_t kShortestConnack = 2;
constexpr size_t kLongestConnack = 127;  // Its size is one byte.

struct Code {
  uint8_t code;
  PollStatus status;
  std::string_view meaning;
};

// https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html#_Toc398718035
// and, from 0x80 on,
// https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901079
constexpr auto kCodes = std::to_array<Code>({
    {0, PollStatus::kSuccess, ""},
    {1, PollStatus::kSuccess, "another version of MQTT"},
    {2, PollStatus::kSuccess, "clients need a name"},
    {3, PollStatus::kNotReady, "server unavailable"},
    {4, PollStatus::kSuccess, "bad user name or password"},
    {5, PollStatus::kSuccess, "not authorized"},
    {0x84, PollStatus::kSuccess, "another version of MQTT"},
    {0x85, PollStatus::kSuccess, "clients need a name"},
    {0x86, PollStatus::kSuccess, "bad user name or password"},
    {0x87, PollStatus::kSuccess, "not authorized"},
    {0x88, PollStatus::kNotReady, "server unavailable"},
    {0x89, PollStatus::kThrottled, "server busy"},
    {0x97, PollStatus::kThrottled, "quota exceeded"},
    {0x9f, PollStatus::kThrottled, "connection rate exceeded"},
});

Finding FromCode(uint8_t code) {
  for (const Code& known : kCodes) {
    if (known.code != code) continue;
    return {.status = known.status,
            .detail =
                absl::StrCat("MQTT broker answers",
                             known.meaning.empty() ? "" : ": ", known.meaning)};
  }
  return {.status = PollStatus::kServerError,
          .detail = absl::StrCat("MQTT broker refuses with code ", code)};
}

class MqttConversation : public Conversation {
 public:
  std::string Opening() override {
    // The protocol's name and level, a clean session, one minute between
    // packets, and an empty name of the client.
    constexpr std::string_view kConnect(
        "\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00", 14);
    return std::string(kConnect);
  }

  Step Receive(std::string& received) override {
    if (received[0] != kConnack) return {.is_foreign = true};
    if (received.size() < 2) return {};
    const auto size = static_cast<unsigned char>(received[1]);
    if (size < kShortestConnack || size > kLongestConnack) {
      return {.is_foreign = true};
    }
    if (received.size() < size_t{2} + size) return {};
    const Finding finding = FromCode(static_cast<uint8_t>(received[3]));
    constexpr std::string_view kDisconnect("\xe0\x00", 2);
    const bool is_connected = received[3] == 0;
    received.erase(0, size_t{2} + size);
    return {.send = std::string(is_connected ? kDisconnect : ""),
            .finding = finding};
  }

  std::string_view Awaited() const override { return "answer to CONNECT"; }
  std::string_view Server() const override { return "MQTT"; }
};

}  // namespace

std::unique_ptr<Conversation> NewMqttConversation() {
  return std::make_unique<MqttConversation>();
}

}  // namespace waiter::cli
