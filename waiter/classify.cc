// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/classify.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

PollStatus ClassOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return PollStatus::kSuccess;
    case absl::StatusCode::kUnavailable:
      return PollStatus::kServerError;
    case absl::StatusCode::kResourceExhausted:
      return PollStatus::kThrottled;
    default:
      return PollStatus::kFailed;
  }
}

PollStatus ClassOfHttp(int http_status) {
  switch (http_status) {
    case 202:
      return PollStatus::kNotReady;
    case 408:
    case 425:
      return PollStatus::kServerError;
    case 429:
      return PollStatus::kThrottled;
    case 501:
    case 505:
      return PollStatus::kFailed;
    default:
      if (http_status >= 200 && http_status < 300) return PollStatus::kSuccess;
      if (http_status >= 500 && http_status < 600) {
        return PollStatus::kServerError;
      }
      return PollStatus::kFailed;
  }
}

absl::StatusCode CodeOfHttp(int http_status) {
  switch (http_status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
    case 410:
      return absl::StatusCode::kNotFound;
    case 408:
    case 504:
      return absl::StatusCode::kDeadlineExceeded;
    case 409:
      return absl::StatusCode::kAborted;
    case 416:
      return absl::StatusCode::kOutOfRange;
    case 425:
    case 502:
    case 503:
      return absl::StatusCode::kUnavailable;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 499:
      return absl::StatusCode::kCancelled;
    case 501:
    case 505:
      return absl::StatusCode::kUnimplemented;
    default:
      break;
  }
  switch (http_status / 100) {
    case 2:
      return absl::StatusCode::kOk;
    case 4:
      return absl::StatusCode::kFailedPrecondition;
    case 5:
      return absl::StatusCode::kInternal;
    default:
      return absl::StatusCode::kUnknown;
  }
}

Poll<> FromHttp(int http_status, std::string_view text, Duration retry_after) {
  const PollStatus found = ClassOfHttp(http_status);
  const absl::StatusCode code = CodeOfHttp(http_status);
  if (code == absl::StatusCode::kOk) return {found, text, retry_after};
  return {found,
          absl::Status(
              code, absl::StrCat("HTTP ", http_status, text.empty() ? "" : ": ",
                                 internal::ToAbsl(text))),
          retry_after};
}

Poll<> FromStatus(absl::Status status) {
  const PollStatus found = LimitOf(status).has_value() ? PollStatus::kFailed
                                                       : ClassOf(status.code());
  return {found, std::move(status)};
}

}  // namespace waiter
