// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sends the requests of an `HttpPoller` (interop/http.h) by libcurl. All
// functions are inline, so that the library itself needs no libcurl.

#ifndef WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_
#define WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_

#include <curl/curl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/interop/internal/curl_failure.h"
#include "waiter/interop/internal/curl_request.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_memory.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/long_poll.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Takes a response as it comes.
class StreamSink {
 public:
  virtual ~StreamSink() = default;

  // Called with the header, and then with each part of the body.
  virtual void OnResponse(const HttpResponse& response) = 0;
  virtual void OnBody(std::string_view part) = 0;
};

struct FreeCurlMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using CurlMulti = std::unique_ptr<CURLM, FreeCurlMulti>;

// Options of `HttpPoller` (interop/http.h) by the same names.
struct CurlOptions {
  size_t max_body;
  int max_redirects;
  HttpLongPoll long_poll;
  std::function<void(CURL*)> configure;

  // Gets the bodies of responses with 2xx; null: they are collected.
  StreamSink* sink = nullptr;
};

// Returns `limit` as libcurl takes it: in milliseconds, zero for no limit.
inline long CurlMilliseconds(absl::Duration limit) {
  constexpr int64_t kLongest = (std::numeric_limits<int32_t>::max)();
  if (limit == absl::InfiniteDuration()) return 0;
  const absl::Duration rounded_up = absl::Ceil(limit, absl::Milliseconds(1));
  return static_cast<long>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(rounded_up), 1, kLongest));
}

// Thread-compatible. The first request makes its handles.
class CurlClient final : private CurlRequest {
 public:
  CurlClient(HttpRequest request, CurlOptions options)
      : CurlRequest(LinkedCurl(), std::move(request),
                    {.read = {.body = options.max_body},
                     .redirects = options.max_redirects}),
        configure_(std::move(options.configure)),
        long_polls_(std::move(options.long_poll)),
        sink_(options.sink) {}

  // Sends the request and returns its outcome, within `poll.timeout`, and
  // immediately when a stop is requested.
  HttpOutcome Send(const PollContext& poll) {
    if (!is_ready_) {
      if (absl::Status status = Prepare(); !status.ok()) {
        return Without(Failure::kImpossible, std::string(status.message()));
      }
      is_ready_ = true;
    }
    long_polls_.Begin(poll.timeout, GetRealClock().MonotonicNow());
    HttpFields own = memory_.Conditions();
    for (auto& field : long_polls_.Fields()) own.push_back(std::move(field));
    Begin(long_polls_.Url(request().url), own);
    Set(CURLOPT_TIMEOUT_MS, CurlMilliseconds(poll.timeout));
    curl_multi_add_handle(multi_.get(), easy());
    HttpOutcome outcome = Transfer(poll);
    curl_multi_remove_handle(multi_.get(), easy());
    if (outcome.failure != Failure::kStopped) {
      outcome.was_held =
          long_polls_.End(outcome.has_response() ? outcome.response.status : 0,
                          GetRealClock().MonotonicNow());
    }
    return outcome;
  }

 private:
  using Failure = HttpOutcome::Failure;

  static HttpOutcome Without(Failure failure, std::string text) {
    return {.failure = failure, .text = std::move(text)};
  }

  absl::Status Prepare() {
    if (absl::Status status = CheckRequest(request()); !status.ok()) {
      return status;
    }
    // Once in a process, before other threads can do the same.
    static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_.reset(curl_multi_init());
    if (initialized != CURLE_OK || multi_ == nullptr || !Open()) {
      return absl::InternalError("libcurl cannot be initialized");
    }
    const std::string& method = request().method;
    const bool has_body = request().body.has_value();
    remembers_ = HttpMemory::Suits(method, has_body, request().headers);
    // A redirect does not repeat a request that may change something.
    const bool is_safe =
        !has_body && (method.empty() || method == "GET" || method == "HEAD");
    if (!is_safe) Set(CURLOPT_FOLLOWLOCATION, 0L);
    if (configure_ != nullptr) configure_(easy());
    return absl::OkStatus();
  }

  // Drives the transfer that was added, until it ends or a stop is requested.
  HttpOutcome Transfer(const PollContext& poll) {
    const stop_token& stop = poll.stop_token;
    const stop_callback wake_up(
        stop, [multi = multi_.get()] { curl_multi_wakeup(multi); });
    constexpr int kAnHour = 3'600'000;  // libcurl shortens it as it needs.
    while (!stop.stop_requested()) {
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) break;
      if (running == 0) return Outcome(poll.timeout);
      if (curl_multi_poll(multi_.get(), nullptr, 0, kAnHour, nullptr) !=
          CURLM_OK) {
        break;
      }
    }
    if (stop.stop_requested()) {
      return Without(Failure::kStopped, "cut short by a stop");
    }
    return Without(Failure::kConnection, "libcurl cannot continue");
  }

  HttpOutcome Outcome(absl::Duration timeout) {
    CURLcode code = CURLE_GOT_NOTHING;
    int left = 0;
    while (const CURLMsg* const message =
               curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) code = message->data.result;
    }
    if (reader().header_is_too_long()) {
      return Without(Failure::kConnection, "the HTTP header is too long");
    }
    if (code != CURLE_OK && !reader().response().body_is_cut) {
      const CurlFailure failure = {
          .code = code,
          .text = ErrorText(code),
          .content_encoding = reader().response().header("Content-Encoding"),
          .os_error = Info<long>(CURLINFO_OS_ERRNO),
          .has_sent = Info<long>(CURLINFO_REQUEST_SIZE) != 0,
          .has_header = reader().has_header()};
      return Without(FailureOf(failure), TextOf(failure, timeout));
    }
    if (!reader().has_header()) {  // libcurl accepts that.
      return Without(Failure::kConnection,
                     "connection closed before the header ended");
    }
    HttpOutcome outcome = {.response = reader().Take(),
                           .received = absl::Now()};
    outcome.response.url = EffectiveUrl();
    if (remembers_ && Info<long>(CURLINFO_REDIRECT_COUNT) == 0) {
      memory_.Apply(outcome.response);
    }
    return outcome;
  }

  bool OnHeader() override {
    if (Streams()) sink_->OnResponse(reader().response());
    return true;
  }
  // A redirect that is not followed is the response. `configure_` may ask to
  // follow more of them.
  bool OnRedirect(const CurlUrl& /*url*/, bool /*leaves_origin*/) override {
    return true;
  }
  bool OnBody(std::string_view part) override {
    if (!Streams()) return CurlRequest::OnBody(part);
    sink_->OnBody(part);
    return true;
  }

  bool Streams() const {
    return sink_ != nullptr && reader().response().status / 100 == 2;
  }

  const std::function<void(CURL*)> configure_;
  LongPolls long_polls_;
  StreamSink* const sink_;
  bool is_ready_ = false;
  bool remembers_ = false;
  HttpMemory memory_;
  CurlMulti multi_;  // Has the connections.
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_
