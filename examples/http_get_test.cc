// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/http_get.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/file_descriptor.h"
#include "examples/url.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/stop_token.h"

namespace waiter_examples {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A limit that only failing tests reach.
constexpr absl::Duration kAmple = absl::Seconds(30);

// A port of a loopback address, invalid if there is no such address.
struct Port {
  explicit Port(int family = AF_INET)
      : socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage address = {};
    socklen_t size = sizeof(sockaddr_in);
    if (family == AF_INET) {
      sockaddr_in v4 = {};
      v4.sin_family = AF_INET;
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      std::memcpy(&address, &v4, sizeof(v4));
    } else {
      sockaddr_in6 v6 = {};
      v6.sin6_family = AF_INET6;
      v6.sin6_addr = in6addr_loopback;
      size = sizeof(v6);
      std::memcpy(&address, &v6, sizeof(v6));
    }
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket.get(), generic, size) != 0 ||
        getsockname(socket.get(), generic, &size) != 0) {
      socket.Close();
      return;
    }
    // Both kinds of address have the port at the same place.
    sockaddr_in v4 = {};
    std::memcpy(&v4, &address, sizeof(v4));
    number = ntohs(v4.sin_port);
  }

  FileDescriptor socket;
  uint16_t number = 0;
};

// A server that accepts one connection and passes it to `talk`.
class Server {
 public:
  explicit Server(std::function<void(int)> talk, int family = AF_INET)
      : port_(family) {
    if (!port_.socket.valid()) return;
    EXPECT_EQ(listen(port_.socket.get(), 1), 0);
    thread_ = std::thread([this, talk = std::move(talk)] {
      pollfd listener = {
          .fd = port_.socket.get(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&listener, 1, 30'000), 1) << "no client has connected";
      const FileDescriptor connection(
          accept(port_.socket.get(), nullptr, nullptr));
      talk(connection.get());
    });
  }
  ~Server() {
    if (thread_.joinable()) thread_.join();
  }

  bool valid() const { return port_.socket.valid(); }
  uint16_t port() const { return port_.number; }

 private:
  Port port_;
  std::thread thread_;
};

std::string ReceiveRequest(int fd) {
  std::string request;
  while (!absl::StrContains(request, "\r\n\r\n")) {
    std::array<char, 1024> buffer;
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    request.append(buffer.data(), static_cast<size_t>(got));
  }
  return request;
}

void AwaitClose(int fd) {
  char c = 0;
  while (recv(fd, &c, 1, 0) > 0) {
  }
}

// Returns false once the client has closed the connection.
bool Send(int fd, std::string_view text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

std::function<void(int)> Says(std::string_view answer) {
  return [answer](int fd) {
    ReceiveRequest(fd);
    Send(fd, answer);
  };
}

absl::StatusOr<HttpResponse> Get(uint16_t port, absl::Duration timeout = kAmple,
                                 const waiter::stop_token& stop = {}) {
  return HttpGet({.host = "127.0.0.1", .port = port}, timeout, stop);
}

TEST(HttpGetTest, ReturnsCodeAndReason) {
  Server server(Says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
  const absl::StatusOr<HttpResponse> response = Get(server.port());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 200);
  EXPECT_EQ(response->reason, "OK");
  EXPECT_FALSE(response->retry_after.has_value());
}

TEST(HttpGetTest, ReturnsRetryAfter) {
  Server server(Says("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n"));
  const absl::StatusOr<HttpResponse> response = Get(server.port());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 503);
  EXPECT_EQ(response->retry_after, absl::Seconds(7));
}

TEST(HttpGetTest, AsksForThePathOfTheUrl) {
  std::string request;
  {
    Server server([&request](int fd) {
      request = ReceiveRequest(fd);
      Send(fd, "HTTP/1.1 200 OK\r\n\r\n");
    });
    const Url url = {
        .host = "127.0.0.1", .port = server.port(), .path = "/a?b=c"};
    EXPECT_TRUE(HttpGet(url, kAmple, {}).ok());
    EXPECT_EQ(Authority(url), absl::StrCat("127.0.0.1:", server.port()));
  }
  EXPECT_THAT(request, StartsWith("GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(request, HasSubstr("\r\nConnection: close\r\n"));
}

TEST(HttpGetTest, SkipsInterimAnswers) {
  Server server(
      Says("HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\n"
           "HTTP/1.1 100 Continue\r\n\r\n"
           "HTTP/1.1 204 No Content\r\n\r\n"));
  const absl::StatusOr<HttpResponse> response = Get(server.port());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 204);
  EXPECT_FALSE(response->retry_after.has_value());
}

TEST(HttpGetTest, ReadsAnAnswerThatComesByteByByte) {
  Server server([](int fd) {
    ReceiveRequest(fd);
    for (const char c :
         std::string_view("HTTP/1.1 429 Slow\r\nRetry-After: 2\r\n\r\n")) {
      Send(fd, std::string_view(&c, 1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const absl::StatusOr<HttpResponse> response = Get(server.port());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 429);
  EXPECT_EQ(response->retry_after, absl::Seconds(2));
}

TEST(HttpGetTest, DoesNotAwaitTheBody) {
  Server server([](int fd) {
    ReceiveRequest(fd);
    Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    AwaitClose(fd);
  });
  EXPECT_TRUE(Get(server.port()).ok());
}

TEST(HttpGetTest, FindsNothingOnAPortWithoutAListener) {
  const Port port;
  const absl::Status status = Get(port.number).status();
  EXPECT_EQ(status, absl::NotFoundError("connection refused"));
}

TEST(HttpGetTest, IsUnavailableIfTheServerClosesAtOnce) {
  Server server([](int) {});
  EXPECT_TRUE(absl::IsUnavailable(Get(server.port()).status()));
}

TEST(HttpGetTest, IsUnavailableIfTheServerClosesWithinTheAnswer) {
  Server server(Says("HTTP/1.1 200 OK\r\nContent-"));
  EXPECT_EQ(Get(server.port()).status(),
            absl::UnavailableError("connection closed within the answer"));
}

TEST(HttpGetTest, GivesUpOnASilentServerAfterTheTimeout) {
  Server server(AwaitClose);
  EXPECT_EQ(Get(server.port(), absl::Milliseconds(50)).status(),
            absl::DeadlineExceededError("no answer within 50ms"));
}

TEST(HttpGetTest, GivesUpOnADrippingServerAfterTheTimeout) {
  Server server([](int fd) {
    Send(fd, "HTTP/1.1 200 OK\r\nA: ");
    while (Send(fd, "a")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  EXPECT_EQ(Get(server.port(), absl::Milliseconds(50)).status(),
            absl::DeadlineExceededError("no answer within 50ms"));
}

TEST(HttpGetTest, GivesUpOnAnEndlessHead) {
  Server server([](int fd) {
    Send(fd, "HTTP/1.1 200 OK\r\n");
    while (Send(fd, "Name: value\r\n")) {
    }
  });
  EXPECT_TRUE(absl::IsDataLoss(Get(server.port()).status()));
}

TEST(HttpGetTest, GivesUpOnEndlessInterimAnswers) {
  Server server([](int fd) {
    while (Send(fd, "HTTP/1.1 100 Continue\r\n\r\n")) {
    }
  });
  EXPECT_TRUE(absl::IsDataLoss(Get(server.port()).status()));
}

TEST(HttpGetTest, SeesAtOnceThatAnotherProtocolIsSpoken) {
  Server server([](int fd) {
    Send(fd, "SSH-2.0-x\r\n");
    AwaitClose(fd);
  });
  EXPECT_EQ(Get(server.port()).status(),
            absl::DataLossError("not an HTTP answer"));
}

TEST(HttpGetTest, EndsAtOnceWhenAStopIsRequested) {
  waiter::stop_source stop;
  Server server([&stop](int fd) {
    ReceiveRequest(fd);
    stop.request_stop();
    AwaitClose(fd);
  });
  EXPECT_TRUE(absl::IsCancelled(
      Get(server.port(), absl::InfiniteDuration(), stop.get_token()).status()));
}

TEST(HttpGetTest, SpeaksIpV6) {
  Server server(Says("HTTP/1.1 200 OK\r\n\r\n"), AF_INET6);
  if (!server.valid()) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(HttpGet({.host = "::1", .port = server.port()}, kAmple, {}).ok());
}

TEST(HttpGetTest, TriesEveryAddressOfAName) {
  addrinfo* list = nullptr;
  if (getaddrinfo("localhost", nullptr, nullptr, &list) != 0) {
    GTEST_SKIP() << "no localhost here";
  }
  freeaddrinfo(list);
  // If localhost is ::1 too, that address is tried first, and refused.
  Server server(Says("HTTP/1.1 200 OK\r\n\r\n"));
  EXPECT_TRUE(
      HttpGet({.host = "localhost", .port = server.port()}, kAmple, {}).ok());
}

// Returns the parsed head as text, or the error.
std::string Parsed(std::string_view head) {
  const absl::StatusOr<HttpResponse> response = ParseResponseHead(
      head, absl::FromUnixSeconds(784111777) - absl::Seconds(90));
  if (!response.ok()) return "error";
  return absl::StrCat(response->code, "|", response->reason, "|",
                      response->retry_after.has_value()
                          ? absl::FormatDuration(response->retry_after)
                          : "");
}

TEST(ParseResponseHeadTest, ReadsTheStatusLine) {
  EXPECT_EQ(Parsed("HTTP/1.1 200 OK\r\n\r\n"), "200|OK|");
  EXPECT_EQ(Parsed("HTTP/1.0 404 Not  Found\r\n\r\n"), "404|Not  Found|");
  EXPECT_EQ(Parsed("HTTP/1.1 500\r\n\r\n"), "500||");
  EXPECT_EQ(Parsed("HTTP/1.1 500 \n\n"), "500||");
}

TEST(ParseResponseHeadTest, FindsRetryAfterInSeconds) {
  EXPECT_EQ(Parsed("HTTP/1.1 503 A\r\nB: c\r\nretry-AFTER:  120 \r\n\r\n"),
            "503|A|2m");
  EXPECT_EQ(Parsed("HTTP/1.1 503 A\nRetry-After: 0\n\n"), "503|A|0");
}

TEST(ParseResponseHeadTest, FindsRetryAfterAsADate) {
  EXPECT_EQ(Parsed("HTTP/1.1 503 A\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 "
                   "GMT\r\n\r\n"),
            "503|A|1m30s");
}

TEST(ParseResponseHeadTest, TakesTheFirstOfSeveralHints) {
  EXPECT_EQ(Parsed("HTTP/1.1 503 A\nRetry-After: soon\nretry-after-ms: 1500\n"
                   "Retry-After: 2\n\n"),
            "503|A|1.5s");
}

TEST(ParseResponseHeadTest, IgnoresARetryAfterThatIsNoTime) {
  for (const char* value : {"", "-1", "+1", "1.5", "1s", "tomorrow"}) {
    EXPECT_EQ(Parsed(absl::StrCat("HTTP/1.1 503 A\r\nRetry-After: ", value,
                                  "\r\n\r\n")),
              "503|A|")
        << value;
  }
}

TEST(ParseResponseHeadTest, RefusesWhatIsNotHttp) {
  for (const char* head :
       {"", "\r\n", "HTTP/1.1", "HTTP/1.1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n", "<html>\r\n\r\n"}) {
    EXPECT_EQ(Parsed(head), "error") << head;
  }
}

TEST(ParseResponseHeadTest, MakesTheReasonSafeToPrint) {
  EXPECT_EQ(Parsed("HTTP/1.1 200 a\x1B[2Jb\x80\r\n\r\n"), "200|a?[2Jb?|");
  EXPECT_EQ(ParseResponseHead(
                absl::StrCat("HTTP/1.1 200 ", std::string(5000, 'a'), "\r\n"),
                absl::UnixEpoch())
                ->reason.size(),
            60);
}

}  // namespace
}  // namespace waiter_examples
