// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that a conversation copes with any bytes from a server: its finding
// does not depend on how they are split, and it takes no more than it is given.
// The first two bytes of the input choose the protocol and the size of the
// pieces.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/probes/probe.h"
#include "cli/probes/wire/amqp_conversation.h"
#include "cli/probes/wire/conversation.h"
#include "cli/probes/wire/kafka_conversation.h"
#include "cli/probes/wire/memcached_conversation.h"
#include "cli/probes/wire/mongodb_conversation.h"
#include "cli/probes/wire/mqtt_conversation.h"
#include "cli/probes/wire/mysql_conversation.h"
#include "cli/probes/wire/nats_conversation.h"
#include "cli/probes/wire/postgres_conversation.h"
#include "cli/probes/wire/redis_conversation.h"
#include "cli/probes/wire/systemd_conversation.h"
#include "tests/support/check_that.h"

namespace {

using waiter::cli::Conversation;
using waiter::cli::Finding;

std::unique_ptr<Conversation> NewUnit() {
  return waiter::cli::NewSystemdConversation("a.service", 0);
}

std::unique_ptr<Conversation> NewRedisUser() {
  return waiter::cli::NewRedisLogin({.user = "me", .password = "secret"});
}

std::unique_ptr<Conversation> NewRedisChecks() {
  return waiter::cli::NewRedisLogin({.database = "1"},
                                    {.cluster = true, .key = "a"});
}

constexpr std::array<std::unique_ptr<Conversation> (*)(), 12> kProtocols = {
    waiter::cli::NewAmqpConversation,
    waiter::cli::NewKafkaConversation,
    waiter::cli::NewMemcachedConversation,
    waiter::cli::NewMongodbConversation,
    waiter::cli::NewMysqlConversation,
    waiter::cli::NewMqttConversation,
    waiter::cli::NewNatsConversation,
    NewUnit,
    waiter::cli::NewPostgresConversation,
    waiter::cli::NewRedisConversation,
    NewRedisUser,
    NewRedisChecks,
};

std::optional<Finding> Play(Conversation& conversation, std::string_view bytes,
                            size_t size) {
  conversation.Opening();
  std::string received;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(part.size());
    received.append(part);
    const size_t before = received.size();
    const Conversation::Step step = conversation.Receive(received);
    CHECK_THAT(received.size() <= before);
    if (step.finding.has_value() || step.is_foreign) return step.finding;
  }
  CHECK_THAT(!conversation.Awaited().empty());
  return conversation.AtEnd();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto make = kProtocols[data[0] % kProtocols.size()];
  const size_t piece = data[1] + size_t{1};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2,
                               size - 2);
  const std::unique_ptr<Conversation> whole = make();
  const std::unique_ptr<Conversation> pieces = make();
  const std::optional<Finding> a = Play(*whole, bytes, size);
  const std::optional<Finding> b = Play(*pieces, bytes, piece);
  CHECK_THAT(a.has_value() == b.has_value());
  if (!a.has_value()) return 0;
  CHECK_THAT(a->status == b->status);
  CHECK_THAT(a->detail == b->detail);
  CHECK_THAT(a->hint == b->hint);
  return 0;
}
