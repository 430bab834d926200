// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Owners of the handles of libcurl, and functions over them.

#ifndef WAITER_INTEROP_INTERNAL_CURL_HANDLES_H_
#define WAITER_INTEROP_INTERNAL_CURL_HANDLES_H_

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace waiter::internal {

template <auto kFunction>
struct CurlFree {
  template <typename T>
  void operator()(T* pointer) const {
    kFunction(pointer);
  }
};
using CurlEasy = std::unique_ptr<CURL, CurlFree<&curl_easy_cleanup>>;
using CurlMulti = std::unique_ptr<CURLM, CurlFree<&curl_multi_cleanup>>;
using CurlLines = std::unique_ptr<curl_slist, CurlFree<&curl_slist_free_all>>;
using CurlUrl = std::unique_ptr<CURLU, CurlFree<&curl_url_cleanup>>;

// Appends `line` to a list of header fields.
inline void AppendLine(CurlLines& lines, const std::string& line) {
  // A null pointer leaves the list as it is.
  if (curl_slist* const list = curl_slist_append(lines.get(), line.c_str())) {
    static_cast<void>(lines.release());
    lines.reset(list);
  }
}

// Returns `limit` as libcurl takes it: in milliseconds, zero for no limit.
inline long CurlMilliseconds(absl::Duration limit) {
  constexpr int64_t kLongest = (std::numeric_limits<int32_t>::max)();
  if (limit == absl::InfiniteDuration()) return 0;
  const absl::Duration rounded_up = absl::Ceil(limit, absl::Milliseconds(1));
  return static_cast<long>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(rounded_up), 1, kLongest));
}

// Returns the address of the last request of `easy`, after redirects.
inline std::string EffectiveUrlOf(const CurlEasy& easy) {
  const char* url = nullptr;
  curl_easy_getinfo(easy.get(), CURLINFO_EFFECTIVE_URL, &url);
  return url == nullptr ? "" : url;
}

// Returns the scheme, host and port of `url` in lower case, to compare origins.
inline std::string OriginOf(const CurlUrl& url) {
  std::string origin;
  for (const CURLUPart part :
       {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    char* text = nullptr;
    curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT);
    absl::StrAppend(&origin, text == nullptr ? "" : text, " ");
    curl_free(text);
  }
  return absl::AsciiStrToLower(origin);
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_CURL_HANDLES_H_
