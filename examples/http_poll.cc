// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/http_poll.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/http_get.h"
#include "examples/url.h"
#include "waiter/classify.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/poll_status.h"

namespace waiter_examples {

waiter::Poll<> PollUrl(const Url& url, const waiter::PollContext& context) {
  return PollOf(HttpGet(url, context.timeout, context.stop_token));
}

waiter::Poll<> PollOf(const absl::StatusOr<HttpResponse>& answer) {
  if (absl::IsNotFound(answer.status())) {
    return waiter::NotReady(answer.status().message());
  }
  if (!answer.ok()) return waiter::ServerError(answer.status());

  const int code = answer->code;
  const std::string text =
      absl::StrCat(code, answer->reason.empty() ? "" : " ", answer->reason);
  const absl::Duration retry_after = answer->retry_after;
  if (code >= 500) return waiter::ServerError(text, retry_after);
  if (code == 429) return waiter::Throttled(text, retry_after);
  if (code >= 400)
    return waiter::Failed(absl::Status(waiter::CodeOfHttp(code), text));
  if (code >= 300) {
    return waiter::Failed(absl::FailedPreconditionError(
        absl::StrCat(text, ": redirects are not followed")));
  }
  return {waiter::PollStatus::kSuccess, text};
}

}  // namespace waiter_examples
