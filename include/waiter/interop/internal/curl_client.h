// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sends the requests of an `HttpPoller` (interop/http.h) by libcurl. All
// functions are inline, so that the library itself needs no libcurl.

#ifndef WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_
#define WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/interop/internal/curl_failure.h"
#include "waiter/interop/internal/curl_handles.h"
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

// Options of `HttpPoller` (interop/http.h) by the same names.
struct CurlOptions {
  size_t max_body;
  int max_redirects;
  HttpLongPoll long_poll;
  std::function<void(CURL*)> configure;

  // Gets the bodies of responses with 2xx; null: they are collected.
  StreamSink* sink = nullptr;
};

// Thread-compatible. The first request makes its handles.
class CurlClient {
 public:
  CurlClient(HttpRequest request, CurlOptions options)
      : request_(std::move(request)),
        max_redirects_(options.max_redirects),
        configure_(std::move(options.configure)),
        long_polls_(std::move(options.long_poll)),
        sink_(options.sink),
        reader_(options.max_body) {}
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  // Sends the request and returns its outcome, within `poll.timeout`, and
  // immediately when a stop is requested.
  HttpOutcome Send(const PollContext& poll) {
    if (!is_ready_) {
      if (absl::Status status = Prepare(); !status.ok()) {
        return Without(Failure::kImpossible, std::string(status.message()));
      }
      is_ready_ = true;
    }
    reader_.Take();
    is_redirected_ = false;
    error_[0] = '\0';
    long_polls_.Begin(poll.timeout, GetRealClock().MonotonicNow());
    // libcurl does not copy the list.
    const CurlLines lines = RequestLines();
    Set(CURLOPT_HTTPHEADER, lines.get());
    Set(CURLOPT_URL, long_polls_.Url(request_.url).c_str());
    Set(CURLOPT_TIMEOUT_MS, CurlMilliseconds(poll.timeout));
    curl_multi_add_handle(multi_.get(), easy_.get());
    HttpOutcome outcome = Transfer(poll);
    curl_multi_remove_handle(multi_.get(), easy_.get());
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

  template <typename T>
  void Set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }

  absl::Status Prepare() {
    if (absl::Status status = CheckRequest(request_); !status.ok()) {
      return status;
    }
    // Once in a process, before other threads can do the same.
    static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_.reset(curl_multi_init());
    easy_.reset(curl_easy_init());
    if (initialized != CURLE_OK || multi_ == nullptr || easy_ == nullptr) {
      return absl::InternalError("libcurl cannot be initialized");
    }
    Set(CURLOPT_ERRORBUFFER, error_.data());
    Set(CURLOPT_HEADERFUNCTION, &OnHeader);
    Set(CURLOPT_HEADERDATA, this);
    Set(CURLOPT_WRITEFUNCTION, &OnBody);
    Set(CURLOPT_WRITEDATA, this);
    SetRequest();
    SetLimits();
    if (configure_ != nullptr) configure_(easy_.get());
    return absl::OkStatus();
  }

  void SetRequest() {
    const std::string& method = request_.method;
    const bool has_body = request_.body.has_value();
    if (has_body) {
      Set(CURLOPT_POSTFIELDSIZE_LARGE,
          static_cast<curl_off_t>(request_.body->size()));
      Set(CURLOPT_POSTFIELDS, request_.body->data());
    }
    if (method == "HEAD") {
      Set(CURLOPT_NOBODY, 1L);
    } else if (!method.empty() && method != (has_body ? "POST" : "GET")) {
      Set(CURLOPT_CUSTOMREQUEST, method.c_str());
    }
    // Otherwise a large body waits for "100 Continue", which few servers send.
    for (CurlLines* lines : {&headers_, &plain_headers_}) {
      AppendLine(*lines, "Expect:");
    }
    for (const auto& [name, value] : request_.headers) {
      // "Name:" would remove a header that libcurl adds itself.
      AppendLine(headers_, value.empty() ? absl::StrCat(name, ";")
                                         : absl::StrCat(name, ": ", value));
    }
    // All codings that libcurl knows. `OnBody` bounds the decoded size.
    Set(CURLOPT_ACCEPT_ENCODING, "");
    // Some servers refuse requests without a user agent.
    Set(CURLOPT_USERAGENT, "waiter");
    remembers_ = HttpMemory::Suits(method, has_body, request_.headers);
    follows_ = !has_body && max_redirects_ > 0 &&
               (method.empty() || method == "GET" || method == "HEAD");
    Set(CURLOPT_FOLLOWLOCATION, follows_ ? 1L : 0L);
    Set(CURLOPT_MAXREDIRS, static_cast<long>(max_redirects_));
  }

  // Returns the header fields of the next request, including the ones that ask
  // for a newer answer than the last one, or to hold the request.
  CurlLines RequestLines() const {
    CurlLines lines;
    for (const curl_slist* line = headers_.get(); line != nullptr;
         line = line->next) {
      AppendLine(lines, line->data);
    }
    for (const HttpFields& fields :
         {memory_.Conditions(), long_polls_.Fields()}) {
      for (const auto& [name, value] : fields) {
        AppendLine(lines, absl::StrCat(name, ": ", value));
      }
    }
    return lines;
  }

  void SetLimits() {
#if LIBCURL_VERSION_NUM >= 0x075500
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    Set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    Set(CURLOPT_REDIR_PROTOCOLS,
        static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    // A stop does not wait for the thread that looks up a name.
    Set(CURLOPT_QUICK_EXIT, 1L);
#endif
    Set(CURLOPT_HTTP09_ALLOWED, 0L);
    Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    Set(CURLOPT_NOSIGNAL, 1L);
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
    if (reader_.header_is_too_long()) {
      return Without(Failure::kConnection, "the HTTP header is too long");
    }
    if (code != CURLE_OK && !reader_.response().body_is_cut) {
      const CurlTransfer transfer = {
          easy_, error_.data(),
          std::string(reader_.response().header("Content-Encoding")),
          reader_.has_header()};
      return Without(CurlFailureOf(code, transfer),
                     CurlTextOf(code, transfer, timeout));
    }
    if (!reader_.has_header()) {  // libcurl accepts that.
      return Without(Failure::kConnection,
                     "connection closed before the header ended");
    }
    HttpOutcome outcome = {.response = reader_.Take(), .received = absl::Now()};
    outcome.response.url = EffectiveUrlOf(easy_);
    long redirects = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_COUNT, &redirects);
    if (remembers_ && redirects == 0) memory_.Apply(outcome.response);
    return outcome;
  }

  // Callbacks of libcurl. A result other than the number of bytes ends the
  // transfer.
  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    auto& client = *static_cast<CurlClient*>(self);
    const bool had_header = client.reader_.has_header();
    if (!client.reader_.ReadLine({data, size * count})) return 0;
    if (!client.reader_.has_header()) return size * count;
    client.PrepareForRedirect();
    if (!had_header && client.Streams()) {
      client.sink_->OnResponse(client.reader_.response());
    }
    return size * count;
  }
  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    auto& client = *static_cast<CurlClient*>(self);
    if (client.Streams()) {
      client.sink_->OnBody({data, size * count});
      return size * count;
    }
    return client.reader_.ReadBody({data, size * count}) ? size * count : 0;
  }

  bool Streams() const {
    return sink_ != nullptr && reader_.response().status / 100 == 2;
  }

  // Drops the headers of the user if the response redirects to another origin,
  // and in any case the ones about the last answer. libcurl itself holds back
  // only passwords, cookies and some headers.
  void PrepareForRedirect() {
    const HttpResponse& response = reader_.response();
    if (!follows_ || response.status < 300 || response.status >= 400) return;
    if (!std::exchange(is_redirected_, true)) {
      Set(CURLOPT_HTTPHEADER, headers_.get());
    }
    const CurlUrl url(curl_url());
    const std::string location(response.header("Location"));
    if (curl_url_set(url.get(), CURLUPART_URL, EffectiveUrlOf(easy_).c_str(),
                     0) != CURLUE_OK ||
        curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) !=
            CURLUE_OK ||
        OriginOf(url) != Origin()) {
      Set(CURLOPT_HTTPHEADER, plain_headers_.get());
    }
  }

  // Returns the origin of the request.
  std::string Origin() const {
    const CurlUrl url(curl_url());
    curl_url_set(url.get(), CURLUPART_URL, request_.url.c_str(),
                 CURLU_GUESS_SCHEME);
    return OriginOf(url);
  }

  const HttpRequest request_;
  const int max_redirects_;
  const std::function<void(CURL*)> configure_;
  LongPolls long_polls_;
  StreamSink* const sink_;
  HttpReader reader_;
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  bool is_ready_ = false;
  bool follows_ = false;
  bool remembers_ = false;
  bool is_redirected_ = false;  // The transfer in progress.
  HttpMemory memory_;
  CurlLines headers_;
  CurlLines plain_headers_;  // Without the headers of the user.
  CurlMulti multi_;          // Has the connections.
  CurlEasy easy_;            // Uses all of the above.
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_CURL_CLIENT_H_
