// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/http_url.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace waiter::internal::http_url_test {
namespace {

TEST(HttpUrlTest, PartsAreRead) {
  const absl::StatusOr<HttpUrl> url =
      HttpUrl::Parse("HTTPS://u:p@Example.COM:8443/a/./b/../c?q=/../x#part");

  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->user_info, "u:p");
  EXPECT_EQ(url->ToString(), "https://u:p@example.com:8443/a/c?q=/../x");
  EXPECT_EQ(url->Origin(), "https://example.com:8443");
  EXPECT_EQ(url->Shown(), "https://example.com:8443/a/c");
}

TEST(HttpUrlTest, OriginHasThePortOfTheScheme) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"http://h", "http://h:80"},
      {"http://h:80/x", "http://h:80"},
      {"http://h:", "http://h:80"},
      {"https://h", "https://h:443"},
      {"https://[::1]/", "https://[::1]:443"},
      {"https://[::1]:9/", "https://[::1]:9"},
  };
  for (const auto& [text, origin] : rows) {
    const absl::StatusOr<HttpUrl> url = HttpUrl::Parse(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(url->Origin(), origin);
  }
}

// The examples of RFC 3986, 5.4, for the schemes that are followed.
TEST(HttpUrlTest, ReferencesAreResolvedAsTheStandardSays) {
  const absl::StatusOr<HttpUrl> base = HttpUrl::Parse("http://a/b/c/d;p?q");
  ASSERT_TRUE(base.ok());
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"g", "http://a/b/c/g"},        {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},      {"/g", "http://a/g"},
      {"//g", "http://g/"},           {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},    {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},      {";x", "http://a/b/c/;x"},
      {"", "http://a/b/c/d;p?q"},     {".", "http://a/b/c/"},
      {"..", "http://a/b/"},          {"../g", "http://a/b/g"},
      {"../..", "http://a/"},         {"../../../g", "http://a/g"},
      {"/./g", "http://a/g"},         {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},      {"./g/.", "http://a/b/c/g/"},
      {"g/../h", "http://a/b/c/h"},   {"g;x=1/../y", "http://a/b/c/y"},
      {"https://g/x", "https://g/x"},
  };
  for (const auto& [reference, resolved] : rows) {
    const absl::StatusOr<HttpUrl> url = base->Resolve(reference);
    ASSERT_TRUE(url.ok()) << reference;
    EXPECT_EQ(url->ToString(), resolved) << reference;
  }
}

TEST(HttpUrlTest, BytesBeyondAsciiAreEncoded) {
  const absl::StatusOr<HttpUrl> base = HttpUrl::Parse("http://h/\xC3\xA4?\xFF");
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_EQ(base->ToString(), "http://h/%C3%A4?%FF");
  EXPECT_EQ(base->Resolve("\xC3\xB6")->ToString(), "http://h/%C3%B6");
  EXPECT_EQ(base->Resolve("/%20?\xC3")->ToString(), "http://h/%20?%C3");
}

TEST(HttpUrlTest, OtherAddressesAreRefused) {
  const std::string long_path(HttpUrl::kMaxSize, 'a');
  for (const std::string& text :
       {std::string(""), std::string("h/x"), std::string("ftp://h/"),
        std::string("http:/h"), std::string("http://"),
        std::string("http://:1"), std::string("http://u@/"),
        std::string("http://h/a b"), std::string("http://h/\r\nX: 1"),
        std::string("http://h\\@evil/"), std::string("http://b\xC3\xBC/"),
        std::string("http://h%2F/"), "http://h/" + long_path,
        std::string("javascript:alert(1)")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(HttpUrl::Parse(text).status()))
        << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace waiter::internal::http_url_test
