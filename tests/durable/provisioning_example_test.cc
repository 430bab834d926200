// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs examples/durable_provisioning briefly, with a file and with a real Redis
// server.

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS
#include "tests/support/redis_server.h"
#endif

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void ExpectOneResultForEach(const std::string& variables) {
  // NOLINTNEXTLINE(cert-env33-c): of a test
  FILE* const pipe = popen(
      absl::StrCat(variables,
                   " BOOT_SECONDS=12 LEASE_SECONDS=3"
                   " timeout 200 examples/durable_provisioning/run 400 4 2>&1")
          .c_str(),
      "r");
  std::string text;
  std::array<char, 1024> bytes = {};
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

#ifdef WAITER_HAS_SQLITE

TEST(ProvisioningExampleTest, EachInstanceOfAFileHasOneResultDespiteKills) {
  ExpectOneResultForEach("");
}

#endif

#ifdef WAITER_HAS_HIREDIS

TEST(ProvisioningExampleTest, EachInstanceOfAServerHasOneResultDespiteKills) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-server is not installed";
  }
  const RedisServer server;
  ExpectOneResultForEach(absl::StrCat("STORE=", server.Url()));
}

#endif

}  // namespace
}  // namespace waiter
