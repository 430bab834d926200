// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that every parsed target keeps. libFuzzer looks for an argument
// that breaks one.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/target.h"
#include "cli/text/printable.h"
#include "cli/text/utf8.h"

namespace {

#define CHECK_THAT(rule)                                                \
  do {                                                                  \
    if (!(rule)) {                                                      \
      std::fprintf(stderr, "line %d, not kept: " #rule "\n", __LINE__); \
      std::abort();                                                     \
    }                                                                   \
  } while (false)

void CheckHost(std::string_view host) {
  CHECK_THAT(host.size() <= 253);
  for (const char c : host) {
    CHECK_THAT(c != ' ' && !absl::ascii_iscntrl(static_cast<unsigned char>(c)));
  }
}

void CheckSocket(std::string_view path) {
  CHECK_THAT(path.size() <= 107);
  CHECK_THAT(path.find('\0') == std::string::npos);
}

void Check(const waiter::cli::ServerTarget& server) {
  CheckHost(server.host);
  CheckSocket(server.socket);
  CHECK_THAT(server.host.empty() != server.socket.empty());
}

void Check(const waiter::cli::HttpTarget& http) {
  CheckHost(http.host);
  CheckSocket(http.socket);
  CHECK_THAT(http.host.empty() != http.socket.empty());
  CHECK_THAT(absl::StartsWith(http.path, "/"));
  CHECK_THAT(http.path.find('\0') == std::string::npos);
}

void Check(const waiter::cli::GrpcTarget& grpc) {
  CheckHost(grpc.host);
  CHECK_THAT(waiter::cli::ToUtf8(grpc.service) == grpc.service);
  CHECK_THAT(!grpc.url.empty());
}

void Check(const waiter::cli::DnsTarget& dns) { CheckHost(dns.name); }

void Check(const waiter::cli::FileTarget& file) {
  CHECK_THAT(file.path.find('\0') == std::string::npos);
  CHECK_THAT(file.stable >= absl::ZeroDuration());
  CHECK_THAT(file.stable < absl::InfiniteDuration());
}

void Check(const waiter::cli::PidTarget& process) {
  CHECK_THAT(process.pid > 0);
}

void Check(const waiter::cli::NamedTarget& named) {
  CHECK_THAT(!named.name.empty());
}

void CheckTarget(const std::string& argument) {
  const absl::StatusOr<waiter::cli::Target> target =
      waiter::cli::ParseTarget(argument);
  if (!target.ok()) {
    const std::string_view message = target.status().message();
    CHECK_THAT(absl::IsInvalidArgument(target.status()));
    CHECK_THAT(absl::StartsWith(
        message,
        waiter::cli::Printable(waiter::cli::WithoutSecrets(argument))));
    CHECK_THAT(waiter::cli::Printable(message) == message);
    return;
  }
  CHECK_THAT(!target->label.empty());
  CHECK_THAT(!target->text.empty());
  std::visit([](const auto& what) { Check(what); }, target->what);

  // A label changes nothing else.
  if (target->label != target->text) return;
  const absl::StatusOr<waiter::cli::Target> labelled =
      waiter::cli::ParseTarget(absl::StrCat("a=", argument));
  CHECK_THAT(labelled.ok() && labelled->label == "a");
  CHECK_THAT(labelled->scheme == target->scheme);
  CHECK_THAT(labelled->text == target->text);
  CHECK_THAT(labelled->what == target->what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckTarget(std::string(data, data + size));
  return 0;
}
