// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks certificates against the server that comes with OpenSSL.

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_probe.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/http_server.h"
#include "tests/support/run_until.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter::cli::http_tls_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Starts `openssl` with `args` and its output to `output`. Returns its process,
// or -1 if `openssl` is missing.
pid_t StartOpenssl(const std::vector<std::string>& args, int output) {
  std::string program = "openssl";
  std::vector<char*> argv = {program.data()};
  for (const std::string& arg : args) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&files);
  };
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
                                   0);
  pid_t process = -1;
  return posix_spawnp(&process, program.c_str(), &files, nullptr, argv.data(),
                      environ) == 0
             ? process
             : -1;
}

// Runs `openssl`. Returns true if it succeeded.
bool RunOpenssl(const std::vector<std::string>& args) {
  const pid_t process = StartOpenssl(args, STDERR_FILENO);
  int status = 0;
  return process > 0 && waitpid(process, &status, 0) == process && status == 0;
}

class HttpTlsTest : public FolderFixture {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<HttpClient>> client =
        HttpClient::Make(loop_);
    if (!client.ok()) GTEST_SKIP() << client.status().message();
    client_ = *std::move(client);
  }

  void TearDown() override {
    if (server_ <= 0) return;
    kill(server_, SIGTERM);
    waitpid(server_, nullptr, 0);
  }

  // Starts a server on 127.0.0.1 with a self-signed certificate for
  // "localhost", which gets more `flags`. Returns false if `openssl` is
  // missing.
  bool StartServer(const std::vector<std::string>& flags = {}) {
    const std::string& key = key_;
    if (!RunOpenssl({"req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                     "-out", certificate_, "-days", "2", "-subj",
                     "/CN=localhost", "-addext",
                     "subjectAltName=DNS:localhost"})) {
      return false;
    }
    std::array<int, 2> output = {};
    if (pipe2(output.data(), O_CLOEXEC) != 0) return false;
    std::vector<std::string> words = {"s_server", "-accept",   "127.0.0.1:0",
                                      "-www",     "-key",      key,
                                      "-cert",    certificate_};
    words.insert(words.end(), flags.begin(), flags.end());
    server_ = StartOpenssl(words, output[1]);
    close(output[1]);
    const absl::Cleanup close_output = [&] { close(output[0]); };
    // The server prints "ACCEPT 127.0.0.1:4433" once it listens.
    std::string text;
    char c = 0;
    while (read(output[0], &c, 1) == 1) {
      text.push_back(c);
      const size_t at = text.find("ACCEPT 127.0.0.1:");
      if (c != '\n' || at == std::string::npos) continue;
      port_ = text.substr(at + 17, text.size() - at - 18);
      return true;
    }
    return false;
  }

  Finding Poll(std::string url, HttpOptions options) {
    absl::StatusOr<std::unique_ptr<Probe>> probe =
        MakeHttpProbe(*client_, {.url = std::move(url)},
                      std::make_shared<const HttpOptions>(std::move(options)));
    EXPECT_TRUE(probe.ok()) << probe.status();
    std::optional<Finding> found;
    (*probe)->Start({}, [&](Finding finding) { found = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return found.has_value(); }))
        << "the poll hangs";
    return found.value_or(Finding());
  }

  EventLoop loop_;
  std::unique_ptr<HttpClient> client_;
  const std::string certificate_ = Path("certificate.pem");
  const std::string key_ = Path("key.pem");
  pid_t server_ = -1;
  std::string port_;
};

TEST_F(HttpTlsTest, OnlyATrustedCertificateIsAccepted) {
  if (!StartServer()) GTEST_SKIP() << "no openssl(1) here";
  const std::string by_name = absl::StrCat("https://localhost:", port_, "/");
  const std::string by_address = absl::StrCat("https://127.0.0.1:", port_, "/");

  const Finding strange = Poll(by_name, {});
  EXPECT_EQ(strange.status, PollStatus::kServerError) << strange.detail;
  EXPECT_THAT(strange.detail, StartsWith("TLS: self"));
  EXPECT_THAT(strange.detail, HasSubstr("signed certificate"));
  EXPECT_EQ(
      strange.hint,
      "certificate self-signed: trust it with --ca-file, or use --insecure");
  EXPECT_FALSE(strange.absent);

  const Finding insecure = Poll(by_name, {.verify = false});
  EXPECT_EQ(insecure.status, PollStatus::kSuccess) << insecure.detail;

  // The server chooses HTTP/1.0.
  const Finding old = Poll(by_name, {.verify = false, .http2 = true});
  EXPECT_EQ(old.status, PollStatus::kServerError);
  EXPECT_EQ(old.detail, "HTTP 200, not by HTTP/2");
  EXPECT_EQ(old.hint, "does it speak HTTP/2? If not, leave out --http2");

  const Finding known = Poll(by_name, {.ca_file = certificate_});
  EXPECT_EQ(known.status, PollStatus::kSuccess) << known.detail;

  // The certificate is for another name.
  const Finding other = Poll(by_address, {.ca_file = certificate_});
  EXPECT_EQ(other.status, PollStatus::kServerError) << other.detail;
  EXPECT_THAT(other.detail, StartsWith("TLS: "));
  EXPECT_EQ(other.hint,
            "the certificate is for another name: use that name in the URL, or "
            "--insecure");

  // An accepted certificate is not remembered.
  EXPECT_EQ(Poll(by_name, {}).status, PollStatus::kServerError);
}

TEST_F(HttpTlsTest, CertificatesInMemoryAreTrustedAndShown) {
  // The server accepts only clients with its own certificate.
  if (!StartServer(
          {"-Verify", "1", "-verify_return_error", "-CAfile", certificate_})) {
    GTEST_SKIP() << "no openssl(1) here";
  }
  const std::string url = absl::StrCat("https://localhost:", port_, "/");
  const std::string certificate = Read(certificate_);

  const Finding stranger = Poll(url, {.ca_pem = certificate});
  EXPECT_EQ(stranger.status, PollStatus::kServerError) << stranger.detail;

  const Finding client = Poll(url, {.ca_pem = certificate,
                                    .client_certificate_pem = certificate,
                                    .client_key_pem = Read(key_)});
  EXPECT_EQ(client.status, PollStatus::kSuccess) << client.detail;

  // No other certificate is trusted any longer, not even the system's.
  EXPECT_EQ(Poll(url, {.ca_pem = Read(key_)}).detail,
            "no certificates in the given PEM");
}

TEST_F(HttpTlsTest, FileWithoutCertificatesIsAMistake) {
  if (!StartServer()) GTEST_SKIP() << "no openssl(1) here";
  const std::string file = Write("empty", "nothing\n");

  const Finding finding =
      Poll(absl::StrCat("https://localhost:", port_), {.ca_file = file});

  EXPECT_EQ(finding.status, PollStatus::kFailed);
  EXPECT_EQ(finding.detail, absl::StrCat("no certificates in ", file));
}

TEST_F(HttpTlsTest, ServerWithoutTlsIsAnError) {
  HttpServer server(loop_);
  ASSERT_TRUE(server.listens());
  server.Play({.bytes = "220 smtp.example.com ESMTP\r\n", .greets = true});

  const Finding finding =
      Poll(absl::StrCat("https://127.0.0.1:", server.port()), {});

  EXPECT_EQ(finding.status, PollStatus::kServerError);
  EXPECT_THAT(finding.detail, StartsWith("TLS: "));
  EXPECT_THAT(finding.detail, Not(HasSubstr("error:")));
  EXPECT_EQ(finding.hint, "the port speaks no TLS: write http://");
}

TEST_F(HttpTlsTest, ServerSaysThatItsPortSpeaksTls) {
  HttpServer server(loop_);
  ASSERT_TRUE(server.listens());
  constexpr std::string_view kBody =
      "Client sent an HTTP request to an HTTPS server.\n";
  server.Play(
      {.bytes = absl::StrCat("HTTP/1.0 400 Bad Request\r\n\r\n", kBody)});

  const Finding finding =
      Poll(absl::StrCat("http://127.0.0.1:", server.port()), {});

  EXPECT_EQ(finding.status, PollStatus::kFailed);
  EXPECT_EQ(finding.hint, "the port speaks TLS: write https://");
}

TEST_F(HttpTlsTest, SilentServerDoesNotSetUpTls) {
  HttpServer server(loop_);
  ASSERT_TRUE(server.listens());
  const absl::StatusOr<std::unique_ptr<Probe>> probe = MakeHttpProbe(
      *client_, {.url = absl::StrCat("https://127.0.0.1:", server.port())},
      std::make_shared<const HttpOptions>());
  ASSERT_TRUE(probe.ok()) << probe.status();
  std::optional<Finding> found;

  (*probe)->Start({}, [&](Finding finding) { found = std::move(finding); });
  EXPECT_TRUE(RunUntil(loop_, [&] { return server.connections() == 1; }));
  for (int round = 0; round < 100; ++round) {
    loop_.RunOnce(GetRealClock().MonotonicNow());
  }
  (*probe)->TimeOut(absl::Seconds(10));

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->status, PollStatus::kServerError);
  EXPECT_EQ(found->detail, "connected, TLS not set up within 10s");
}

}  // namespace
}  // namespace waiter::cli::http_tls_test
