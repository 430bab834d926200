// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A request of libcurl for the command: with its own connection, and a record
// of how far it came. `HttpClient` (http_client.h) drives it.
//
// Only for code that is compiled with WAITER_HAS_CURL.

#ifndef WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_
#define WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>

#include <memory>
#include <string>

#include "cli/probes/http/curl_library.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Thread-compatible.
class CurlTransfer final : public HttpTransfer, private CurlRequest {
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
  void SetDestination(const HttpDestination& destination);
  void SetConnection();
  void SetTrust();
  void SetPem(CURLoption option, const std::string& pem);
  void Remove();
  void ReadError(CURLcode code);
  HttpStage Stage() const;

  bool OnHeader() override;
  bool OnRedirect(const CurlUrl& url, bool leaves_origin) override;

  // Callbacks of libcurl.
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose,
                                  curl_sockaddr* address);
  static CURLcode OnHandshake(CURL* easy, void* tls, void* self);

  const CurlLibrary& curl_;
  CURLM* const multi_;
  const std::shared_ptr<const HttpOptions> options_;
  HttpClient::Done done_;

  const bool has_socket_;
  const bool http2_;
  const bool upgrades_;
  std::string redirect_refusal_;  // Empty: no redirect was refused.
  HttpAnswer answer_;             // Without the response.
  bool handshake_begun_ = false;
  bool upgraded_ = false;  // The answer has ended with its header.
};

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL

#endif  // WAITER_CLI_PROBES_HTTP_CURL_TRANSFER_H_
