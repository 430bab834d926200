// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/kafka_conversation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// ApiVersions: https://kafka.apache.org/protocol#The_Messages_ApiVersions
constexpr int16_t kApiVersions = 18;
// Every broker since 0.10 knows version 0.
constexpr int16_t kKafkaVersion = 0;
// The server returns it.
constexpr int32_t kCorrelation = 0x77616974;
constexpr std::string_view kClient = "waiter";

constexpr int16_t kNoError = 0;
// An error that lists the supported versions, so the broker has answered.
constexpr int16_t kUnsupportedVersion = 35;

// A correlation, an error, and at least the length of an array.
constexpr uint32_t kShortestAnswer = 10;
constexpr uint32_t kLongestAnswer = 32'768;

class KafkaConversation : public Conversation {
 public:
  std::string Opening() override {
    std::string body;
    AppendBig(kApiVersions, body);
    AppendBig(kKafkaVersion, body);
    AppendBig(kCorrelation, body);
    AppendBig(static_cast<int16_t>(kClient.size()), body);
    body.append(kClient);
    std::string request;
    AppendBig(static_cast<uint32_t>(body.size()), request);
    return request + body;
  }

  Step Receive(std::string& received) override {
    ByteReader reader(received);
    const auto length = reader.Big<uint32_t>();
    if (!reader.ok()) return {};
    if (length < kShortestAnswer || length > kLongestAnswer) {
      return {.is_foreign = true};
    }
    const auto correlation = reader.Big<int32_t>();
    if (reader.ok() && correlation != kCorrelation) return {.is_foreign = true};
    if (received.size() < sizeof(length) + length) return {};
    const auto error = reader.Big<int16_t>();
    if (error == kNoError || error == kUnsupportedVersion) {
      return {.finding = Finding{.status = PollStatus::kSuccess,
                                 .detail = "Kafka answers"}};
    }
    return {.finding = Finding{
                .status = PollStatus::kServerError,
                .detail = absl::StrCat("Kafka answers with error ", error)}};
  }

  std::string_view Awaited() const override { return "answer to ApiVersions"; }
  std::string_view Server() const override { return "Kafka"; }
};

}  // namespace

std::unique_ptr<Conversation> NewKafkaConversation() {
  return std::make_unique<KafkaConversation>();
}

}  // namespace waiter::cli
