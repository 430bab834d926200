// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/http_client.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>
#include <poll.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/http/curl_library.h"
#include "cli/probes/http/curl_transfer.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {
namespace {

// Returns whether `host` is a name of this machine, without a look-up.
bool IsLoopback(std::string_view host) {
  return host == "[::1]" || host == "localhost" ||
         absl::EndsWith(host, ".localhost") ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

// Returns whether the environment has a proxy, in the variables that libcurl
// reads. HTTP_PROXY is not one of them: in a CGI it is a header of the request.
bool EnvironmentHasProxy(const std::string& scheme) {
  for (const std::string& name :
       {scheme + "_proxy", std::string(scheme == "https" ? "HTTPS_PROXY" : ""),
        std::string("all_proxy"), std::string("ALL_PROXY")}) {
    const char* const value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(EventLoop& loop, const CurlLibrary& curl)
      : loop_(loop), curl_(curl), multi_(curl.multi_init()) {
    curl_.multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocketChange);
    curl_.multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_.multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimerChange);
    curl_.multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }
  ~CurlClient() override { curl_.multi_cleanup(multi_); }
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  absl::Status Check(const HttpDestination& destination,
                     const HttpOptions& options) const override {
    const std::string scheme = Part(destination.url, CURLUPART_SCHEME);
    if (scheme != "http" && scheme != "https") {
      return absl::InvalidArgumentError(
          "not a valid URL; write it as http://HOST[:PORT][/PATH]");
    }
    const int features = curl_.version_info(CURLVERSION_NOW)->features;
    if ((destination.http2 || options.http2) &&
        (features & CURL_VERSION_HTTP2) == 0) {
      return absl::InvalidArgumentError(
          "grpc targets and --http2 need HTTP/2, which the libcurl.so.4 here "
          "was built without: install another, or use "
          "exec:'grpc_health_probe -addr=HOST:PORT'");
    }
    return absl::OkStatus();
  }

  std::unique_ptr<HttpTransfer> Start(
      const HttpDestination& destination,
      std::shared_ptr<const HttpOptions> options, Done done) override {
    const std::string& url = destination.url;
    const bool may_be_proxied =
        destination.socket.empty() && !IsLoopback(Part(url, CURLUPART_HOST)) &&
        EnvironmentHasProxy(Part(url, CURLUPART_SCHEME));
    return std::make_unique<CurlTransfer>(
        curl_, multi_, destination, std::move(options),
        may_be_proxied ? CurlTransfer::Proxy::kOfEnvironment
                       : CurlTransfer::Proxy::kNever,
        Part(url, CURLUPART_PORT), std::move(done));
  }

 private:
  std::string Part(const std::string& url, CURLUPart part) const {
    return CurlUrl(curl_, url).Part(part);
  }

  static int OnSocketChange(CURL* /*easy*/, curl_socket_t socket, int wanted,
                            void* self, void* /*socket_data*/) {
    auto& client = *static_cast<CurlClient*>(self);
    if (wanted == CURL_POLL_REMOVE) {
      client.sockets_.erase(socket);
      return 0;
    }
    const auto events =
        static_cast<short>(((wanted & CURL_POLL_IN) != 0 ? POLLIN : 0) |
                           ((wanted & CURL_POLL_OUT) != 0 ? POLLOUT : 0));
    client.sockets_[socket] =
        client.loop_.WhenReady(socket, events, [&client, socket](short ready) {
          client.MoveOn(
              socket,
              ((ready & (POLLIN | POLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                  ((ready & POLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                  ((ready & (POLLERR | POLLNVAL)) != 0 ? CURL_CSELECT_ERR : 0));
        });
    return 0;
  }

  static int OnTimerChange(CURLM* /*multi*/, long milliseconds, void* self) {
    auto& client = *static_cast<CurlClient*>(self);
    client.timer_ = milliseconds < 0
                        ? EventLoop::Watch()
                        : client.loop_.CallAfter(
                              absl::Milliseconds(milliseconds), [&client] {
                                client.MoveOn(CURL_SOCKET_TIMEOUT, 0);
                              });
    return 0;
  }

  void MoveOn(curl_socket_t socket, int ready) {
    int running = 0;
    curl_.multi_socket_action(multi_, socket, ready, &running);
    int left = 0;
    while (const CURLMsg* const message =
               curl_.multi_info_read(multi_, &left)) {
      // `Finish` destroys the handle and the message.
      const CURLcode result = message->data.result;
      CurlTransfer* transfer = nullptr;
      curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      transfer->Finish(result);
    }
  }

  EventLoop& loop_;
  const CurlLibrary& curl_;
  CURLM* const multi_;
  std::map<curl_socket_t, EventLoop::Watch> sockets_;
  EventLoop::Watch timer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Make(EventLoop& loop) {
  const absl::StatusOr<const CurlLibrary*> curl = LoadCurl();
  if (!curl.ok()) return curl.status();
  return std::make_unique<CurlClient>(loop, **curl);
}

}  // namespace waiter::cli

#else

namespace waiter::cli {

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Make(
    EventLoop& /*loop*/) {
  return absl::InvalidArgumentError(
      "this waiter was built without http targets: install the package "
      "libcurl4-openssl-dev and build it again, or use exec:'curl -fsS URL'");
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL
