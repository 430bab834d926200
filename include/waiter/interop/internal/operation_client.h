// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sends the requests of an `HttpOperation` (interop/http.h) by libcurl.

#ifndef WAITER_INTEROP_INTERNAL_OPERATION_CLIENT_H_
#define WAITER_INTEROP_INTERNAL_OPERATION_CLIENT_H_

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/interop/internal/curl_client.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_memory.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/long_poll.h"
#include "waiter/poll.h"

namespace waiter::internal {

// Keeps the connection, and what `HttpMemory` knows, as long as the requests
// are the same. Thread-compatible.
class OperationClient {
 public:
  OperationClient(size_t max_body, HttpLongPoll long_poll,
                  std::function<void(CURL*)> configure)
      : max_body_(max_body),
        long_poll_(std::move(long_poll)),
        configure_(std::move(configure)) {}

  // Sends `request` without following redirects, within `poll.timeout`.
  HttpOutcome Send(const HttpRequest& request, const PollContext& poll) {
    if (client_ == nullptr || !IsSame(request, request_)) {
      client_ = Make(request);
      request_ = request;
    }
    return client_->Send(poll);
  }

  // Sends a request that cancels. Returns an error unless it was answered with
  // 2xx or 404.
  absl::Status SendCancel(HttpRequest request, absl::Duration timeout) const {
    HttpOutcome outcome = Make(std::move(request))->Send({.timeout = timeout});
    if (!outcome.has_response()) {
      return absl::UnavailableError(
          absl::StrCat("the operation was not cancelled: ", outcome.text));
    }
    const HttpResponse& response = outcome.response;
    if (response.status == 404 ||
        (response.status >= 200 && response.status < 300)) {
      return absl::OkStatus();
    }
    return {CodeOfHttp(response.status),
            absl::StrCat("the operation was not cancelled: HTTP ",
                         response.status, " ", response.reason)};
  }

 private:
  static bool IsSame(const HttpRequest& a, const HttpRequest& b) {
    return a.url == b.url && a.method == b.method && a.headers == b.headers &&
           a.body == b.body;
  }

  std::unique_ptr<CurlClient> Make(HttpRequest request) const {
    // Only a request that may be repeated may be held.
    const bool may_be_held = HttpMemory::Suits(
        request.method, request.body.has_value(), request.headers);
    return std::make_unique<CurlClient>(
        std::move(request),
        CurlOptions{.max_body = max_body_,
                    .max_redirects = 0,
                    .long_poll = may_be_held ? long_poll_ : HttpLongPoll(),
                    .configure = configure_});
  }

  size_t max_body_;
  HttpLongPoll long_poll_;
  std::function<void(CURL*)> configure_;
  HttpRequest request_;
  std::unique_ptr<CurlClient> client_;  // Null before the first request.
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_OPERATION_CLIENT_H_
