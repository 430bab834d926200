// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program against real servers, which start late, are killed
// and come back. Skips servers that are not installed.

#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"

namespace waiter::cli {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<std::string>;

// A directory that other users can enter; removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() /
                       ("waiter." + std::string(6, 'X'));
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms::all);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string Path(std::string_view name) const {
    return absl::StrCat(path_, "/", name);
  }

 private:
  std::string path_;
};

// Finds a program in PATH or in the folders of Debian's packages.
std::optional<std::string> FindProgram(const std::string& name) {
  Words folders = absl::StrSplit(std::getenv("PATH"), ':');
  folders.push_back("/usr/sbin");
  std::error_code none;
  for (const auto& version :
       std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    folders.push_back(version.path() / "bin");
  }
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder, "/", name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

int RunQuietly(Words words) {
  const std::string program = words.front();
  words.erase(words.begin());
  return WaiterProcess(std::move(words), {.program = program}).Wait();
}

// Debian's package of the module; it is for Debian's own python3.
constexpr std::string_view kGrpcPackage = "python3-grpcio";

// Finds a python3 that has the module grpc.
std::optional<std::string> FindGrpcPython() {
  for (const std::optional<std::string>& python :
       {FindProgram("python3"),
        std::optional<std::string>("/usr/bin/python3")}) {
    if (python.has_value() && access(python->c_str(), X_OK) == 0 &&
        RunQuietly({*python, "-c", "import grpc"}) == 0) {
      return python;
    }
  }
  return std::nullopt;
}

bool IsInstalled(const std::string& program) {
  return program == kGrpcPackage ? FindGrpcPython().has_value()
                                 : FindProgram(program).has_value();
}

// Returns the words that start a gRPC server.
Words GrpcServer(int port, const Words& more = {}) {
  Words words = {
      *FindGrpcPython(),
      absl::StrCat(std::getenv("TEST_SRCDIR"), "/",
                   std::getenv("TEST_WORKSPACE"), "/tests/cli/grpc_server.py"),
      absl::StrCat(port)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Returns the words that run a program as `user` if root must not run it.
Words As(const char* user, Words words) {
  if (getuid() != 0 || getpwnam(user) == nullptr) return words;
  words.insert(words.begin(), {"setpriv", "--reuid", user, "--regid", user,
                               "--clear-groups", "--"});
  return words;
}

int RunToEnd(Words words) {
  const std::string program = words.front();
  words.erase(words.begin());
  WaiterProcess process(std::move(words), {.program = program});
  const int code = process.Wait();
  EXPECT_EQ(code, 0) << process.out() << process.err();
  return code;
}

struct Server {
  std::string name;
  std::string program;

  // Prepares the directory once.
  void (*prepare)(const Folder& folder, int port);
  Words (*command)(const Folder& folder, int port);
  std::string_view scheme;
  std::string_view ready;  // Text about the server once it is ready.
};

void PrintTo(const Server& server, std::ostream* out) { *out << server.name; }

Words Redis(const Folder& folder, int port) {
  return {*FindProgram("redis-server"),
          "--port",
          absl::StrCat(port),
          "--bind",
          "127.0.0.1",
          "--dir",
          folder.Path(""),
          "--save",
          ""};
}

Words RedisWithPassword(const Folder& folder, int port) {
  Words words = Redis(folder, port);
  words.insert(words.end(), {"--requirepass", "secret"});
  return words;
}

std::vector<Server> Servers() {
  const auto nothing = [](const Folder& /*folder*/, int /*port*/) {};
  return {
      {"Redis", "redis-server", nothing, Redis, "redis", "Redis answers"},
      {"RedisWithPassword", "redis-server", nothing, RedisWithPassword, "redis",
       "NOAUTH"},
      {"Postgres", "postgres",
       [](const Folder& folder, int /*port*/) {
         RunToEnd(
             As("postgres", {*FindProgram("initdb"), "-D", folder.Path("data"),
                             "-U", "waiter", "--no-sync"}));
       },
       [](const Folder& folder, int port) {
         return As("postgres", {*FindProgram("postgres"), "-D",
                                folder.Path("data"), "-h", "127.0.0.1", "-p",
                                absl::StrCat(port), "-k", folder.Path("")});
       },
       "postgres", ""},
      {"MariaDb", "mariadbd",
       [](const Folder& folder, int /*port*/) {
         RunToEnd(
             As("mysql", {*FindProgram("mariadb-install-db"), "--no-defaults",
                          absl::StrCat("--datadir=", folder.Path("data")),
                          "--skip-test-db"}));
       },
       [](const Folder& folder, int port) {
         return As("mysql",
                   {*FindProgram("mariadbd"), "--no-defaults",
                    absl::StrCat("--datadir=", folder.Path("data")),
                    absl::StrCat("--socket=", folder.Path("socket")),
                    absl::StrCat("--pid-file=", folder.Path("pid")),
                    "--bind-address=127.0.0.1", absl::StrCat("--port=", port)});
       },
       "mysql", ""},
      {"Memcached", "memcached", nothing,
       [](const Folder& /*folder*/, int port) -> Words {
         return {
             *FindProgram("memcached"), "-u", "nobody", "-l", "127.0.0.1", "-p",
             absl::StrCat(port)};
       },
       "memcached", "memcached 1."},
      {"Nats", "nats-server", nothing,
       [](const Folder& /*folder*/, int port) -> Words {
         return {*FindProgram("nats-server"), "-a", "127.0.0.1", "-p",
                 absl::StrCat(port)};
       },
       "nats", "NATS 2."},
      {"NatsWithToken", "nats-server", nothing,
       [](const Folder& /*folder*/, int port) -> Words {
         return {*FindProgram("nats-server"), "-a",     "127.0.0.1", "-p",
                 absl::StrCat(port),          "--auth", "secret"};
       },
       "nats", "auth_required"},
      {"Mqtt", "mosquitto", nothing,
       [](const Folder& /*folder*/, int port) -> Words {
         return {*FindProgram("mosquitto"), "-p", absl::StrCat(port)};
       },
       "mqtt", "MQTT broker answers"},
      {"Nginx", "nginx",
       [](const Folder& folder, int port) {
         std::ofstream(folder.Path("nginx.conf"))
             << "daemon off; master_process off; pid " << folder.Path("pid")
             << "; error_log stderr; events {} http { access_log off; "
             << "client_body_temp_path " << folder.Path("body")
             << "; proxy_temp_path " << folder.Path("proxy")
             << "; fastcgi_temp_path " << folder.Path("fastcgi")
             << "; uwsgi_temp_path " << folder.Path("uwsgi")
             << "; scgi_temp_path " << folder.Path("scgi")
             << "; server { listen 127.0.0.1:" << port
             << "; location / { return 200 up; } } }";
       },
       [](const Folder& folder, int /*port*/) -> Words {
         return {*FindProgram("nginx"),     "-p", folder.Path(""), "-c",
                 folder.Path("nginx.conf"), "-e", "stderr"};
       },
       "http", "200"},
      {"Grpc", std::string(kGrpcPackage), nothing,
       [](const Folder& /*folder*/, int port) { return GrpcServer(port); },
       "grpc", "SERVING"},
  };
}

class RealServersTest : public testing::TestWithParam<Server> {
 protected:
  void SetUp() override {
    if (!IsInstalled(GetParam().program)) {
      GTEST_SKIP() << GetParam().program << " is not installed";
    }
    port_ = FreePort(AF_INET);
    GetParam().prepare(folder_, port_);
  }

  void Start() {
    Words words = GetParam().command(folder_, port_);
    const std::string program = words.front();
    words.erase(words.begin());
    server_ = std::make_unique<WaiterProcess>(
        std::move(words), WaiterProcess::Options{.program = program});
  }

  void Kill() {
    server_->Signal(SIGKILL);
    server_->Wait();
    server_ = nullptr;
  }

  Words With(Words flags) const {
    flags.insert(flags.begin(), absl::StrCat("it=", GetParam().scheme,
                                             "://127.0.0.1:", port_));
    flags.insert(flags.end(), {"--timeout=1m", "--every=100ms", "--verbose"});
    return flags;
  }

  const Folder folder_;
  int port_ = 0;
  std::unique_ptr<WaiterProcess> server_;
};

TEST_P(RealServersTest, LateServerIsFound) {
  WaiterProcess waiter(With({}));
  ASSERT_TRUE(waiter.ReadUntil("refused"));
  Start();
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(waiter.err(), HasSubstr(GetParam().ready));
}

TEST_P(RealServersTest, RestartedServerMustSucceedAnew) {
  Start();
  WaiterProcess waiter(With({"--successes=15"}));
  ASSERT_TRUE(waiter.ReadUntil("SUCCESS")) << waiter.err();
  Kill();
  ASSERT_TRUE(waiter.ReadUntil("refused")) << waiter.err();
  Start();
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
}

TEST_P(RealServersTest, KilledServerIsGone) {
  Start();
  WaiterProcess up(With({}));
  ASSERT_EQ(up.Wait(), 0) << up.err();
  WaiterProcess waiter(With({"--gone"}));
  ASSERT_TRUE(waiter.ReadUntil("still there")) << waiter.err();
  Kill();
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
}

// A server and two of its URLs. With a login, only one is ready.
struct Login {
  std::string server;  // Name of one of `Servers`.
  std::string right;   // PORT means its port.
  std::string wrong;
  std::string_view refusal;
  int code_without_login = 0;  // Of the second URL.
};

TEST(RealLoginTest, UserOfTheUrlMustBeLetIn) {
  for (const Login& login : std::vector<Login>{
           {"RedisWithPassword", "redis://:secret@127.0.0.1:PORT",
            "redis://:wrong@127.0.0.1:PORT", "Redis refuses the login"},
           {"Redis", "redis://default:any@127.0.0.1:PORT",
            "redis://nobody:any@127.0.0.1:PORT", "WRONGPASS"},
           {"Postgres", "postgres://waiter@127.0.0.1:PORT/postgres",
            "postgres://waiter@127.0.0.1:PORT/other",
            "database \"other\" does not exist"},
           {"Postgres",
            "postgres://waiter@127.0.0.1:1,127.0.0.1:PORT/postgres"
            "?target_session_attrs=read-write&pool_size=5",
            "postgres://waiter@127.0.0.1:PORT/postgres"
            "?target_session_attrs=standby",
            "server is not in hot standby mode"},
           {"Postgres",
            "postgres://waiter@127.0.0.1:PORT/postgres"
            "?table=pg_catalog.pg_class",
            "postgres://waiter@127.0.0.1:PORT/postgres?table=jobs",
            "there is no such table", 2}}) {
    SCOPED_TRACE(login.right);
    const std::vector<Server> servers = Servers();
    const auto server = std::find_if(
        servers.begin(), servers.end(),
        [&](const Server& each) { return each.name == login.server; });
    if (!FindProgram(server->program).has_value()) {
      GTEST_SKIP() << server->program << " is not installed";
    }
    const Folder folder;
    const int port = FreePort(AF_INET);
    server->prepare(folder, port);
    Words words = server->command(folder, port);
    const std::string program = words.front();
    words.erase(words.begin());
    const WaiterProcess running(std::move(words), {.program = program});
    const auto at = [port](const std::string& url) {
      return absl::StrReplaceAll(url, {{"PORT", absl::StrCat(port)}});
    };
    WaiterProcess right(
        {at(login.right), "--login", "--timeout=1m", "--every=100ms"});
    EXPECT_EQ(right.Wait(), 0) << right.err();
    WaiterProcess wrong({at(login.wrong), "--login", "--timeout=0"});
    EXPECT_EQ(wrong.Wait(), 124);
    EXPECT_THAT(wrong.err(), HasSubstr(login.refusal));
    WaiterProcess without({at(login.wrong), "--timeout=0"});
    EXPECT_EQ(without.Wait(), login.code_without_login) << without.err();
  }
}

class GrpcServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsInstalled(std::string(kGrpcPackage))) {
      GTEST_SKIP() << kGrpcPackage << " is not installed";
    }
    port_ = FreePort(AF_INET);
  }

  void Start(const Words& more = {}) {
    Words words = GrpcServer(port_, more);
    const std::string program = words.front();
    words.erase(words.begin());
    server_ = std::make_unique<WaiterProcess>(
        std::move(words), WaiterProcess::Options{.program = program});
    ASSERT_TRUE(server_->ReadUntil("ready")) << server_->err();
  }

  std::string Target(std::string_view service) const {
    return absl::StrCat("it=grpc://127.0.0.1:", port_, "/", service);
  }

  // Waits for `target`. Returns the exit code.
  int Wait(std::string target, Words flags = {"--timeout=0"}) {
    flags.insert(flags.begin(), std::move(target));
    flags.insert(flags.end(), {"--every=50ms", "--verbose"});
    WaiterProcess waiter(std::move(flags));
    const int code = waiter.Wait();
    text_ = waiter.err();
    return code;
  }

  const Folder folder_;
  int port_ = 0;
  std::unique_ptr<WaiterProcess> server_;
  std::string text_;  // Output of the last wait.
};

TEST_F(GrpcServerTest, ServiceThatDoesNotServeMayServeLater) {
  Start();
  EXPECT_EQ(Wait(Target("")), 0) << text_;
  EXPECT_EQ(Wait(Target("my.Down")), 124) << text_;
  EXPECT_THAT(text_, HasSubstr("NOT_READY: NOT_SERVING"));
  EXPECT_EQ(Wait(Target("my.Late"), {"--timeout=1m"}), 0) << text_;
  EXPECT_THAT(text_, HasSubstr("NOT_READY: NOT_SERVING"));
  EXPECT_THAT(text_, HasSubstr("SUCCESS"));
}

TEST_F(GrpcServerTest, UnknownServiceIsNotReadyAndGone) {
  Start();
  EXPECT_EQ(Wait(Target("my.Other")), 124) << text_;
  EXPECT_THAT(text_, HasSubstr("the server does not know service my.Other"));
  EXPECT_EQ(Wait(Target("my.Other"), {"--timeout=0", "--gone"}), 0) << text_;
}

TEST_F(GrpcServerTest, ServerWithoutAHealthServiceIsFailed) {
  Start({"none"});
  EXPECT_EQ(Wait(Target("")), 1) << text_;
  EXPECT_THAT(text_, HasSubstr("gRPC status 12 UNIMPLEMENTED"));
  EXPECT_THAT(text_, HasSubstr("the server has no health service; use tcp://"));
}

TEST_F(GrpcServerTest, HeaderMayBeNeeded) {
  Start();
  EXPECT_EQ(Wait(Target("my.Secret")), 1) << text_;
  EXPECT_THAT(text_,
              HasSubstr("gRPC status 16 UNAUTHENTICATED: no token: 100 %"));
  EXPECT_THAT(text_, HasSubstr("--header@LABEL"));
  EXPECT_EQ(
      Wait(Target("my.Secret"), {"--timeout=0", "--header@it=x-token: sesame"}),
      0)
      << text_;
}

TEST_F(GrpcServerTest, CertificateMustBeTrusted) {
  if (!FindProgram("openssl").has_value()) {
    GTEST_SKIP() << "openssl is not installed";
  }
  const std::string key = folder_.Path("key.pem");
  const std::string certificate = folder_.Path("certificate.pem");
  RunToEnd({*FindProgram("openssl"), "req", "-x509", "-newkey", "rsa:2048",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost", "-keyout", key, "-out",
            certificate});
  Start({"tls", key, certificate});
  const std::string target = absl::StrCat("it=grpcs://localhost:", port_);
  EXPECT_EQ(Wait(target), 124) << text_;
  EXPECT_THAT(text_,
              HasSubstr("certificate self-signed: trust it with --ca-file"));
  EXPECT_EQ(Wait(target, {"--timeout=0", "--insecure"}), 0) << text_;
  EXPECT_EQ(Wait(target, {"--timeout=0", "--ca-file@it", certificate}), 0)
      << text_;
  // Without TLS, the server closes the connection.
  EXPECT_EQ(Wait(Target("")), 124) << text_;
  EXPECT_THAT(text_, HasSubstr("connection closed without an HTTP/2 response"));
  EXPECT_THAT(text_, HasSubstr("For TLS, use grpcs://"));
}

TEST_F(GrpcServerTest, ServerOfHttpIsNoGrpcServer) {
  const std::optional<std::string> python = FindProgram("python3");
  WaiterProcess server(
      {"-u", "-m", "http.server", "--bind", "127.0.0.1", absl::StrCat(port_)},
      {.program = *python});
  ASSERT_TRUE(server.ReadUntil("Serving HTTP"));
  EXPECT_EQ(Wait(Target("")), 124) << text_;
  EXPECT_THAT(text_, HasSubstr("connection closed without an HTTP/2 response"));
}

INSTANTIATE_TEST_SUITE_P(Servers, RealServersTest, testing::ValuesIn(Servers()),
                         [](const testing::TestParamInfo<Server>& server) {
                           return server.param.name;
                         });

}  // namespace
}  // namespace waiter::cli
