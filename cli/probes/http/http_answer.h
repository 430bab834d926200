// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The result of one HTTP request, before http_verdict.h judges it.

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/net/socket_address.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Progress of a request.
enum class HttpStage : uint8_t {
  kResolving,   // Looking up the name.
  kConnecting,  // Connecting to one of `HttpAnswer::addresses`.
  kHandshake,   // Connected; TLS is not set up.
  kWaiting,     // Sending the request, or waiting for the answer.
  kReading,     // The status has arrived.
};

// An answer, complete or not, or an error. The members of `HttpResponse` are
// empty until a status line has arrived; a body is cut to `kMaxBody`.
struct HttpAnswer : HttpResponse {
  // Most bytes of a body that are read.
  static constexpr size_t kMaxBody = size_t{1} << 20;

  // Most bytes of the headers of one answer; more are `kProtocol`.
  static constexpr size_t kMaxHeaders = size_t{256} << 10;

  enum class Error : uint8_t {
    kNone,
    kNameNotFound,
    kNotConnected,  // `connect_error` says why.
    kTimeout,       // `stage` says during what.
    kCertificate,   // The certificate is not trusted.
    kTls,           // Another failure of TLS.
    kProtocol,      // The answer is invalid or incomplete.
    kNotHttp2,      // HTTP/2 was required, and the answer is something else.
    kOptions,       // Nothing was sent, because the options cannot be met.
  };
  Error error = Error::kNone;

  // For messages, for errors other than `kNone` and `kNotConnected`.
  std::string error_text = {};

  HttpStage stage = HttpStage::kResolving;

  // Addresses in the order of the attempts, and the errno of the last attempt.
  std::vector<SocketAddress> addresses = {};
  int connect_error = 0;

  // Whether the request may go to a proxy, so that an error of the connection
  // proves nothing about the target. The port of the target, in text, tells
  // from most proxies; empty if it is not known.
  bool may_be_proxied = false;
  std::string target_port = {};

  bool is_http2 = false;
  bool is_redirected = false;  // A redirect led to this answer.

  // The trailers, after the body.
  std::vector<std::pair<std::string, std::string>> trailers = {};
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_
