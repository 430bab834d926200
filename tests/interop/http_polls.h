// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Responses of servers, and single polls of them by an `HttpPoller`.

#ifndef WAITER_TESTS_INTEROP_HTTP_POLLS_H_
#define WAITER_TESTS_INTEROP_HTTP_POLLS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/socket_server.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter {

// Far more than a request takes on a busy machine, and the limit of
// "immediately".
constexpr absl::Duration kAmple = absl::Seconds(60);
constexpr absl::Duration kAtOnce = absl::Seconds(20);

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

// Returns a server function that answers every request with what `answer`
// returns for the request's line and fields.
template <typename Answer>
SocketServer::Serve AnswerEach(Answer answer) {
  return [answer =
              std::move(answer)](SocketServer::Connection& connection) mutable {
    for (std::string head = connection.ReadRequest(); !head.empty();
         head = connection.ReadRequest()) {
      if (!connection.Send(answer(head))) return;
    }
  };
}
inline SocketServer::Serve Always(std::string response) {
  return AnswerEach([response = std::move(response)](
                        const std::string& /*head*/) { return response; });
}

// Returns a response whose length is stated.
inline std::string Response(std::string_view status_line,
                            std::string_view body = "",
                            std::string_view fields = "") {
  std::string response("HTTP/1.1 ");
  response.append(status_line).append("\r\n").append(fields);
  absl::StrAppend(&response, "Content-Length: ", body.size(), "\r\n\r\n");
  return response.append(body);
}

// Makes one poll of a server.
inline Poll<HttpResponse> PollOnce(
    const SocketServer& server,
    const PollContext& context = {.timeout = kAmple},
    HttpOptions options = {}) {
  HttpPoller poller({.url = server.Url("/")}, std::move(options));
  return poller(context);
}

inline Poll<HttpResponse> PollFor(std::string response,
                                  HttpOptions options = {}) {
  const SocketServer server(Always(std::move(response)));
  return PollOnce(server, {.timeout = kAmple}, std::move(options));
}

}  // namespace waiter

#endif  // WAITER_TESTS_INTEROP_HTTP_POLLS_H_
