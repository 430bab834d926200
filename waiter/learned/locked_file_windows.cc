// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef _WIN32

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "waiter/learned/locked_file.h"

namespace waiter::internal {
namespace {

absl::Status SystemError(const std::string& path, absl::string_view what,
                         DWORD error = GetLastError()) {
  const std::error_code code(static_cast<int>(error), std::system_category());
  return absl::ErrnoToStatus(code.default_error_condition().value(),
                             absl::StrCat(path, ": cannot ", what));
}

// Returns nothing if `text` is not UTF-8.
std::optional<std::wstring> ToWide(absl::string_view text) {
  if (text.empty()) return std::wstring();
  const int size = static_cast<int>(text.size());
  std::wstring wide(text.size(), L'\0');
  const int length =
      MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size,
                          wide.data(), static_cast<int>(wide.size()));
  if (length == 0) return std::nullopt;
  wide.resize(static_cast<size_t>(length));
  return wide;
}

// Opens a file that others may write, replace and remove.
HANDLE OpenShared(const std::wstring& path, DWORD access, DWORD how) {
  return CreateFileW(path.c_str(), access,
                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                     nullptr, how, FILE_ATTRIBUTE_NORMAL, nullptr);
}

// Returns the path of an open file without links in it, or nothing.
std::wstring RealPath(HANDLE file) {
  std::wstring path(32768, L'\0');
  const DWORD length =
      GetFinalPathNameByHandleW(file, path.data(), 32768, FILE_NAME_NORMALIZED);
  path.resize(length < path.size() ? length : 0);
  return path;
}

// The lock is a byte that no file reaches, as readers do not take the lock.
OVERLAPPED LockedByte() {
  OVERLAPPED place = {};
  place.Offset = 0xFFFFFFFE;
  place.OffsetHigh = 0x7FFFFFFF;
  return place;
}

// Gives `file` the name of another one, which may be open. Returns whether the
// system can: Windows 10 of 2017 and later, on NTFS.
bool RenameOver(HANDLE file, const std::wstring& target) {
  // As FILE_RENAME_INFO, whose flags not every SDK has.
  struct Header {
    DWORD flags;
    HANDLE root;
    DWORD size;
  };
  constexpr DWORD kReplaceIfExists = 1;
  constexpr DWORD kPosixSemantics = 2;
  constexpr auto kRenameInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  const size_t name_at = offsetof(Header, size) + sizeof(DWORD);
  const size_t name_size = target.size() * sizeof(wchar_t);
  std::vector<std::byte> info(
      std::max(sizeof(Header), name_at + name_size + sizeof(wchar_t)));
  const Header header = {.flags = kReplaceIfExists | kPosixSemantics,
                         .root = nullptr,
                         .size = static_cast<DWORD>(name_size)};
  std::memcpy(info.data(), &header, name_at);
  std::memcpy(info.data() + name_at, target.data(), name_size);
  return SetFileInformationByHandle(file, kRenameInfoEx, info.data(),
                                    static_cast<DWORD>(info.size())) != 0;
}

}  // namespace

struct LockedFile::System {
  System(HANDLE opened, std::wstring wide)
      : file(opened), path(std::move(wide)) {}
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System() { CloseHandle(file); }

  static absl::StatusOr<std::unique_ptr<System>> Open(const std::string& path,
                                                      DWORD access, DWORD how) {
    const std::optional<std::wstring> wide = ToWide(path);
    if (!wide.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the path is not UTF-8"));
    }
    const HANDLE file = OpenShared(*wide, access, how);
    const DWORD error = GetLastError();
    const bool opened = file != INVALID_HANDLE_VALUE;
    std::unique_ptr<System> system;
    if (opened) system = std::make_unique<System>(file, *wide);
    const DWORD attributes = GetFileAttributesW(wide->c_str());
    const bool is_folder = attributes != INVALID_FILE_ATTRIBUTES &&
                           (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    if (is_folder || (opened && GetFileType(file) != FILE_TYPE_DISK)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a regular file"));
    }
    if (!opened) return SystemError(path, "open it", error);
    return system;
  }

  bool Append(absl::string_view text) const {
    while (!text.empty()) {
      DWORD written = 0;
      const auto part =
          static_cast<DWORD>(std::min<size_t>(text.size(), size_t{1} << 30U));
      if (WriteFile(file, text.data(), part, &written, nullptr) == 0) {
        return false;
      }
      text.remove_prefix(written);
    }
    return true;
  }

  const HANDLE file;
  const std::wstring path;
};

LockedFile::LockedFile(std::string path, std::unique_ptr<System> system)
    : path_(std::move(path)), system_(std::move(system)) {}

LockedFile::~LockedFile() = default;

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::OpenToRead(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<System>> system =
      System::Open(path, GENERIC_READ, OPEN_EXISTING);
  if (!system.ok()) return system.status();
  return absl::WrapUnique(new LockedFile(path, *std::move(system)));
}

absl::StatusOr<std::unique_ptr<LockedFile>> LockedFile::OpenToAppend(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<System>> system =
      System::Open(path, GENERIC_READ | FILE_APPEND_DATA, OPEN_ALWAYS);
  if (!system.ok()) return system.status();
  return absl::WrapUnique(new LockedFile(path, *std::move(system)));
}

absl::StatusOr<bool> LockedFile::TryLock() {
  OVERLAPPED place = LockedByte();
  if (LockFileEx(system_->file,
                 LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                 &place) != 0) {
    return true;
  }
  const DWORD error = GetLastError();
  if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING) return false;
  return SystemError(path_, "lock it");
}

void LockedFile::Unlock() {
  OVERLAPPED place = LockedByte();
  UnlockFileEx(system_->file, 0, 1, 0, &place);
}

bool LockedFile::IsCurrent() const {
  const HANDLE current = OpenShared(system_->path, 0, OPEN_EXISTING);
  if (current == INVALID_HANDLE_VALUE) return false;
  BY_HANDLE_FILE_INFORMATION ours = {};
  BY_HANDLE_FILE_INFORMATION theirs = {};
  const bool are_known =
      GetFileInformationByHandle(system_->file, &ours) != 0 &&
      GetFileInformationByHandle(current, &theirs) != 0;
  CloseHandle(current);
  return are_known &&
         ours.dwVolumeSerialNumber == theirs.dwVolumeSerialNumber &&
         ours.nFileIndexHigh == theirs.nFileIndexHigh &&
         ours.nFileIndexLow == theirs.nFileIndexLow;
}

int64_t LockedFile::Size() const {
  LARGE_INTEGER size = {};
  return GetFileSizeEx(system_->file, &size) != 0 ? size.QuadPart : 0;
}

absl::StatusOr<std::string> LockedFile::ReadFrom(int64_t offset,
                                                 size_t enough) const {
  std::string text;
  while (text.size() < enough) {
    constexpr DWORD kPart = 65536;
    const size_t size = text.size();
    text.resize(size + kPart);
    const auto from = static_cast<uint64_t>(offset) + size;
    OVERLAPPED place = {};
    place.Offset = static_cast<DWORD>(from);
    place.OffsetHigh = static_cast<DWORD>(from >> 32U);
    DWORD got = 0;
    if (ReadFile(system_->file, text.data() + size, kPart, &got, &place) == 0 &&
        GetLastError() != ERROR_HANDLE_EOF) {
      return SystemError(path_, "read it");
    }
    text.resize(size + got);
    if (got == 0) break;
  }
  return text;
}

absl::Status LockedFile::Append(absl::string_view text) {
  return system_->Append(text) ? absl::OkStatus()
                               : SystemError(path_, "write to it");
}

// A file in the folder of another one has its permissions by inheritance. Wine,
// and Windows on other file systems than NTFS, cannot replace a file that is
// open. There, the text is overwritten before the rest is cut off, so a crash
// leaves whole lines, though some are old.
absl::Status LockedFile::ReplaceBy(absl::string_view text) const {
  const std::wstring target = RealPath(system_->file);
  if (target.empty() || !IsCurrent()) return absl::OkStatus();
  const std::wstring path = target + L".new";
  {
    const System replacement(
        OpenShared(path, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_ALWAYS),
        path);
    if (replacement.Append(text) && RenameOver(replacement.file, target)) {
      return absl::OkStatus();
    }
  }
  DeleteFileW(path.c_str());
  const HANDLE file = OpenShared(target, GENERIC_WRITE, OPEN_EXISTING);
  if (file == INVALID_HANDLE_VALUE) return SystemError(path_, "replace it");
  const System whole(file, target);
  if (!whole.Append(text) || SetEndOfFile(whole.file) == 0) {
    return SystemError(path_, "replace it");
  }
  return absl::OkStatus();
}

}  // namespace waiter::internal

#endif  // _WIN32
