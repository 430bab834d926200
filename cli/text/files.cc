// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/files.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace waiter::cli {
namespace {

absl::Status SystemError(int error) {
  return absl::InvalidArgumentError(std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most,
                                     absl::Duration patience) {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    return absl::NotFoundError(SystemError(errno).message());
  }
  if (file < 0) return SystemError(errno);
  const absl::Cleanup close_file = [file] { close(file); };
  std::string text;
  std::array<char, size_t{64} << 10> bytes;
  while (text.size() <= most) {
    pollfd readable = {.fd = file, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1,
             static_cast<int>(absl::ToInt64Milliseconds(patience))) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("no data came for ", absl::FormatDuration(patience)));
    }
    const ssize_t count = read(file, bytes.data(), bytes.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(bytes.data(), static_cast<size_t>(count));
    } else if (errno != EAGAIN && errno != EINTR) {
      return SystemError(errno);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("larger than ", most >> 20, " MiB"));
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most) {
  absl::StatusOr<std::string> text = ReadFile(path, most);
  if (text.ok() && absl::StartsWith(*text, "\xef\xbb\xbf")) text->erase(0, 3);
  return text;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace waiter::cli
