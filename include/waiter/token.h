// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait's state as bytes, from which another process can continue the wait:
//
//   waiter::Waiter wait_until_running(
//       GetInstance, {.name = "instance i-0abc",
//                     .timeout = absl::Minutes(40),
//                     .hooks = {.on_checkpoint =
//                                   [](const waiter::WaitToken& token) {
//                                     WriteFile("i-0abc.wait", token.bytes());
//                                   }}});
//
//   // Empty at the first start; after a crash, where the wait was.
//   absl::StatusOr<waiter::WaitToken> token =
//       waiter::WaitToken::Parse(ReadFile("i-0abc.wait"));
//   if (!token.ok()) return token.status();
//   waiter::WaitResult<Instance> result =
//       wait_until_running.Wait({.stop = stop, .resume = *token});
//   if (result.reason() != waiter::StopReason::kCancelled &&
//       result.reason() != waiter::StopReason::kInvalidOptions) {
//     RemoveFile("i-0abc.wait");
//   }
//
// After a stop, or with the reasons `kShutDown` and `kInvalidOptions`, keep the
// token for the next process, because the operation has not ended.
//
// A wait that continues keeps its attempts, counts, errors, elapsed time,
// deadline and growth of delays. Its next poll comes when it would have come,
// or immediately if that time has passed. A poll that had no answer yet is made
// again. If the deadline has passed, one last poll follows.
//
// It does not keep its history, payloads of statuses, options, observer or
// status function. Its limits and delays come from the options that it
// continues with, except for the deadline. Messages are cut to 200 bytes. The
// `QuotaToken` is kept, so that a success gives back the wait's payment, but
// budgets are not.
//
// `WaitHandle::Suspend` ends a wait of an engine and returns its token.
// `WaitHooks::on_checkpoint` is called before every sleep of the wait, on the
// thread that drives it. Its time counts toward the wait, and it must not
// throw. Remove the token when the wait has ended: a process that continues
// with it afterwards waits again.
//
// Time is carried over by the wall clock. While no process runs the wait, its
// time advances with the wall clock, but never goes back. So a clock that was
// set back never lengthens a wait, and one that was set forward shortens it.
// Between two machines, the difference between their clocks counts.

#ifndef WAITER_TOKEN_H_
#define WAITER_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

namespace internal {
class TokenCodec;
}  // namespace internal

// A value; usually 60 to 150 bytes, at most `kMaxSize`. The bytes contain the
// name of the wait and the answers of the last polls. They are not
// authenticated: anyone who can write them can change the wait.
class WaitToken {
 public:
  static constexpr size_t kMaxSize = 1024;

  // An empty token, with which a wait starts from its beginning.
  WaitToken() = default;

  // Takes bytes that `bytes` returned, perhaps in another process or build.
  // Empty `bytes` give an empty token. Returns kInvalidArgument if they were
  // truncated or changed or are not a token, and kUnimplemented if a newer
  // version wrote them.
  static absl::StatusOr<WaitToken> Parse(std::string_view bytes);

  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }

  // Return the token's content. An empty token has no name or attempts, and its
  // deadline is `InfiniteFuture()`, its other times `InfinitePast()`. Each call
  // decodes the token in about 100 ns.

  // Name of the wait, cut to 128 bytes. A wait with another name refuses to
  // continue with the token.
  std::string name() const;
  // When the token was written, by the wall clock.
  absl::Time written() const;
  // When the next poll is due, and the end of the wait.
  absl::Time wake_up() const;
  absl::Time deadline() const;
  // Number of finished polls.
  int64_t attempts() const;

 private:
  friend class internal::TokenCodec;
  explicit WaitToken(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string bytes_;
};

}  // namespace waiter

#endif  // WAITER_TOKEN_H_
