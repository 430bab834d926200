// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/connector.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/unique_fd.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_server.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::cli::connector_test {
namespace {

// Binds one port in both families; neither socket listens.
struct TwoFamilies {
  TwoFamilies() {
    // A port that is free in one family may be taken in the other.
    for (int attempt = 0; attempt < 100 && !ipv6; ++attempt) {
      ipv4 = BindTcp("127.0.0.1");
      ipv6 = BindTcp("::1", PortOf(ipv4));
    }
    EXPECT_TRUE(ipv6);
    port = PortOf(ipv4);
  }
  UniqueFd ipv4;
  UniqueFd ipv6;
  uint16_t port = 0;
};

// Listens, yet answers no connection attempt, as its queue is full.
class Silence {
 public:
  explicit Silence(const UniqueFd& bound) {
    EXPECT_EQ(listen(bound.get(), 0), 0);
    const SocketAddress address =
        FixedAddresses("127.0.0.1", PortOf(bound)).front();
    for (int i = 0; i < 8; ++i) {
      waiting_.emplace_back(
          socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      connect(waiting_.back().get(), address.get(), address.size);
    }
  }

 private:
  std::vector<UniqueFd> waiting_;
};

class ConnectorTest : public testing::Test {
 protected:
  void Connect(const std::string& host, uint16_t port,
               AddressFamily family = AddressFamily::kAny) {
    result_.reset();
    connector_.Connect(host, port, family, Keep());
  }
  Connector::Done Keep() {
    return [this](Connector::Result result) { result_ = std::move(result); };
  }
  // Returns the peer of the connection, otherwise the finding.
  std::string Peer() {
    EXPECT_TRUE(RunUntil(loop_, [&] { return result_.has_value(); }));
    if (auto* const connection = std::get_if<Connection>(&*result_)) {
      return connection->peer;
    }
    return std::get<Finding>(*result_).detail;
  }
  Finding Failure() {
    EXPECT_TRUE(RunUntil(loop_, [&] { return result_.has_value(); }));
    const auto* const finding = std::get_if<Finding>(&*result_);
    return finding == nullptr ? Finding{.detail = "connected"} : *finding;
  }

  static NameAnswer LookUp(const NameQuestion& question) {
    if (question.name == "nowhere") {
      return {.status = absl::NotFoundError("no such name")};
    }
    if (question.name == "unknown") {
      return {.status = absl::UnavailableError("no name server")};
    }
    NameAnswer answer;
    if (question.family != AddressFamily::kIpv6) {
      answer.addresses.push_back(FixedAddresses("127.0.0.1", 0).front());
    }
    if (question.family != AddressFamily::kIpv4) {
      answer.addresses.push_back(FixedAddresses("::1", 0).front());
    }
    return answer;
  }

  EventLoop loop_;
  BlockingCalls calls_{loop_};
  Resolver resolver_{calls_, LookUp};
  Connector connector_{loop_, resolver_};
  std::optional<Connector::Result> result_;
};

TEST_F(ConnectorTest, EitherFamilyIsEnough) {
  for (const bool ipv6 : {false, true}) {
    TwoFamilies sockets;
    const uint16_t port = sockets.port;
    const ScriptedServer server(
        loop_, std::move(ipv6 ? sockets.ipv6 : sockets.ipv4), {});
    const std::string address =
        absl::StrCat(ipv6 ? "[::1]:" : "127.0.0.1:", port);

    Connect("both", port);
    EXPECT_EQ(Peer(), address);
    Connect(ipv6 ? "::1" : "127.0.0.1", port);
    EXPECT_EQ(Peer(), address);
    Connect("both", port, ipv6 ? AddressFamily::kIpv6 : AddressFamily::kIpv4);
    EXPECT_EQ(Peer(), address);
    Connect("both", port, ipv6 ? AddressFamily::kIpv4 : AddressFamily::kIpv6);
    EXPECT_TRUE(absl::StartsWith(Failure().detail, "refused by "));
  }
}

TEST_F(ConnectorTest, SilentAddressDoesNotDelayOthers) {
  TwoFamilies sockets;
  const Silence silence(sockets.ipv4);
  const ScriptedServer server(loop_, std::move(sockets.ipv6), {});

  Connect("both", sockets.port);

  EXPECT_EQ(Peer(), absl::StrCat("[::1]:", sockets.port));
}

TEST_F(ConnectorTest, RefusalNamesEachAddress) {
  const TwoFamilies sockets;

  Connect("both", sockets.port);

  const Finding finding = Failure();
  EXPECT_EQ(finding.detail, absl::StrCat("refused by 127.0.0.1:", sockets.port,
                                         " and [::1]:", sockets.port));
  EXPECT_EQ(finding.status, PollStatus::kNotReady);
  EXPECT_TRUE(finding.absent);
}

TEST_F(ConnectorTest, SilenceIsNotAbsence) {
  const TwoFamilies sockets;
  const Silence silence(sockets.ipv4);
  Connect("127.0.0.1", sockets.port);
  for (int round = 0; round < 10; ++round) {
    loop_.RunOnce(GetRealClock().MonotonicNow());
  }

  const Finding finding = connector_.TimeOut(absl::Seconds(10));

  EXPECT_EQ(
      finding.detail,
      absl::StrCat("no answer from 127.0.0.1:", sockets.port, " within 10s"));
  EXPECT_EQ(finding.status, PollStatus::kNotReady);
  EXPECT_FALSE(finding.absent);
  EXPECT_FALSE(result_.has_value());
}

TEST_F(ConnectorTest, UnknownNameIsNotAbsent) {
  Connect("nowhere", 80);
  EXPECT_EQ(Failure().detail, "cannot resolve nowhere: no such name");
  EXPECT_EQ(Failure().status, PollStatus::kNotReady);
  EXPECT_FALSE(Failure().absent);

  Connect("unknown", 80);
  EXPECT_EQ(Failure().detail, "cannot resolve unknown: no name server");
  EXPECT_EQ(Failure().status, PollStatus::kServerError);
  EXPECT_FALSE(Failure().absent);
}

TEST_F(ConnectorTest, NameWithoutAnAnswerInTimeIsAServerError) {
  Connect("both", 80);
  const Finding finding = connector_.TimeOut(absl::Seconds(10));
  EXPECT_EQ(finding.detail, "cannot resolve both: no answer within 10s");
  EXPECT_EQ(finding.status, PollStatus::kServerError);
  EXPECT_FALSE(finding.absent);
}

TEST_F(ConnectorTest, AddressOfTheOtherFamilyIsAMistake) {
  Connect("::1", 80, AddressFamily::kIpv4);
  EXPECT_EQ(Failure().detail, "::1 is not an IPv4 address");
  EXPECT_EQ(Failure().status, PollStatus::kFailed);
}

TEST_F(ConnectorTest, CancelledAttemptDoesNotCallBack) {
  const TwoFamilies sockets;
  const Silence silence(sockets.ipv4);
  Connect("127.0.0.1", sockets.port);
  connector_.Cancel();
  Connect("both", sockets.port);
  connector_.Cancel();

  Connect("nowhere", 80);
  EXPECT_EQ(Peer(), "cannot resolve nowhere: no such name");
}

TEST_F(ConnectorTest, UnixSocketsAreFoundByPath) {
  // The path is relative, as the name of a socket must be short.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(testing::TempDir());
  const std::string path = absl::StrCat("socket", getpid());
  connector_.ConnectUnix(path, Keep());
  EXPECT_EQ(Failure().detail,
            absl::StrCat(path, ": No such file or directory"));
  EXPECT_TRUE(Failure().absent);

  result_.reset();
  UniqueFd bound = BindUnix(path);
  connector_.ConnectUnix(path, Keep());
  EXPECT_EQ(Failure().detail, absl::StrCat("refused by ", path));
  EXPECT_TRUE(Failure().absent);

  result_.reset();
  const ScriptedServer server(loop_, std::move(bound), {});
  connector_.ConnectUnix(path, Keep());
  EXPECT_EQ(Peer(), path);
  EXPECT_EQ(unlink(path.c_str()), 0);
  std::filesystem::current_path(before);

  result_.reset();
  const std::string name = absl::StrCat("@waiter", getpid());
  connector_.ConnectUnix(name, Keep());
  EXPECT_EQ(Failure().detail, absl::StrCat("refused by ", name));
}

}  // namespace
}  // namespace waiter::cli::connector_test
