// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/systemd_conversation.h"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// https://dbus.freedesktop.org/doc/dbus-specification.html: a login in lines,
// then messages. A message has a header of fixed size, an array of fields, and
// a body. Each begins at a multiple of 8 bytes.
constexpr size_t kLongestDbusLine = 1024;
constexpr size_t kDbusHeader = 16;
constexpr uint32_t kLongestPart = 32'768;
constexpr uint8_t kCall = 1;
constexpr uint8_t kReturn = 2;
constexpr uint8_t kDbusError = 3;
constexpr uint8_t kPath = 1;
constexpr uint8_t kInterface = 2;
constexpr uint8_t kMember = 3;
constexpr uint8_t kErrorName = 4;
constexpr uint8_t kReplySerial = 5;
constexpr uint8_t kDestination = 6;
constexpr uint8_t kSignature = 8;

// Serial numbers of the calls: a greeting, then one for each property.
constexpr uint32_t kHello = 1;
constexpr uint32_t kFirstProperty = 2;
constexpr std::array<std::string_view, 3> kProperties = {
    "LoadState", "ActiveState", "SubState"};

void Align(size_t to, std::string& bytes) {
  bytes.append((to - bytes.size() % to) % to, '\0');
}

void AppendText(std::string_view text, std::string& bytes) {
  Align(4, bytes);
  AppendLittle(static_cast<uint32_t>(text.size()), bytes);
  bytes.append(text).push_back('\0');
}

void AppendField(uint8_t code, char type, std::string_view value,
                 std::string& fields) {
  Align(8, fields);
  AppendLittle(code, fields);
  fields.push_back('\1');
  fields.push_back(type);
  fields.push_back('\0');
  if (type == 'g') {
    AppendLittle(static_cast<uint8_t>(value.size()), fields);
    fields.append(value).push_back('\0');
  } else {
    AppendText(value, fields);
  }
}

struct Call {
  uint32_t serial;
  std::string_view destination;
  std::string_view path;
  std::string_view interface;
  std::string_view member;
  std::string_view signature = {};
  std::string_view body = {};
};

std::string Encode(const Call& call) {
  std::string fields;
  AppendField(kPath, 'o', call.path, fields);
  AppendField(kDestination, 's', call.destination, fields);
  AppendField(kInterface, 's', call.interface, fields);
  AppendField(kMember, 's', call.member, fields);
  if (!call.signature.empty()) {
    AppendField(kSignature, 'g', call.signature, fields);
  }
  std::string bytes("l");
  AppendLittle(kCall, bytes);
  AppendLittle(uint8_t{0}, bytes);  // Flags.
  AppendLittle(uint8_t{1}, bytes);  // The version of the protocol.
  AppendLittle(static_cast<uint32_t>(call.body.size()), bytes);
  AppendLittle(call.serial, bytes);
  AppendLittle(static_cast<uint32_t>(fields.size()), bytes);
  bytes.append(fields);
  Align(8, bytes);
  return absl::StrCat(bytes, call.body);
}

std::string CallHello() {
  return Encode({.serial = kHello,
                 .destination = "org.freedesktop.DBus",
                 .path = "/org/freedesktop/DBus",
                 .interface = "org.freedesktop.DBus",
                 .member = "Hello"});
}

std::string CallGet(uint32_t serial, std::string_view unit_path,
                    std::string_view property) {
  std::string body;
  AppendText("org.freedesktop.systemd1.Unit", body);
  AppendText(property, body);
  return Encode({.serial = serial,
                 .destination = "org.freedesktop.systemd1",
                 .path = unit_path,
                 .interface = "org.freedesktop.DBus.Properties",
                 .member = "Get",
                 .signature = "ss",
                 .body = body});
}

// The parts of a message that are used.
struct Message {
  uint8_t type = 0;
  uint32_t reply_serial = 0;
  std::string error_name = {};
  std::string text = {};  // The first text of the body.
};

// Reads a part of a message, whose values begin at multiples of their sizes.
class PartReader {
 public:
  PartReader(std::string_view part, bool is_big)
      : size_(part.size()), is_big_(is_big), reader_(part) {}

  void Align(size_t to) {
    const size_t position = size_ - reader_.left().size();
    reader_.Take((to - position % to) % to);
  }
  uint8_t Byte() { return reader_.Little<uint8_t>(); }
  uint32_t Number() {
    Align(4);
    return Unaligned();
  }
  uint32_t Unaligned() {
    return is_big_ ? reader_.Big<uint32_t>() : reader_.Little<uint32_t>();
  }
  std::string_view Text() {
    const std::string_view text = reader_.Take(Number());
    reader_.Take(1);
    return text;
  }
  std::string_view Signature() {
    const std::string_view text = reader_.Take(Byte());
    reader_.Take(1);
    return text;
  }
  bool ok() const { return reader_.ok(); }
  bool at_end() const { return reader_.left().empty(); }

 private:
  const size_t size_;
  const bool is_big_;
  ByteReader reader_;
};

// Reads the fields of a header. Returns the signature of the body, or nothing
// if a field is not valid.
std::optional<std::string> ReadFields(PartReader fields, Message& message) {
  std::string signature;
  while (!fields.at_end()) {
    fields.Align(8);
    const uint8_t code = fields.Byte();
    const std::string_view type = fields.Signature();
    if (type == "u") {
      const uint32_t number = fields.Number();
      if (code == kReplySerial) message.reply_serial = number;
    } else if (type == "g") {
      const std::string_view text = fields.Signature();
      if (code == kSignature) signature = text;
    } else if (type == "s" || type == "o") {
      const std::string_view text = fields.Text();
      if (code == kErrorName) message.error_name = text;
    } else {
      return std::nullopt;
    }
    if (!fields.ok()) return std::nullopt;
  }
  return signature;
}

class SystemdConversation : public Conversation {
 public:
  SystemdConversation(std::string unit, uid_t uid)
      : unit_(std::move(unit)), uid_(uid) {}

  std::string Opening() override {
    return absl::StrCat(std::string(1, '\0'), "AUTH EXTERNAL ",
                        absl::BytesToHexString(absl::StrCat(uid_)), "\r\n");
  }

  Step Receive(std::string& received) override {
    std::string sending;
    if (!logged_in_) {
      const size_t end = received.find('\n');
      if (end == std::string::npos) {
        return {.is_foreign = received.size() > kLongestDbusLine};
      }
      const std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      if (absl::StartsWith(line, "REJECTED")) {
        return {.finding =
                    Finding{.status = PollStatus::kServerError,
                            .detail = "the system bus refuses this user"}};
      }
      if (!absl::StartsWith(line, "OK")) return {.is_foreign = true};
      logged_in_ = true;
      sending = Calls();
    }
    Step step = ReceiveMessages(received);
    step.send.insert(0, sending);
    return step;
  }

  std::string_view Awaited() const override {
    return logged_in_ ? "answer about the unit" : "answer to the login";
  }
  std::string_view Server() const override { return "the system bus"; }

 private:
  std::string Calls() const {
    const std::string path = SystemdUnitPath(unit_);
    std::string calls = absl::StrCat("BEGIN\r\n", CallHello());
    uint32_t serial = kFirstProperty;
    for (const std::string_view property : kProperties) {
      calls += CallGet(serial++, path, property);
    }
    return calls;
  }

  Step ReceiveMessages(std::string& received) {
    while (received.size() >= kDbusHeader) {
      // Numbers have the byte order of the sender.
      const bool is_big = received[0] == 'B';
      if (!is_big && received[0] != 'l') return {.is_foreign = true};
      const std::string_view bytes = received;
      PartReader header(bytes.substr(1, kDbusHeader - 1), is_big);
      Message message;
      message.type = header.Byte();
      header.Byte();  // Flags.
      header.Byte();  // The version.
      const uint32_t body_size = header.Unaligned();
      header.Unaligned();  // The serial number.
      const uint32_t fields_size = header.Unaligned();
      if (body_size > kLongestPart || fields_size > kLongestPart) {
        return {.is_foreign = true};
      }
      const size_t body_begin = (kDbusHeader + fields_size + 7) / 8 * 8;
      if (received.size() < body_begin + body_size) return {};
      const std::optional<std::string> signature = ReadFields(
          PartReader(bytes.substr(kDbusHeader, fields_size), is_big), message);
      if (!signature.has_value()) return {.is_foreign = true};
      PartReader body(bytes.substr(body_begin, body_size), is_big);
      const bool is_text = *signature == "v"
                               ? body.Signature() == "s"
                               : absl::StartsWith(*signature, "s");
      if (is_text) message.text = body.Text();
      if (!body.ok()) return {.is_foreign = true};
      received.erase(0, body_begin + body_size);
      if (Step step = FromMessage(message); step.finding.has_value()) {
        return step;
      }
    }
    return {};
  }

  // Other messages are signals, such as the one that announces a name.
  Step FromMessage(const Message& message) {
    if (message.type == kDbusError) {
      return {.finding = Finding{.status = PollStatus::kServerError,
                                 .detail = absl::StrCat(
                                     "systemd answers: ", Excerpt(message.text),
                                     " (", Excerpt(message.error_name), ")")}};
    }
    const uint32_t index = message.reply_serial - kFirstProperty;
    if (message.type != kReturn || index >= states_.size()) return {};
    states_[index] = message.text;
    if (index + 1 < states_.size()) return {};
    return {.finding = FromStates()};
  }

  Finding FromStates() const {
    const auto& [load, active, sub] = states_;
    const std::string detail =
        active == sub || sub.empty()
            ? Excerpt(active)
            : absl::StrCat(Excerpt(active), " (", Excerpt(sub), ")");
    if (active == "active" || active == "reloading" || active == "refreshing") {
      return {.status = PollStatus::kSuccess, .detail = detail};
    }
    if (load == "not-found") {
      return {.detail = "there is no such unit",
              .hint = "is its name right, as systemctl list-units shows it?",
              .absent = true};
    }
    const bool is_failed = active == "failed";
    return {.detail = detail,
            .hint = is_failed
                        ? absl::StrCat("systemctl status ", Excerpt(unit_))
                        : "",
            .absent = is_failed || active == "inactive"};
  }

  const std::string unit_;
  const uid_t uid_;
  bool logged_in_ = false;
  std::array<std::string, kProperties.size()> states_;
};

}  // namespace

std::string SystemdUnitPath(std::string_view unit) {
  std::string path = "/org/freedesktop/systemd1/unit/";
  for (size_t i = 0; i < unit.size(); ++i) {
    const auto byte = static_cast<unsigned char>(unit[i]);
    if (absl::ascii_isalpha(byte) || (i > 0 && absl::ascii_isdigit(byte))) {
      path.push_back(unit[i]);
    } else {
      absl::StrAppend(&path, "_", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return path;
}

std::unique_ptr<Conversation> NewSystemdConversation(std::string unit,
                                                     uid_t uid) {
  return std::make_unique<SystemdConversation>(std::move(unit), uid);
}

}  // namespace waiter::cli
