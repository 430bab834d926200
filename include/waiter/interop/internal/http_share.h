// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h by which waits share their requests.

#ifndef WAITER_INTEROP_INTERNAL_HTTP_SHARE_H_
#define WAITER_INTEROP_INTERNAL_HTTP_SHARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/interop/internal/curl_client.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/poll.h"
#include "waiter/waiter.h"

namespace waiter {

namespace internal {

// The client of all pollers with the same request. Thread-safe.
class SharedCurlClient {
 public:
  SharedCurlClient(HttpRequest request, CurlOptions options,
                   absl::Duration max_age)
      : max_age_(max_age), client_(std::move(request), std::move(options)) {}

  // Returns the outcome of a request that another poller makes or has made, or
  // else of one that this call makes. Blocks as `CurlClient::Send` does. `seen`
  // belongs to the poller, and is 0 at first.
  HttpOutcome Send(const PollContext& poll, uint64_t& seen) {
    const MonotonicTime now = Now();
    const MonotonicTime oldest =
        poll.attempt == 1 ? now : (MonotonicTime::min)();
    const MonotonicTime end =
        SaturatingAdd(now, absl::ToChronoNanoseconds(poll.timeout));
    while (true) {
      const uint64_t count = ended_.count();
      if (std::optional<HttpOutcome> known = Known(now, oldest, seen)) {
        return *std::move(known);
      }
      if (TryBegin()) return Lead(poll, seen);
      ended_.SleepUntil(GetRealClock(), end, poll.stop_token, "a shared poll",
                        count);
      if (poll.stop_token.stop_requested()) {
        return {.failure = HttpOutcome::Failure::kStopped,
                .text = "cut short by a stop"};
      }
      if (Now() >= end) {
        return {.failure = HttpOutcome::Failure::kTimeout,
                .text = absl::StrCat("no answer within ",
                                     absl::FormatDuration(poll.timeout))};
      }
    }
  }

 private:
  static MonotonicTime Now() { return GetRealClock().MonotonicNow(); }

  // Returns the last outcome, if a poll that began at `now` may take it. A
  // response to a request that was held is news only once.
  std::optional<HttpOutcome> Known(MonotonicTime now, MonotonicTime oldest,
                                   uint64_t& seen) const {
    const MutexLock lock(mutex_);
    if (!last_.has_value() || last_began_ < oldest ||
        now - last_ended_ > absl::ToChronoNanoseconds(max_age_) ||
        (last_->was_held && seen == ordinal_)) {
      return std::nullopt;
    }
    seen = ordinal_;
    return last_;
  }

  bool TryBegin() {
    const MutexLock lock(mutex_);
    return !std::exchange(is_busy_, true);
  }

  HttpOutcome Lead(const PollContext& poll, uint64_t& seen) {
    const MonotonicTime began = Now();
    HttpOutcome outcome = client_.Send(poll);
    {
      const MutexLock lock(mutex_);
      is_busy_ = false;
      // The limits of one poll say nothing to the others.
      if (outcome.failure != HttpOutcome::Failure::kStopped &&
          outcome.failure != HttpOutcome::Failure::kTimeout) {
        last_ = outcome;
        last_began_ = began;
        last_ended_ = Now();
        seen = ++ordinal_;
      }
    }
    ended_.PollNow();
    return outcome;
  }

  const absl::Duration max_age_;
  CurlClient client_;  // Belongs to the call that has set `is_busy_`.
  PollNotifier ended_;
  mutable Mutex mutex_;
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<HttpOutcome> last_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime last_began_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime last_ended_ ABSL_GUARDED_BY(mutex_);
  uint64_t ordinal_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of `last_`.
};

}  // namespace internal

// Shares a request among the pollers of a process that make it, so that a
// thousand waits for one job cost the server no more than one:
//
//   const auto share = std::make_shared<waiter::HttpShare>(absl::Seconds(1));
//   waiter::HttpPoller({.url = url, .headers = headers}, {.share = share})
//
// Requests are the same if all of method, URL, header fields, body and the
// options that concern the request are equal. So pollers with different
// credentials share nothing, nor does one with a function `configure`, which
// may set some. Each poller judges the response by its own conditions.
//
// A poll takes a response that came at most `max_age` before it, or while it
// waits for one; with zero, only polls at the same time share. The first poll
// of a wait takes only one whose request began after that poll, so that a wait
// never sees a state from before it. A poll that was stopped or ran out of time
// is not shared.
//
// Thread-safe.
class HttpShare {
 public:
  explicit HttpShare(Duration max_age) : max_age_(max_age) {}

  // For pollers: returns the client of the request.
  std::shared_ptr<internal::SharedCurlClient> ClientOf(
      const HttpRequest& request, const internal::CurlOptions& options) {
    const internal::MutexLock lock(mutex_);
    std::erase_if(clients_,
                  [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<internal::SharedCurlClient>& known =
        clients_[KeyOf(request, options)];
    std::shared_ptr<internal::SharedCurlClient> client = known.lock();
    if (client == nullptr) {
      client = std::make_shared<internal::SharedCurlClient>(request, options,
                                                            max_age_);
      known = client;
    }
    return client;
  }

 private:
  // Each part is preceded by its length, so that no two requests are alike.
  static std::string KeyOf(const HttpRequest& request,
                           const internal::CurlOptions& options) {
    std::string key =
        absl::StrCat(options.max_body, " ", options.max_redirects, " ",
                     absl::ToInt64Seconds(options.long_poll.hold), " ");
    const auto add = [&key](const std::string& part) {
      absl::StrAppend(&key, part.size(), ":", part);
    };
    add(options.long_poll.parameter);
    add(request.url);
    add(request.method);
    absl::StrAppend(&key, request.body.has_value() ? "body" : "none");
    add(request.body.value_or(""));
    for (const auto& [name, value] : request.headers) {
      add(name);
      add(value);
    }
    return key;
  }

  const absl::Duration max_age_;
  internal::Mutex mutex_;
  std::map<std::string, std::weak_ptr<internal::SharedCurlClient>> clients_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_SHARE_H_
