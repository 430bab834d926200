// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Meaning of a failed transfer of libcurl to a poll.

#ifndef WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_
#define WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_

#include <curl/curl.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/interop/internal/curl_handles.h"
#include "waiter/interop/internal/http_answer.h"

namespace waiter::internal {

// A transfer that has ended.
struct CurlTransfer {
  const CurlEasy& easy;
  const char* error;  // Text of CURLOPT_ERRORBUFFER.
  std::string content_encoding;
  bool has_header;  // Whether the header of a response came, or of a redirect.
};

// Describes the failure, with the same text for each failure of its kind. The
// texts of libcurl would differ, as they may contain a measured time.
inline std::string CurlTextOf(CURLcode code, const CurlTransfer& transfer,
                              absl::Duration timeout) {
  long error = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_OS_ERRNO, &error);
  if (code == CURLE_COULDNT_CONNECT && error != 0) {
    return absl::StrCat("no connection: ", std::generic_category().message(
                                               static_cast<int>(error)));
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return absl::StrCat(transfer.has_header ? "no end of the answer within "
                                            : "no answer within ",
                        absl::FormatDuration(timeout));
  }
  if (code == CURLE_BAD_CONTENT_ENCODING) {
    return absl::StrCat("the body cannot be decoded, Content-Encoding: ",
                        transfer.content_encoding);
  }
  return *transfer.error == '\0' ? curl_easy_strerror(code) : transfer.error;
}

inline bool CurlHasSent(const CurlTransfer& transfer) {
  long sent = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_REQUEST_SIZE, &sent);
  return sent != 0;
}

inline HttpOutcome::Failure CurlFailureOf(CURLcode code,
                                          const CurlTransfer& transfer) {
  using Failure = HttpOutcome::Failure;
  switch (code) {
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
      return transfer.has_header ? Failure::kRedirects : Failure::kImpossible;
    case CURLE_UNSUPPORTED_PROTOCOL:
      // The protocol of the URL, of a redirect, or of the server's answer.
      if (transfer.has_header) return Failure::kRedirects;
      return CurlHasSent(transfer) ? Failure::kConnection
                                   : Failure::kImpossible;
    case CURLE_BAD_FUNCTION_ARGUMENT:
      // An option, or a header whose first line continues another one.
      return CurlHasSent(transfer) ? Failure::kConnection
                                   : Failure::kImpossible;
    default:
      return Failure::kConnection;
  }
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_CURL_FAILURE_H_
