// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/socket/first_of_probe.h"
#include "cli/probes/socket/socket_probe.h"
#include "cli/probes/target.h"
#include "cli/probes/wire/conversation.h"
#include "cli/probes/wire/mysql_conversation.h"
#include "cli/probes/wire/postgres_conversation.h"
#include "cli/probes/wire/redis_conversation.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_server.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::cli::probes_test {
namespace {

constexpr std::string_view kPing = "PING\r\n";

// Returns a text that may contain zeros.
template <size_t size>
std::string Bytes(const char (&text)[size]) {  // NOLINT(*-avoid-c-arrays)
  return std::string(text, size - 1);
}

// Encodes a message of PostgreSQL: type, length, body.
std::string Message(char type, std::string_view body) {
  const size_t length = body.size() + 4;
  return absl::StrCat(std::string(1, type), std::string(2, '\0'),
                      std::string(1, static_cast<char>(length >> 8)),
                      std::string(1, static_cast<char>(length & 0xff)), body);
}

std::string PostgresError(std::string_view sql_state, std::string_view text) {
  const std::string zero(1, '\0');
  return Message('E', absl::StrCat("SFATAL", zero, "VFATAL", zero, "C",
                                   sql_state, zero, "M", text, zero, zero));
}

std::string StartUp() {
  return Bytes(
      "\0\0\0A\0\3\0\0user\0postgres\0database\0postgres\0"
      "application_name\0waiter\0\0");
}

// Encodes a packet of MySQL: length, sequence number, body.
std::string Packet(int sequence, std::string_view body) {
  return absl::StrCat(std::string(1, static_cast<char>(body.size() & 0xff)),
                      std::string(1, static_cast<char>(body.size() >> 8)),
                      std::string(1, '\0'),
                      std::string(1, static_cast<char>(sequence)), body);
}

std::string Greeting() {
  return Packet(
      0, Bytes("\x0a"
               "8.0.36\0\x08\0\0\0abcdefgh\0\xff\xff\xff\2\0\xff\xdf\x15"
               "\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0"));
}

std::string MysqlLogIn() {
  return Packet(1, Bytes("\x01\x82\x08\0\0\0\0\1\x21"
                         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                         "waiter\0\0mysql_native_password\0"));
}

std::string MysqlError(int sequence, int code, std::string_view text) {
  return Packet(sequence,
                absl::StrCat("\xff", std::string(1, static_cast<char>(code)),
                             std::string(1, static_cast<char>(code >> 8)),
                             "#08004", text));
}

struct Case {
  std::string_view scheme;
  Script script;
  PollStatus status = PollStatus::kSuccess;
  std::string_view detail;  // PEER means the address of the server.
  std::string_view hint = {};
  std::string farewell = {};  // Bytes that the server gets at the end.
};

NewConversation ConversationWith(std::string_view scheme) {
  if (scheme == "redis") return NewRedisConversation;
  if (scheme == "postgres") return NewPostgresConversation;
  return scheme == "mysql" ? NewMysqlConversation : NewConversation();
}

class ProbesTest : public testing::Test {
 protected:
  std::unique_ptr<Probe> NewProbe(const std::string& text) {
    const absl::StatusOr<Target> target = ParseTarget(text);
    EXPECT_TRUE(target.ok()) << target.status();
    return std::make_unique<SocketProbe>(
        loop_, resolver_, std::get<ServerTarget>(target->what),
        ConversationWith(target->scheme->name));
  }

  Probe::Done Keep() {
    return [this](Finding finding) {
      EXPECT_FALSE(found_.has_value()) << "the probe answered twice";
      found_ = std::move(finding);
    };
  }

  bool AwaitFinding() {
    return RunUntil(loop_, [&] { return found_.has_value(); });
  }

  // Polls a server at `host` that plays the script.
  void Check(const Case& c, const std::string& host) {
    UniqueFd bound = BindTcp(host);
    const std::string peer =
        absl::StrCat(host == "::1" ? "[::1]" : host, ":", PortOf(bound));
    SCOPED_TRACE(absl::StrCat(c.scheme, " ", c.detail));
    const ScriptedServer server(loop_, std::move(bound), c.script);
    const std::unique_ptr<Probe> probe =
        NewProbe(absl::StrCat(c.scheme, "://", peer));
    found_.reset();
    probe->Start({}, Keep());
    ASSERT_TRUE(AwaitFinding());
    EXPECT_EQ(found_->status, c.status);
    EXPECT_EQ(found_->detail, absl::StrReplaceAll(c.detail, {{"PEER", peer}}));
    EXPECT_EQ(found_->hint, c.hint);
    EXPECT_FALSE(found_->absent);
    if (c.script.hangs_up) return;
    // The probe closes the connection, with its farewell.
    ASSERT_TRUE(RunUntil(
        loop_, [&] { return server.clients() == 1 && server.closed(); }));
    std::string expected;
    for (const Script::Turn& turn : c.script.turns) expected += turn.expect;
    if (!c.script.turns.empty()) {
      EXPECT_EQ(server.received(), absl::StrCat(expected, c.farewell));
    }
  }

  EventLoop loop_;
  BlockingCalls calls_{loop_};
  Resolver resolver_{calls_};
  std::optional<Finding> found_;
};

// Returns a script of one answer.
Script Answer(std::string_view question, std::string answer) {
  return {
      .turns = {{.expect = std::string(question), .send = std::move(answer)}}};
}

// Returns a script of one answer, after which the server hangs up.
Script LastAnswer(std::string_view question, std::string answer) {
  Script script = Answer(question, std::move(answer));
  script.hangs_up = true;
  return script;
}

std::vector<Case> RedisCases() {
  constexpr auto kOk = PollStatus::kSuccess;
  constexpr auto kNotReady = PollStatus::kNotReady;
  constexpr auto kError = PollStatus::kServerError;
  return {
      {"redis", Answer(kPing, "+PONG\r\n"), kOk, "Redis answers"},
      {"redis", Answer(kPing, "-NOAUTH Authentication required.\r\n"), kOk,
       "Redis answers: NOAUTH Authentication required."},
      {"redis", Answer(kPing, "-NOPERM this user has no permissions\r\n"), kOk,
       "Redis answers: NOPERM this user has no permissions"},
      {"redis",
       LastAnswer("", "-DENIED Redis is running in protected mode\r\n"), kOk,
       "Redis answers: DENIED Redis is running in protected mode"},
      {"redis",
       Answer(kPing, "-LOADING Redis is loading the dataset in memory\r\n"),
       kNotReady,
       "Redis answers: LOADING Redis is loading the dataset in memory"},
      {"redis", Answer(kPing, "-MASTERDOWN Link with MASTER is down\r\n"),
       kNotReady, "Redis answers: MASTERDOWN Link with MASTER is down"},
      {"redis", LastAnswer("", "-ERR max number of clients reached\r\n"),
       PollStatus::kThrottled,
       "Redis answers: ERR max number of clients reached"},
      {"redis", Answer(kPing, "-MISCONF Errors writing to the AOF\r\n"), kError,
       "Redis answers: MISCONF Errors writing to the AOF"},
      // A word with the same beginning means nothing.
      {"redis", Answer(kPing, "-LOADINGS\r\n"), kError,
       "Redis answers: LOADINGS"},
      {"redis", Answer(kPing, "+PANG\r\n"), kError,
       "connected to PEER, which does not speak the protocol of Redis: "
       "\"+PANG\"",
       "is this the port of Redis?"},
      {"redis", LastAnswer(kPing, "HTTP/1.1 400 Bad Request\r\n\r\n"), kError,
       "connected to PEER, which does not speak the protocol of Redis: "
       "\"HTTP/1.1 400 "
       "Bad Request\"",
       "the port speaks HTTP; use http://"},
      {"redis", LastAnswer(kPing, "\x15\x03\x01"), kError,
       "connected to PEER, which does not speak the protocol of Redis: "
       "\"\\x15\\x03\\x01\"",
       "the port speaks TLS; use exec: with a client for Redis"},
      {"redis", Answer(kPing, std::string(70'000, '-')), kError,
       "connected to PEER, which does not speak the protocol of Redis: "
       "\"------------------------------------------------------------"
       "------------------------------------------------------------...\"",
       "is this the port of Redis?"},
      {"redis", LastAnswer(kPing, ""), kError,
       "connected to PEER, connection closed before its answer to PING"},
      {"redis", LastAnswer(kPing, "+PO"), kError,
       "connected to PEER, connection closed in the middle of its "
       "answer to PING: \"+PO\""},
  };
}

std::vector<Case> PostgresCases() {
  constexpr auto kOk = PollStatus::kSuccess;
  constexpr auto kError = PollStatus::kServerError;
  const std::string start_up = StartUp();
  const std::string ready =
      absl::StrCat(Message('R', Bytes("\0\0\0\0")),
                   Message('S', Bytes("server_version\0"
                                      "15.6\0")),
                   Message('K', Bytes("\0\0\0\1\0\0\0\2")), Message('Z', "I"));
  return {
      {"postgres",
       Answer(start_up, Message('R', Bytes("\0\0\0\x0aSCRAM-SHA-256\0\0"))),
       kOk, "PostgreSQL requests authentication"},
      {"postgres", Answer(start_up, ready), kOk,
       "PostgreSQL is ready for queries", "", Bytes("X\0\0\0\4")},
      {"postgres",
       LastAnswer(start_up, PostgresError("57P03",
                                          "the database system is "
                                          "starting up")),
       PollStatus::kNotReady,
       "PostgreSQL answers: the database system is starting up (SQLSTATE "
       "57P03)"},
      {"postgres",
       LastAnswer(start_up,
                  PostgresError("53300", "sorry, too many clients already")),
       PollStatus::kThrottled,
       "PostgreSQL answers: sorry, too many clients already (SQLSTATE 53300)"},
      {"postgres",
       LastAnswer(start_up, PostgresError("28000", "no pg_hba.conf entry")),
       kOk, "PostgreSQL answers: no pg_hba.conf entry (SQLSTATE 28000)"},
      {"postgres",
       LastAnswer(start_up,
                  absl::StrCat(Message('R', Bytes("\0\0\0\0")),
                               PostgresError("3D000", "no such database"))),
       kOk, "PostgreSQL answers: no such database (SQLSTATE 3D000)"},
      {"postgres",
       LastAnswer(start_up, PostgresError("XX000", "internal error")), kError,
       "PostgreSQL answers: internal error (SQLSTATE XX000)"},
      {"postgres",
       LastAnswer(start_up, Bytes("Ecould not fork new process\n\0")), kError,
       "PostgreSQL answers: could not fork new process"},
      {"postgres", LastAnswer(start_up, "HTTP/1.1 400 Bad Request\r\n"), kError,
       "connected to PEER, which does not speak the protocol of PostgreSQL: "
       "\"HTTP/1.1 "
       "400 Bad Request\"",
       "the port speaks HTTP; use http://"},
      {"postgres", Answer(start_up, Bytes("R\0\0\0\6ab")), kError,
       "connected to PEER, which does not speak the protocol of PostgreSQL: "
       "\"R\\x00\\x00\\x00\\x06ab\"",
       "is this the port of PostgreSQL?"},
      {"postgres", Answer(start_up, Bytes("R\xff\xff\xff\xff")), kError,
       "connected to PEER, which does not speak the protocol of PostgreSQL: "
       "\"R\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
       "is this the port of PostgreSQL?"},
      {"postgres", LastAnswer(start_up, ""), kError,
       "connected to PEER, connection closed before its answer to the "
       "start-up packet"},
      {"postgres", LastAnswer(start_up, Message('R', Bytes("\0\0\0\0"))),
       kError,
       "connected to PEER, connection closed before its ReadyForQuery "
       "message"},
  };
}

std::vector<Case> MysqlCases() {
  constexpr auto kOk = PollStatus::kSuccess;
  constexpr auto kError = PollStatus::kServerError;
  constexpr std::string_view kUp = "MySQL 8.0.36 answers";
  const std::string log_in = MysqlLogIn();
  const auto after_log_in = [&](std::string answer) {
    return Script{.turns = {{.send = Greeting()},
                            {.expect = log_in, .send = std::move(answer)}},
                  .hangs_up = true};
  };
  return {
      {"mysql",
       after_log_in(MysqlError(2, 1045, "Access denied for user 'waiter'")),
       kOk, kUp},
      {"mysql",
       {.turns = {{.send = Greeting()},
                  {.expect = log_in,
                   .send = Packet(2, Bytes("\0\0\0\2\0\0"
                                           "\0"))}}},
       kOk,
       kUp,
       "",
       Bytes("\1\0\0\0\1")},
      // MariaDB names first the MySQL version that it replaces.
      {"mysql",
       {.turns = {{.send = Packet(0, Bytes("\x0a"
                                           "5.5.5-10.11.6-MariaDB-log"
                                           "\0rest"))},
                  {.expect = log_in,
                   .send = MysqlError(2, 1045, "Access denied")}}},
       kOk,
       "MariaDB 10.11.6 answers"},
      // The server wants another method, gets no password, and refuses.
      {"mysql",
       {.turns = {{.send = Greeting()},
                  {.expect = log_in,
                   .send = Packet(2, Bytes("\xfe"
                                           "caching_sha2_password\0abc"
                                           "\0"))},
                  {.expect = Bytes("\0\0\0\3"),
                   .send = MysqlError(4, 1045, "Access denied")}}},
       kOk,
       kUp},
      // The server wants another method, and hangs up.
      {"mysql",
       {.turns = {{.send = Greeting()},
                  {.expect = log_in, .send = Packet(2, "\xfe")},
                  {.expect = Bytes("\0\0\0\3")}},
        .hangs_up = true},
       kOk,
       kUp},
      {"mysql", LastAnswer("", MysqlError(0, 1040, "Too many connections")),
       PollStatus::kThrottled,
       "MySQL answers: Too many connections (error 1040)"},
      // An error without an SQLSTATE, as before 4.1.
      {"mysql",
       LastAnswer("", Packet(0, Bytes("\xff\x10\4Too many "
                                      "connections"))),
       PollStatus::kThrottled,
       "MySQL answers: Too many connections (error 1040)"},
      {"mysql", after_log_in(MysqlError(2, 1203, "User has too many")),
       PollStatus::kThrottled, "MySQL answers: User has too many (error 1203)"},
      {"mysql",
       after_log_in(MysqlError(2, 1053, "Server shutdown in progress")),
       PollStatus::kNotReady,
       "MySQL answers: Server shutdown in progress (error 1053)"},
      {"mysql", LastAnswer("", MysqlError(0, 1129, "Host 'a' is blocked")),
       PollStatus::kFailed, "MySQL answers: Host 'a' is blocked (error 1129)",
       "unblock this host with mysqladmin flush-hosts"},
      {"mysql", LastAnswer("", MysqlError(0, 1130, "Host 'a' is not allowed")),
       kOk, "MySQL answers: Host 'a' is not allowed (error 1130)"},
      {"mysql", LastAnswer("", MysqlError(0, 1135, "Can't create a thread")),
       kError, "MySQL answers: Can't create a thread (error 1135)"},
      {"mysql", Answer("", "SSH-2.0-OpenSSH_9.2\r\n"), kError,
       "connected to PEER, which does not speak the protocol of MySQL: "
       "\"SSH-2.0-OpenSSH_9.2\"",
       "is this the port of MySQL?"},
      {"mysql",
       Answer("", Packet(0,
                         "\x09"
                         "3.22")),
       kError,
       "connected to PEER, which does not speak the protocol of MySQL: "
       "\"\\x05\\x00\\x00\\x00\\x093.22\"",
       "is this the port of MySQL?"},
      {"mysql", LastAnswer("", ""), kError,
       "connected to PEER, connection closed before its greeting"},
      {"mysql", LastAnswer("", Greeting().substr(0, 8)), kError,
       "connected to PEER, connection closed in the middle of its "
       "greeting: \"J\\x00\\x00\\x00\\x0a8.0\""},
      {"mysql", after_log_in(""), kError,
       "connected to PEER, connection closed before its answer to the "
       "login"},
  };
}

TEST_F(ProbesTest, AnswersHaveTheirMeanings) {
  for (const std::vector<Case>& cases :
       {RedisCases(), PostgresCases(), MysqlCases()}) {
    for (const Case& c : cases) Check(c, "127.0.0.1");
  }
}

TEST_F(ProbesTest, AnswersMayComeByteByByte) {
  for (const std::vector<Case>& cases :
       {RedisCases(), PostgresCases(), MysqlCases()}) {
    for (Case c : cases) {
      // The probe recognizes a foreign server by its first bytes.
      if (c.status == PollStatus::kServerError) continue;
      c.script.byte_by_byte = true;
      Check(c, "127.0.0.1");
    }
  }
}

TEST_F(ProbesTest, ServerMayListenOnIpv6Only) {
  Check(RedisCases().front(), "::1");
}

TEST_F(ProbesTest, ConnectionThatIsClosedTooSoonIsNotReady) {
  struct Row {
    Script script;
    absl::Duration hold_open;
    PollStatus status;
    std::string_view detail;
  };
  for (const Row& row :
       std::vector<Row>{{{.hangs_up = true},
                         absl::Hours(1),
                         PollStatus::kNotReady,
                         "connected to PEER, connection closed within 1h"},
                        {{},
                         absl::Milliseconds(20),
                         PollStatus::kSuccess,
                         "connected to PEER"},
                        {LastAnswer("", "220 ready"), absl::Hours(1),
                         PollStatus::kSuccess, "connected to PEER"}}) {
    UniqueFd bound = BindTcp("127.0.0.1");
    const uint16_t port = PortOf(bound);
    const ScriptedServer server(loop_, std::move(bound), row.script);
    SocketProbe probe(loop_, resolver_, {.host = "127.0.0.1", .port = port},
                      nullptr, AddressFamily::kAny, "", row.hold_open);
    found_.reset();
    probe.Start({}, Keep());
    ASSERT_TRUE(AwaitFinding());
    EXPECT_EQ(found_->status, row.status);
    EXPECT_EQ(found_->detail,
              absl::StrReplaceAll(
                  row.detail, {{"PEER", absl::StrCat("127.0.0.1:", port)}}));
  }
}

// The second of three servers hangs.
TEST_F(ProbesTest, OneOfSeveralServersIsEnough) {
  for (const std::string& last :
       {std::string("+PONG\r\n"), std::string("-LOADING data\r\n")}) {
    std::vector<UniqueFd> bound;
    std::vector<std::unique_ptr<Probe>> probes;
    for (int i = 0; i < 3; ++i) {
      bound.push_back(BindTcp("127.0.0.1"));
      probes.push_back(
          NewProbe(absl::StrCat("redis://127.0.0.1:", PortOf(bound.back()))));
    }
    const uint16_t refusing = PortOf(bound[0]);
    const ScriptedServer silent(loop_, std::move(bound[1]), {});
    const ScriptedServer server(loop_, std::move(bound[2]),
                                Answer(kPing, last));
    FirstOfProbe probe(loop_, std::move(probes));
    found_.reset();
    probe.Start({}, Keep());
    const bool is_ready = last == "+PONG\r\n";
    if (!is_ready) {
      ASSERT_TRUE(RunUntil(
          loop_, [&] { return server.clients() == 1 && server.closed(); }));
      EXPECT_FALSE(found_.has_value());
      probe.TimeOut(absl::Seconds(9));
    }
    ASSERT_TRUE(AwaitFinding());
    EXPECT_EQ(found_->status,
              is_ready ? PollStatus::kSuccess : PollStatus::kNotReady);
    EXPECT_EQ(found_->detail,
              is_ready ? "Redis answers"
                       : absl::StrCat(
                             "refused by 127.0.0.1:", refusing,
                             "; Redis answers: LOADING data; connected to "
                             "127.0.0.1:",
                             silent.port(), ", no answer to PING within 9s"));
    EXPECT_FALSE(found_->absent);
  }
}

struct Silent {
  std::string_view scheme;
  Script script;
  std::string_view detail;
  PollStatus status = PollStatus::kServerError;
};

std::vector<Silent> SilentServers() {
  const std::string log_in = MysqlLogIn();
  return {
      {"redis",
       {.turns = {{.expect = std::string(kPing)}}},
       "connected to PEER, no answer to PING within 10s"},
      {"redis", Answer(kPing, "+PO"),
       "connected to PEER, only part of its answer to PING within 10s: "
       "\"+PO\""},
      {"postgres",
       {.turns = {{.expect = StartUp()}}},
       "connected to PEER, no answer to the start-up packet within 10s"},
      {"postgres", Answer(StartUp(), Message('R', Bytes("\0\0\0\0"))),
       "connected to PEER, no ReadyForQuery message within 10s"},
      {"mysql", {}, "connected to PEER, no greeting within 10s"},
      {"mysql",
       {.turns = {{.send = Greeting()}, {.expect = log_in}}},
       "connected to PEER, no answer to the login within 10s"},
      {"mysql",
       {.turns = {{.send = Greeting()},
                  {.expect = log_in, .send = Packet(2, "\xfe")},
                  {.expect = Bytes("\0\0\0\3")}}},
       "MySQL 8.0.36 answers",
       PollStatus::kSuccess},
  };
}

TEST_F(ProbesTest, TimeoutNamesTheMissingAnswer) {
  for (const Silent& c : SilentServers()) {
    SCOPED_TRACE(c.detail);
    UniqueFd bound = BindTcp("127.0.0.1");
    const std::string peer = absl::StrCat("127.0.0.1:", PortOf(bound));
    const ScriptedServer server(loop_, std::move(bound), c.script);
    const std::unique_ptr<Probe> probe =
        NewProbe(absl::StrCat(c.scheme, "://", peer));
    found_.reset();
    probe->Start({}, Keep());
    size_t expected = 0;
    for (const Script::Turn& turn : c.script.turns) {
      expected += turn.expect.size();
    }
    ASSERT_TRUE(RunUntil(loop_, [&] {
      return server.clients() == 1 && server.received().size() == expected;
    }));
    // Gives an answer, if any, time to arrive.
    for (int round = 0; round < 10; ++round) {
      loop_.Post([] {});
      loop_.RunOnce(MonotonicTime::max());
    }
    ASSERT_FALSE(found_.has_value());

    probe->TimeOut(absl::Seconds(10));

    ASSERT_TRUE(found_.has_value());
    EXPECT_EQ(found_->detail, absl::StrReplaceAll(c.detail, {{"PEER", peer}}));
    EXPECT_EQ(found_->status, c.status);
    EXPECT_FALSE(found_->absent);
    EXPECT_TRUE(RunUntil(loop_, [&] { return server.closed(); }));
  }
}

TEST_F(ProbesTest, ConnectionIsEnoughForTcpAndUnix) {
  UniqueFd bound = BindTcp("127.0.0.1");
  const std::string peer = absl::StrCat("127.0.0.1:", PortOf(bound));
  const std::unique_ptr<Probe> tcp = NewProbe(absl::StrCat("tcp://", peer));
  tcp->Start({}, Keep());
  ASSERT_TRUE(AwaitFinding());
  EXPECT_EQ(found_->detail, absl::StrCat("refused by ", peer));
  EXPECT_EQ(found_->status, PollStatus::kNotReady);
  EXPECT_TRUE(found_->absent);

  // A probe polls many times.
  const ScriptedServer server(loop_, std::move(bound), {});
  for (size_t clients = 1; clients <= 3; ++clients) {
    found_.reset();
    tcp->Start({}, Keep());
    ASSERT_TRUE(AwaitFinding());
    EXPECT_EQ(found_->detail, absl::StrCat("connected to ", peer));
    EXPECT_EQ(found_->status, PollStatus::kSuccess);
    EXPECT_TRUE(RunUntil(
        loop_, [&] { return server.clients() == clients && server.closed(); }));
  }

  const std::string name = absl::StrCat("@probes", getpid());
  const ScriptedServer local(loop_, BindUnix(name), {});
  const std::unique_ptr<Probe> path = NewProbe(absl::StrCat("unix:", name));
  found_.reset();
  path->Start({}, Keep());
  ASSERT_TRUE(AwaitFinding());
  EXPECT_EQ(found_->detail, absl::StrCat("connected to ", name));
  EXPECT_EQ(found_->status, PollStatus::kSuccess);
}

TEST_F(ProbesTest, CancelledOrDestroyedPollDoesNotAnswer) {
  const ScriptedServer server(loop_, BindTcp("127.0.0.1"), {});
  std::unique_ptr<Probe> probe =
      NewProbe(absl::StrCat("redis://127.0.0.1:", server.port()));
  probe->Start({}, Keep());
  probe->Cancel();
  probe->Start({}, Keep());
  ASSERT_TRUE(RunUntil(loop_, [&] {
    return server.clients() == 2 && server.received() == kPing;
  }));
  probe.reset();
  EXPECT_TRUE(RunUntil(loop_, [&] { return server.closed(); }));

  probe = NewProbe("tcp://localhost:1");
  probe->Start({}, Keep());
  probe.reset();
  loop_.RunOnce(MonotonicTime::min());

  EXPECT_FALSE(found_.has_value());
}

TEST_F(ProbesTest, AnswerMayEndItsProbe) {
  const ScriptedServer server(loop_, BindTcp("127.0.0.1"),
                              Answer(kPing, "+PONG\r\n"));
  std::unique_ptr<Probe> probe =
      NewProbe(absl::StrCat("redis://127.0.0.1:", server.port()));
  bool answered = false;
  probe->Start({}, [&](const Finding& finding) {
    EXPECT_EQ(finding.status, PollStatus::kSuccess);
    probe.reset();
    answered = true;
  });
  EXPECT_TRUE(RunUntil(loop_, [&] { return answered; }));
}

TEST(ExcerptTest, ExcerptIsShortAndPrintable) {
  EXPECT_EQ(Excerpt("a\x1b[2Jb\r\n"), "a\\x1b[2Jb");
  EXPECT_EQ(Excerpt(std::string(121, 'a')),
            absl::StrCat(std::string(120, 'a'), "..."));
}

}  // namespace
}  // namespace waiter::cli::probes_test
