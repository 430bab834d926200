// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests and responses of an `HttpPoller`: the part of interop/http.h, which
// programs include, that needs no libcurl.

#ifndef WAITER_INTEROP_INTERNAL_HTTP_MESSAGE_H_
#define WAITER_INTEROP_INTERNAL_HTTP_MESSAGE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waiter/classify.h"

namespace waiter {

// Names and values, in their order. Names may occur several times.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The request that each poll makes.
struct HttpRequest {
  // An address of http or https.
  std::string url;

  // Such as "PUT". Empty: GET, or POST if there is a body.
  std::string method = {};

  // Sent to the origin of `url` only: a redirect to another origin drops them.
  HttpFields headers = {};

  std::optional<std::string> body = std::nullopt;
};

// The final response: after redirects, and without interim ones (1xx).
struct HttpResponse {
  int status = 0;

  // Reason phrase, printable and at most 60 characters. HTTP/2 has none.
  std::string reason = {};

  // Address that responded.
  std::string url = {};

  // Header fields as received, without the spaces around values.
  HttpFields headers = {};

  // Body, and whether it was cut to `HttpOptions::max_body` bytes.
  std::string body = {};
  bool body_is_cut = false;

  // Whether the server answered 304, so that status and body come from an
  // earlier response, which still holds.
  bool not_modified = false;

  // Delay that the server asked for, by `Retry-After` or another part of the
  // response; `JudgeHttp` (internal/http_judge.h) has the list.
  RetryAfter retry_after = {};

  // Returns the value of the first field with this name, ignoring case; empty
  // without one. Valid as long as this object is unchanged.
  std::string_view header(std::string_view name) const;
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_MESSAGE_H_
