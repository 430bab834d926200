// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures what 1,000 waits for 1,000 jobs cost an HTTP server on loopback, and
// how soon they find the ends of their jobs:
//
//   ./bazelw run -c opt //bench:http_fleet
//
// The ends of the jobs are spread evenly over a minute. The server counts the
// requests and bytes.

#ifndef WAITER_HAS_CURL

#include <cstdio>

int main() { std::puts("built without libcurl"); }

#else

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "waiter/backoff.h"
#include "waiter/delay_source.h"
#include "waiter/interop/http.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

constexpr int kJobs = 1000;
constexpr absl::Duration kLongestJob = absl::Seconds(60);
constexpr absl::Duration kMaxDelay = absl::Seconds(2);
constexpr size_t kBody = 1000;

// Jobs that end by themselves.
class Jobs {
 public:
  Jobs() : start_(absl::Now()) {}

  absl::Time EndOf(int job) const {
    return start_ + kLongestJob * (job + 1) / kJobs;
  }
  bool IsDone(int job) const { return absl::Now() >= EndOf(job); }

 private:
  const absl::Time start_;
};

// Serves each connection on its own thread.
class Server {
 public:
  // Loses `dropped` of ten events.
  Server(const Jobs& jobs, int dropped) : jobs_(jobs), dropped_(dropped) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    bench::Check(bind(listener_, generic, size) == 0, "bind");
    bench::Check(listen(listener_, 4096) == 0, "listen");
    getsockname(listener_, generic, &size);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
    accepting_ = std::thread([this] { Accept(); });
  }
  ~Server() {
    ends_ = true;
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (int fd : connections_) shutdown(fd, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (int fd : connections_) close(fd);
    close(listener_);
  }

  const std::string& url() const { return url_; }
  int64_t requests() const { return requests_; }
  int64_t body_bytes() const { return body_bytes_; }

 private:
  void Accept() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      connections_.push_back(fd);
      threads_.emplace_back([this, fd] { Serve(fd); });
    }
  }

  void Serve(int fd) {
    std::string received;
    std::array<char, 4096> buffer;
    while (true) {
      const size_t end = received.find("\r\n\r\n");
      if (end == std::string::npos) {
        const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        received.append(buffer.data(), static_cast<size_t>(got));
        continue;
      }
      const std::string head = received.substr(0, end);
      received.erase(0, end + 4);
      ++requests_;
      if (absl::StrContains(head, "/watch")) return Watch(fd);
      Answer(fd, head);
    }
  }

  void Answer(int fd, const std::string& head) {
    int job = 0;
    const size_t at = head.find("/jobs/") + 6;
    bench::Check(
        absl::SimpleAtoi(head.substr(at, head.find(' ', at) - at), &job),
        "a job");
    if (const size_t wish = head.find("Prefer: wait=");
        wish != std::string::npos) {
      const int seconds = std::atoi(head.c_str() + wish + 13);
      absl::SleepFor(
          std::min(jobs_.EndOf(job) - absl::Now(), absl::Seconds(seconds)));
    }
    const bool is_done = jobs_.IsDone(job);
    const std::string_view state = is_done ? "DONE" : "RUNNING";
    const std::string tag = absl::StrCat("ETag: \"", state, "\"\r\n");
    if (absl::StrContains(head,
                          absl::StrCat("If-None-Match: \"", state, "\""))) {
      Send(fd, absl::StrCat("HTTP/1.1 304 Not Modified\r\n", tag, "\r\n"));
      return;
    }
    std::string body = absl::StrCat("{\"state\": \"", state, "\", \"log\": \"");
    body.append(kBody - body.size() - 2, 'x').append("\"}");
    body_bytes_ += static_cast<int64_t>(body.size());
    Send(fd, absl::StrCat("HTTP/1.1 200 OK\r\n", tag,
                          "Content-Length: ", body.size(), "\r\n\r\n", body));
  }

  // Sends a line for each job that ends.
  void Watch(int fd) {
    Send(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
    for (int job = 0; job < kJobs && !ends_; ++job) {
      absl::SleepFor(jobs_.EndOf(job) - absl::Now());
      if (job % 10 < dropped_) continue;
      const std::string line = absl::StrCat(job, "\n");
      body_bytes_ += static_cast<int64_t>(line.size());
      Send(fd, line);
    }
  }

  static void Send(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }

  const Jobs& jobs_;
  const int dropped_;
  int listener_ = -1;
  std::string url_;
  std::atomic<bool> ends_ = false;
  std::atomic<int64_t> requests_ = 0;
  std::atomic<int64_t> body_bytes_ = 0;
  std::vector<int> connections_;
  std::list<std::thread> threads_;
  std::thread accepting_;
};

struct Mode {
  const char* name;
  bool etag = false;
  absl::Duration hold = absl::ZeroDuration();
  // The delay while a watch is connected, or zero for no watch.
  absl::Duration watched_delay = absl::ZeroDuration();
  int dropped = 0;
};

struct Row {
  int64_t requests = 0;
  int64_t body_bytes = 0;
  std::vector<absl::Duration> late;  // Sorted.
};

Row Run(const Mode& mode) {
  const Jobs jobs;
  Server server(jobs, mode.dropped);
  std::vector<PollNotifier> changed(kJobs);
  const auto watched = std::make_shared<WatchedDelays>(
      [&] {
        for (const PollNotifier& notifier : changed) notifier.PollNow();
      },
      mode.watched_delay);
  const bool watches = mode.watched_delay > absl::ZeroDuration();
  std::optional<HttpWatch> watch;
  if (watches) {
    watch.emplace(HttpRequest{.url = server.url() + "/watch"}, watched,
                  HttpWatchOptions{.is_change = [&](std::string_view line) {
                    size_t job = 0;
                    if (absl::SimpleAtoi(line, &job)) changed[job].PollNow();
                    return false;
                  }});
  }
  Row row;
  row.late.resize(kJobs);
  std::vector<std::thread> waits;
  for (int job = 0; job < kJobs; ++job) {
    waits.emplace_back([&, job] {
      HttpRequest request = {.url = absl::StrCat(server.url(), "/jobs/", job)};
      if (!mode.etag) request.headers = {{"Cache-Control", "no-cache"}};
      Waiter wait(HttpPoller(std::move(request),
                             {.succeed_if = {JsonIs("state", "DONE")},
                              .long_poll = {.hold = mode.hold}}),
                  {.timeout = absl::Minutes(5),
                   .poll_timeout = absl::Seconds(60),
                   .backoff = {.initial_delay = absl::Milliseconds(100),
                               .max_delay = kMaxDelay},
                   .delay_source = watches ? SharedDelaySource(watched)
                                           : SharedDelaySource()});
      const WaitResult<HttpResponse> end =
          wait.Wait({.notifier = &changed[job]});
      bench::Check(end.ok(), "a wait");
      row.late[job] = absl::Now() - jobs.EndOf(job);
    });
  }
  for (std::thread& wait : waits) wait.join();
  row.requests = server.requests();
  row.body_bytes = server.body_bytes();
  std::sort(row.late.begin(), row.late.end());
  return row;
}

void Print(const Mode& mode, const Row& row, const Row& plain) {
  const auto ms = [&](double part) {
    return absl::ToDoubleMilliseconds(
        row.late[static_cast<size_t>(part * (kJobs - 1))]);
  };
  std::printf(
      "| %s | %lld | %.3fx | %.2f MB | %.3fx | %.0f ms | %.0f ms | %.0f ms |\n",
      mode.name, static_cast<long long>(row.requests),
      static_cast<double>(row.requests) / static_cast<double>(plain.requests),
      static_cast<double>(row.body_bytes) / 1e6,
      static_cast<double>(row.body_bytes) /
          static_cast<double>(plain.body_bytes),
      ms(0.5), ms(0.95), ms(1));
  std::fflush(stdout);
}

void Main() {
  const std::array<Mode, 5> modes = {{
      {.name = "backoff of 0.1 s to 2 s"},
      {.name = "the same, with an ETag", .etag = true},
      {.name = "long polls of 30 s, with an ETag",
       .etag = true,
       .hold = absl::Seconds(30)},
      {.name = "a watch, and polls after 30 s",
       .etag = true,
       .watched_delay = absl::Seconds(30)},
      {.name = "a watch that loses half, and polls after 2 s",
       .etag = true,
       .watched_delay = kMaxDelay,
       .dropped = 5},
  }};
  std::printf(
      "| 1,000 waits | requests | | bodies | | found after, p50 | p95 | max |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  Row plain;
  for (const Mode& mode : modes) {
    const Row row = Run(mode);
    if (plain.late.empty()) plain = row;
    Print(mode, row, plain);
  }
}

}  // namespace
}  // namespace waiter

int main() { waiter::Main(); }

#endif  // WAITER_HAS_CURL
