// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sends HTTP requests on an event loop. Uses libcurl, which is opened when the
// first client is made.
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::HttpClient>> client =
//       waiter::cli::HttpClient::Make(loop);
//   if (!client.ok()) return client.status();
//   transfer = (*client)->Start({.url = "http://localhost/ready"}, options,
//       [](waiter::cli::HttpAnswer answer) { ... });
//
// Each request opens its own connection and resolves the name again. A poll
// must see the server as the next client would, and an old connection may lead
// to a server that accepts no new ones. A socket is used without a proxy, and
// no redirect leaves it. For other requests the environment sets proxies
// (http_proxy, https_proxy, all_proxy, no_proxy), except for this machine
// itself. The client reads nothing else of the environment.

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_CLIENT_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {

// Where a request goes. This comes from the target, unlike `HttpOptions`, which
// come from the user.
struct HttpDestination {
  // http or https. May contain a user and a password.
  std::string url;

  // Path of a Unix socket that leads to the host of `url`, or `@NAME` for an
  // abstract one. Empty: the host is looked up.
  std::string socket = {};

  // Whether HTTP/2 is required, as in `HttpOptions`. gRPC requires it.
  bool http2 = false;

  // Whether the request asks the server to leave HTTP. An answer of status 101
  // then ends it, and the bytes after it are not read.
  bool upgrades = false;

  // Header fields for this address alone: no redirect gets them.
  HttpFields own_headers = {};
};

// A request in progress. The destructor ends it without an answer.
class HttpTransfer {
 public:
  virtual ~HttpTransfer() = default;

  // Returns the answer so far, with the current `stage`.
  virtual HttpAnswer Answer() const = 0;
};

// Thread-compatible. Must outlive its transfers and the calls of their `done`.
class HttpClient {
 public:
  using Done = std::function<void(HttpAnswer)>;

  // Most redirects that a request follows.
  static constexpr int kMaxRedirects = 10;

  // Returns a client on `loop`, which must outlive it. Returns kInvalidArgument
  // if libcurl is not installed, or this program was built without it.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Make(EventLoop& loop);

  virtual ~HttpClient() = default;

  // Returns kInvalidArgument if `Start` cannot take its arguments. The message
  // contains no password.
  virtual absl::Status Check(const HttpDestination& destination,
                             const HttpOptions& options) const = 0;

  // Starts a request, and calls `done` once, later and not inside this call,
  // unless the transfer is destroyed before. `done` may destroy the transfer.
  // Requires `Check(destination, *options).ok()`.
  virtual std::unique_ptr<HttpTransfer> Start(
      const HttpDestination& destination,
      std::shared_ptr<const HttpOptions> options, Done done) = 0;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_CLIENT_H_
