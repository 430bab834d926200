// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/target.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/schemes/schemes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace waiter::cli::target_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The fields of a target, from any of its structs.
struct Fields {
  std::string label;
  std::string text;
  std::string scheme;
  std::string url = {};
  std::string host = {};
  uint16_t port = 0;
  std::string path = {};
  std::string socket = {};
  std::string user = {};
  std::string password = {};
  std::string database = {};
  std::string dns_type = {};
  std::string dns_value = {};
  std::string dns_server = {};
  absl::Duration stable = absl::ZeroDuration();
  int32_t pid = 0;
};

void Copy(const ServerTarget& from, Fields& to) {
  to.host = from.host;
  to.port = from.port;
  to.path = from.socket;
  to.user = from.user;
  to.password = from.password;
  to.database = from.database;
}

void Copy(const HttpTarget& from, Fields& to) {
  to.url = from.url;
  to.host = from.host;
  to.port = from.port;
  to.path = from.path;
  to.socket = from.socket;
}

void Copy(const GrpcTarget& from, Fields& to) {
  to.url = from.url;
  to.host = from.host;
  to.port = from.port;
  to.path = from.service;
}

void Copy(const DnsTarget& from, Fields& to) {
  to.host = from.name;
  to.port = from.port;
  to.dns_type = from.type;
  to.dns_value = from.value;
  to.dns_server = from.server;
}

void Copy(const FileTarget& from, Fields& to) {
  to.path = from.path;
  to.stable = from.stable;
}

void Copy(const PidTarget& from, Fields& to) { to.pid = from.pid; }

void Copy(const NamedTarget& from, Fields& to) { to.path = from.name; }

absl::StatusOr<Fields> Parse(std::string_view argument) {
  const absl::StatusOr<Target> target = ParseTarget(argument);
  if (!target.ok()) return target.status();
  Fields fields = {.label = target->label,
                   .text = target->text,
                   .scheme = std::string(target->scheme->name)};
  std::visit([&](const auto& what) { Copy(what, fields); }, target->what);
  return fields;
}

struct Written {
  std::string_view argument;
  std::string_view scheme;
  std::string_view host = {};
  uint16_t port = 0;
  std::string_view path = {};
  std::string_view dns_type = {};
  absl::Duration stable = absl::ZeroDuration();
  int32_t pid = 0;
};

struct WrittenSocket {
  std::string_view argument;
  std::string_view socket;
  std::string_view path;
  std::string_view url;
  std::string_view text;
};

TEST(TargetTest, HttpOverASocketIsParsed) {
  const std::vector<WrittenSocket> cases = {
      {"http+unix://%2Frun%2Fapp.sock/health?x=y", "/run/app.sock",
       "/health?x=y", "http://localhost/health?x=y",
       "http+unix://%2Frun%2Fapp.sock/health?..."},
      {"HTTP+UNIX://%2frun%2Fa", "/run/a", "/", "http://localhost/",
       "HTTP+UNIX://%2frun%2Fa"},
      {"http+unix://app.sock?x", "app.sock", "/?x", "http://localhost/?x",
       "http+unix://app.sock?..."},
      {"http+unix://%40name/a#b", "@name", "/a", "http://localhost/a",
       "http+unix://%40name/a?..."},
      {"http+unix://u:secret@%2Fa%3Ab/c", "/a:b", "/c",
       "http://u:secret@localhost/c", "http+unix://%2Fa%3Ab/c"},
      {"http+unix://%2Fa/c@d", "/a", "/c@d", "http://localhost/c@d",
       "http+unix://%2Fa/c@d"},
      {"http://unix:/run/app.sock:/health?x=y", "/run/app.sock", "/health?x=y",
       "http://localhost/health?x=y", "http://unix:/run/app.sock:/health?..."},
      {"http://unix:/run/app.sock:", "/run/app.sock", "/", "http://localhost/",
       "http://unix:/run/app.sock:"},
      {"http://unix:/a:b%20c:/d:/e?f=:/g", "/a:b%20c", "/d:/e?f=:/g",
       "http://localhost/d:/e?f=:/g", "http://unix:/a:b%20c:/d:/e?..."},
      {"http://unix:./a@b:/", "./a@b", "/", "http://localhost/",
       "http://unix:./a@b:/"},
  };
  for (const WrittenSocket& written : cases) {
    SCOPED_TRACE(written.argument);
    const Fields target =
        ValueOrFail(Parse(absl::StrCat("web=", written.argument)));
    EXPECT_EQ(target.label, "web");
    EXPECT_EQ(target.socket, written.socket);
    EXPECT_EQ(target.path, written.path);
    EXPECT_EQ(target.url, written.url);
    EXPECT_EQ(target.text, written.text);
    EXPECT_EQ(target.host, "");
  }
  // A host named unix, and a user named unix.
  EXPECT_EQ(Parse("http://unix:80/run")->scheme, "http");
  EXPECT_EQ(Parse("http://unix:secret@h/run")->host, "h");
}

std::vector<Written> WrittenTargets() {
  return {
      {"tcp://localhost:80", "tcp", "localhost", 80},
      {"tcp://10.0.0.1:65535", "tcp", "10.0.0.1", 65535},
      {"tcp://[::1]:5432", "tcp", "::1", 5432},
      {"tcp://[fe80::1%eth0]:1", "tcp", "fe80::1%eth0", 1},
      {"TCP://Host:00080", "tcp", "Host", 80},
      {"localhost:80", "tcp", "localhost", 80},
      {"127.0.0.1:80", "tcp", "127.0.0.1", 80},
      {"[::1]:80", "tcp", "::1", 80},
      {"redis:6379", "tcp", "redis", 6379},
      {"unix:/run/a.sock", "unix", "", 0, "/run/a.sock"},
      {"unix:///run/a.sock", "unix", "", 0, "/run/a.sock"},
      {"unix:a?b=c", "unix", "", 0, "a?b=c"},
      {"unix:@name", "unix", "", 0, "@name"},
      {"http://h", "http", "h", 80, "/"},
      {"http://h:8080/a?b=c#d", "http", "h", 8080, "/a?b=c"},
      {"https://h?b=c", "https", "h", 443, "/?b=c"},
      {"https://[::1]/", "https", "::1", 443, "/"},
      {"grpc://h:50051", "grpc", "h", 50051},
      {"grpc://[::1]:1/", "grpc", "::1", 1},
      {"grpc://h:1/my.package.Service", "grpc", "h", 1, "my.package.Service"},
      {"grpcs://h/a%2Fb/c", "grpcs", "h", 443, "a/b/c"},
      {"dns:example.com", "dns", "example.com"},
      {"dns:_ldap._tcp.a.?type=srv", "dns", "_ldap._tcp.a.", 0, "", "SRV"},
      {"dns:a?server=10.0.0.2&type=TXT", "dns", "a", 53, "", "TXT"},
      {"dns:a?type=a&server=10.0.0.2:5353", "dns", "a", 5353, "", "A"},
      {"file:/a", "file", "", 0, "/a"},
      {"file:///a", "file", "", 0, "/a"},
      {"file:build/out.o?stable=1m30s", "file", "", 0, "build/out.o", "",
       absl::Seconds(90)},
      {"file:a=b", "file", "", 0, "a=b"},
      {"file:///my%20file%3F?stable=1s", "file", "", 0, "/my file?", "",
       absl::Seconds(1)},
      {"file:100%", "file", "", 0, "100%"},
      {"file:a%2", "file", "", 0, "a%2"},
      {"redis://h", "redis", "h", 6379},
      {"redis://h:1", "redis", "h", 1},
      {"postgres://h", "postgres", "h", 5432},
      {"postgresql://[::1]", "postgresql", "::1", 5432},
      {"mysql://h", "mysql", "h", 3306},
      {"mariadb://h:3307", "mariadb", "h", 3307},
      {"mysql://tcp(h:3307)/app", "mysql", "h", 3307},
      {"mysql://tcp([::1])/app", "mysql", "::1", 3306},
      {"redis://h:1/0", "redis", "h", 1},
      {"rediss://h", "rediss", "h", 6379},
      {"postgresql+asyncpg://h/app", "postgresql", "h", 5432},
      {"postgres://my%2dhost:5433/app", "postgres", "my-host", 5433},
      {"postgresql://%2Frun%2Fpostgresql/app", "postgresql", "", 5432,
       "/run/postgresql/.s.PGSQL.5432"},
      {"amqp://h", "amqp", "h", 5672},
      {"amqps://h", "amqps", "h", 5671},
      {"kafka://h", "kafka", "h", 9092},
      {"mongodb://h", "mongodb", "h", 27017},
      {"memcached://h", "memcached", "h", 11211},
      {"nats://h", "nats", "h", 4222},
      {"systemd:nginx", "systemd", "", 0, "nginx.service"},
      {"systemd:getty@tty1.service", "systemd", "", 0, "getty@tty1.service"},
      {"systemd:a.b.mount", "systemd", "", 0, "a.b.mount"},
      {"docker:web", "docker", "", 0, "web"},
      {"docker:my_app-web.1", "docker", "", 0, "my_app-web.1"},
      {"docker:4711abcdef01", "docker", "", 0, "4711abcdef01"},
      {"docker:471112345678", "docker", "", 0, "471112345678"},
      {"docker:2375", "tcp", "docker", 2375},
      {"pid:1", "pid", "", 0, "", "", absl::ZeroDuration(), 1},
      {"pid:2147483647", "pid", "", 0, "", "", absl::ZeroDuration(),
       2147483647},
      {"exec:a=b c 'd e'", "exec", "", 0, "a=b c 'd e'"},
  };
}

TEST(TargetTest, EverySchemeIsParsed) {
  for (const Written& written : WrittenTargets()) {
    for (const std::string_view label : {"", "my.db-2_x="}) {
      const std::string argument = absl::StrCat(label, written.argument);
      SCOPED_TRACE(argument);
      const Fields target = ValueOrFail(Parse(argument));
      EXPECT_EQ(target.label, label.empty() ? target.text : "my.db-2_x");
      const size_t query = written.argument.find('?');
      EXPECT_EQ(target.text,
                target.url.empty() || query == std::string_view::npos
                    ? written.argument
                    : absl::StrCat(written.argument.substr(0, query), "?..."));
      EXPECT_EQ(target.scheme, written.scheme);
      EXPECT_EQ(target.host, written.host);
      EXPECT_EQ(target.port, written.port);
      EXPECT_EQ(target.path, written.path);
      EXPECT_EQ(target.dns_type, written.dns_type);
      EXPECT_EQ(target.stable, written.stable);
      EXPECT_EQ(target.pid, written.pid);
    }
  }
}

TEST(TargetTest, UrlsOfDatabasesMayNameALogin) {
  struct Case {
    std::string_view url;
    std::string_view user;
    std::string_view password;
    std::string_view database;
  };
  for (const Case& test : std::vector<Case>{
           {"redis://h", "", "", ""},
           {"redis://:p%40ss@h/3", "", "p@ss", "3"},
           {"redis://me:a:b@h", "me", "a:b", ""},
           {"postgres://h", "", "", ""},
           {"postgres://me@h/", "me", "", ""},
           {"postgresql://me:pw@h/my%20app?x=y", "me", "pw", "my app"},
           {"postgres://h/app/more#x", "", "", "app"},
           {"mysql://me:pw@h/app", "", "", ""}}) {
    const Fields target = ValueOrFail(Parse(test.url));
    EXPECT_EQ(target.user, test.user) << test.url;
    EXPECT_EQ(target.password, test.password) << test.url;
    EXPECT_EQ(target.database, test.database) << test.url;
  }
  for (const std::string_view url :
       {"postgres://a%00b@h", "postgres://h/a%00", "redis://:%00@h"}) {
    EXPECT_FALSE(Parse(url).ok()) << url;
  }
}

TEST(TargetTest, DnsTargetMayNameAValueAndAServer) {
  const Fields target = ValueOrFail(
      Parse("dns:a.test?value=v%3D1%26x=y&type=TXT&server=127.0.0.1:5353"));
  EXPECT_EQ(target.host, "a.test");
  EXPECT_EQ(target.dns_type, "TXT");
  EXPECT_EQ(target.dns_value, "v=1&x=y");
  EXPECT_EQ(target.dns_server, "127.0.0.1");
  EXPECT_EQ(target.port, 5353);
}

// Arguments with the same error, which follows the argument.
struct WrongTargets {
  std::vector<std::string_view> arguments;
  std::string why;
};

std::vector<WrongTargets> AllWrongTargets() {
  const std::string schemes = absl::StrJoin(
      AllSchemes(), ", ", [](std::string* out, const Scheme* row) {
        absl::StrAppend(out, row->name);
      });
  return {
      {{"", "db="},
       absl::StrCat("no scheme; write it as tcp://HOST:PORT, or with one of: ",
                    schemes)},
      {{"ftp://h:80", "db=ftp:a"},
       absl::StrCat("unknown scheme ftp; the schemes are: ", schemes)},
      {{"mongodb+srv://cluster.example.com"},
       "the name has SRV records instead of an address; write one of its hosts "
       "as mongodb://HOST"},
      {{"systemd:", "systemd://a"},
       "not a unit's name; write it as systemd:nginx.service"},
      {{"docker:", "docker://web", "docker:.web", "docker:a/b", "docker:a%2fb",
        "docker:a b"},
       "not a container's name; write it as docker:web"},
      {{"kafka://a:9092,b:9092"},
       "a target must have one host; give each host its own target; write it "
       "as kafka://localhost:9092"},
      {{"localhost:80/health"},
       "no scheme; write it as http://localhost:80/health"},
      {{"./a"}, "no scheme; write it as file:./a"},
      {{"http+unix:%2Fa"},
       "no // after http+unix:; write it as http+unix://%2Fa"},
      {{"http+unix:///run/app.sock"},
       "the socket's path is missing; write / in it as %2F; write it as "
       "http+unix://%2Frun%2Fapp.sock/health"},
      {{"http+unix://%2Fa%00b/"},
       "the path of the socket contains a zero byte; write it as "
       "http+unix://%2Frun%2Fapp.sock/health"},
      {{"http+unix://@name/"},
       "the @ of an abstract socket must be written as %40; write it as "
       "http+unix://%2Frun%2Fapp.sock/health"},
      {{"http+unix://%40/"},
       "the abstract socket has no name; write it as "
       "http+unix://%2Frun%2Fapp.sock/health"},
      {{"http+unix://%2Fa/b c", "http://h/a b"},
       "the URL contains a blank or a control character; write a blank as %20"},
      {{"http://unix:/run/app.sock/health"},
       "a : is missing after the socket's path; write it as "
       "http://unix:/run/app.sock:/health"},
      {{"grpc://h"}, "the port is missing; write it as grpc://localhost:50051"},
      {{"grpc:h:1"}, "no // after grpc:; write it as grpc://h:1"},
      {{"grpc://u:p@h:1"},
       "leave out the user and password; write it as grpc://localhost:50051"},
      {{"grpc://h:1/a?b"},
       "a service takes no parameters; leave them out; write it as "
       "grpc://localhost:50051"},
      {{"grpc://h:1/a%00"},
       "not a valid service name; write it as grpc://localhost:50051"},
      {{"grpcs://h/%ff"},
       "not a valid service name; write it as "
       "grpcs://example.com/my.package.Service"},
      {{"https+unix://%2Fa"},
       "unknown scheme https+unix; did you mean http+unix?"},
      {{"tcp:h:80"}, "no // after tcp:; write it as tcp://h:80"},
      {{"tcp:/db:5432"}, "no // after tcp:; write it as tcp://db:5432"},
      {{"tcp:"}, "no // after tcp:; write it as tcp://localhost:8080"},
      {{"redis:u:s@h"},
       "no // after redis:; write it as redis://localhost:6379"},
      {{"tpc://h:80"}, "unknown scheme tpc; did you mean tcp?"},
      {{"tcp://h"}, "the port is missing; write it as tcp://localhost:8080"},
      {{"tcp://:80"}, "the host is missing; write it as tcp://localhost:8080"},
      {{"tcp://h:"},
       "the port must be a number from 1 to 65535, not \"\"; write it as "
       "tcp://localhost:8080"},
      {{"tcp://h:0"},
       "the port must be a number from 1 to 65535, not \"0\"; write it as "
       "tcp://localhost:8080"},
      {{"redis://h:65536"},
       "the port must be a number from 1 to 65535, not \"65536\"; write it as "
       "redis://localhost:6379"},
      {{"tcp://h:+1"},
       "the port must be a number from 1 to 65535, not \"+1\"; write it as "
       "tcp://localhost:8080"},
      {{"tcp://h:81/"},
       "nothing may follow host and port; write it as tcp://h:81"},
      {{"tcp://u@h:81"},
       "leave out the user and password; write it as tcp://h:81"},
      {{"mysql://%2Frun/"}, "the host is a path; write it as unix:PATH"},
      {{"pid+x:a"}, "unknown scheme pid+x; did you mean pid?"},
      {{"tcp://::1:80"},
       "an IPv6 address needs brackets, as in [::1]:8080; write it as "
       "tcp://localhost:8080"},
      {{"http://::1"},
       "an IPv6 address needs brackets, as in [::1]:8080; write it as "
       "http://localhost:8080/health"},
      {{"tcp://[::1:80", "tcp://[127.0.0.1]:80"},
       "the brackets must hold an IPv6 address, as in [::1]:8080; write it as "
       "tcp://localhost:8080"},
      {{"tcp://[::1]80"},
       "only a port may follow the brackets; write it as tcp://localhost:8080"},
      {{"tcp://a b:80"},
       "the host contains a blank or a control character; write it as "
       "tcp://localhost:8080"},
      {{"unix:"}, "the path is missing; write it as unix:/run/app.sock"},
      {{"unix://run/a"},
       "a path must not have a host; write it as unix:/run/app.sock"},
      {{"file:?stable=2s"},
       "the path is missing; write it as file:build/app.o?stable=2s"},
      {{"file:a?stabel=2s"},
       "unknown parameter \"stabel\", only stable is known; write it as "
       "file:build/app.o?stable=2s"},
      {{"file:a%00b"},
       "the path contains a zero byte; write it as file:build/app.o?stable=2s"},
      {{"file:a?stable"},
       "stable has no value; write it as file:build/app.o?stable=2s"},
      {{"file:a?stable=2 s"},
       "stable=2 s: not a duration; write it as 300ms, 5s or 1m30s"},
      {{"file:a?stable=inf"}, "stable=inf: it must be finite"},
      {{"dns:"}, "the name is missing; write it as dns:example.com?type=MX"},
      {{"dns://h/a"}, "not a DNS name; write it as dns:example.com?type=MX"},
      {{"dns:h?type=A&server=ns.test"},
       "server=ns.test: write the IPv4 address of a name server, as in "
       "server=10.0.0.2 or server=10.0.0.2:53"},
      {{"dns:h?type=A&server=::1"},
       "server=::1: write the IPv4 address of a name server, as in "
       "server=10.0.0.2 or server=10.0.0.2:53"},
      {{"dns:h?server=10.0.0.2"},
       "server= needs a type, as in ?type=A&server=10.0.0.2; write it as "
       "dns:example.com?type=MX"},
      {{"dns:h?type=A&type=A"},
       "type is given twice; write it as dns:example.com?type=MX"},
      {{"dns:h?value="},
       "value has no value; write it as dns:example.com?type=MX"},
      {{"dns:h?value=a&match=a"},
       "value and match exclude each other; write it as "
       "dns:example.com?type=MX"},
      {{"dns:h?type=B"},
       "unknown type B; the types are: A, AAAA, CAA, CNAME, MX, NS, PTR, SOA, "
       "SRV, TXT"},
      {{"dns:h?kind=A"},
       "unknown parameter \"kind\", only type, value, server, match are known; "
       "write it as dns:example.com?type=MX"},
      {{"pid:0", "pid:2147483648", "pid:x"},
       "the process ID must be from 1 to 2147483647; write it as pid:4711"},
      {{"exec: "},
       "the shell command is missing; write it as exec:'pg_isready -q'"},
  };
}

TEST(TargetTest, ErrorSaysHowToWriteTheTarget) {
  for (const auto& [arguments, why] : AllWrongTargets()) {
    for (const std::string_view argument : arguments) {
      EXPECT_THAT(Parse(argument).status(),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           absl::StrCat(WithoutSecrets(argument), ": ", why)));
    }
  }
}

TEST(TargetTest, PasswordIsNeverShown) {
  const Fields target = ValueOrFail(Parse("https://user:p@s%2fs@h:1/a?b"));
  EXPECT_EQ(target.host, "h");
  EXPECT_EQ(target.port, 1);
  EXPECT_EQ(target.path, "/a?b");
  EXPECT_EQ(target.text, "https://h:1/a?...");
  EXPECT_EQ(target.label, target.text);
  EXPECT_EQ(target.url, "https://user:p%40s%2fs@h:1/a?b");

  EXPECT_EQ(Parse("http://user:secret@h:0/").status().message(),
            "http://h:0/: the port must be a number from 1 to 65535, not "
            "\"0\"; write it as http://localhost:8080/health");
}

TEST(TargetTest, DatabaseUrlIsTakenAsProgramsHaveIt) {
  struct Case {
    std::string_view url;
    std::string_view scheme;
    std::string_view host;
    uint16_t port;
    std::string_view text;
  };
  const std::vector<Case> cases = {
      {"postgres://user:secret@db:5433/app?sslmode=require", "postgres", "db",
       5433, "postgres://db:5433/app?..."},
      {"postgresql://user@db", "postgresql", "db", 5432, "postgresql://db"},
      {"postgres://me%40server:s%2Fcret@[::1]/app", "postgres", "::1", 5432,
       "postgres://[::1]/app"},
      {"mysql://user:secret@db/app?password=secret", "mysql", "db", 3306,
       "mysql://db/app?..."},
      {"mariadb://user:@db:3307/", "mariadb", "db", 3307, "mariadb://db:3307/"},
      {"redis://:secret@cache:6380/0", "redis", "cache", 6380,
       "redis://cache:6380/0"},
      {"rediss://:secret@cache", "rediss", "cache", 6379, "rediss://cache"},
      {"postgres://db/app?user=me%40server&password=secret", "postgres", "db",
       5432, "postgres://db/app?..."},
      {"amqp://user:secret@rabbit/app", "amqp", "rabbit", 5672,
       "amqp://rabbit/app"},
      {"mongodb://user:secret@db:1/app?replicaSet=rs0", "mongodb", "db", 1,
       "mongodb://db:1/app?..."},
      {"nats://secret@h", "nats", "h", 4222, "nats://h"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.url);
    const Fields target = ValueOrFail(Parse(c.url));
    EXPECT_EQ(target.scheme, c.scheme);
    EXPECT_EQ(target.host, c.host);
    EXPECT_EQ(target.port, c.port);
    EXPECT_EQ(target.text, c.text);
    EXPECT_EQ(target.label, c.text);
    EXPECT_EQ(target.url, "");
  }
}

TEST(TargetTest, ErrorShowsNoSecret) {
  for (const std::string_view argument : {"postgres://u:secret/x@h",
                                          "db=postgres://u:secret/x@h",
                                          "postgres://u:secret?x@h",
                                          "postgres://u:secret#x@h",
                                          "postgres://u:p@secret/x@h",
                                          "postgres://u:secret@h:0",
                                          "u:secret@host:5432",
                                          "db=u:secret@host:5432",
                                          "redis:secret@h",
                                          "redis://:secret@",
                                          "tcp://u:secret@h:1",
                                          "http://u:secret/x@h:0/",
                                          "http://u:secret@h:0/?token=secret",
                                          "ftp://u:secret@h/?a=secret",
                                          "http://h:x/?token=secret",
                                          "http+unix://u:secret/x@%2Fa/",
                                          "http+unix:///?token=secret",
                                          "http://unix:/a?token=secret",
                                          "/a?token=secret",
                                          "h:1/a?token=secret"}) {
    const absl::Status status = Parse(argument).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << argument;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")))
        << argument;
  }
  EXPECT_EQ(Parse("postgres://u:secret/x@h").status().message(),
            "postgres://h: there is an @ after the host; write it as %40, and "
            "in a password, write / as %2F, ? as %3F, # as %23 and @ as %40");
  EXPECT_EQ(Parse("u:secret@host:5432").status().message(),
            "host:5432: no scheme; write it as tcp://host:5432");
  EXPECT_EQ(WithoutSecrets("file:a@b?c"), "file:a@b?c");
}

// Tries every two characters in each place of a user and a password, for each
// scheme. They belong to the login, or the URL is refused, and the login is
// never shown.
TEST(TargetTest, NoCharacterOfALoginMovesTheHostOrIsShown) {
  const auto check = [](const Scheme& scheme, const std::string& login) {
    const std::string url =
        absl::StrCat(scheme.name, "://", login, "@host:1", "/db?x=y");
    const absl::StatusOr<Fields> target = Parse(url);
    if (!target.ok()) {
      EXPECT_EQ(target.status().message().find("SEC"), std::string::npos)
          << url;
      return;
    }
    const bool has_socket = scheme.name == "http+unix";
    EXPECT_EQ(has_socket ? target->socket
                         : absl::StrCat(target->host, ":", target->port),
              "host:1")
        << url;
    EXPECT_EQ(target->text, absl::StrCat(scheme.name, "://host:1/db?..."))
        << url;
  };
  constexpr std::string_view kSpecial = "?#/@:%&,;[]('\"\\ \t\n~xX0\xc3";
  for (const Scheme* const scheme : AllSchemes()) {
    if (!scheme->IsUrl()) continue;
    for (const char first : kSpecial) {
      for (const char second : kSpecial) {
        const std::string a(1, first);
        const std::string b(1, second);
        for (const std::string& login :
             std::vector<std::string>{absl::StrCat(a, "SEC", b, "SEC:p"),
                                      absl::StrCat("SEC", a, b, "SEC:p"),
                                      absl::StrCat("u:", a, "SEC", b),
                                      absl::StrCat("u:SEC", a, "SEC", b, "SEC"),
                                      absl::StrCat("u:p@SEC", a, "x", b, "SEC"),
                                      absl::StrCat("SEC", a, "u:", b, "SEC")}) {
          check(*scheme, login);
        }
      }
    }
  }
  // No parser can tell this from a password: a number is a port, and a path
  // follows.
  EXPECT_EQ(Parse("http://u:5432/x@host/")->host, "u");
  EXPECT_FALSE(Parse("postgres://u:5432/x@host/").ok());
  EXPECT_FALSE(Parse("postgres://u:5432/x?y=z@host/").ok());
}

TEST(TargetTest, HostBeyondAsciiIsConverted) {
  for (const Scheme* const scheme : AllSchemes()) {
    if (!scheme->IsUrl() || scheme->name == "http+unix") continue;
    const Fields target = ValueOrFail(Parse(absl::StrCat(scheme->name,
                                                         "://b\xc3\xbc"
                                                         "cher.example:81")));
    EXPECT_EQ(target.host, "xn--bcher-kva.example");
    if (!target.url.empty()) {
      EXPECT_THAT(target.url, HasSubstr("//xn--bcher-kva.example:81"));
    }
  }
  EXPECT_EQ(Parse("b\xc3\xbc"
                  "cher:80")
                ->host,
            "xn--bcher-kva");
  EXPECT_EQ(Parse("dns:b\xc3\xbc"
                  "cher")
                ->host,
            "xn--bcher-kva");
  EXPECT_THAT(std::string(Parse("tcp://\xff:80").status().message()),
              HasSubstr("not a valid host"));
}

TEST(TargetTest, TooLongTargetIsRefused) {
  const std::string name(253, 'n');
  EXPECT_TRUE(Parse(absl::StrCat("redis://", name)).ok());
  EXPECT_TRUE(Parse(absl::StrCat("dns:", name)).ok());
  EXPECT_FALSE(Parse(absl::StrCat("redis://", name, "n")).ok());
  EXPECT_FALSE(Parse(absl::StrCat("dns:", name, "n")).ok());

  const std::string path(107, 'p');
  EXPECT_TRUE(Parse(absl::StrCat("unix:", path)).ok());
  EXPECT_FALSE(Parse(absl::StrCat("unix:", path, "p")).ok());
  EXPECT_TRUE(Parse(absl::StrCat("http+unix://", path, "/a")).ok());
  EXPECT_FALSE(Parse(absl::StrCat("http+unix://", path, "p/a")).ok());
  EXPECT_FALSE(Parse(absl::StrCat("http://unix:/", path, ":/a")).ok());
}

TEST(TargetTest, ErrorIsOnePrintableLine) {
  EXPECT_EQ(Parse("tcp://\n\x1b[2J:80").status().message(),
            "tcp://\\x0a\\x1b[2J:80: the host contains a blank or a control "
            "character; write it as tcp://localhost:8080");
}

}  // namespace
}  // namespace waiter::cli::target_test
