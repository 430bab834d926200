// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/dns_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "waiter/poll.h"

namespace waiter::cli::dns_probe_test {
namespace {

using testing::IsEmpty;

constexpr size_t kHeader = 12;
constexpr int kNoSuchName = 3;
constexpr int kServerFailure = 2;

std::string Number(int number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

// Encodes a name as DNS does.
std::string Name(std::string_view name) {
  std::string bytes;
  for (const std::string_view part : absl::StrSplit(name, '.')) {
    absl::StrAppend(&bytes, std::string(1, static_cast<char>(part.size())),
                    part);
  }
  bytes.push_back('\0');
  return bytes;
}

// Encodes a record for the queried name, which follows the header.
std::string Record(int type, std::string_view data) {
  constexpr int kPointer = 0xc000 | kHeader;
  return absl::StrCat(Number(kPointer), Number(type), Number(1), Number(0),
                      Number(60), Number(static_cast<int>(data.size())), data);
}

// Encodes an answer to `query`, which is a header and one question.
std::string Reply(const std::string& query, int code,
                  const std::vector<std::string>& records) {
  constexpr int kIsReply = 0x8180;
  std::string reply = absl::StrCat(
      query.substr(0, 2), Number(kIsReply | code), Number(1),
      Number(static_cast<int>(records.size())), Number(0), Number(0));
  // Drops the parts that a query may have after its question.
  const size_t name_end = query.find('\0', kHeader);
  reply += query.substr(kHeader, name_end + 5 - kHeader);
  for (const std::string& record : records) reply += record;
  return reply;
}

std::string Query(std::string_view name, int type) {
  return absl::StrCat("ab", Number(0x0100), Number(1), Number(0), Number(0),
                      Number(0), Name(name), Number(type), Number(1));
}

struct Answered {
  std::string_view type;
  int number;
  std::vector<std::string> data;
  std::vector<std::string> texts;
};

std::vector<Answered> AllTypes() {
  const std::string pointer = Number(0xc000 | kHeader);
  return {
      {"A", 1, {{127, 0, 0, 1}, {10, 0, 0, 2}}, {"127.0.0.1", "10.0.0.2"}},
      {"AAAA", 28, {std::string(15, '\0') + "\1"}, {"::1"}},
      {"CNAME", 5, {Name("b.test")}, {"b.test"}},
      {"NS", 2, {absl::StrCat("\2ns", pointer)}, {"ns.a.test"}},
      {"PTR", 12, {Name("b.test")}, {"b.test"}},
      {"MX", 15, {absl::StrCat(Number(10), Name("mx.test"))}, {"10 mx.test"}},
      {"MX", 15, {absl::StrCat(Number(0), Name("").substr(1))}, {"0 ."}},
      {"SRV",
       33,
       {absl::StrCat(Number(1), Number(2), Number(389), Name("ldap.test"))},
       {"1 2 389 ldap.test"}},
      {"TXT", 16, {"\3v=1\2;x"}, {"v=1;x"}},
      {"CAA",
       257,
       {std::string("\0\5issue;", 8)},
       {std::string("\0\5issue;", 8)}},
      {"SOA",
       6,
       {absl::StrCat(Name("ns.test"), Name("root.test"), std::string(20, 'x'))},
       {"ns.test"}},
  };
}

TEST(DnsAnswerTest, RecordsOfEachTypeAreParsed) {
  for (const Answered& answered : AllTypes()) {
    std::vector<std::string> records = {Record(99, "of another type")};
    for (const std::string& data : answered.data) {
      records.push_back(Record(answered.number, data));
    }
    const std::string message =
        Reply(Query("a.test", answered.number), 0, records);
    const absl::StatusOr<std::vector<std::string>> texts =
        ReadDnsAnswer(message, answered.type);
    ASSERT_TRUE(texts.ok()) << answered.type;
    EXPECT_EQ(*texts, answered.texts) << answered.type;

    // A message cut short anywhere is malformed, and nothing worse.
    for (size_t size = 0; size < message.size(); ++size) {
      EXPECT_TRUE(absl::IsUnavailable(
          ReadDnsAnswer(message.substr(0, size), answered.type).status()))
          << answered.type << " " << size;
    }
  }
}

TEST(DnsAnswerTest, TruncatedRecordsAreMalformed) {
  for (const Answered& answered : AllTypes()) {
    if (answered.type == "CAA" || answered.type == "SOA") continue;
    std::string data = answered.data[0];
    data.pop_back();
    const std::string message = Reply(Query("a.test", answered.number), 0,
                                      {Record(answered.number, data)});
    EXPECT_FALSE(ReadDnsAnswer(message, answered.type).ok()) << answered.type;
  }
}

TEST(DnsAnswerTest, AliasAloneIsNotAnAddress) {
  const std::string message =
      Reply(Query("a.test", 1), 0, {Record(5, Name("b.test"))});
  EXPECT_THAT(*ReadDnsAnswer(message, "A"), IsEmpty());
}

// A name server on a loopback port.
class NameServer {
 public:
  // Answers every query with `records`, or with the error `code` if not zero.
  NameServer(EventLoop& loop, int code, std::vector<std::string> records)
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        code_(code),
        records_(std::move(records)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(bind(socket_.get(), Address(address_), size), 0);
    EXPECT_EQ(getsockname(socket_.get(), Address(address_), &size), 0);
    watch_ = loop.WhenReady(socket_.get(), POLLIN, [this](short) { Answer(); });
  }

  uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  static sockaddr* Address(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
  }

  void Answer() const {
    std::array<char, 512> query;
    sockaddr_in client = {};
    socklen_t size = sizeof(client);
    const ssize_t count = recvfrom(socket_.get(), query.data(), query.size(), 0,
                                   Address(client), &size);
    if (count < 0) return;
    const std::string reply = Reply(
        std::string(query.data(), static_cast<size_t>(count)), code_, records_);
    sendto(socket_.get(), reply.data(), reply.size(), 0, Address(client), size);
  }

  UniqueFd socket_;
  sockaddr_in address_ = {};
  const int code_;
  const std::vector<std::string> records_;
  EventLoop::Watch watch_;
};

class DnsProbeTest : public testing::Test {
 protected:
  Finding Poll(int code, const std::vector<std::string>& records) {
    return PollFor("", "MX", code, records);
  }

  // Asks a name server that answers with `records` for one with a value.
  Finding PollFor(const std::string& value, const std::string& type, int code,
                  const std::vector<std::string>& records) {
    const NameServer server(loop_, code, records);
    Resolver resolver(calls_);
    DnsProbe probe(resolver,
                   {.name = "a.test.",
                    .type = type,
                    .value = value,
                    .server = "127.0.0.1",
                    .port = server.port()},
                   AddressFamily::kAny, match_);
    found_.reset();
    probe.Start({}, [this](Finding finding) { found_ = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return found_.has_value(); }));
    return *found_;
  }

  EventLoop loop_;
  BlockingCalls calls_{loop_};
  std::optional<TextRegex> match_;
  std::optional<Finding> found_;
};

TEST_F(DnsProbeTest, NameIsReadyOnceItHasRecordsOfTheType) {
  Poll(0, {Record(15, absl::StrCat(Number(10), Name("a.mx"))),
           Record(15, absl::StrCat(Number(20), Name("b.mx")))});
  EXPECT_EQ(found_->status, PollStatus::kSuccess);
  EXPECT_EQ(found_->detail, "10 a.mx, 20 b.mx");
  EXPECT_FALSE(found_->absent);
}

TEST_F(DnsProbeTest, NameThatTheServerDeniesIsAbsent) {
  Poll(kNoSuchName, {});
  EXPECT_EQ(found_->status, PollStatus::kNotReady);
  EXPECT_EQ(found_->detail, "no such name");
  EXPECT_TRUE(found_->absent);

  Poll(0, {});
  EXPECT_EQ(found_->status, PollStatus::kNotReady);
  EXPECT_EQ(found_->detail, "no MX records");
  EXPECT_TRUE(found_->absent);

  Poll(0, {Record(5, Name("alias.test"))});
  EXPECT_EQ(found_->detail, "no MX records");
  EXPECT_TRUE(found_->absent);
}

TEST_F(DnsProbeTest, RecordMayHaveToHaveAValue) {
  struct Case {
    std::string type;
    int number;
    std::string data;
    std::string value;
    bool has;
  };
  const std::string address("\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  for (const Case& test : std::vector<Case>{
           {"A", 1, {127, 0, 0, 1}, "127.0.0.1", true},
           {"A", 1, {127, 0, 0, 1}, "127.0.0.10", false},
           {"AAAA", 28, address, "2001:DB8:0::1", true},
           {"AAAA", 28, address, "2001:db8::2", false},
           {"CNAME", 5, Name("B.test"), "b.TEST.", true},
           {"CNAME", 5, Name("b.test"), "test", false},
           {"MX", 15, Number(10) + Name("mx.test"), "mx.test", true},
           {"MX", 15, Number(10) + Name("mx.test"), "10 mx.test.", true},
           {"MX", 15, Number(10) + Name("mx.test"), "20 mx.test", false},
           {"TXT", 16, "\3v=A", "v=A", true},
           {"TXT", 16, "\3v=A", "v=a", false}}) {
    SCOPED_TRACE(absl::StrCat(test.type, " ", test.value));
    PollFor(test.value, test.type, 0, {Record(test.number, test.data)});
    EXPECT_EQ(found_->status,
              test.has ? PollStatus::kSuccess : PollStatus::kNotReady);
    EXPECT_EQ(found_->absent, !test.has);
  }
  const std::vector<std::string> two = {Record(1, std::string("\12\0\0\1", 4)),
                                        Record(1, std::string("\12\0\0\2", 4))};
  PollFor("10.0.0.9", "A", 0, two);
  EXPECT_EQ(found_->detail, "10.0.0.1, 10.0.0.2, and not 10.0.0.9");
  PollFor("10.0.0.2", "A", 0, two);
  EXPECT_EQ(found_->status, PollStatus::kSuccess);
}

TEST_F(DnsProbeTest, RecordMayHaveToMatch) {
  const std::vector<std::string> two = {
      Record(15, Number(10) + Name("a.mx.test")),
      Record(15, Number(20) + Name("b.mx.test"))};
  match_ = *TextRegex::Parse("^20 .*[.]mx[.]test$");
  Poll(0, two);
  EXPECT_EQ(found_->status, PollStatus::kSuccess);
  EXPECT_EQ(found_->detail, "10 a.mx.test, 20 b.mx.test");

  match_ = *TextRegex::Parse("^mx[.]");
  Poll(0, two);
  EXPECT_EQ(found_->status, PollStatus::kNotReady);
  EXPECT_EQ(found_->detail,
            "10 a.mx.test, 20 b.mx.test, none of which matches ^mx[.]");
  EXPECT_TRUE(found_->absent);
}

TEST_F(DnsProbeTest, AddressMayHaveToHaveAValue) {
  Resolver resolver(calls_);
  for (const auto& [value, status] :
       std::vector<std::pair<std::string, PollStatus>>{
           {"127.0.0.1", PollStatus::kSuccess},
           {"127.0.0.2", PollStatus::kNotReady}}) {
    DnsProbe probe(resolver, {.name = "localhost", .value = value},
                   AddressFamily::kIpv4);
    found_.reset();
    probe.Start({}, [this](Finding finding) { found_ = std::move(finding); });
    ASSERT_TRUE(RunUntil(loop_, [&] { return found_.has_value(); }));
    EXPECT_EQ(found_->status, status) << value;
  }
}

TEST_F(DnsProbeTest, FailingServerProvesNothing) {
  Poll(kServerFailure, {});
  EXPECT_THAT(found_->hint,
              testing::HasSubstr("is the name server 127.0.0.1:"));
  EXPECT_EQ(found_->status, PollStatus::kServerError);
  EXPECT_FALSE(found_->absent);
}

TEST_F(DnsProbeTest, SilentServerProvesNothing) {
  Resolver resolver(calls_, [](const NameQuestion&) { return NameAnswer{}; });
  DnsProbe probe(resolver, {.name = "a"});
  probe.Start({}, [this](Finding finding) { found_ = std::move(finding); });

  probe.TimeOut(absl::Seconds(10));

  ASSERT_TRUE(found_.has_value());
  EXPECT_EQ(found_->status, PollStatus::kServerError);
  EXPECT_EQ(found_->detail, "no answer from the name servers within 10s");
  EXPECT_FALSE(found_->absent);
}

TEST_F(DnsProbeTest, AddressesAreLookedUpWithoutAType) {
  Resolver resolver(calls_);
  DnsProbe probe(resolver, {.name = "localhost"}, AddressFamily::kIpv4);
  probe.Start({}, [this](Finding finding) { found_ = std::move(finding); });
  ASSERT_TRUE(RunUntil(loop_, [&] { return found_.has_value(); }));
  EXPECT_EQ(found_->status, PollStatus::kSuccess);
  EXPECT_EQ(found_->detail, "127.0.0.1");
}

}  // namespace
}  // namespace waiter::cli::dns_probe_test
