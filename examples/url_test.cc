// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/url.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace waiter_examples {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns host, port and path, each in its own line, or the error.
std::string Parts(std::string_view text) {
  const absl::StatusOr<Url> url = ParseUrl(text);
  if (!url.ok()) return std::string(url.status().message());
  return url->host + "\n" + std::to_string(url->port) + "\n" + url->path;
}

TEST(UrlTest, HasAHostAPortAndAPath) {
  EXPECT_EQ(Parts("http://localhost:8080/ready"), "localhost\n8080\n/ready");
  EXPECT_EQ(Parts("HTTP://127.0.0.1/"), "127.0.0.1\n80\n/");
  EXPECT_EQ(Parts("http://a_b-c.d:65535"), "a_b-c.d\n65535\n/");
  EXPECT_EQ(Parts("http://h/a/b?c=d:e@f://"), "h\n80\n/a/b?c=d:e@f://");
}

TEST(UrlTest, GivesAQueryWithoutAPathTheRoot) {
  EXPECT_EQ(Parts("http://h?c=d"), "h\n80\n/?c=d");
}

TEST(UrlTest, DropsTheFragment) {
  EXPECT_EQ(Parts("http://h/a#b"), "h\n80\n/a");
  EXPECT_EQ(Parts("http://h#b/c"), "h\n80\n/");
}

TEST(UrlTest, TakesIpV6AddressesInBrackets) {
  EXPECT_EQ(Parts("http://[::1]:8080/a"), "::1\n8080\n/a");
  EXPECT_EQ(Parts("http://[2001:db8::2]"), "2001:db8::2\n80\n/");
  EXPECT_THAT(Parts("http://::1/"), HasSubstr("brackets"));
  EXPECT_THAT(Parts("http://[::1/"), HasSubstr("without"));
  EXPECT_THAT(Parts("http://[localhost]/"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(Parts("http://[]/"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(Parts("http://[::1]8080/"), HasSubstr("only a port"));
}

TEST(UrlTest, ChecksThePort) {
  for (const char* port : {"", "0", "65536", "99999999999", "-1", "+1", "8o"}) {
    EXPECT_THAT(Parts(std::string("http://h:") + port + "/"),
                HasSubstr("port must be"))
        << port;
  }
}

TEST(UrlTest, TakesHttpOnly) {
  EXPECT_THAT(Parts("https://h/"), HasSubstr("https is not supported"));
  EXPECT_THAT(Parts("ftp://h/"), HasSubstr("begin with http://"));
  EXPECT_THAT(Parts("localhost:80"), HasSubstr("begin with http://"));
  EXPECT_THAT(Parts(""), HasSubstr("begin with http://"));
}

TEST(UrlTest, RefusesWhatItWouldIgnore) {
  EXPECT_THAT(Parts("http://"), HasSubstr("host is missing"));
  EXPECT_THAT(Parts("http://:80/"), HasSubstr("host is missing"));
  EXPECT_THAT(Parts("http:///a"), HasSubstr("host is missing"));
  EXPECT_THAT(Parts("http://user:word@h/"), HasSubstr("user name"));
  EXPECT_THAT(Parts("http://h%41/"), HasSubstr("not a name"));
}

TEST(UrlTest, CannotSmuggleALineIntoARequest) {
  EXPECT_THAT(Parts("http://h/a\r\nX: y"),
              AllOf(HasSubstr("%-escaped"), Not(HasSubstr("\n"))));
  EXPECT_THAT(Parts("http://h/a b"), HasSubstr("%-escaped"));
  EXPECT_THAT(Parts("http://h/\xC3\xA4"), HasSubstr("%-escaped"));
  EXPECT_THAT(Parts(std::string_view("http://h/\0a", 11)),
              HasSubstr("%-escaped"));
}

TEST(AuthorityTest, IsWhatTheUrlSaid) {
  for (const char* authority :
       {"h", "h:8080", "127.0.0.1:1", "[::1]", "[::1]:8080"}) {
    EXPECT_EQ(Authority(*ParseUrl(std::string("http://") + authority + "/a")),
              authority);
  }
}

}  // namespace
}  // namespace waiter_examples
