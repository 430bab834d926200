// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sets up a request of libcurl, and collects its answer. `HttpClient`
// (http_client.h) drives it.
//
// Only for code that is compiled with WAITER_HAS_CURL.

#ifndef WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_
#define WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "cli/probes/http/curl_library.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {

// Thread-compatible.
class CurlTransfer final : public HttpTransfer {
 public:
  enum class Proxy { kNever, kOfEnvironment };

  // Adds a request to `multi`. The CURLOPT_PRIVATE of its handle is this
  // object.
  CurlTransfer(const CurlLibrary& curl, CURLM* multi,
               const HttpDestination& destination,
               std::shared_ptr<const HttpOptions> options, Proxy proxy,
               std::string target_port, HttpClient::Done done);
  ~CurlTransfer() override;
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  HttpAnswer Answer() const override;

  // Ends the request, with which libcurl has finished with `code`: removes it
  // from the multi handle, and calls `done`, which may destroy this.
  void Finish(CURLcode code);

 private:
  template <typename T>
  void Set(CURLoption option, T value) {
    curl_.easy_setopt(easy_, option, value);
  }
  template <typename T>
  T Info(CURLINFO info) const;

  void SetDestination(const HttpDestination& destination);
  void SetRequest(const HttpFields& own_headers);
  void SetLimits();
  void SetTrust();
  void SetPem(CURLoption option, const std::string& pem);
  void Remove();
  void ReadError(CURLcode code);
  HttpStage Stage() const;

  // Callbacks of libcurl.
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose,
                                  curl_sockaddr* address);
  static CURLcode OnHandshake(CURL* easy, void* tls, void* self);

  bool ReadHeader(std::string_view line);

  // Prepares a request to the place to which the last answer redirects. Returns
  // false if it must not be sent.
  bool FollowRedirect();

  const CurlLibrary& curl_;
  CURLM* const multi_;
  const std::shared_ptr<const HttpOptions> options_;
  HttpClient::Done done_;

  CURL* easy_;
  curl_slist* first_headers_ = nullptr;  // With the destination's headers.
  curl_slist* headers_ = nullptr;
  curl_slist* plain_headers_ = nullptr;  // Without the options' headers.
  const std::string origin_;             // To which the options belong.
  const bool has_socket_;
  const bool http2_;
  const bool upgrades_;
  std::string redirect_refusal_;  // Empty: no redirect was refused.
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  HttpAnswer answer_;
  size_t header_bytes_ = 0;
  bool header_ended_ = false;  // Later lines are trailers.
  bool handshake_begun_ = false;
  bool upgraded_ = false;  // The answer has ended with its header.
};

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL

#endif  // WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_
