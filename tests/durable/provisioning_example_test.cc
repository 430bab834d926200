// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// examples/durable_provisioning in short, with a real Redis server.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/redis_server.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ProvisioningExampleTest,
     EachInstanceHasOneResultAlthoughWorkersAreKilled) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-server is not installed";
  }
  const RedisServer server;
  // NOLINTNEXTLINE(cert-env33-c): of a test
  FILE* const pipe = popen(
      absl::StrCat("REDIS_URL=", server.Url(),
                   " BOOT_SECONDS=12 LEASE_SECONDS=3"
                   " timeout 200 examples/durable_provisioning/run 400 4 2>&1")
          .c_str(),
      "r");
  std::string text;
  std::array<char, 1024> bytes;
  while (const size_t count = fread(bytes.data(), 1, bytes.size(), pipe)) {
    text.append(bytes.data(), count);
  }
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  EXPECT_THAT(
      text, AllOf(HasSubstr("400 asked for\n"), HasSubstr("killing worker 1\n"),
                  HasSubstr("400 instances, 400 results, of which 4 "
                            "are failures, ")));
}

}  // namespace
}  // namespace waiter

#else

TEST(ProvisioningExampleTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
