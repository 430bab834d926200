// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/shared_rate.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace waiter::cli::shared_rate_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

TEST(SharedRateTest, AllPartsOfTheUrlAreRead) {
  const SharedRate rate = ValueOrFail(ParseSharedRate(
      "redis://u:p@10.0.0.5:7000/ec2.describe?rate=2.5&burst=100&"
      "horizon=250ms&database=3"));
  EXPECT_EQ(rate.server, "redis://u:p@10.0.0.5:7000/3");
  EXPECT_EQ(rate.options.name, "ec2.describe");
  EXPECT_THAT(rate.options.rate, Optional(2.5));
  EXPECT_EQ(rate.options.burst, 100);
  EXPECT_EQ(rate.options.horizon, absl::Milliseconds(250));
}

TEST(SharedRateTest, PasswordMayHaveAnyCharacters) {
  for (const char* user : {"u:pa/ss@", "u:p@ss@", "u:p?a=b&c/d@", "u:/@"}) {
    SCOPED_TRACE(user);
    for (const char* scheme : {"redis://", "redis+cluster://"}) {
      const std::string server = scheme + std::string(user) + "h:7000";
      const SharedRate rate =
          ValueOrFail(ParseSharedRate(server + "/api?rate=20"));
      EXPECT_EQ(rate.server, server);
      EXPECT_EQ(rate.options.name, "api");
      EXPECT_THAT(rate.options.rate, Optional(20));
    }
  }
}

TEST(SharedRateTest, RateWithoutParametersIsAdaptive) {
  const SharedRate rate = ValueOrFail(ParseSharedRate("redis://h/api"));
  EXPECT_EQ(rate.server, "redis://h");
  EXPECT_EQ(rate.options.rate, std::nullopt);
}

TEST(SharedRateTest, ClusterHasTheHostsOfSomeNodes) {
  const SharedRate rate = ValueOrFail(
      ParseSharedRate("redis+cluster://u:p@a:7000,b:7001,c/api?rate=20"));
  EXPECT_EQ(rate.server, "redis+cluster://u:p@a:7000,b:7001,c");
  EXPECT_EQ(rate.options.name, "api");
}

TEST(SharedRateTest, ErrorsOfUrlsOfStoresShowNoPassword) {
  for (const char* url :
       {"redis+cluster://", "redis+cluster://u:secret@", "redis+cluster://,",
        "redis+cluster://u:secret@a,b:x", "redis+cluster://u:secret@a,,b",
        "redis+cluster://u:secret@a,b/1", "redis://u:secret@a,b",
        "redis+clusters://u:secret@a", "u:secret@a",
        "redis://h?password=secret", "redis://h:1?password=secret",
        "redis://h/0?password=secret", "redis://u:a/secret@h/x",
        "redis+cluster://a,h?password=secret", "redis+cluster://u:a/secret@h/x",
        "redis://h#secret"}) {
    SCOPED_TRACE(url);
    const absl::Status status = ConnectToStore(url).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
}

#ifndef WAITER_HAS_HIREDIS
TEST(SharedRateTest, ProgramWithoutHiredisNamesThePackage) {
  for (const char* url :
       {"redis://u:secret@10.0.0.5", "redis+cluster://u:secret@a,b"}) {
    SCOPED_TRACE(url);
    const absl::Status status = ConnectToStore(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(status.message(), HasSubstr("install it (Debian: "
                                            "libhiredis-dev)"));
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
}
#endif

TEST(SharedRateTest, ErrorsSayWhatIsWrongAndShowNoPassword) {
  const struct {
    std::string url;
    std::string error;
  } cases[] = {
      {"", "it must be redis://HOST/NAME"},
      {"h/api?rate=20", "it must be redis://HOST/NAME"},
      {"rediss://h/api", "it must be redis://HOST/NAME"},
      {"redis://u:secret@h", "it must be redis://HOST/NAME"},
      {"redis://u:secret@h/", "name is \"\""},
      {"redis://u:secret@h/a/b", "name is \"a/b\""},
      {"redis://u:secret@h/a\nb", "name is \"a\\nb\""},
      {"redis://u:secret@h/api?rate=", "rate=: it must be a number"},
      {"redis://u:secret@h/api?rate=fast", "rate=fast: it must be a number"},
      {"redis://u:secret@h/api?rate=0", "rate is 0; it must be within"},
      {"redis://u:secret@h/api?rate=nan", "rate is nan; it must be within"},
      {"redis://u:secret@h/api?rate=-1", "rate is -1; it must be within"},
      {"redis://u:secret@h/api?burst=0", "burst is 0; it must be within"},
      {"redis://u:secret@h/api?horizon=1ms", "horizon is 1ms; it must be"},
      {"redis://u:secret@h/api?horizon=x", "horizon=x: "},
      {"redis://u:secret@h/api?",
       "the parameters are rate, burst, horizon and"},
      {"redis://u:secret@h/api?limit=3", "the parameters are rate, burst,"},
      {"redis://h/api?password=secret", "the parameters are rate, burst,"},
      {"redis://h/api?rate=20&secret", "the parameters are rate, burst,"},
      {"redis://h/api?secret=1", "the parameters are rate, burst,"},
      {"redis://h/api?password=x@secret", "it must be redis://HOST/NAME"},
      {"redis://u:a/secret@h", "it must be redis://HOST/NAME"},
      {"redis://u:a/secret@h/a b", "name is \"a b\""},
      {"redis://u:a@secret/b?c@h/a b", "name is \"a b\""},
      {"redis+cluster://u:a/secret@h,i/a b", "name is \"a b\""},
  };
  for (const auto& [url, error] : cases) {
    SCOPED_TRACE(url);
    const absl::Status status = ParseSharedRate(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(error));
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace waiter::cli::shared_rate_test
