// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Two objects that have opened one file act like two processes, because each
// has its own lock.

#include "waiter/learned/locked_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter::internal::locked_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::TempDir;

class LockedFileTest : public testing::Test {
 protected:
  ~LockedFileTest() override {
    std::error_code error;
    std::filesystem::remove(AsPath(path_), error);
    std::filesystem::remove(AsPath(path_ + ".new"), error);
  }

  static std::filesystem::path AsPath(const std::string& utf8) {
    return std::u8string(utf8.begin(), utf8.end());
  }

  static std::unique_ptr<LockedFile> Open(const std::string& path) {
    absl::StatusOr<std::unique_ptr<LockedFile>> file =
        LockedFile::OpenToAppend(path);
    EXPECT_EQ(file.status(), absl::OkStatus());
    return *std::move(file);
  }

  static std::string TextOf(const LockedFile& file) {
    return file.ReadFrom(0).value_or("unreadable");
  }

  // Not only ASCII, and longer than a short string.
  const std::string path_ = TempDir() + "/m\u00e4rz \u4e2d\u6587 locked file";
};

TEST_F(LockedFileTest, AppendsBehindWhatOthersHaveWritten) {
  const auto one = Open(path_);
  const auto other = Open(path_);

  ASSERT_EQ(one->Append("one\n"), absl::OkStatus());
  ASSERT_EQ(other->Append("other\n"), absl::OkStatus());
  ASSERT_EQ(one->Append("again\n"), absl::OkStatus());

  EXPECT_EQ(TextOf(*one), "one\nother\nagain\n");
  EXPECT_EQ(one->Size(), 16);
  EXPECT_EQ(one->ReadFrom(10).value(), "again\n");
  EXPECT_EQ(one->ReadFrom(100).value(), "");
  EXPECT_EQ(TextOf(**LockedFile::OpenToRead(path_)), "one\nother\nagain\n");
}

TEST_F(LockedFileTest, OneHolderLocksOutOthersAndNoReader) {
  const auto one = Open(path_);
  const auto other = Open(path_);

  ASSERT_EQ(one->Lock(), absl::OkStatus());
  const absl::Status refused = other->Lock();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("is locked by another process"));
  ASSERT_EQ(one->Append("text"), absl::OkStatus());
  EXPECT_EQ(TextOf(*other), "text");

  one->Unlock();
  EXPECT_EQ(other->Lock(), absl::OkStatus());
  other->Unlock();
}

TEST_F(LockedFileTest, TheLockEndsWithItsHolder) {
  auto one = Open(path_);
  const auto other = Open(path_);
  ASSERT_EQ(one->Lock(), absl::OkStatus());

  one.reset();

  EXPECT_EQ(other->Lock(), absl::OkStatus());
}

TEST_F(LockedFileTest, OthersNoticeThatTheFileWasReplaced) {
  const auto one = Open(path_);
  const auto other = Open(path_);
  ASSERT_EQ(one->Append("a long text"), absl::OkStatus());
  ASSERT_EQ(one->Lock(), absl::OkStatus());
  EXPECT_TRUE(other->IsCurrent());

  ASSERT_EQ(one->ReplaceBy("short"), absl::OkStatus());

  EXPECT_TRUE(!other->IsCurrent() || other->Size() == 5);
  EXPECT_TRUE(!one->IsCurrent() || one->Size() == 5);
  EXPECT_EQ(TextOf(*Open(path_)), "short");
  EXPECT_FALSE(std::filesystem::exists(AsPath(path_ + ".new")));
}

#ifndef _WIN32  // There a file is removed when the last one closes it.
TEST_F(LockedFileTest, AFileThatWasRemovedIsNotCurrentAndNotReplaced) {
  const auto one = Open(path_);
  std::filesystem::remove(AsPath(path_));

  EXPECT_FALSE(one->IsCurrent());
  EXPECT_EQ(one->ReplaceBy("text"), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(AsPath(path_)));
}

#endif

TEST_F(LockedFileTest, WhatCannotBeOpenedIsNamed) {
  const auto missing = LockedFile::OpenToRead(path_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr(path_ + ": cannot open it"));

  EXPECT_EQ(LockedFile::OpenToAppend(path_ + "/below").status().code(),
            absl::StatusCode::kNotFound);

  const auto folder = LockedFile::OpenToRead(TempDir()).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(folder.message(), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace waiter::internal::locked_file_test
