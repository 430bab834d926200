// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/curl_transfer.h"

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/loop/open_fd.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/curl_library.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {
namespace {

// Returns the request that `options` ask `destination` for.
HttpRequest RequestOf(const HttpDestination& destination,
                      const HttpOptions& options) {
  HttpRequest request = {.url = destination.url,
                         .method = options.method,
                         .headers = options.headers,
                         .body = options.data};
  if (options.method == "POST" && !options.data.has_value()) request.body = "";
  return request;
}

// Returns the cause in a message of OpenSSL, without the place in OpenSSL.
std::string_view TlsText(std::string_view text) {
  absl::ConsumePrefix(&text, "SSL certificate problem: ");
  absl::ConsumePrefix(&text, "SSL: ");
  // libcurl 8 appends a number, as in "certificate has expired (10)".
  if (absl::ConsumePrefix(&text, "SSL certificate OpenSSL verify result: ")) {
    text = text.substr(0, text.rfind(" ("));
  }
  if (absl::StrContains(text, "error:")) {
    text.remove_prefix(text.rfind(':') + 1);
  }
  return text;
}

// Returns whether `code` says that a connection ended or that an answer is not
// HTTP.
bool IsBrokenConnection(CURLcode code) {
  return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
         code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
         code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL;
}

}  // namespace

CurlTransfer::CurlTransfer(const CurlLibrary& curl, CURLM* multi,
                           const HttpDestination& destination,
                           std::shared_ptr<const HttpOptions> options,
                           Proxy proxy, std::string target_port,
                           HttpClient::Done done)
    : CurlRequest(
          curl, RequestOf(destination, *options),
          {.read = {.header = HttpAnswer::kMaxHeaders,
                    .body = HttpAnswer::kMaxBody},
           .redirects =
               options->follow_redirects ? HttpClient::kMaxRedirects : 0}),
      curl_(curl),
      multi_(multi),
      options_(std::move(options)),
      done_(std::move(done)),
      has_socket_(!destination.socket.empty()),
      http2_(destination.http2 || options_->http2),
      upgrades_(destination.upgrades) {
  answer_.may_be_proxied = proxy == Proxy::kOfEnvironment;
  answer_.target_port = std::move(target_port);
  // Without a handle, the poll ends at its time limit.
  if (!Open()) {
    Close();
    return;
  }
  Set(CURLOPT_PRIVATE, this);
  SetDestination(destination);
  if (proxy == Proxy::kNever) Set(CURLOPT_PROXY, "");
  Set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  Set(CURLOPT_OPENSOCKETDATA, this);
  // Not every TLS library calls it.
  Set(CURLOPT_SSL_CTX_FUNCTION, &OnHandshake);
  Set(CURLOPT_SSL_CTX_DATA, this);
  SetConnection();
  SetTrust();
  Begin(destination.url, destination.own_headers);
  curl_.multi_add_handle(multi_, easy());
}

CurlTransfer::~CurlTransfer() { Remove(); }

void CurlTransfer::Remove() {
  if (easy() != nullptr) curl_.multi_remove_handle(multi_, easy());
  Close();
}

void CurlTransfer::SetDestination(const HttpDestination& destination) {
  if (http2_) {
    const bool has_tls =
        CurlUrl(curl_, destination.url).Part(CURLUPART_SCHEME) == "https";
    Set(CURLOPT_HTTP_VERSION,
        static_cast<long>(has_tls ? CURL_HTTP_VERSION_2TLS
                                  : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    // Few proxies speak HTTP/2.
    Set(CURLOPT_HTTPPROXYTUNNEL, 1L);
  }
  // HTTP/2 has no upgrades.
  if (upgrades_) {
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  if (!has_socket_) return;
  const std::string& socket = destination.socket;
  if (socket[0] == '@') {
    Set(CURLOPT_ABSTRACT_UNIX_SOCKET, socket.c_str() + 1);
  } else {
    Set(CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  }
}

void CurlTransfer::SetConnection() {
  Set(CURLOPT_IPRESOLVE,
      static_cast<long>(options_->family == HttpOptions::Family::kIpv4
                            ? CURL_IPRESOLVE_V4
                        : options_->family == HttpOptions::Family::kIpv6
                            ? CURL_IPRESOLVE_V6
                            : CURL_IPRESOLVE_WHATEVER));
  // Poll as the next client would: with a new connection, look-up and session.
  Set(CURLOPT_FRESH_CONNECT, 1L);
  Set(CURLOPT_FORBID_REUSE, 1L);
  Set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  Set(CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

void CurlTransfer::SetTrust() {
  if (!options_->verify) {
    Set(CURLOPT_SSL_VERIFYPEER, 0L);
    Set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!options_->netrc_file.empty()) {
    Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    Set(CURLOPT_NETRC_FILE, options_->netrc_file.c_str());
  }
  if (!options_->ca_file.empty()) {
    Set(CURLOPT_CAINFO, options_->ca_file.c_str());
    // Otherwise libcurl also trusts the system's certificates.
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
#if LIBCURL_VERSION_NUM >= 0x074d00
  if (!options_->ca_pem.empty()) {
    Set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    SetPem(CURLOPT_CAINFO_BLOB, options_->ca_pem);
  }
  if (!options_->client_certificate_pem.empty()) {
    SetPem(CURLOPT_SSLCERT_BLOB, options_->client_certificate_pem);
    SetPem(CURLOPT_SSLKEY_BLOB, options_->client_key_pem);
  }
#endif
}

#if LIBCURL_VERSION_NUM >= 0x074d00
// The options outlive the request, so that libcurl need not copy.
void CurlTransfer::SetPem(CURLoption option, const std::string& pem) {
  curl_blob blob = {.data = const_cast<char*>(pem.data()),
                    .len = pem.size(),
                    .flags = CURL_BLOB_NOCOPY};
  Set(option, &blob);
}
#endif

bool CurlTransfer::OnHeader() {
  upgraded_ = upgrades_ && reader().response().status == 101;
  return !upgraded_;
}

curl_socket_t CurlTransfer::OpenSocket(void* self, curlsocktype /*purpose*/,
                                       curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  HttpAnswer& answer = transfer.answer_;
  if (transfer.reader().response().status != 0) {
    // A redirect: the answer so far is not the final one. Every request has its
    // own connection.
    transfer.reader().Take();
    answer.is_redirected = true;
    answer.addresses.clear();
    answer.target_port.clear();
    transfer.handshake_begun_ = false;
  }
  SocketAddress& tried = answer.addresses.emplace_back();
  tried.size = std::min<socklen_t>(address->addrlen, sizeof(tried.storage));
  std::memcpy(&tried.storage, &address->addr, tried.size);
  return cli::OpenSocket(address->family, address->socktype, address->protocol);
}

bool CurlTransfer::OnRedirect(const CurlUrl& url, bool leaves_origin) {
  const std::string scheme = url.Part(CURLUPART_SCHEME);
  // libcurl refuses other schemes itself.
  if (!leaves_origin ||
      (!scheme.empty() && !absl::StartsWith(scheme, "http"))) {
    return true;
  }
  // libcurl would send the request for another host to the socket.
  if (has_socket_) {
    const std::string origin = url.Origin();
    redirect_refusal_ = absl::StrCat("redirected to ",
                                     origin.empty() ? "an invalid URL" : origin,
                                     ", which the Unix socket does not reach");
  } else if (RepeatsBody()) {
    redirect_refusal_ =
        "redirected to another host, to which --data is not sent";
  }
  return redirect_refusal_.empty();
}

CURLcode CurlTransfer::OnHandshake(CURL* /*easy*/, void* /*tls*/, void* self) {
  static_cast<CurlTransfer*>(self)->handshake_begun_ = true;
  return CURLE_OK;
}

HttpStage CurlTransfer::Stage() const {
  if (reader().response().status != 0) return HttpStage::kReading;
  if (answer_.addresses.empty()) return HttpStage::kResolving;
  // For https, libcurl reports the time of the connection only after the
  // handshake.
  if (handshake_begun_) {
    return Info<curl_off_t>(CURLINFO_APPCONNECT_TIME_T) == 0
               ? HttpStage::kHandshake
               : HttpStage::kWaiting;
  }
  return Info<curl_off_t>(CURLINFO_CONNECT_TIME_T) == 0 ? HttpStage::kConnecting
                                                        : HttpStage::kWaiting;
}

HttpAnswer CurlTransfer::Answer() const {
  HttpAnswer answer = answer_;
  static_cast<HttpResponse&>(answer) = reader().response();
  answer.trailers = reader().trailers();
  answer.is_http2 = reader().is_http2();
  if (easy() != nullptr) answer.stage = Stage();
  return answer;
}

void CurlTransfer::Finish(CURLcode code) {
  answer_ = Answer();
  if (code != CURLE_OK && !answer_.body_is_cut && !upgraded_) {
    ReadError(code);
  } else if (!reader().has_header()) {
    // libcurl accepts such an answer.
    answer_.error = HttpAnswer::Error::kProtocol;
    answer_.error_text = "connection closed before the headers ended";
  } else if (options_->http2 && !answer_.is_http2) {
    answer_.error = HttpAnswer::Error::kNotHttp2;
    answer_.error_text =
        absl::StrCat("HTTP ", answer_.status, ", not by HTTP/2");
  }
  Remove();
  const HttpClient::Done done = std::move(done_);
  done(std::move(answer_));
}

void CurlTransfer::ReadError(CURLcode code) {
  using Error = HttpAnswer::Error;
  std::string_view text = ErrorText(code);
  const auto set = [this](Error error, std::string what) {
    answer_.error = error;
    answer_.error_text = std::move(what);
  };
  if (!redirect_refusal_.empty()) {
    return set(Error::kProtocol, redirect_refusal_);
  }
  // CURLE_TOO_LARGE, which older headers lack. Older libraries return
  // CURLE_OUT_OF_MEMORY instead.
  if (static_cast<int>(code) == 100) code = CURLE_OUT_OF_MEMORY;
  // libcurl sees no difference between other protocols and no answer at all.
  if (http2_ && !answer_.may_be_proxied && answer_.status == 0 &&
      IsBrokenConnection(code)) {
    return set(Error::kNotHttp2,
               "connection closed without an HTTP/2 response");
  }
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
      absl::ConsumePrefix(&text, "Could not resolve proxy: ");
      return set(Error::kNameNotFound,
                 absl::StrCat("the proxy: name not found: ", text));
    case CURLE_COULDNT_RESOLVE_HOST:
      absl::ConsumePrefix(&text, "Could not resolve host: ");
      return set(Error::kNameNotFound, absl::StrCat("name not found: ", text));
    case CURLE_COULDNT_CONNECT:
      answer_.connect_error = static_cast<int>(Info<long>(CURLINFO_OS_ERRNO));
      return set(Error::kNotConnected, std::string(text));
    case CURLE_OPERATION_TIMEDOUT:
      return set(Error::kTimeout, std::string(text));
    case CURLE_PEER_FAILED_VERIFICATION:
      return set(Error::kCertificate, absl::StrCat("TLS: ", TlsText(text)));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_USE_SSL_FAILED:
      return set(Error::kTls, absl::StrCat("TLS: ", TlsText(text)));
    case CURLE_SSL_CACERT_BADFILE:
      return set(
          Error::kOptions,
          absl::StrCat("no certificates in ",
                       !options_->ca_pem.empty()   ? "the given PEM"
                       : options_->ca_file.empty() ? "the system's CA file"
                                                   : options_->ca_file));
    case CURLE_TOO_MANY_REDIRECTS:
      return set(
          Error::kProtocol,
          absl::StrCat("more than ", HttpClient::kMaxRedirects,
                       " redirects, the last with HTTP ", answer_.status));
    case CURLE_WRITE_ERROR:
    case CURLE_OUT_OF_MEMORY:  // Also one endless line.
      return set(Error::kProtocol, "the HTTP header is too large");
    case CURLE_BAD_CONTENT_ENCODING:
      return set(Error::kProtocol,
                 absl::StrCat("HTTP ", answer_.status,
                              ", body cannot be decoded, Content-Encoding: ",
                              answer_.header("Content-Encoding")));
    case CURLE_GOT_NOTHING:
      return set(Error::kProtocol, "connection closed without an answer");
    case CURLE_PARTIAL_FILE:
      return set(Error::kProtocol,
                 absl::StrCat("HTTP ", answer_.status,
                              ", connection closed before the body ended"));
    default:
      // libcurl's messages for an invalid status line.
      if (absl::StrContains(text, "HTTP/0.9") ||
          absl::EndsWith(text, " response")) {
        text = "the answer is not HTTP";
      } else if (code == CURLE_UNSUPPORTED_PROTOCOL && answer_.status != 0) {
        text = "redirected to a URL that is neither http nor https";
      }
      return set(Error::kProtocol, std::string(text));
  }
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL
