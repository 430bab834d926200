// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks rules that hold for every parsed target. libFuzzer looks for an
// argument that breaks one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/schemes/schemes.h"
#include "cli/probes/target.h"
#include "cli/text/printable.h"
#include "cli/text/utf8.h"
#include "tests/support/check_that.h"

namespace {

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

// Makes a URL of each scheme whose user and password consist of `bytes`. A Q
// after each byte shows where it ends up. The colon tells a user of http from a
// host, because no @ follows a colon in a path.
void CheckLogin(std::string_view bytes) {
  std::string login = ":";
  for (const char c : bytes) absl::StrAppend(&login, std::string(1, c), "Q");
  if (!bytes.empty() && bytes[0] % 2 == 0) login = login.substr(1) + ":";
  for (const waiter::cli::Scheme* const scheme : waiter::cli::AllSchemes()) {
    if (!scheme->IsUrl()) continue;
    const absl::StatusOr<waiter::cli::Target> target = waiter::cli::ParseTarget(
        absl::StrCat(scheme->name, "://", login, "@host:1/db"));
    CHECK_THAT(target.ok() ||
               !absl::StrContains(target.status().message(), 'Q'));
    CHECK_THAT(!target.ok() ||
               target->text == absl::StrCat(scheme->name, "://host:1/db"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(data, data + size);
  CheckTarget(bytes);
  CheckLogin(bytes);
  return 0;
}
