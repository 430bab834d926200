// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What to wait for, as it is written on a command line: `[LABEL=]URL`.
//
//   absl::StatusOr<waiter::cli::Target> target =
//       waiter::cli::ParseTarget("db=postgres://localhost");
//   // target->label == "db", target->host == "localhost", target->port == 5432

#ifndef WAITER_CLI_PROBES_TARGET_H_
#define WAITER_CLI_PROBES_TARGET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

enum class Scheme : uint8_t {
  kTcp,       // tcp://HOST:PORT
  kUnix,      // unix:PATH; @NAME is an abstract socket
  kHttp,      // http://[USER[:PASSWORD]@]HOST[:80][/PATH]
  kHttps,     // https://[USER[:PASSWORD]@]HOST[:443][/PATH]
  kDns,       // dns:NAME[?type=MX]
  kFile,      // file:PATH[?stable=2s]
  kRedis,     // redis://HOST[:6379]
  kPostgres,  // postgres://HOST[:5432], also postgresql:
  kMysql,     // mysql://HOST[:3306], also mariadb:
  kPid,       // pid:N
  kExec,      // exec:'SHELL WORDS'
};

// Fields that a scheme does not use keep their defaults.
struct Target {
  Scheme scheme = Scheme::kTcp;

  // Of letters, digits, `_`, `.` and `-`; `text` if none was given.
  std::string label = {};

  // As it was given, without the label, and without a user and a password.
  std::string text = {};

  // http, https: as it was given, with them. Not to be shown.
  std::string url = {};

  // A name or a numeric address, this without brackets; of dns, the name.
  // Without spaces and control characters, and not empty.
  std::string host = {};
  uint16_t port = 0;

  // unix, file: the path as it was given, relative or not. http, https: path
  // and query, from `/` on. exec: the words. Of all but exec, without zeros.
  std::string path = {};

  // dns: the type of the records in capitals; empty: addresses, found as any
  // program finds them, so also in /etc/hosts.
  std::string dns_type = {};

  // file: how long it must not have changed.
  absl::Duration stable = absl::ZeroDuration();

  int32_t pid = 0;
};

// Returns `url` without a user and a password: what may be shown of it.
std::string WithoutUser(std::string_view url);

// Returns what `argument` stands for, or kInvalidArgument with one line that
// names it, what is wrong with it, and how to write it. What stands before the
// first `=` is a label only if a scheme follows.
absl::StatusOr<Target> ParseTarget(std::string_view argument);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_TARGET_H_
