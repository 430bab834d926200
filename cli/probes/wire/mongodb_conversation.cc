// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/mongodb_conversation.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// A message has a header of four integers: its length, its number, the number
// of the message that it answers, and its kind.
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
constexpr uint32_t kMongodbHeader = 16;
constexpr uint32_t kLongestMongodbMessage = 49'152;
constexpr int32_t kRequest = 0x77616974;
constexpr int32_t kMessage = 2013;  // OP_MSG
constexpr char kBody = 0;           // The kind of a section.

// Types of BSON: https://bsonspec.org/spec.html
constexpr char kDouble = 0x01;
constexpr char kString = 0x02;
constexpr char kBool = 0x08;
constexpr char kInt32 = 0x10;

// Codes of errors: of a server without `hello`, and of a shutdown.
constexpr int32_t kCommandNotFound = 59;
constexpr int32_t kShutdownInProgress = 91;
constexpr int32_t kInterruptedAtShutdown = 11600;

// The parsed answer to `hello`.
struct Hello {
  double ok = 0;
  bool is_primary = false;  // Or a server on its own.
  bool is_secondary = false;
  bool is_arbiter = false;
  bool is_router = false;
  bool is_uninitialized = false;  // A replica set without a configuration.
  std::string set = {};
  std::string error = {};
  int32_t code = 0;
};

// Skips a value of one of the other types. Returns whether its type is known.
bool SkipValue(char type, ByteReader& reader) {
  switch (type) {
    case 0x09:  // date
    case 0x11:  // timestamp
    case 0x12:  // integer of 64 bits
      reader.Take(8);
      return true;
    case 0x0d:  // code
    case 0x0e:  // symbol
      reader.Take(reader.Little<uint32_t>());
      return true;
    case 0x03:    // document
    case 0x04: {  // array; the length counts itself
      const auto length = reader.Little<uint32_t>();
      reader.Take(length - sizeof(length));
      return length >= sizeof(length);
    }
    case 0x05:  // bytes, with a subtype
      reader.Take(size_t{reader.Little<uint32_t>()} + 1);
      return true;
    case 0x07:  // identifier
      reader.Take(12);
      return true;
    case 0x06:  // undefined
    case 0x0a:  // null
      return true;
    case 0x13:  // decimal
      reader.Take(16);
      return true;
    default:
      return false;
  }
}

std::string ReadString(ByteReader& reader) {
  std::string_view text = reader.Take(reader.Little<uint32_t>());
  absl::ConsumeSuffix(&text, std::string_view("\0", 1));
  return Excerpt(text);
}

void ReadFlag(std::string_view name, bool value, Hello& hello) {
  // Servers before 5.0 say "ismaster".
  if (name == "isWritablePrimary" || name == "ismaster") {
    hello.is_primary |= value;
  } else if (name == "secondary") {
    hello.is_secondary = value;
  } else if (name == "arbiterOnly") {
    hello.is_arbiter = value;
  } else if (name == "isreplicaset") {
    hello.is_uninitialized = value;
  }
}

void ReadText(std::string_view name, std::string text, Hello& hello) {
  if (name == "setName") {
    hello.set = std::move(text);
  } else if (name == "errmsg") {
    hello.error = std::move(text);
  } else if (name == "msg") {
    hello.is_router = text == "isdbgrid";
  }
}

// Reads an element. Returns whether its type is known.
bool ReadElement(char type, std::string_view name, ByteReader& reader,
                 Hello& hello) {
  switch (type) {
    case kBool:
      ReadFlag(name, reader.Little<uint8_t>() != 0, hello);
      return true;
    case kString:
      ReadText(name, ReadString(reader), hello);
      return true;
    case kDouble: {
      const auto bits = reader.Little<uint64_t>();
      if (name == "ok") std::memcpy(&hello.ok, &bits, sizeof(bits));
      return true;
    }
    case kInt32: {
      const auto value = reader.Little<int32_t>();
      if (name == "ok") hello.ok = value;
      if (name == "code") hello.code = value;
      return true;
    }
    default:
      return SkipValue(type, reader);
  }
}

std::optional<Hello> ReadHello(std::string_view document) {
  Hello hello;
  ByteReader reader(document);
  reader.Take(4);  // The length.
  while (const char type = static_cast<char>(reader.Little<uint8_t>())) {
    const std::string_view name = reader.TakeUntilZero();
    if (!ReadElement(type, name, reader, hello)) return std::nullopt;
  }
  return reader.ok() ? std::make_optional(hello) : std::nullopt;
}

Finding FromHelloError(const Hello& hello) {
  PollStatus status = PollStatus::kServerError;
  if (hello.code == kCommandNotFound) status = PollStatus::kSuccess;
  if (hello.code == kShutdownInProgress ||
      hello.code == kInterruptedAtShutdown) {
    status = PollStatus::kNotReady;
  }
  return {.status = status,
          .detail = absl::StrCat("MongoDB answers: ", hello.error, " (error ",
                                 hello.code, ")")};
}

Finding FromHello(const Hello& hello) {
  if (hello.ok == 0) return FromHelloError(hello);
  if (hello.is_uninitialized) {
    return {.detail =
                "MongoDB answers, and its replica set has no "
                "configuration",
            .hint = "call rs.initiate(), or use tcp:"};
  }
  const std::string set =
      hello.set.empty() ? "" : absl::StrCat(" of ", hello.set);
  if (hello.is_primary || hello.is_secondary || hello.is_arbiter) {
    const std::string_view role = hello.is_router      ? " as router"
                                  : hello.set.empty()  ? ""
                                  : hello.is_primary   ? " as primary"
                                  : hello.is_secondary ? " as secondary"
                                                       : " as arbiter";
    return {.status = PollStatus::kSuccess,
            .detail = absl::StrCat("MongoDB answers", role, set)};
  }
  return {.detail = absl::StrCat("MongoDB answers, and is neither primary nor "
                                 "secondary",
                                 set)};
}

class MongodbConversation : public Conversation {
 public:
  std::string Opening() override {
    std::string elements;
    elements.push_back(kInt32);
    elements.append("hello").push_back('\0');
    AppendLittle(int32_t{1}, elements);
    constexpr std::string_view kDatabase("admin\0", 6);
    elements.push_back(kString);
    elements.append("$db").push_back('\0');
    AppendLittle(static_cast<int32_t>(kDatabase.size()), elements);
    elements.append(kDatabase).push_back('\0');

    std::string body;
    AppendLittle(int32_t{0}, body);  // Flags.
    body.push_back(kBody);
    AppendLittle(static_cast<int32_t>(elements.size() + sizeof(int32_t)), body);
    body.append(elements);

    std::string message;
    AppendLittle(static_cast<int32_t>(kMongodbHeader + body.size()), message);
    AppendLittle(kRequest, message);
    AppendLittle(int32_t{0}, message);
    AppendLittle(kMessage, message);
    return message + body;
  }

  Step Receive(std::string& received) override {
    ByteReader reader(received);
    const auto length = reader.Little<uint32_t>();
    if (!reader.ok()) return {};
    if (length < kMongodbHeader || length > kLongestMongodbMessage) {
      return {.is_foreign = true};
    }
    reader.Take(4);  // The number.
    const auto request = reader.Little<int32_t>();
    const auto kind = reader.Little<int32_t>();
    if (!reader.ok()) return {};
    if (request != kRequest || kind != kMessage) return {.is_foreign = true};
    if (received.size() < length) return {};
    ByteReader sections(reader.Take(length - kMongodbHeader));
    sections.Take(4);  // Flags.
    if (sections.Little<uint8_t>() != kBody) return {.is_foreign = true};
    const std::optional<Hello> hello = ReadHello(sections.left());
    if (!hello.has_value()) return {.is_foreign = true};
    return {.finding = FromHello(*hello)};
  }

  std::string_view Awaited() const override { return "answer to hello"; }
  std::string_view Server() const override { return "MongoDB"; }
};

}  // namespace

std::unique_ptr<Conversation> NewMongodbConversation() {
  return std::make_unique<MongodbConversation>();
}

}  // namespace waiter::cli
