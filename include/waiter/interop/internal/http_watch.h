// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h that follows a response that the server keeps
// open: a watch of Kubernetes, or server-sent events.

#ifndef WAITER_INTEROP_INTERNAL_HTTP_WATCH_H_
#define WAITER_INTEROP_INTERNAL_HTTP_WATCH_H_

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/internal/thread.h"
#include "waiter/interop/internal/curl_client.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/stream_events.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {

struct HttpWatchOptions {
  // Returns whether an event, which is the data of a server-sent event or else
  // a line, is a change. Null: each one is.
  std::function<bool(std::string_view)> is_change = nullptr;

  // The watch ends a stream from which it has received nothing for this long,
  // and connects again, because the server may be gone. Rounded up to seconds;
  // at most 20 days.
  Duration max_silence = absl::Minutes(5);

  // Delays between connections. After a stream of 5 s or longer they start
  // over, or the next one is the value of a server-sent `retry`, up to an hour.
  BackoffOptions backoff = {.initial_delay = absl::Seconds(1),
                            .max_delay = absl::Seconds(30)};

  // Called on the thread of the watch if the server refuses for good, such as
  // with 403. The watch ends, and the waits poll without it.
  std::function<void(const absl::Status&)> on_refused = nullptr;

  // As in `HttpOptions`.
  ErrorClassifier classifier = ErrorClassifier::Http();
  std::function<void(CURL*)> configure = nullptr;
};

namespace internal {

// Follows the stream of an `HttpWatch`, on its thread.
class StreamFollower {
 public:
  StreamFollower(HttpRequest request, std::shared_ptr<WatchedDelays> delays,
                 HttpWatchOptions options)
      : sink_(std::move(delays), std::move(options.is_change)),
        client_(std::move(request),
                {.max_body = 65'536,
                 .max_redirects = 10,
                 .long_poll = {},
                 .configure = Configured(options.max_silence,
                                         std::move(options.configure)),
                 .sink = &sink_}),
        rules_{
            .classifier =
                std::move(options.classifier).With(410, PollStatus::kNotReady)},
        backoff_(options.backoff),
        on_refused_(std::move(options.on_refused)) {}

  void Run() {
    Waiter connect(
        [this](const PollContext& context) { return Follow(context); },
        {.name = "watch",
         .timeout = absl::InfiniteDuration(),
         .backoff = backoff_});
    const WaitResult<> end = connect.Wait(stop_.get_token());
    if (end.reason() == StopReason::kFailed && on_refused_ != nullptr) {
      on_refused_(end.status());
    }
  }

  void Stop() { stop_.request_stop(); }

 private:
  // Takes the data that the client reads.
  class Sink final : public StreamSink {
   public:
    Sink(std::shared_ptr<WatchedDelays> delays,
         std::function<bool(std::string_view)> is_change)
        : delays_(std::move(delays)), is_change_(std::move(is_change)) {}

    void OnResponse(const HttpResponse& response) override {
      events_.emplace(StreamEvents::FormatOf(response.header("Content-Type")));
      connected_at_ = GetRealClock().MonotonicNow();
      delays_->OnConnected();
    }

    void OnBody(std::string_view part) override {
      events_->Read(part, [this](std::string_view event) {
        if (is_change_ == nullptr || is_change_(event)) delays_->OnChange();
      });
    }

    // Returns the delay before the next connection, if it should not grow.
    std::optional<absl::Duration> End(absl::Duration delay) {
      if (!events_.has_value()) return std::nullopt;
      const absl::Duration lasted =
          absl::FromChrono(GetRealClock().MonotonicNow() - connected_at_);
      const std::optional<absl::Duration> retry = events_->retry();
      events_.reset();
      delays_->OnBroken();
      if (lasted < absl::Seconds(5)) return std::nullopt;
      return (std::min)(retry.value_or(delay), absl::Hours(1));
    }

   private:
    const std::shared_ptr<WatchedDelays> delays_;
    const std::function<bool(std::string_view)> is_change_;
    std::optional<StreamEvents> events_;  // While connected.
    MonotonicTime connected_at_;
  };

  static std::function<void(CURL*)> Configured(
      Duration max_silence, std::function<void(CURL*)> configure) {
    return [max_silence, configure = std::move(configure)](CURL* curl) {
      // libcurl computes with milliseconds in a `long`.
      const int64_t seconds = absl::ToInt64Seconds(
          absl::Ceil(std::clamp<absl::Duration>(max_silence, absl::Seconds(1),
                                                absl::Hours(20 * 24)),
                     absl::Seconds(1)));
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
      curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                       static_cast<long>(seconds));
      if (configure != nullptr) configure(curl);
    };
  }

  Poll<> Follow(const PollContext& context) {
    HttpOutcome outcome = client_.Send(context);
    const std::optional<absl::Duration> delay =
        sink_.End(backoff_.initial_delay);
    Poll<> found =
        JudgeOutcome(outcome, {.http = rules_,
                               .unreachable = PollStatus::kServerError,
                               .needs_body = false});
    if (found.status() == PollStatus::kSuccess) {
      found = NotReady("the stream ended");
    }
    if (!delay.has_value()) return found;
    return TryAgainAfter(*delay, found.detail());
  }

  Sink sink_;
  CurlClient client_;
  const HttpRules rules_;
  const BackoffOptions backoff_;
  const std::function<void(const absl::Status&)> on_refused_;
  stop_source stop_;
};

}  // namespace internal

// Reports the changes in a stream of events to the waits that poll for them.
// With a Kubernetes object:
//
//   waiter::PollNotifier changed;
//   const auto watched = std::make_shared<waiter::WatchedDelays>(
//       [changed] { changed.PollNow(); }, absl::Seconds(30));
//   const waiter::HttpWatch watch(
//       {.url = pods + "?watch=true&fieldSelector=metadata.name%3Dweb-0"},
//       watched);
//   waiter::Waiter wait(waiter::HttpPoller({.url = pods + "/web-0"}, IsReady),
//                       {.delay_source = watched});
//   wait.Wait({.notifier = &changed});
//
// The polls read the state. The watch only says when, so it needs neither a
// `resourceVersion` nor the id of the last event. A stream that expires (410 of
// Kubernetes, as a status or in an event) is only opened again.
//
// Has a thread, which follows the stream and connects again whenever it ends.
// The destructor ends it, and blocks only as long as the functions do that the
// thread calls. It must not run inside one of them. In a child of fork(2) it
// leaves the connection to the parent.
class HttpWatch {
 public:
  // `delays` must not be null.
  HttpWatch(HttpRequest request, std::shared_ptr<WatchedDelays> delays,
            HttpWatchOptions options = {})
      : follower_(std::make_shared<internal::StreamFollower>(
            std::move(request), std::move(delays), std::move(options))) {
    thread_.Start([follower = follower_] { follower->Run(); });
  }
  ~HttpWatch() {
    if (thread_.IsGone()) return;
    follower_->Stop();
    thread_.End();
  }
  HttpWatch(const HttpWatch&) = delete;
  HttpWatch& operator=(const HttpWatch&) = delete;

 private:
  const std::shared_ptr<internal::StreamFollower> follower_;
  internal::Thread thread_;
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_WATCH_H_
