// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h that makes a request of libcurl, and collects its
// response. `HttpPoller` drives it and blocks; a program whose event loop
// drives libcurl can derive its transfers from it, too.

#ifndef WAITER_INTEROP_INTERNAL_CURL_REQUEST_H_
#define WAITER_INTEROP_INTERNAL_CURL_REQUEST_H_

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter {

// The functions of libcurl that a `CurlRequest` calls, named without "curl_". A
// program may link them or open libcurl while it runs.
struct CurlFunctions {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_free) free;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_set) url_set;
};

// Returns the functions that the program links.
inline const CurlFunctions& LinkedCurl() {
  static const CurlFunctions functions = {
      .easy_cleanup = &curl_easy_cleanup,
      .easy_getinfo = &curl_easy_getinfo,
      .easy_init = &curl_easy_init,
      .easy_setopt = &curl_easy_setopt,
      .easy_strerror = &curl_easy_strerror,
      .free = &curl_free,
      .slist_append = &curl_slist_append,
      .slist_free_all = &curl_slist_free_all,
      .url = &curl_url,
      .url_cleanup = &curl_url_cleanup,
      .url_get = &curl_url_get,
      .url_set = &curl_url_set,
  };
  return functions;
}

// A URL as libcurl reads it. Thread-compatible.
class CurlUrl {
 public:
  // `flags` are those of curl_url_set().
  CurlUrl(const CurlFunctions& curl, const std::string& url, unsigned flags = 0)
      : curl_(curl), url_(curl.url()), is_valid_(Set(url, flags)) {}
  ~CurlUrl() { curl_.url_cleanup(url_); }
  CurlUrl(const CurlUrl&) = delete;
  CurlUrl& operator=(const CurlUrl&) = delete;

  // Follows a reference, which may be relative, as libcurl follows redirects.
  void Follow(const std::string& reference) {
#ifdef CURLU_ALLOW_SPACE
    constexpr unsigned kFlags = CURLU_URLENCODE | CURLU_ALLOW_SPACE;
#else
    constexpr unsigned kFlags = CURLU_URLENCODE;
#endif
    is_valid_ = is_valid_ && Set(reference, kFlags);
  }

  // Returns a part; empty if it is missing or this is not a URL. The port may
  // be the scheme's default.
  std::string Part(CURLUPart part, unsigned flags = CURLU_DEFAULT_PORT) const {
    char* text = nullptr;
    if (!is_valid_ || curl_.url_get(url_, part, &text, flags) != CURLUE_OK) {
      return "";
    }
    std::string found = text;
    (curl_.free)(text);  // A macro in some debug builds.
    return found;
  }

  // Returns the scheme, host and port, if it is not the scheme's default, such
  // as "https://example.com"; empty if this is not a URL.
  std::string Origin() const {
    if (!is_valid_) return "";
    const std::string zone = Part(CURLUPART_ZONEID);
    const std::string port = Part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
    return absl::AsciiStrToLower(absl::StrCat(
        Part(CURLUPART_SCHEME), "://", Part(CURLUPART_HOST),
        zone.empty() ? "" : "%", zone, port.empty() ? "" : ":", port));
  }

 private:
  bool Set(const std::string& url, unsigned flags) {
    return curl_.url_set(url_, CURLUPART_URL, url.c_str(), flags) == CURLUE_OK;
  }

  const CurlFunctions& curl_;
  CURLU* const url_;
  bool is_valid_;
};

// A handle of libcurl for the requests of one `HttpRequest`. Redirects to other
// origins get none of its headers, and no body. A class that derives from this
// adds the handle to a multi handle, and must have removed it before `Close`
// and in its destructor. Thread-compatible.
class CurlRequest {
 public:
  struct Limits {
    internal::HttpReader::Limits read;
    int redirects;  // 0: they are responses like others.
  };

  virtual ~CurlRequest() { Close(); }
  CurlRequest(const CurlRequest&) = delete;
  CurlRequest& operator=(const CurlRequest&) = delete;

 protected:
  // `curl` must outlive this.
  CurlRequest(const CurlFunctions& curl, HttpRequest request, Limits limits)
      : curl_(curl),
        request_(std::move(request)),
        max_redirects_(limits.redirects),
        reader_(limits.read) {}

  // Makes the handle and sets its options. Returns false if libcurl cannot, or
  // does not limit its protocols.
  bool Open() {
    Close();
    easy_ = curl_.easy_init();
    if (easy_ == nullptr) return false;
    Set(CURLOPT_ERRORBUFFER, error_.data());
    Set(CURLOPT_HEADERFUNCTION, &TakeHeader);
    Set(CURLOPT_HEADERDATA, this);
    Set(CURLOPT_WRITEFUNCTION, &TakeBody);
    Set(CURLOPT_WRITEDATA, this);
    SetMethod();
    SetHeaders();
    SetLimits();
    return LimitProtocols();
  }

  // Prepares the next request, to `url`, whose origin must be the one of the
  // `HttpRequest`. No redirect gets the fields `own`.
  void Begin(const std::string& url, const HttpFields& own) {
    reader_.Take();
    is_redirected_ = becomes_get_ = false;
    error_[0] = '\0';
    curl_.slist_free_all(first_headers_);
    first_headers_ = nullptr;
    for (const curl_slist* line = headers_; line != nullptr;
         line = line->next) {
      Append(first_headers_, line->data);
    }
    for (const auto& [name, value] : own) {
      AppendField(first_headers_, name, value);
    }
    Set(CURLOPT_HTTPHEADER, first_headers_);
    Set(CURLOPT_URL, url.c_str());
  }

  // Frees the handle; the response remains.
  void Close() {
    if (easy_ != nullptr) curl_.easy_cleanup(easy_);
    for (curl_slist** lines : {&first_headers_, &headers_, &plain_headers_}) {
      curl_.slist_free_all(*lines);
      *lines = nullptr;
    }
    easy_ = nullptr;
  }

  // Called when the header of a response has arrived, also of a redirect.
  // Returns false to read no more.
  virtual bool OnHeader() { return true; }

  // Called for each `Location` of a redirect, which leads to `url`, before
  // `OnHeader`, even if the redirect is one too many. Returns false to read no
  // more.
  virtual bool OnRedirect(const CurlUrl& /*url*/, bool leaves_origin) {
    return !leaves_origin || !RepeatsBody();
  }

  // Whether the redirect, if libcurl follows it, sends the body again.
  bool RepeatsBody() const {
    return !becomes_get_ && request_.method != "HEAD" &&
           request_.body.has_value() && !request_.body->empty();
  }

  // Takes a part of the body. Returns false to read no more.
  virtual bool OnBody(std::string_view part) { return reader_.ReadBody(part); }

  // Sets an option of libcurl.
  template <typename T>
  CURLcode Set(CURLoption option, T value) {
    return curl_.easy_setopt(easy_, option, value);
  }

  // Returns a value that libcurl has about the last request.
  template <typename T>
  T Info(CURLINFO info) const {
    T value = {};
    curl_.easy_getinfo(easy_, info, &value);
    return value;
  }

  // Returns the address of the last request, after redirects.
  std::string EffectiveUrl() const {
    const char* const url = Info<char*>(CURLINFO_EFFECTIVE_URL);
    return url == nullptr ? "" : url;
  }

  CURL* easy() const { return easy_; }
  const HttpRequest& request() const { return request_; }
  internal::HttpReader& reader() { return reader_; }
  const internal::HttpReader& reader() const { return reader_; }

  // Describes the failure with which libcurl ended.
  const char* ErrorText(CURLcode code) const {
    return error_[0] == '\0' ? curl_.easy_strerror(code) : error_.data();
  }

 private:
  void Append(curl_slist*& list, const std::string& line) const {
    // libcurl copies the line. A null pointer leaves the list as it is.
    if (curl_slist* const longer = curl_.slist_append(list, line.c_str())) {
      list = longer;
    }
  }

  void AppendField(curl_slist*& list, const std::string& name,
                   const std::string& value) const {
    // "Name:" would remove a header that libcurl adds itself.
    const bool is_blank = absl::StripAsciiWhitespace(value).empty();
    Append(list, is_blank ? absl::StrCat(name, ";")
                          : absl::StrCat(name, ": ", value));
  }

  void SetMethod() {
    const std::string& method = request_.method;
    const bool has_body = request_.body.has_value();
    if (has_body) {
      Set(CURLOPT_POSTFIELDSIZE_LARGE,
          static_cast<curl_off_t>(request_.body->size()));
      Set(CURLOPT_POSTFIELDS, request_.body->data());
    }
    if (method == "HEAD") {
      Set(CURLOPT_NOBODY, 1L);
    } else if (!method.empty() && method != (has_body ? "POST" : "GET")) {
      Set(CURLOPT_CUSTOMREQUEST, method.c_str());
    }
  }

  void SetHeaders() {
    // Otherwise a large body waits for "100 Continue", which few servers send.
    for (curl_slist** lines : {&headers_, &plain_headers_}) {
      Append(*lines, "Expect:");
    }
    for (const auto& [name, value] : request_.headers) {
      AppendField(headers_, name, value);
      // libcurl forgets its own when it finds another one.
      if (absl::EqualsIgnoreCase(name, "User-Agent")) {
        Append(plain_headers_, "User-Agent: waiter");
      }
    }
    // All codings that libcurl knows. `OnBody` bounds the decoded size.
    Set(CURLOPT_ACCEPT_ENCODING, "");
    // Some servers refuse requests without a user agent.
    Set(CURLOPT_USERAGENT, "waiter");
  }

  void SetLimits() {
    Set(CURLOPT_FOLLOWLOCATION, max_redirects_ > 0 ? 1L : 0L);
    Set(CURLOPT_MAXREDIRS, static_cast<long>(max_redirects_));
#if LIBCURL_VERSION_NUM >= 0x075700
    // A stop does not wait for the thread that looks up a name.
    Set(CURLOPT_QUICK_EXIT, 1L);
#endif
    Set(CURLOPT_HTTP09_ALLOWED, 0L);
    Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    Set(CURLOPT_NOSIGNAL, 1L);
  }

  bool LimitProtocols() {
#if LIBCURL_VERSION_NUM >= 0x075500
    if (Set(CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        Set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK) {
      return true;
    }
#endif
    // An older libcurl, perhaps with newer headers, which deprecate the names.
    constexpr auto kProtocols = static_cast<CURLoption>(181);
    constexpr auto kRedirectProtocols = static_cast<CURLoption>(182);
    constexpr long kHttp = CURLPROTO_HTTP | CURLPROTO_HTTPS;
    return Set(kProtocols, kHttp) == CURLE_OK &&
           Set(kRedirectProtocols, kHttp) == CURLE_OK;
  }

  // Callbacks of libcurl. A result other than the number of bytes ends the
  // transfer.
  static size_t TakeHeader(char* data, size_t size, size_t count, void* self) {
    auto& request = *static_cast<CurlRequest*>(self);
    const HttpFields& fields = request.reader_.response().headers;
    const size_t fields_before = fields.size();
    const bool had_header = request.reader_.has_header();
    if (!request.reader_.ReadLine({data, size * count})) return 0;
    // libcurl follows a redirect even if its header is cut off.
    if (fields.size() > fields_before &&
        absl::EqualsIgnoreCase(fields.back().first, "Location") &&
        !request.Redirect(fields.back().second)) {
      return 0;
    }
    const bool is_complete = !had_header && request.reader_.has_header();
    return !is_complete || request.OnHeader() ? size * count : 0;
  }
  static size_t TakeBody(char* data, size_t size, size_t count, void* self) {
    return static_cast<CurlRequest*>(self)->OnBody({data, size * count})
               ? size * count
               : 0;
  }

  // Drops the headers of the request if the response redirects to another
  // origin, and in any case the ones for the first address. libcurl itself
  // holds back only passwords, cookies and some headers. Of several `Location`
  // fields it follows one, so that all of them count; it ignores empty ones.
  bool Redirect(const std::string& location) {
    const int status = reader_.response().status;
    if (max_redirects_ == 0 || status / 100 != 3 || location.empty()) {
      return true;
    }
    if (status >= 301 && status <= 303) becomes_get_ = true;
    if (!std::exchange(is_redirected_, true)) {
      Set(CURLOPT_HTTPHEADER, headers_);
    }
    CurlUrl url(curl_, EffectiveUrl());
    url.Follow(location);
    const std::string origin =
        CurlUrl(curl_, request_.url, CURLU_GUESS_SCHEME).Origin();
    const bool leaves_origin = origin.empty() || url.Origin() != origin;
    if (leaves_origin) Set(CURLOPT_HTTPHEADER, plain_headers_);
    return OnRedirect(url, leaves_origin);
  }

  const CurlFunctions& curl_;
  const HttpRequest request_;
  const int max_redirects_;
  internal::HttpReader reader_;
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  bool is_redirected_ = false;  // The transfer in progress.
  bool becomes_get_ = false;    // Its next request has no body.
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* first_headers_ = nullptr;  // With those for the first address.
  curl_slist* plain_headers_ = nullptr;  // Without those of the request.
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_CURL_REQUEST_H_
