// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef _WIN32

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "waiter/learned/locked_file.h"

namespace waiter::internal {
namespace {

absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot ", what));
}

}  // namespace

struct LockedFile::System {
  explicit System(int opened) : file(opened) {}
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System() { close(file); }

  static absl::StatusOr<std::unique_ptr<System>> Open(const std::string& path,
                                                      int flags) {
    // Without O_NONBLOCK, opening a pipe could block.
    const int file =
        open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    // A folder, or a socket or device without a server, cannot be opened.
    if (file < 0 && errno != EISDIR && errno != ENXIO) {
      return SystemError(path, "open it");
    }
    std::unique_ptr<System> system;
    if (file >= 0) system = std::make_unique<System>(file);
    struct stat opened = {};
    if (file < 0 || fstat(file, &opened) != 0 || !S_ISREG(opened.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a regular file"));
    }
    return system;
  }

  // Allows the same users to write, as far as this user may grant it.
  absl::Status TakePermissionsOf(const System& other,
                                 const std::string& path) const {
    struct stat taken = {};
    if (fstat(other.file, &taken) != 0) return SystemError(path, "read it");
    if (fchown(file, taken.st_uid, taken.st_gid) != 0 && errno != EPERM) {
      return SystemError(path, "set its owner");
    }
    if (fchmod(file, taken.st_mode & 07777U) != 0) {
      return SystemError(path, "set its permissions");
    }
    return absl::OkStatus();
  }

  absl::Status Append(absl::string_view text, const std::string& path) const {
    while (!text.empty()) {
      const ssize_t written = write(file, text.data(), text.size());
      if (written < 0 && errno != EINTR) {
        return SystemError(path, "write to it");
      }
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
    return absl::OkStatus();
  }

  const int file;
};

LockedFile::LockedFile(std::string path, std::unique_ptr<System> system)
    : path_(std::move(path)), system_(std::move(system)) {}

LockedFile::~LockedFile() = default;

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::OpenToRead(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<System>> system = System::Open(path, O_RDONLY);
  if (!system.ok()) return system.status();
  return absl::WrapUnique(new LockedFile(path, *std::move(system)));
}

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::OpenToAppend(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<System>> system =
      System::Open(path, O_RDWR | O_CREAT | O_APPEND);
  if (!system.ok()) return system.status();
  return absl::WrapUnique(new LockedFile(path, *std::move(system)));
}

absl::StatusOr<bool> LockedFile::TryLock() {
  if (flock(system_->file, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EINTR || errno == EWOULDBLOCK) return false;
  return SystemError(path_, "lock it");
}

void LockedFile::Unlock() { flock(system_->file, LOCK_UN); }

bool LockedFile::IsCurrent() const {
  struct stat opened = {};
  struct stat current = {};
  return fstat(system_->file, &opened) == 0 &&
         stat(path_.c_str(), &current) == 0 &&
         opened.st_dev == current.st_dev && opened.st_ino == current.st_ino;
}

int64_t LockedFile::Size() const {
  struct stat opened = {};
  return fstat(system_->file, &opened) == 0 ? opened.st_size : 0;
}

absl::StatusOr<std::string> LockedFile::ReadFrom(int64_t offset,
                                                 size_t enough) const {
  std::string text;
  while (text.size() < enough) {
    constexpr size_t kPart = 65536;
    const size_t size = text.size();
    text.resize(size + kPart);
    const ssize_t got = pread(system_->file, text.data() + size, kPart,
                              offset + static_cast<int64_t>(size));
    if (got < 0 && errno != EINTR) return SystemError(path_, "read it");
    text.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
  }
  return text;
}

absl::Status LockedFile::Append(absl::string_view text) {
  return system_->Append(text, path_);
}

absl::Status LockedFile::ReplaceBy(absl::string_view text) const {
  std::error_code error;
  const std::string target = std::filesystem::canonical(path_, error).string();
  if (error) return absl::OkStatus();
  const std::string path = target + ".new";
  absl::StatusOr<std::unique_ptr<System>> system =
      System::Open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
  if (!system.ok()) return system.status();
  absl::Status status = (*system)->Append(text, path);
  if (status.ok()) status = (*system)->TakePermissionsOf(*system_, path);
  if (status.ok() && std::rename(path.c_str(), target.c_str()) != 0) {
    status = SystemError(path_, "replace it");
  }
  if (!status.ok()) (void)std::remove(path.c_str());
  return status;
}

}  // namespace waiter::internal

#endif  // _WIN32
