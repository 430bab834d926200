// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/log_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/loop/unique_fd.h"
#include "cli/probes/probe.h"
#include "cli/text/printable.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

constexpr size_t kMaxRead = size_t{64} << 20;

// Longest part of a line that a detail shows.
constexpr size_t kShown = 200;

Finding CannotRead(int error) {
  if (error == ENOENT || error == ENOTDIR) {
    return {.detail = "no such file", .absent = true};
  }
  const bool is_final = error == EACCES || error == ENAMETOOLONG;
  return {.status = is_final ? PollStatus::kFailed : PollStatus::kServerError,
          .detail = std::generic_category().message(error),
          .hint = error == EACCES ? "this user may not read it" : ""};
}

}  // namespace

Finding LogFollower::Read() {
  size_t budget = kMaxRead;
  struct stat at_path = {};
  const int missing = stat(options_.path.c_str(), &at_path) == 0 ? 0 : errno;
  const bool is_new = missing == 0 && (at_path.st_dev != device_ ||
                                       at_path.st_ino != inode_ || !file_);
  if (file_) {
    // Reads it even if another file is at the path now: this one may have got
    // more lines before it was renamed.
    if (const int error = ReadOpen(budget); error != 0) {
      return CannotRead(error);
    }
  }
  if (is_new && budget > 0) {
    if (!partial_.empty()) TakeLine(std::exchange(partial_, {}));
    file_ = UniqueFd(
        open(options_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_) return CannotRead(errno);
    struct stat opened = {};
    if (fstat(file_.get(), &opened) != 0) return CannotRead(errno);
    if (!S_ISREG(opened.st_mode)) {
      return {.status = PollStatus::kFailed, .detail = "not a regular file"};
    }
    device_ = opened.st_dev;
    inode_ = opened.st_ino;
    offset_ = 0;
    if (const int error = ReadOpen(budget); error != 0) {
      return CannotRead(error);
    }
  }
  const std::string lines = absl::StrCat(
      found_, " of ", options_.count, options_.count == 1 ? " line" : " lines");
  if (found_ >= options_.count) {
    return {.status = PollStatus::kSuccess,
            .detail = options_.count == 1
                          ? last_match_
                          : absl::StrCat(lines, ", the last: ", last_match_)};
  }
  if (missing != 0) return CannotRead(missing);
  return {.detail = lines, .unmet = true};
}

int LogFollower::ReadOpen(size_t& budget) {
  struct stat now = {};
  if (fstat(file_.get(), &now) != 0) return errno;
  if (now.st_size < offset_) {
    offset_ = 0;
    partial_.clear();
  }
  std::array<char, 65'536> bytes;
  while (budget > 0) {
    const ssize_t size = pread(file_.get(), bytes.data(),
                               std::min(bytes.size(), budget), offset_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) break;
    Take({bytes.data(), static_cast<size_t>(size)});
    offset_ += size;
    budget -= static_cast<size_t>(size);
  }
  return 0;
}

void LogFollower::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t room = kMaxLine - partial_.size();
    const size_t size = std::min({end, bytes.size(), room});
    partial_.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (size != end && partial_.size() < kMaxLine) return;
    if (size == end) bytes.remove_prefix(1);
    TakeLine(partial_);
    partial_.clear();
  }
}

void LogFollower::TakeLine(std::string_view line) {
  line = absl::StripSuffix(line, "\r");
  if (found_ >= options_.count || !options_.matches(line)) return;
  ++found_;
  last_match_ = Shortened(line, kShown);
}

std::function<LogProbe::Judge()> LogProbe::NewRead() {
  return [follower = follower_]() -> Judge {
    return [finding = follower->Read()] { return finding; };
  };
}

}  // namespace waiter::cli
