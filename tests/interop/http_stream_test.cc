// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Servers that hold requests, or keep responses open, on a loopback port.
// Skipped in builds without libcurl.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_CURL

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/interop/http_polls.h"
#include "tests/support/joining_thread.h"
#include "tests/support/socket_server.h"
#include "waiter/delay_source.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::http_stream_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Connection = SocketServer::Connection;
using internal::StreamEvents;
using Format = StreamEvents::Format;

constexpr std::string_view kPending = R"({"state": "PENDING"})";

// Holds the requests of one connection for these times.
SocketServer::Serve Holding(const std::vector<absl::Duration>& times) {
  return [times](Connection& connection) {
    for (absl::Duration time : times) {
      connection.ReadRequest();
      absl::SleepFor(time);
      connection.Send(Response("200 OK", kPending));
    }
    connection.AwaitClose();
  };
}

TEST(HttpStreamTest, PollAfterAHeldRequestIsImmediate) {
  const SocketServer server(
      Holding({absl::ZeroDuration(), absl::Milliseconds(600),
               absl::ZeroDuration(), absl::ZeroDuration()}));
  HttpPoller poller(
      {.url = server.Url("/jobs/7?x=1")},
      {.succeed_if = {JsonIs("state", "DONE")},
       .long_poll = {.hold = absl::Seconds(1), .parameter = "wait"}});
  std::vector<bool> are_immediate;
  for (int i = 0; i < 4; ++i) {
    const Poll<HttpResponse> poll = poller({.timeout = kAmple});
    EXPECT_EQ(poll.status(), PollStatus::kNotReady) << poll.error();
    are_immediate.push_back(poll.next_delay() == absl::ZeroDuration());
  }

  EXPECT_THAT(are_immediate, ElementsAre(false, true, true, false));
  EXPECT_THAT(server.requests().front(), HasSubstr("/jobs/7?x=1&wait=1 "));
}

TEST(HttpStreamTest, HoldIsForTheFunctionsAnswersToo) {
  const SocketServer server(Holding({absl::Milliseconds(600)}));
  HttpPoller poller({.url = server.Url("/")},
                    [](const HttpResponse&) { return NotReady("PENDING"); },
                    {.long_poll = {.hold = absl::Seconds(1)}});

  const Poll<> poll = poller({.timeout = kAmple});

  EXPECT_EQ(poll.detail(), "PENDING");
  EXPECT_EQ(poll.next_delay(), absl::ZeroDuration());
  EXPECT_THAT(server.requests(), ElementsAre(HasSubstr("Prefer: wait=1\r\n")));
}

TEST(HttpStreamTest, PollThatIsTooShortForAHoldIsOrdinary) {
  const SocketServer server(Always(Response("200 OK")));
  HttpPoller poller({.url = server.Url("/")},
                    {.long_poll = {.hold = absl::Seconds(30)}});

  EXPECT_TRUE(poller({.timeout = absl::Seconds(1.9)}).has_value());

  EXPECT_THAT(server.requests(), ElementsAre(Not(HasSubstr("Prefer"))));
}

// Returns the events of a stream that comes in parts of `size` bytes.
std::vector<std::string> EventsOf(Format format, std::string_view stream,
                                  size_t size) {
  StreamEvents events(format);
  std::vector<std::string> found;
  while (!stream.empty()) {
    events.Read(stream.substr(0, size),
                [&](std::string_view event) { found.emplace_back(event); });
    stream.remove_prefix(std::min(size, stream.size()));
  }
  return found;
}

TEST(StreamEventsTest, AreFoundHoweverTheStreamIsCut) {
  constexpr std::string_view kEvents =
      "\xEF\xBB\xBF: hello\r\ndata: a\r\n\r\n:\n\nevent: x\ndata:b\ndata: c\n\n"
      "event: without data\n\ndata\r\rdata: not ended";
  constexpr std::string_view kLines = "{\"a\": 1}\n\r\n{\"b\": 2}\r{}\ncut";
  for (size_t size = 1; size < kEvents.size(); ++size) {
    EXPECT_THAT(EventsOf(Format::kServerSentEvents, kEvents, size),
                ElementsAre("a", "b\nc", ""))
        << size;
    EXPECT_THAT(EventsOf(Format::kLines, kLines, size),
                ElementsAre("{\"a\": 1}", "{\"b\": 2}", "{}"))
        << size;
  }
}

TEST(StreamEventsTest, FormatIsThatOfTheMediaType) {
  EXPECT_EQ(StreamEvents::FormatOf("Text/Event-Stream; charset=utf-8"),
            Format::kServerSentEvents);
  for (std::string_view type : {"application/json", "", "text/event"}) {
    EXPECT_EQ(StreamEvents::FormatOf(type), Format::kLines);
  }
}

TEST(StreamEventsTest, RetryIsAWholeNumberOfMilliseconds) {
  const auto retry = [](std::string_view value) {
    StreamEvents events(Format::kServerSentEvents);
    events.Read(absl::StrCat("retry: ", std::string(value), "\n"),
                [](std::string_view) {});
    return events.retry();
  };

  EXPECT_EQ(retry("1500"), absl::Milliseconds(1500));
  for (std::string_view value : {"", "1.5", "-1", "soon", "99999999999999"}) {
    EXPECT_EQ(retry(value), std::nullopt) << value;
  }
}

TEST(StreamEventsTest, LongEventsAreCut) {
  const std::string part(StreamEvents::kMaxEvent, 'x');
  const std::vector<std::string> events = EventsOf(
      Format::kServerSentEvents,
      absl::StrCat("data: ", part, part, "\ndata: y\n\ndata: z\n\n"), 1000);

  ASSERT_EQ(events.size(), 2U);
  EXPECT_LE(events[0].size(), StreamEvents::kMaxEvent);
  EXPECT_EQ(events[1], "z");
}

// Counts the notifications of waits.
class Wakes {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Blocks until there are `count`.
  void Await(int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, absl::ToChronoSeconds(kAmple), [&] {
      return count_ >= count;
    })) << count;
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class HttpWatchTest : public testing::Test {
 protected:
  // Sends `stream` once the waits have learned of the connection, and awaits
  // `wakes` in all.
  void Stream(Connection& connection, std::string_view type,
              std::string_view stream, int wakes) {
    const int before = wakes_.count();
    connection.ReadRequest();
    connection.Send(absl::StrCat(
        "HTTP/1.1 200 OK\r\nContent-Type: ", std::string(type), "\r\n\r\n"));
    wakes_.Await(before + 1);
    EXPECT_TRUE(delays_->is_connected());
    connection.Send(stream);
    wakes_.Await(wakes);
  }

  // Watches until the server refuses, and returns why.
  absl::Status WatchUntilRefused(const SocketServer& server,
                                 HttpWatchOptions options = {}) {
    options.backoff = {.initial_delay = absl::Milliseconds(1)};
    absl::Status end;
    std::latch ended(1);
    options.on_refused = [&](const absl::Status& status) {
      end = status;
      ended.count_down();
    };
    const HttpWatch watch({.url = server.Url("/")}, delays_,
                          std::move(options));
    ended.wait();
    return end;
  }

  Wakes wakes_;
  const std::shared_ptr<WatchedDelays> delays_ =
      std::make_shared<WatchedDelays>([this] { wakes_.Add(); },
                                      absl::Seconds(30));
};

TEST_F(HttpWatchTest, WaitsAreToldOfConnectionsChangesAndBreaks) {
  const SocketServer server([&](Connection& connection) {
    switch (connection.ordinal()) {
      case 1:  // Connected, and two changes.
        return Stream(connection, "text/event-stream",
                      ": keep alive\n\ndata: 1\n\ndata: 2\n\n", 3);
      case 2:  // Broken, connected, and a change.
        wakes_.Await(4);
        EXPECT_FALSE(delays_->is_connected());
        return Stream(connection, "application/json", "{}\n", 6);
      case 3:  // A stream that has expired.
        connection.ReadRequest();
        connection.Send(Response("410 Gone"));
        return;
      default:
        connection.ReadRequest();
        connection.Send(Response("403 Forbidden"));
    }
  });

  const absl::Status end = WatchUntilRefused(server);

  EXPECT_THAT(std::string(end.message()), HasSubstr("HTTP 403"));
  EXPECT_EQ(wakes_.count(), 7);
  EXPECT_FALSE(delays_->is_connected());
  EXPECT_EQ(server.connections(), 4);
}

TEST_F(HttpWatchTest, EventsThatAreNoChangesAreSkipped) {
  const SocketServer server([&](Connection& connection) {
    if (connection.ordinal() > 1) {
      connection.ReadRequest();
      connection.Send(Response("403 Forbidden"));
      return;
    }
    Stream(connection, "application/json", "BOOKMARK\nMODIFIED\n", 2);
  });

  const absl::Status end =
      WatchUntilRefused(server, {.is_change = [](std::string_view event) {
                          return event != "BOOKMARK";
                        }});

  EXPECT_FALSE(end.ok());
  EXPECT_EQ(wakes_.count(), 3);
}

TEST_F(HttpWatchTest, DestructorEndsAnOpenStream) {
  const SocketServer server([&](Connection& connection) {
    Stream(connection, "application/json", "{}\n", 2);
    connection.AwaitClose();
  });
  {
    const HttpWatch watch({.url = server.Url("/")}, delays_);
    wakes_.Await(2);
  }

  EXPECT_FALSE(delays_->is_connected());
}

TEST_F(HttpWatchTest, DestructorEndsTheDelayBeforeAConnection) {
  std::latch refused(1);
  const SocketServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(Response("503 Busy"));
    refused.count_down();
  });
  const absl::Time start = absl::Now();
  {
    const HttpWatch watch({.url = server.Url("/")}, delays_,
                          {.backoff = {.initial_delay = absl::Hours(1),
                                       .max_delay = absl::Hours(1)}});
    refused.wait();
  }

  EXPECT_LT(absl::Now() - start, kAtOnce);
  EXPECT_EQ(wakes_.count(), 0);
}

TEST_F(HttpWatchTest, SilentStreamIsOpenedAgain) {
  std::latch opened_again(2);
  const SocketServer server([&](Connection& connection) {
    if (connection.ordinal() == 1) {
      Stream(connection, "application/json", "{}\n", 2);
    }
    opened_again.count_down();
    connection.AwaitClose();
  });
  const HttpWatch watch({.url = server.Url("/")}, delays_,
                        {.max_silence = absl::Seconds(1),
                         .backoff = {.initial_delay = absl::Milliseconds(1)}});

  opened_again.wait();
}

// Sends events until the client goes.
void SendEvents(SocketServer::Connection& connection) {
  connection.ReadRequest();
  connection.Send("HTTP/1.1 200 OK\r\n\r\n");
  while (connection.Send("event\n")) {
  }
}

TEST(HttpWatchCallsTest, SilenceWithoutLimitKeepsTheStream) {
  std::promise<std::string> seen;
  const SocketServer server([&](SocketServer::Connection& connection) {
    connection.ReadRequest();
    if (connection.ordinal() == 2) seen.set_value("a second connection");
    if (connection.ordinal() > 1) return;
    connection.Send("HTTP/1.1 200 OK\r\n\r\nfirst\n");
    absl::SleepFor(absl::Milliseconds(2500));  // libcurl looks once a second.
    if (connection.Send("second\n")) connection.AwaitClose();
  });
  const HttpWatch watch({.url = server.Url("/")},
                        std::make_shared<WatchedDelays>([] {}, absl::Hours(1)),
                        {.is_change =
                             [&](std::string_view event) {
                               if (event == "second") {
                                 seen.set_value(std::string(event));
                               }
                               return true;
                             },
                         .max_silence = absl::InfiniteDuration(),
                         .backoff = {.initial_delay = absl::Milliseconds(1)}});
  EXPECT_EQ(seen.get_future().get(), "second");
}

TEST(HttpWatchCallsTest, EventMayDestroyTheWaitOfTheWatch) {
  const SocketServer server(SendEvents);
  WaitEngine engine;
  for (int i = 0; i < 20; ++i) {
    std::mutex mutex;
    std::optional<WaitHandle> handle;
    const auto delays = std::make_shared<WatchedDelays>(
        [&] {
          const std::lock_guard lock(mutex);
          if (handle.has_value()) handle->PollNow();
        },
        absl::Hours(1));
    handle = engine.Start(
        Waiter([] { return PollStatus::kNotReady; },
               {.timeout = absl::InfiniteDuration(), .delay_source = delays}),
        [](const WaitResult<>&) {});
    std::latch events(100);
    std::atomic<int> count = 0;
    const HttpWatch watch({.url = server.Url("/")}, delays,
                          {.is_change = [&](std::string_view) {
                            const int n = ++count;
                            const std::lock_guard lock(mutex);
                            if (n == 50) handle.reset();
                            if (n <= 100) events.count_down();
                            return true;
                          }});
    events.wait();  // The watch is destroyed while events come.
  }
}

TEST(HttpWatchCallsTest, RefusalOfAWatchMayDestroyAnother) {
  const SocketServer server(SendEvents);
  const SocketServer refusing(Always(Response("403 Forbidden")));
  const auto delays = std::make_shared<WatchedDelays>([] {}, absl::Hours(1));
  std::optional<HttpWatch> other;
  other.emplace(HttpRequest{.url = server.Url("/")}, delays);
  std::promise<absl::Status> refused;
  const HttpWatch watch({.url = refusing.Url("/")}, delays,
                        {.on_refused = [&](const absl::Status& status) {
                          other.reset();
                          refused.set_value(status);
                        }});
  EXPECT_EQ(refused.get_future().get().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(HttpWatchCallsTest, NoEventIsLostToAWait) {
  const PollNotifier changed;
  std::mutex mutex;  // Handles are thread-compatible.
  WaitHandle handle;
  const auto delays = std::make_shared<WatchedDelays>(
      [&] {
        changed.PollNow();
        const std::lock_guard lock(mutex);
        handle.PollNow();
      },
      absl::Hours(1));
  WaitEngine engine({.threads = 2});
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> is_done = false;
    const Waiter wait(
        [&] { return is_done ? PollStatus::kSuccess : PollStatus::kNotReady; },
        {.timeout = kAmple,
         .backoff = {.initial_delay = absl::Hours(1),
                     .max_delay = absl::Hours(1)},
         .delay_source = delays});
    std::promise<bool> ended;
    handle = engine.Start(wait, [&](const WaitResult<>& end) {
      ended.set_value(end.ok() && end.report().elapsed < kAtOnce);
    });
    JoiningThread blocked([&] {
      Waiter copy = wait;
      const WaitResult<> end = copy.Wait({.notifier = &changed});
      EXPECT_TRUE(end.ok()) << end.status();
      EXPECT_LT(end.report().elapsed, kAtOnce);
    });
    {
      const auto report = [&] {
        for (int n = 0; n < 20; ++n) {
          delays->OnConnected();
          delays->OnChange();
          delays->OnBroken();
        }
      };
      const JoiningThread one(report);
      const JoiningThread two(report);
      const JoiningThread three(report);
    }
    is_done = true;
    delays->OnChange();
    EXPECT_TRUE(ended.get_future().get());
    blocked.join();
  }
}

}  // namespace
}  // namespace waiter::http_stream_test

#else  // WAITER_HAS_CURL

TEST(HttpStreamTest, IsSkipped) { GTEST_SKIP() << "built without libcurl"; }

#endif  // WAITER_HAS_CURL
