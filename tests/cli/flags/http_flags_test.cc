// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/http_flags.h"

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/probes/http/http_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace waiter::cli::http_flags_test {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<HttpOptions> Read(
    const std::vector<std::string>& args,
    const std::vector<std::string>& environment = {}) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  http.AddFamilyTo(flags);
  const absl::StatusOr<std::vector<std::string>> rest =
      flags.Parse(args, environment);
  if (!rest.ok()) return rest.status();
  return http.Options(flags);
}

TEST(HttpFlagsTest, DefaultsRequireA2xxFromATrustedServer) {
  const HttpOptions options = ValueOrFail(Read({}));

  EXPECT_EQ(options.method, "");
  EXPECT_FALSE(options.data.has_value());
  EXPECT_TRUE(options.status.Contains(200));
  EXPECT_TRUE(options.status.Contains(299));
  EXPECT_FALSE(options.status.Contains(199));
  EXPECT_FALSE(options.status.Contains(300));
  EXPECT_FALSE(options.not_ready_on.Contains(401));
  EXPECT_TRUE(options.verify);
  EXPECT_TRUE(options.follow_redirects);
  EXPECT_EQ(options.family, HttpOptions::Family::kAny);
}

TEST(HttpFlagsTest, EveryFlagSetsItsOption) {
  const std::string file = testing::TempDir() + "/http_flags_test_data";
  std::ofstream(file, std::ios::binary) << std::string("a\0\n", 3);

  const HttpOptions options = ValueOrFail(Read({"--method=put",
                                                "--header",
                                                "Accept: a/b",
                                                "--header=X-Empty:",
                                                "--data=@" + file,
                                                "--status=200-204,401",
                                                "--body-regex=a",
                                                "--body-regex=b",
                                                "--json=.a==1",
                                                "--json",
                                                ".b",
                                                "--expect-header=X-A=b=c",
                                                "--not-ready-on=403,500-502",
                                                "--fail-status=410",
                                                "--fail-status=404,451",
                                                "--fail-json=.c",
                                                "--fail-json=.d",
                                                "--fail-body-regex=e",
                                                "--print=.f",
                                                "--insecure",
                                                "--no-redirect",
                                                "--http2",
                                                "--ipv4"}));

  EXPECT_EQ(options.method, "PUT");
  ASSERT_EQ(options.headers.size(), 2U);
  EXPECT_EQ(options.headers[0].first, "Accept");
  EXPECT_EQ(options.headers[0].second, "a/b");
  EXPECT_EQ(options.headers[1].first, "X-Empty");
  EXPECT_EQ(options.headers[1].second, "");
  EXPECT_EQ(options.data, std::string("a\0\n", 3));
  EXPECT_TRUE(options.status.Contains(204));
  EXPECT_TRUE(options.status.Contains(401));
  EXPECT_FALSE(options.status.Contains(205));
  EXPECT_EQ(options.body.size(), 2U);
  EXPECT_EQ(options.json.size(), 2U);
  ASSERT_EQ(options.expected_headers.size(), 1U);
  EXPECT_EQ(options.expected_headers[0].name, "X-A");
  EXPECT_EQ(options.expected_headers[0].value.pattern(), "b=c");
  EXPECT_TRUE(options.fail_status.Contains(410));
  EXPECT_TRUE(options.fail_status.Contains(451));
  EXPECT_EQ(options.fail_json.size(), 2U);
  EXPECT_EQ(options.fail_body.size(), 1U);
  EXPECT_TRUE(options.print.has_value());
  EXPECT_TRUE(options.not_ready_on.Contains(501));
  EXPECT_FALSE(options.not_ready_on.Contains(503));
  EXPECT_FALSE(options.verify);
  EXPECT_FALSE(options.follow_redirects);
  EXPECT_TRUE(options.http2);
  EXPECT_EQ(options.family, HttpOptions::Family::kIpv4);

  EXPECT_EQ(Read({"--ipv6"})->family, HttpOptions::Family::kIpv6);
  EXPECT_EQ(Read({"--data="})->data, "");
}

TEST(HttpFlagsTest, CertificatesAreInFiles) {
  const std::string file = testing::TempDir() + "/http_flags_test_none";
  std::ofstream(file, std::ios::binary) << std::string("a\0\n", 3);
  EXPECT_EQ(Read({"--ca-file=" + file})->ca_file, file);
  const std::string pem = testing::TempDir() + "/http_flags_test_pem";
  std::ofstream(pem) << "-----BEGIN CERTIFICATE-----\n";
  const HttpOptions both = ValueOrFail(Read({"--cert=" + pem}));
  EXPECT_EQ(both.client_certificate_pem, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(both.client_key_pem, both.client_certificate_pem);
  EXPECT_EQ(Read({"--key=" + pem}).status().message(),
            "--key: it needs --cert");
  EXPECT_FALSE(Read({"--cert=" + file}).ok());
}

TEST(HttpFlagsTest, VariableSetsOneValueOfARepeatedFlag) {
  const HttpOptions options =
      ValueOrFail(Read({}, {"WAITER_HEADER=A: b", "WAITER_JSON=.a"}));
  EXPECT_EQ(options.headers.size(), 1U);
  EXPECT_EQ(options.json.size(), 1U);

  // Flags on the command line win over variables.
  const HttpOptions given = ValueOrFail(
      Read({"--header=C:d", "--header=E:f"}, {"WAITER_HEADER=A: b"}));
  ASSERT_EQ(given.headers.size(), 2U);
  EXPECT_EQ(given.headers[0].first, "C");
}

TEST(HttpFlagsTest, LabelledFlagsAreForOneTarget) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  ASSERT_TRUE(
      flags
          .Parse({"--header=Accept: a/b", "--status=200",
                  "--header@web=X-Key: 1", "--header@web", "X-Too: 2",
                  "--status@web=401", "--insecure@web", "--data@api=@/dev/null",
                  "--header@api=Y: 3", "--fail-status=410",
                  "--fail-status@api=404", "--fail-json@api=.a",
                  "--print@api=.b", "--long-poll=20s",
                  "--long-poll@api=30s:timeout", "--netrc@api=/dev/null"})
          .ok());
  const HttpOptions web = ValueOrFail(http.Options(flags, "web"));
  ASSERT_EQ(web.headers.size(), 3U);
  EXPECT_EQ(web.headers[1].first, "X-Key");
  EXPECT_EQ(web.headers[2].second, "2");
  EXPECT_FALSE(web.status.Contains(200));
  EXPECT_TRUE(web.status.Contains(401));
  EXPECT_FALSE(web.verify);
  EXPECT_FALSE(web.data.has_value());

  EXPECT_EQ(web.long_poll.hold, absl::Seconds(20));
  EXPECT_EQ(web.long_poll.parameter, "");
  EXPECT_EQ(web.netrc_file, "");

  const HttpOptions api = ValueOrFail(http.Options(flags, "api"));
  EXPECT_EQ(api.long_poll.hold, absl::Seconds(30));
  EXPECT_EQ(api.long_poll.parameter, "timeout");
  EXPECT_EQ(api.netrc_file, "/dev/null");
  EXPECT_EQ(api.headers.size(), 2U);
  EXPECT_TRUE(api.status.Contains(200));
  EXPECT_TRUE(api.verify);
  EXPECT_EQ(api.data, "");
  EXPECT_TRUE(api.fail_status.Contains(410));
  EXPECT_TRUE(api.fail_status.Contains(404));
  EXPECT_FALSE(web.fail_status.Contains(404));
  EXPECT_EQ(api.fail_json.size(), 1U);
  EXPECT_TRUE(api.print.has_value());

  EXPECT_EQ(http.Options(flags, "other")->headers.size(), 1U);
}

TEST(HttpFlagsTest, CommandLineIsForAShellAndHidesSecrets) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  ASSERT_TRUE(flags
                  .Parse({"--method", "PUT", "http://a/b", "--header=A: secret",
                          "--bearer@db=env:PATH", "-data=it's", "--nohttp2"},
                         {R"(WAITER_PRINT=."a b")"})
                  .ok());
  EXPECT_EQ(
      flags.CommandLine(),
      "WAITER_PRINT='.\"a b\"' waiter --method=PUT http://a/b --header=... "
      "--bearer@db=... --data='it'\\''s' --nohttp2");
}

TEST(HttpFlagsTest, SecretsNameTheirHost) {
  Flags flags("waiter", "", "");
  HttpFlags http;
  http.AddTo(flags);
  ASSERT_TRUE(flags.Parse({"--header=Authorization: secret"}).ok());
  EXPECT_TRUE(HttpFlags::CheckHosts(flags, {.http = {"a"}}).ok());
  EXPECT_TRUE(
      HttpFlags::CheckHosts(flags, {.http = {"a"}, .grpc = {"a"}}).ok());
  for (const HttpFlags::Hosts& hosts :
       {HttpFlags::Hosts{.http = {"a", "b"}},
        HttpFlags::Hosts{.http = {"a"}, .grpc = {"b"}},
        HttpFlags::Hosts{.grpc = {"a", "b"}}}) {
    EXPECT_EQ(HttpFlags::CheckHosts(flags, hosts).message(),
              "--header: it would go to 2 hosts; name the target that it is "
              "for, as in --header@LABEL=...");
  }

  Flags named("waiter", "", "");
  HttpFlags http_of_named;
  http_of_named.AddTo(named);
  ASSERT_TRUE(named.Parse({"--header@web=Authorization: secret"}).ok());
  EXPECT_TRUE(HttpFlags::CheckHosts(named, {.http = {"a", "b"}}).ok());

  // A call of gRPC has its own body.
  Flags data("waiter", "", "");
  HttpFlags http_of_data;
  http_of_data.AddTo(data);
  ASSERT_TRUE(data.Parse({"--data=secret"}).ok());
  EXPECT_TRUE(HttpFlags::CheckHosts(data, {.http = {"a"}, .grpc = {"b"}}).ok());
}

TEST(HttpFlagsTest, FlagWithoutATargetIsRefused) {
  const auto check = [](std::string_view flag, const HttpFlags::Hosts& hosts) {
    Flags flags("waiter", "", "");
    HttpFlags http;
    http.AddTo(flags);
    http.AddFamilyTo(flags);
    EXPECT_TRUE(flags.Parse({std::string(flag)}).ok()) << flag;
    return std::string(HttpFlags::CheckUsed(flags, hosts).message());
  };
  EXPECT_EQ(check("--status=200", {}),
            "--status: no target is http:// or https://");
  EXPECT_EQ(check("--status=200", {.http = {"a"}}), "");
  EXPECT_EQ(check("--insecure", {}),
            "--insecure: no target is http:// or https://, grpc:// or "
            "grpcs://");
  EXPECT_EQ(check("--ipv4", {}), "");
  for (const std::string_view flag :
       {"--header=A:b", "--bearer=env:PATH", "--insecure",
        "--ca-file=/proc/self/status"}) {
    EXPECT_EQ(check(flag, {.grpc = {"a"}}), "") << flag;
  }
  for (const std::string_view flag :
       {"--method=PUT", "--data=a", "--status=200", "--body-regex=a",
        "--json=.a", "--expect-header=A=b", "--not-ready-on=401",
        "--no-redirect", "--http2"}) {
    EXPECT_THAT(check(flag, {.grpc = {"a"}}),
                HasSubstr("no target is http:// or https://"))
        << flag;
  }
}

struct Row {
  std::vector<std::string> args;
  std::string_view error;
};

std::vector<Row> InvalidRows() {
  return {
      {{"--method=G T"}, "--method=G T: it must be an HTTP method"},
      {{"--method="}, "it must be an HTTP method"},
      {{"--method=" + std::string(65, 'A')}, "it must be an HTTP method"},
      {{"--method=GET", "--method=PUT"}, "--method=PUT: given twice"},
      {{"--header=abc"}, "--header=...: it must have the form NAME:VALUE"},
      {{"--header=: v"}, "it must have the form NAME:VALUE"},
      {{"--header=a b: v"}, "it must have the form NAME:VALUE"},
      {{"--header=a: b\r\nc: d"}, "a header must be one line"},
      {{"--header=@/no/such/file"}, "--header=...: cannot read the file: No"},
      {{"--header=@/dev/zero"}, "cannot read the file: larger than 1 MiB"},
      {{"--header=@/proc/version"}, "it must have the form NAME:VALUE"},
      {{"--bearer=secret"},
       "--bearer=...: it must be @FILE or env:NAME, where the token is"},
      {{"--bearer=env:NO_SUCH_VARIABLE"}, "this variable is not set"},
      {{"--bearer=@/dev/null"},
       "the token must be one word of printable characters"},
      {{"--bearer=@/proc/version"}, "the token must be one word"},
      {{"--bearer=@/no/such/file"}, "cannot read the file: No such file"},
      {{"--data=@/no/such/file"}, "cannot read the file: No such file"},
      {{"--data=@/dev/zero"}, "cannot read the file: larger than 16 MiB"},
      {{"--header@web=secret"}, "--header@web=...: it must have the form"},
      {{"--insecure@web=1"}, "--insecure@web: this flag takes no value"},
      {{"--status@web"}, "--status@web: it needs a value, such as --status@w"},
      {{"--status@=200"}, "--status@: --status cannot be given for one target"},
      {{"--ipv4@web"}, "--ipv4@web: --ipv4 cannot be given for one target"},
      {{"--ca-file=/dev/null"}, "it must be a regular file"},
      {{"--data=@/"}, "cannot "},
      {{"--status=20"},
       "it must be a list of HTTP statuses, such as 200-299,401"},
      {{"--status="}, "it must be a list of HTTP statuses"},
      {{"--status=200,"}, "it must be a list of HTTP statuses"},
      {{"--status=300-200"}, "it must be a list of HTTP statuses"},
      {{"--status=200-"}, "it must be a list of HTTP statuses"},
      {{"--status=600"}, "it must be a list of HTTP statuses"},
      {{"--status=2xx"}, "it must be a list of HTTP statuses"},
      {{"--not-ready-on=1"}, "it must be a list of HTTP statuses"},
      {{"--body-regex=a("}, "--body-regex=a(: not a regular expression: "},
      {{"--json=status"}, "--json=status: at character 1: "},
      {{"--json", ".a=1"}, "--json .a=1: at character 3: "},
      {{"--expect-header=X-A"}, "it must have the form NAME=EXPRESSION"},
      {{"--expect-header=X-A=("}, "not a regular expression"},
      {{"--ca-file=/no/such/file"}, "cannot open the file"},
      {{"--netrc=/no/such/file"}, "cannot open the file"},
      {{"--long-poll=soon"}, "--long-poll=soon: "},
      {{"--long-poll=900ms"}, "it must be at least 1s"},
      {{"--long-poll=30s:"}, "it must have the form TIME[:PARAMETER]"},
      {{"--long-poll=30s:a=b"}, "it must have the form TIME[:PARAMETER]"},
      {{"--ipv4", "--ipv6"}, "--ipv6: contradicts --ipv4"},
      {{"--insecure", "--ca-file=/proc/self/status"}, "contradicts --insecure"},
      {{"--method=HEAD", "--data=a"}, "--data: HEAD has no body"},
      {{"--method=HEAD", "--body-regex=a"}, "--body-regex: HEAD has no body"},
      {{"--method=HEAD", "--json=.a"}, "--json: HEAD has no body"},
      {{"--method=HEAD", "--fail-json=.a"}, "--fail-json: HEAD has no body"},
      {{"--method=HEAD", "--fail-body-regex=a"},
       "--fail-body-regex: HEAD has no body"},
      {{"--method=HEAD", "--print=.a"}, "--print: HEAD has no body"},
      {{"--fail-status=a"}, "it must be a list of HTTP statuses"},
      {{"--fail-json=a"}, "--fail-json=a: at character 1: "},
      {{"--fail-body-regex=("}, "not a regular expression"},
      {{"--print=a"}, "--print=a: at character 1: "},
      {{"--print=.a", "--print=.b"}, "--print=.b: given twice"},
  };
}

TEST(HttpFlagsTest, InvalidValuesAreRefused) {
  for (const Row& row : InvalidRows()) {
    EXPECT_THAT(Read(row.args).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(row.error))))
        << row.args[0];
  }
}

}  // namespace
}  // namespace waiter::cli::http_flags_test
