// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of an HTTP probe: the request that it sends and the answers that it
// expects.
//
//   waiter::cli::HttpOptions options;
//   options.json.push_back(
//       *waiter::cli::JsonExpression::Parse(".status == \"UP\""));

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_OPTIONS_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/net/socket_address.h"
#include "cli/probes/http/json_expression.h"
#include "cli/text/text_regex.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Options of all HTTP probes of a run.
struct HttpOptions {
  // Empty means GET, or POST if there is `data`.
  std::string method = {};

  HttpFields headers = {};  // Values may be empty.

  // Body of the request of each poll.
  std::optional<std::string> data = std::nullopt;

  // Conditions that the answer must all meet. Messages name them
  // in this order: headers, body, JSON.
  HttpStatusSet status = {{{200, 299}}};
  std::vector<TextRegex> body = {};
  std::vector<JsonExpression> json = {};
  struct HeaderMatch {
    std::string name;  // Case does not matter.
    TextRegex value;   // Must match the value of a header of this name.
  };
  std::vector<HeaderMatch> expected_headers = {};

  // If one of these conditions holds, the wait ends as failed, for any status.
  HttpStatusSet fail_status = {};
  std::vector<TextRegex> fail_body = {};
  std::vector<JsonExpression> fail_json = {};

  // Value of a successful answer to show.
  std::optional<JsonExpression> print = std::nullopt;

  // Statuses that mean "not ready" instead of their usual meaning.
  HttpStatusSet not_ready_on = {};

  // Whether to check certificates, and the file of trusted ones; an empty name
  // means the certificates of the system.
  bool verify = true;
  std::string ca_file = {};

  // In PEM, if not empty: the trusted certificates instead of all others, and
  // the certificate of the client with its key. They need libcurl 7.77 or newer
  // when this program is built.
  std::string ca_pem = {};
  std::string client_certificate_pem = {};
  std::string client_key_pem = {};

  // File of logins for hosts, in the form of .netrc; empty: none. A user in the
  // URL takes precedence.
  std::string netrc_file = {};

  bool follow_redirects = true;

  // Whether an answer must be one of HTTP/2, which the client speaks from its
  // first byte. Over TLS, the server chooses.
  bool http2 = false;

  HttpLongPoll long_poll = {};

  using Family = AddressFamily;
  Family family = Family::kAny;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_OPTIONS_H_
