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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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

bool Same(const waiter::cli::Target& a, const waiter::cli::Target& b) {
  return a.scheme == b.scheme && a.text == b.text && a.host == b.host &&
         a.port == b.port && a.path == b.path && a.socket == b.socket &&
         a.dns_type == b.dns_type && a.dns_value == b.dns_value &&
         a.dns_server == b.dns_server && a.user == b.user &&
         a.password == b.password && a.database == b.database &&
         a.stable == b.stable && a.pid == b.pid;
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
  CHECK_THAT(target->host.size() <= 253);
  for (const char c : target->host) {
    CHECK_THAT(c != ' ' && !absl::ascii_iscntrl(static_cast<unsigned char>(c)));
  }
  CHECK_THAT(target->pid >= 0);
  CHECK_THAT(target->stable >= absl::ZeroDuration());
  CHECK_THAT(target->stable < absl::InfiniteDuration());
  if (target->scheme != waiter::cli::Scheme::kExec) {
    CHECK_THAT(target->path.find('\0') == std::string::npos);
  }
  if (target->scheme == waiter::cli::Scheme::kGrpc ||
      target->scheme == waiter::cli::Scheme::kGrpcs) {
    CHECK_THAT(waiter::cli::ToUtf8(target->path) == target->path);
    CHECK_THAT(!target->url.empty());
  }
  CHECK_THAT(target->socket.empty() ==
             (target->scheme != waiter::cli::Scheme::kHttpUnix));
  CHECK_THAT(target->socket.size() <= 107);
  CHECK_THAT(target->socket.find('\0') == std::string::npos);

  // A label changes nothing else.
  if (target->label != target->text) return;
  const absl::StatusOr<waiter::cli::Target> labelled =
      waiter::cli::ParseTarget(absl::StrCat("a=", argument));
  CHECK_THAT(labelled.ok() && labelled->label == "a");
  CHECK_THAT(Same(*labelled, *target));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckTarget(std::string(data, data + size));
  return 0;
}
