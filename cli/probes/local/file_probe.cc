// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/file_probe.h"

#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "waiter/poll.h"

namespace waiter::cli {

FileProbe::FileProbe(EventLoop& loop, BlockingCalls& calls, FileTarget target)
    : BlockingProbe(calls), loop_(loop), target_(std::move(target)) {}

// The look is judged only while this lives.
std::function<FileProbe::Judge()> FileProbe::NewRead() {
  return [this, path = target_.path]() -> Judge {
    return [this, look = LookAt(path)] { return JudgeLook(look); };
  };
}

FileProbe::Look FileProbe::LookAt(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {.error = errno};
#ifdef __APPLE__
  const timespec changed = found.st_mtimespec;
#else
  const timespec changed = found.st_mtim;
#endif
  return {.size = found.st_size,
          .seconds = changed.tv_sec,
          .nanoseconds = changed.tv_nsec,
          .device = found.st_dev,
          .inode = found.st_ino};
}

Finding FileProbe::JudgeLook(const Look& look) {
  if (look != last_) {
    last_ = look;
    unchanged_since_ = loop_.clock().MonotonicNow();
  }
  Finding finding;
  switch (look.error) {
    case 0:
      return JudgeThere(look);
    case ENOENT:
    case ENOTDIR:
      return {.detail = "no such file", .absent = true};
    case EACCES:
      finding.status = PollStatus::kFailed;
      finding.hint = "this user may not search one of its parent directories";
      break;
    case ENAMETOOLONG:
      finding.status = PollStatus::kFailed;
      break;
    default:
      finding.status = PollStatus::kServerError;
  }
  finding.detail = std::generic_category().message(look.error);
  return finding;
}

Finding FileProbe::JudgeThere(const Look& look) {
  const absl::Duration unchanged =
      absl::FromChrono(loop_.clock().MonotonicNow() - unchanged_since_);
  const std::string size = absl::StrCat(look.size, " bytes");
  if (target_.stable == absl::ZeroDuration()) {
    return {.status = PollStatus::kSuccess, .detail = size};
  }
  // The detail stays the same until the file is stable, so that progress shows
  // it once.
  const bool is_stable = unchanged >= target_.stable;
  return {.status = is_stable ? PollStatus::kSuccess : PollStatus::kNotReady,
          .detail = absl::StrCat(size, ", unchanged for ",
                                 is_stable ? "" : "less than ",
                                 absl::FormatDuration(target_.stable))};
}

}  // namespace waiter::cli
