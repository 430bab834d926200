// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/blocking_probe.h"

#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {

void BlockingProbe::Start(const PollContext& /*context*/, Done done) {
  done_ = std::move(done);
  if (std::exchange(reading_, true)) return;
  calls_.Start([read = NewRead(), weak = std::weak_ptr<BlockingProbe*>(
                                      self_)]() -> std::function<void()> {
    return [weak, judge = read()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (*self)->reading_ = false;
      const Finding finding = judge();
      const Done answer = std::exchange((*self)->done_, nullptr);
      if (answer) answer(finding);
    };
  });
}

void BlockingProbe::TimeOut(absl::Duration timeout) {
  std::exchange(done_, nullptr)(Hanging(timeout));
}

Finding BlockingProbe::Hanging(absl::Duration timeout) const {
  return {.status = PollStatus::kServerError,
          .detail = absl::StrCat("no answer from the file system within ",
                                 absl::FormatDuration(timeout)),
          .hint = "is it on a network file system that is down?"};
}

}  // namespace waiter::cli
