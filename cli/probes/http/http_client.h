// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// HTTP on an event loop, by libcurl, which is opened when the first client is
// made.
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::HttpClient>> client =
//       waiter::cli::HttpClient::Make(loop);
//   if (!client.ok()) return client.status();
//   transfer = (*client)->Start("http://localhost/ready", options,
//       [](waiter::cli::HttpAnswer answer) { ... });
//
// Each request makes a connection of its own and asks for the address anew: a
// poll is to see what the next client would, and a connection from before may
// lead to a server that takes no others. Proxies are those of the environment
// (http_proxy, https_proxy, all_proxy, no_proxy), but none for this machine
// itself; nothing else of the environment and no .netrc is read.

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

// A request under way. Its destructor ends it, without an answer.
class HttpTransfer {
 public:
  virtual ~HttpTransfer() = default;

  // Returns what has come so far; `stage` is as of now.
  virtual HttpAnswer Answer() const = 0;
};

// Thread-compatible. Must outlive its transfers, and what they call.
class HttpClient {
 public:
  using Done = std::function<void(HttpAnswer)>;

  // Most redirects that are followed in one request.
  static constexpr int kMaxRedirects = 10;

  // Returns a client on `loop`, which must outlive it; or kInvalidArgument if
  // there is no libcurl here, or this program was built without.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Make(EventLoop& loop);

  virtual ~HttpClient() = default;

  // Returns whether `url` is one for `Start`, or kInvalidArgument with what is
  // wrong with it; never with a password.
  virtual absl::Status CheckUrl(const std::string& url) const = 0;

  // Begins a request, and calls `done` once, later and not inside, unless the
  // transfer is destroyed before; it may be inside of `done`. Requires
  // `CheckUrl(url).ok()`.
  virtual std::unique_ptr<HttpTransfer> Start(
      const std::string& url, std::shared_ptr<const HttpOptions> options,
      Done done) = 0;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_CLIENT_H_
