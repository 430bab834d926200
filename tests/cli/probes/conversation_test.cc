// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the bytes of the protocols, without a socket. probes_test.cc tests
// redis, postgres and mysql on connections.

#include "cli/probes/wire/conversation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/amqp_conversation.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/probes/wire/kafka_conversation.h"
#include "cli/probes/wire/memcached_conversation.h"
#include "cli/probes/wire/mongodb_conversation.h"
#include "cli/probes/wire/mqtt_conversation.h"
#include "cli/probes/wire/nats_conversation.h"
#include "cli/probes/wire/postgres_conversation.h"
#include "cli/probes/wire/redis_conversation.h"
#include "cli/probes/wire/systemd_conversation.h"
#include "cli/text/text_regex.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::conversation_test {
namespace {

// Returns a text that may contain zeros.
template <size_t size>
std::string Bytes(const char (&text)[size]) {
  return std::string(text, size - 1);
}

// Returns `text` after its length, in a number of the type.
template <typename Length>
std::string Long(std::string_view text) {
  std::string bytes;
  AppendBig(static_cast<Length>(text.size()), bytes);
  return absl::StrCat(bytes, text);
}

std::string AmqpFrame(std::string_view payload) {
  return absl::StrCat(Bytes("\1\0\0"), Long<uint32_t>(payload), "\xce");
}

std::string AmqpField(std::string_view name, char type,
                      std::string_view value) {
  return absl::StrCat(Long<uint8_t>(name), std::string(1, type), value);
}

std::string AmqpStart(std::string_view properties) {
  return AmqpFrame(
      absl::StrCat(Bytes("\0\x0a\0\x0a\0\x09"), Long<uint32_t>(properties),
                   Long<uint32_t>("PLAIN"), Long<uint32_t>("en_US")));
}

std::string RabbitProperties() {
  return absl::StrCat(
      AmqpField("capabilities", 'F',
                Long<uint32_t>(AmqpField("basic.nack", 't', "\1"))),
      AmqpField("product", 'S', Long<uint32_t>("RabbitMQ")),
      AmqpField("uptime", 'l', Bytes("\0\0\0\0\0\0\0\7")),
      AmqpField("version", 'S', Long<uint32_t>("3.10.8")));
}

std::string AmqpClose(uint16_t code, std::string_view text) {
  std::string payload = Bytes("\0\x0a\0\x32");
  AppendBig(code, payload);
  return AmqpFrame(
      absl::StrCat(payload, Long<uint8_t>(text), Bytes("\0\0\0\0")));
}

std::string KafkaAnswer(std::string_view rest) {
  return Long<uint32_t>(absl::StrCat("wait", rest));
}

std::string Element(char type, std::string_view name, std::string_view value) {
  return absl::StrCat(std::string(1, type), name, Bytes("\0"), value);
}

std::string Text(std::string_view name, std::string_view value) {
  std::string length;
  AppendLittle(static_cast<uint32_t>(value.size() + 1), length);
  return Element('\2', name, absl::StrCat(length, value, Bytes("\0")));
}

std::string Flag(std::string_view name, bool value) {
  return Element('\x08', name, value ? Bytes("\1") : Bytes("\0"));
}

std::string Document(std::string_view elements) {
  std::string length;
  AppendLittle(static_cast<uint32_t>(elements.size() + 5), length);
  return absl::StrCat(length, elements, Bytes("\0"));
}

const std::string& Ok() {
  static const std::string& ok =
      *new std::string(Element('\1', "ok", Bytes("\0\0\0\0\0\0\xf0\x3f")));
  return ok;
}

std::string MongoAnswer(std::string_view elements) {
  const std::string body =
      absl::StrCat(Bytes("\0\0\0\0\0"), Document(elements));
  std::string message;
  AppendLittle(static_cast<uint32_t>(body.size() + 16), message);
  return absl::StrCat(message, Bytes("\7\0\0\0tiaw\xdd\7\0\0"), body);
}

std::string MongoHello(std::string_view elements) {
  const std::string identifier = Element('\7', "processId", "123456789012");
  return MongoAnswer(
      absl::StrCat(Element('\3', "topologyVersion", Document(identifier)),
                   elements, Element('\x09', "localTime", "12345678"),
                   Element('\x10', "maxWireVersion", Bytes("\x15\0\0\0")),
                   Element('\4', "compression", Document(Text("0", "zlib"))),
                   Element('\x0a', "nothing", ""), Ok()));
}

// Returns a message of D-Bus from systemd: a field with the serial number of
// the call, one with the signature, and a body.
std::string BusMessage(char type, char call, char signature,
                       std::string_view body, std::string_view more = {}) {
  const std::string fields = absl::StrCat(
      Bytes("\5\1u\0"), std::string(1, call), Bytes("\0\0\0\x08\1g\0\1"),
      std::string(1, signature), Bytes("\0"), more);
  std::string message = absl::StrCat("l", std::string(1, type), Bytes("\0\1"));
  AppendLittle(static_cast<uint32_t>(body.size()), message);
  AppendLittle(uint32_t{9}, message);
  AppendLittle(static_cast<uint32_t>(fields.size()), message);
  message += fields;
  message.append((8 - message.size() % 8) % 8, '\0');
  return absl::StrCat(message, body);
}

std::string BusText(std::string_view text) {
  std::string bytes;
  AppendLittle(static_cast<uint32_t>(text.size()), bytes);
  return absl::StrCat(bytes, text, Bytes("\0"));
}

// Returns the messages of the bus about a unit in these states.
std::string UnitStates(std::string_view load, std::string_view active,
                       std::string_view sub) {
  const auto property = [](char call, std::string_view value) {
    return BusMessage('\2', call, 'v',
                      absl::StrCat(Bytes("\1s\0\0"), BusText(value)));
  };
  return absl::StrCat(
      "OK 1234deadbeef\r\n", BusMessage('\2', '\1', 's', BusText(":1.7")),
      BusMessage('\4', '\0', 's', BusText(":1.7")), property('\2', load),
      property('\3', active), property('\4', sub));
}

std::unique_ptr<Conversation> NewUnit() {
  return NewSystemdConversation("a-b.service", 1000);
}

// Returns the calls for that unit. Each part of a call begins at a multiple of
// 8 bytes, and each text at a multiple of 4.
std::string UnitCalls() {
  const std::string path = "/org/freedesktop/systemd1/unit/a_2db_2eservice";
  std::string calls = Bytes(
      "BEGIN\r\nl\1\0\1\0\0\0\0\1\0\0\0\x6e\0\0\0"
      "\1\1o\0\x15\0\0\0/org/freedesktop/DBus\0\0\0"
      "\6\1s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0"
      "\2\1s\0\x14\0\0\0org.freedesktop.DBus\0\0\0\0"
      "\3\1s\0\5\0\0\0Hello\0\0\0");
  char serial = '\2';
  for (const std::string_view property :
       {"LoadState", "ActiveState", "SubState"}) {
    const std::string body =
        absl::StrCat(Bytes("\x1d\0\0\0org.freedesktop.systemd1.Unit\0\0\0"),
                     BusText(property));
    absl::StrAppend(
        &calls, Bytes("l\1\0\1"),
        std::string(1, static_cast<char>(body.size())), Bytes("\0\0\0"),
        std::string(1, serial++), Bytes("\0\0\0\xa0\0\0\0"),
        Bytes("\1\1o\0\x2e\0\0\0"), path, Bytes("\0\0"),
        Bytes("\6\1s\0\x18\0\0\0org.freedesktop.systemd1\0\0\0\0\0\0\0\0"),
        Bytes("\2\1s\0\x1f\0\0\0org.freedesktop.DBus.Properties\0"),
        Bytes("\3\1s\0\3\0\0\0Get\0\0\0\0\0"), Bytes("\x08\1g\0\2ss\0"), body);
  }
  return calls;
}

struct Case {
  std::string_view name;
  std::unique_ptr<Conversation> (*make)();
  std::string opening;
  std::string received;
  PollStatus status;
  std::string_view detail;
  std::string sent = {};  // After the opening.
};

std::unique_ptr<Conversation> RedisLogin() {
  return NewRedisLogin({.user = "me", .password = "secret"});
}

std::unique_ptr<Conversation> RedisCluster() {
  return NewRedisLogin({}, {.cluster = true});
}

std::unique_ptr<Conversation> RedisKey() {
  return NewRedisLogin({.database = "3"}, {.key = "a b"});
}

std::unique_ptr<Conversation> RedisValue() {
  return NewRedisLogin({}, {.key = "a", .match = *TextRegex::Parse("^up$")});
}

std::vector<Case> Cases() {
  using enum PollStatus;
  const std::string redis_login =
      "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\nPING\r\n";
  const std::string cluster = "PING\r\nCLUSTER INFO\r\n";
  const std::string key =
      "PING\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
      "*2\r\n$6\r\nEXISTS\r\n$3\r\na b\r\n";
  const std::string value =
      "PING\r\n*2\r\n$6\r\nEXISTS\r\n$1\r\na\r\n"
      "*4\r\n$8\r\nGETRANGE\r\n$1\r\na\r\n$1\r\n0\r\n$5\r\n16383\r\n";
  const std::string amqp = Bytes("AMQP\0\0\x09\1");
  const std::string mqtt = Bytes("\x10\x0c\0\4MQTT\4\2\0\x3c\0\0");
  const std::string kafka = Bytes("\0\0\0\x10\0\x12\0\0wait\0\6waiter");
  const std::string mongo = Bytes(
      "\x34\0\0\0tiaw\0\0\0\0\xdd\7\0\0\0\0\0\0\0"
      "\x1f\0\0\0\x10hello\0\1\0\0\0\2$db\0\6\0\0\0admin\0\0");
  const std::string auth =
      absl::StrCat(Bytes("\0"), "AUTH EXTERNAL 31303030\r\n");
  const std::string calls = UnitCalls();
  const std::string nats =
      "CONNECT {\"verbose\":false,\"pedantic\":false,\"name\":\"waiter\","
      "\"lang\":\"waiter\",\"version\":\"1\",\"protocol\":1}\r\nPING\r\n";
  return {
      {"memcached answers", NewMemcachedConversation, "version\r\n",
       "VERSION 1.6.18\r\n", kSuccess, "memcached 1.6.18 answers", "quit\r\n"},
      {"memcached requires a login", NewMemcachedConversation, "version\r\n",
       "CLIENT_ERROR unauthenticated\r\n", kSuccess,
       "memcached answers: CLIENT_ERROR unauthenticated"},
      {"memcached is full", NewMemcachedConversation, "version\r\n",
       "ERROR Too many open connections\r\n", kThrottled,
       "memcached answers: ERROR Too many open connections"},
      {"memcached has no memory", NewMemcachedConversation, "version\r\n",
       "SERVER_ERROR out of memory\r\n", kServerError,
       "memcached answers: SERVER_ERROR out of memory"},

      {"Redis accepts a login", RedisLogin, redis_login, "+OK\r\n+PONG\r\n",
       kSuccess, "Redis answers"},
      {"Redis accepts a password alone",
       [] { return NewRedisLogin({.password = "a b\r\n"}); },
       "*2\r\n$4\r\nAUTH\r\n$5\r\na b\r\n\r\nPING\r\n", "+OK\r\n+PONG\r\n",
       kSuccess, "Redis answers"},
      {"Redis needs no login", RedisLogin, redis_login,
       "-ERR AUTH <password> called without any password configured for the "
       "default user. Are you sure your configuration is correct?\r\n"
       "+PONG\r\n",
       kSuccess, "Redis answers"},
      {"Redis before 6 needs no login", RedisLogin, redis_login,
       "-ERR Client sent AUTH, but no password is set\r\n+PONG\r\n", kSuccess,
       "Redis answers"},
      {"Redis refuses a login", RedisLogin, redis_login,
       "-WRONGPASS invalid username-password pair\r\n", kNotReady,
       "Redis refuses the login: WRONGPASS invalid username-password pair"},
      {"Redis before 6 refuses a login", RedisLogin, redis_login,
       "-ERR invalid password\r\n", kNotReady,
       "Redis refuses the login: ERR invalid password"},
      {"Redis loads its data after a login", RedisLogin, redis_login,
       "+OK\r\n-LOADING Redis is loading\r\n", kNotReady,
       "Redis answers: LOADING Redis is loading"},
      {"Redis has no more clients for a login", RedisLogin, redis_login,
       "-ERR max number of clients reached\r\n", kThrottled,
       "Redis answers: ERR max number of clients reached"},

      {"Redis's cluster is up", RedisCluster, cluster,
       "+PONG\r\n$18\r\ncluster_state:ok\r\n\r\n", kSuccess,
       "Redis answers, its cluster is up"},
      {"Redis's cluster is down", RedisCluster, cluster,
       "+PONG\r\n$20\r\ncluster_state:fail\r\n\r\n", kNotReady,
       "the cluster is down"},
      {"Redis has no cluster", RedisCluster, cluster,
       "+PONG\r\n-ERR This instance has cluster support disabled\r\n", kFailed,
       "Redis answers: ERR This instance has cluster support disabled"},
      {"Redis requires a login for its cluster", RedisCluster, cluster,
       "-NOAUTH Authentication required.\r\n"
       "-NOAUTH Authentication required.\r\n",
       kNotReady, "Redis answers: NOAUTH Authentication required."},
      {"Redis has the key", RedisKey, key, "+PONG\r\n+OK\r\n:1\r\n", kSuccess,
       "the key exists"},
      {"Redis has no such key", RedisKey, key, "+PONG\r\n+OK\r\n:0\r\n",
       kNotReady, "there is no such key"},
      {"Redis's key has the value", RedisValue, value,
       "+PONG\r\n:1\r\n$6\r\nno\r\nup\r\n", kSuccess,
       "the key's value matches"},
      {"Redis's key has another value", RedisValue, value,
       "+PONG\r\n:1\r\n$6\r\nsecret\r\n", kNotReady,
       "the key's value does not match"},
      {"Redis's key has expired", RedisValue, value,
       "+PONG\r\n:1\r\n$0\r\n\r\n", kNotReady,
       "the key's value does not match"},
      {"Redis's key is a list", RedisValue, value,
       "+PONG\r\n:1\r\n-WRONGTYPE Operation against a key\r\n", kNotReady,
       "Redis answers: WRONGTYPE Operation against a key"},
      {"Redis has no such database", RedisKey, key,
       "+PONG\r\n-ERR DB index is out of range\r\n", kServerError,
       "Redis answers: ERR DB index is out of range"},

      {"NATS answers", NewNatsConversation, "",
       "INFO {\"server_id\":\"N\",\"version\":\"2.9.10\"}\r\nPING\r\nPONG\r\n",
       kSuccess, "NATS 2.9.10 answers", absl::StrCat(nats, "PONG\r\n")},
      {"NATS tells of other servers before it answers", NewNatsConversation, "",
       "INFO {\"version\":\"2.9.10\"} \r\nINFO {\"connect_urls\":[]}\r\n"
       "+OK\r\nPONG\r\n",
       kSuccess, "NATS 2.9.10 answers", nats},
      {"NATS requires a login", NewNatsConversation, "",
       "INFO {\"version\":\"2.9.10\",\"auth_required\":true}\r\n", kSuccess,
       "NATS 2.9.10 answers: auth_required"},
      {"NATS requires TLS", NewNatsConversation, "",
       "INFO {\"tls_required\":true}\r\n", kSuccess,
       "NATS answers: tls_required"},
      {"NATS refuses the user", NewNatsConversation, "",
       "INFO {}\r\n-ERR 'Authorization Violation'\r\n", kSuccess,
       "NATS answers: 'Authorization Violation'", nats},
      {"NATS is full", NewNatsConversation, "",
       "-ERR 'maximum connections exceeded'\r\n", kThrottled,
       "NATS answers: 'maximum connections exceeded'"},
      {"NATS shuts down", NewNatsConversation, "",
       "INFO {}\r\n-ERR 'Server Shutdown'\r\n", kNotReady,
       "NATS answers: 'Server Shutdown'", nats},
      {"NATS sends its clients away", NewNatsConversation, "",
       "INFO {\"version\":\"2.9.10\",\"ldm\":true}\r\n", kNotReady,
       "NATS 2.9.10 sends its clients away (lame duck)"},
      {"NATS has an error", NewNatsConversation, "",
       "INFO {}\r\n-ERR 'Unknown Protocol Operation'\r\n", kServerError,
       "NATS answers: 'Unknown Protocol Operation'", nats},

      {"MQTT broker accepts the client", NewMqttConversation, mqtt,
       Bytes("\x20\2\0\0"), kSuccess, "MQTT broker answers", Bytes("\xe0\0")},
      {"MQTT broker resumes a session", NewMqttConversation, mqtt,
       Bytes("\x20\2\1\0"), kSuccess, "MQTT broker answers", Bytes("\xe0\0")},
      {"MQTT broker requires a login", NewMqttConversation, mqtt,
       Bytes("\x20\2\0\5"), kSuccess, "MQTT broker answers: not authorized"},
      {"MQTT broker starts", NewMqttConversation, mqtt, Bytes("\x20\2\0\3"),
       kNotReady, "MQTT broker answers: server unavailable"},
      {"MQTT broker speaks version 5 alone", NewMqttConversation, mqtt,
       Bytes("\x20\3\0\x84\0"), kSuccess,
       "MQTT broker answers: another version of MQTT"},
      {"MQTT broker of version 5 is busy", NewMqttConversation, mqtt,
       Bytes("\x20\3\0\x89\0"), kThrottled, "MQTT broker answers: server busy"},
      {"MQTT broker has another reason", NewMqttConversation, mqtt,
       Bytes("\x20\2\0\x80"), kServerError,
       "MQTT broker refuses with code 128"},

      {"RabbitMQ answers", NewAmqpConversation, amqp,
       AmqpStart(RabbitProperties()), kSuccess, "RabbitMQ 3.10.8 answers"},
      {"broker does not name its product", NewAmqpConversation, amqp,
       AmqpStart(""), kSuccess, "broker answers"},
      {"broker has a property of an unknown type", NewAmqpConversation, amqp,
       AmqpStart(absl::StrCat(AmqpField("new", '?', ""), RabbitProperties())),
       kSuccess, "broker answers"},
      {"broker speaks AMQP 1.0", NewAmqpConversation, amqp,
       Bytes("AMQP\3\1\0\0"), kSuccess, "broker of AMQP 1-0-0 answers"},
      {"broker shuts down", NewAmqpConversation, amqp,
       AmqpClose(320, "CONNECTION_FORCED"), kNotReady,
       "broker answers: CONNECTION_FORCED (320)"},
      {"broker has an error", NewAmqpConversation, amqp,
       AmqpClose(541, "INTERNAL_ERROR"), kServerError,
       "broker answers: INTERNAL_ERROR (541)"},

      {"Kafka answers", NewKafkaConversation, kafka,
       KafkaAnswer(Bytes("\0\0\0\0\0\1\0\x12\0\0\0\3")), kSuccess,
       "Kafka answers"},
      {"Kafka knows other versions", NewKafkaConversation, kafka,
       KafkaAnswer(Bytes("\0\x23\0\0\0\0")), kSuccess, "Kafka answers"},
      {"Kafka has an error", NewKafkaConversation, kafka,
       KafkaAnswer(Bytes("\xff\xff\0\0\0\0")), kServerError,
       "Kafka answers with error -1"},

      {"MongoDB on its own answers", NewMongodbConversation, mongo,
       MongoHello(Flag("isWritablePrimary", true)), kSuccess,
       "MongoDB answers"},
      {"MongoDB before 5.0 answers", NewMongodbConversation, mongo,
       MongoHello(Flag("ismaster", true)), kSuccess, "MongoDB answers"},
      {"MongoDB is primary", NewMongodbConversation, mongo,
       MongoHello(absl::StrCat(Text("setName", "rs0"),
                               Flag("isWritablePrimary", true),
                               Flag("secondary", false))),
       kSuccess, "MongoDB answers as primary of rs0"},
      {"MongoDB is secondary", NewMongodbConversation, mongo,
       MongoHello(absl::StrCat(Text("setName", "rs0"),
                               Flag("isWritablePrimary", false),
                               Flag("secondary", true))),
       kSuccess, "MongoDB answers as secondary of rs0"},
      {"MongoDB is arbiter", NewMongodbConversation, mongo,
       MongoHello(
           absl::StrCat(Text("setName", "rs0"), Flag("arbiterOnly", true))),
       kSuccess, "MongoDB answers as arbiter of rs0"},
      {"MongoDB is a router", NewMongodbConversation, mongo,
       MongoHello(absl::StrCat(Flag("isWritablePrimary", true),
                               Text("msg", "isdbgrid"))),
       kSuccess, "MongoDB answers as router"},
      {"MongoDB recovers", NewMongodbConversation, mongo,
       MongoHello(absl::StrCat(Text("setName", "rs0"),
                               Flag("isWritablePrimary", false),
                               Flag("secondary", false))),
       kNotReady,
       "MongoDB answers, and is neither primary nor secondary of rs0"},
      {"MongoDB has no configuration", NewMongodbConversation, mongo,
       MongoHello(absl::StrCat(Flag("isWritablePrimary", false),
                               Flag("isreplicaset", true))),
       kNotReady, "MongoDB answers, and its replica set has no configuration"},
      {"MongoDB does not know hello", NewMongodbConversation, mongo,
       MongoAnswer(absl::StrCat(Element('\1', "ok", std::string(8, '\0')),
                                Text("errmsg", "no such command: 'hello'"),
                                Element('\x10', "code", Bytes("\x3b\0\0\0")))),
       kSuccess, "MongoDB answers: no such command: 'hello' (error 59)"},
      {"MongoDB shuts down", NewMongodbConversation, mongo,
       MongoAnswer(absl::StrCat(Element('\x10', "ok", Bytes("\0\0\0\0")),
                                Text("errmsg", "shutdown"),
                                Element('\x10', "code", Bytes("\x5b\0\0\0")))),
       kNotReady, "MongoDB answers: shutdown (error 91)"},
      {"unit is active", NewUnit, auth,
       UnitStates("loaded", "active", "running"), kSuccess, "active (running)",
       calls},
      {"unit reloads", NewUnit, auth,
       UnitStates("loaded", "reloading", "reload"), kSuccess,
       "reloading (reload)", calls},
      {"unit starts", NewUnit, auth,
       UnitStates("loaded", "activating", "auto-restart"), kNotReady,
       "activating (auto-restart)", calls},
      {"unit is inactive", NewUnit, auth,
       UnitStates("loaded", "inactive", "dead"), kNotReady, "inactive (dead)",
       calls},
      {"unit has failed", NewUnit, auth,
       UnitStates("loaded", "failed", "failed"), kNotReady, "failed", calls},
      {"there is no unit", NewUnit, auth,
       UnitStates("not-found", "inactive", "dead"), kNotReady,
       "there is no such unit", calls},
      {"there is no systemd", NewUnit, auth,
       absl::StrCat("OK 12\r\n",
                    BusMessage('\3', '\2', 's', BusText("no such name"),
                               absl::StrCat(Bytes("\0\4\1s\0"),
                                            BusText("a.ServiceUnknown")))),
       kServerError, "systemd answers: no such name (a.ServiceUnknown)", calls},
      {"the bus refuses the user", NewUnit, auth, "REJECTED EXTERNAL\r\n",
       kServerError, "the system bus refuses this user"},

      {"MongoDB has an error", NewMongodbConversation, mongo,
       MongoAnswer(absl::StrCat(Text("errmsg", "broken"),
                                Element('\x10', "code", Bytes("\1\0\0\0")))),
       kServerError, "MongoDB answers: broken (error 1)"},
  };
}

// Gives a conversation all bytes, `size` at a time, until it ends.
struct Played {
  std::string sent;
  std::optional<Finding> finding;
  bool is_foreign = false;
};

Played Play(Conversation& conversation, std::string_view bytes, size_t size) {
  Played played;
  std::string received;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(part.size());
    received.append(part);
    const Conversation::Step step = conversation.Receive(received);
    played.sent.append(step.send);
    played.finding = step.finding;
    played.is_foreign = step.is_foreign;
    if (played.finding.has_value() || played.is_foreign) return played;
  }
  return played;
}

TEST(ConversationTest, AnswersHaveTheirMeanings) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    for (const size_t size : {c.received.size(), size_t{1}, size_t{3}}) {
      const std::unique_ptr<Conversation> conversation = c.make();
      EXPECT_EQ(absl::CEscape(conversation->Opening()),
                absl::CEscape(c.opening));
      const Played played = Play(*conversation, c.received, size);
      ASSERT_TRUE(played.finding.has_value()) << size << " bytes at a time";
      EXPECT_EQ(played.finding->status, c.status) << played.finding->detail;
      EXPECT_EQ(played.finding->detail, c.detail);
      EXPECT_EQ(played.sent, c.sent);
    }
  }
}

TEST(ConversationTest, PartOfAnAnswerIsNone) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const std::unique_ptr<Conversation> conversation = c.make();
    const Played played =
        Play(*conversation,
             std::string_view(c.received).substr(0, c.received.size() - 1),
             c.received.size());
    EXPECT_FALSE(played.finding.has_value());
    EXPECT_FALSE(played.is_foreign);
    EXPECT_FALSE(conversation->Awaited().empty());
    EXPECT_FALSE(conversation->AtEnd().has_value());
  }
}

TEST(ConversationTest, OtherProtocolsAreForeign) {
  struct Foreign {
    std::unique_ptr<Conversation> (*make)();
    std::vector<std::string> received;
  };
  const std::string http = "HTTP/1.1 400 Bad Request\r\n\r\n";
  const std::string ssh = "SSH-2.0-OpenSSH_9.2\r\n";
  const std::string tls = Bytes("\x15\3\1\0\2\2\x46");
  const std::vector<Foreign> table = {
      {NewMemcachedConversation,
       {http, ssh, "+PONG\r\n", std::string(2049, 'a')}},
      {NewNatsConversation,
       {http, ssh, tls, "PONG\r\n", "INFO [1]\r\n", "INFO {\r\n",
        absl::StrCat("INFO ", std::string(40'000, ' ')),
        "INFO {}\r\nMSG a\r\n"}},
      {NewAmqpConversation,
       {http, ssh, tls, "AMQT", Bytes("\1\0\0\xff\xff\xff\xff"),
        Bytes("\1\0\0\0\0\0\4\0\x0a\0\x0a\0"), AmqpFrame(Bytes("\0\x0a\0\x0b")),
        AmqpFrame(Bytes("\0\x14\0\x0a")), AmqpFrame("\1"),
        AmqpFrame(Bytes("\0\x0a\0\x0a\0\x09\0\0\0\7"))}},
      {NewKafkaConversation,
       {http, ssh, tls, Bytes("\0\0\0\x0a") + "tiaw", Bytes("\0\0\0\1"),
        Bytes("\xff\xff\xff\xff")}},
      {NewMongodbConversation,
       {http, ssh, Bytes("\x0f\0\0\0"),
        Bytes("\x20\0\0\0\1\0\0\0\2\0\0\0\xdd\7\0\0"),
        Bytes("\x20\0\0\0\1\0\0\0tiaw\1\0\0\0"),
        MongoAnswer(Element('\x55', "a", "")),
        MongoAnswer(Element('\2', "a", ""))}},
  };
  for (const Foreign& row : table) {
    for (const std::string& received : row.received) {
      const std::unique_ptr<Conversation> conversation = row.make();
      const Played played = Play(*conversation, received, received.size());
      EXPECT_TRUE(played.is_foreign) << conversation->Server() << ": "
                                     << absl::CEscape(received.substr(0, 80));
      EXPECT_FALSE(played.finding.has_value());
    }
  }
}

TEST(ConversationTest, ReplicaSetWithoutConfigurationHasAdvice) {
  const std::unique_ptr<Conversation> conversation = NewMongodbConversation();
  const Played played = Play(
      *conversation, MongoHello(Flag("isreplicaset", true)), size_t{1} << 16);
  ASSERT_TRUE(played.finding.has_value());
  EXPECT_EQ(played.finding->hint, "call rs.initiate(), or use tcp:");
}

TEST(SystemdConversationTest, UnitThatEndedIsAbsent) {
  for (const auto& [load, active, absent] :
       std::vector<std::tuple<std::string, std::string, bool>>{
           {"loaded", "active", false},
           {"loaded", "activating", false},
           {"loaded", "deactivating", false},
           {"loaded", "inactive", true},
           {"loaded", "failed", true},
           {"not-found", "inactive", true}}) {
    const std::unique_ptr<Conversation> conversation = NewUnit();
    const std::string states = UnitStates(load, active, "a");
    const Played played = Play(*conversation, states, states.size());
    ASSERT_TRUE(played.finding.has_value());
    EXPECT_EQ(played.finding->absent, absent) << load << " " << active;
  }
}

TEST(SystemdConversationTest, PathEncodesWhatIsNeitherLetterNorDigit) {
  EXPECT_EQ(SystemdUnitPath("1a@\xc3.service"),
            "/org/freedesktop/systemd1/unit/_31a_40_c3_2eservice");
}

TEST(ByteReaderTest, ReadsIntegersAndTextsUntilTheEnd) {
  const std::string bytes = Bytes("\1\2\xff\xfe\3\0\0\0ab\0cd");
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Big<uint16_t>(), 0x0102);
  EXPECT_EQ(reader.Big<int16_t>(), -2);
  EXPECT_EQ(reader.Little<uint32_t>(), 3U);
  EXPECT_EQ(reader.TakeUntilZero(), "ab");
  EXPECT_EQ(reader.left(), "cd");
  EXPECT_EQ(reader.Take(2), "cd");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.Little<int64_t>(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReaderTest, ReadsNothingPastTheEnd) {
  ByteReader reader("abc");
  EXPECT_EQ(reader.Big<uint32_t>(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Take(1), "");
  ByteReader text("abc");
  EXPECT_EQ(text.TakeUntilZero(), "");
  EXPECT_FALSE(text.ok());
}

}  // namespace
}  // namespace waiter::cli::conversation_test
