// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Meaning of a failed transfer of libcurl to a poll.

#ifndef WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_
#define WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_

#include <curl/curl.h>

#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/http_answer.h"

namespace waiter::internal {

struct CurlFailure {
  CURLcode code;
  const char* text;  // libcurl's.
  std::string_view content_encoding;
  long os_error;
  bool has_sent;    // Whether the server may have got the request.
  bool has_header;  // Whether the header of a response came, or of a redirect.
};

// Describes the failure, with the same text for each failure of its kind. The
// texts of libcurl would differ, as they may contain a measured time.
inline std::string TextOf(const CurlFailure& failure, absl::Duration timeout) {
  if (failure.code == CURLE_COULDNT_CONNECT && failure.os_error != 0) {
    return absl::StrCat(
        "no connection: ",
        std::generic_category().message(static_cast<int>(failure.os_error)));
  }
  if (failure.code == CURLE_OPERATION_TIMEDOUT) {
    return absl::StrCat(failure.has_header ? "no end of the answer within "
                                           : "no answer within ",
                        absl::FormatDuration(timeout));
  }
  if (failure.code == CURLE_BAD_CONTENT_ENCODING) {
    return absl::StrCat("the body cannot be decoded, Content-Encoding: ",
                        ToAbsl(failure.content_encoding));
  }
  return failure.text;
}

inline HttpOutcome::Failure FailureOf(const CurlFailure& failure) {
  using Failure = HttpOutcome::Failure;
  switch (failure.code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Failure::kUnreachable;
    case CURLE_OPERATION_TIMEDOUT:
      return Failure::kTimeout;
    case CURLE_TOO_MANY_REDIRECTS:
      return Failure::kRedirects;
    case CURLE_FAILED_INIT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_URL_MALFORMAT:
      return failure.has_header ? Failure::kRedirects : Failure::kImpossible;
    case CURLE_UNSUPPORTED_PROTOCOL:
      // The protocol of the URL, of a redirect, or of the server's answer.
      if (failure.has_header) return Failure::kRedirects;
      return failure.has_sent ? Failure::kConnection : Failure::kImpossible;
    case CURLE_BAD_FUNCTION_ARGUMENT:
      // An option, or a header whose first line continues another one.
      return failure.has_sent ? Failure::kConnection : Failure::kImpossible;
    default:
      return Failure::kConnection;
  }
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_
