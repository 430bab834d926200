// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What came of one HTTP request, before anybody judged it.

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/net/socket_address.h"

namespace waiter::cli {

// How far a request has come.
enum class HttpStage : uint8_t {
  kResolving,   // Looking for the address of the name.
  kConnecting,  // To one of `HttpAnswer::addresses`.
  kHandshake,   // Connected, TLS is not set up.
  kWaiting,     // The request is under way or sent, and there is no answer.
  kReading,     // `HttpAnswer::status` has come.
};

struct HttpAnswer {
  // Bytes of a body that are looked at. A larger one is not read further.
  static constexpr size_t kMaxBody = size_t{1} << 20;

  // Bytes of the headers of one answer; with more it is `kProtocol`.
  static constexpr size_t kMaxHeaders = size_t{256} << 10;

  enum class Error : uint8_t {
    kNone,
    kNameNotFound,
    kNotConnected,  // `connect_error` says why.
    kTimeout,       // `stage` says of what.
    kCertificate,   // TLS, as the certificate is not to be trusted.
    kTls,           // All else of TLS.
    kProtocol,      // All else that is no answer: garbage, or half of one.
    kOptions,       // Nothing was sent, as what was asked for cannot be done.
  };
  Error error = Error::kNone;

  // For people, if there is another error than `kNotConnected`.
  std::string error_text = {};

  HttpStage stage = HttpStage::kResolving;

  // Those that were tried, in that order, and the errno of the last one.
  std::vector<SocketAddress> addresses = {};
  int connect_error = 0;

  // That a proxy may have been asked, so that an error of the connection tells
  // nothing of the target.
  bool may_be_proxied = false;

  // 0 while no status line has come, like all below.
  int status = 0;
  std::string reason = {};  // As the server wrote it; HTTP/2 has none.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  bool body_is_cut = false;  // The body is longer than `kMaxBody`.
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_ANSWER_H_
