// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A parsed target of the command line:
//
//   absl::StatusOr<waiter::cli::Target> target =
//       waiter::cli::ParseTarget("db=postgres://localhost");  // parse_target.h
//   // target->label == "db", target->scheme->name == "postgres",
//   // std::get<ServerTarget>(target->what).port == 5432
//
// A new scheme uses one of the structs of `Target::what`; most fit into
// `ServerTarget`, `HttpTarget` or `NamedTarget`.

#ifndef WAITER_CLI_PROBES_TARGET_H_
#define WAITER_CLI_PROBES_TARGET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace waiter::cli {

struct Scheme;

// Returns the value of `wanted`, empty if none.
inline std::string_view ValueOf(
    const std::vector<std::pair<std::string, std::string>>& values,
    std::string_view wanted) {
  for (const auto& [name, value] : values) {
    if (name == wanted) return value;
  }
  return {};
}

// tcp, unix, and servers with their own protocol.
struct ServerTarget {
  bool operator==(const ServerTarget&) const = default;

  // A name, or a numeric address without brackets; has no blanks and control
  // characters. Empty if there is a `socket`.
  std::string host = {};
  uint16_t port = 0;

  // The path of a socket, or `@NAME` for an abstract one. Contains no zero
  // bytes, and fits into an address.
  std::string socket = {};

  // The login of the URL, decoded, for schemes that log in. Must not be shown.
  // Contain no zero bytes.
  std::string user = {};
  std::string password = {};
  std::string database = {};

  // Further hosts and ports of postgres:. Any one may be ready.
  std::vector<std::pair<std::string, uint16_t>> more_hosts = {};

  // The query of a postgres: or redis: URL, decoded. Must not be shown.
  std::vector<std::pair<std::string, std::string>> options = {};

  // Returns the value of an option, empty if it is not given.
  std::string_view Option(std::string_view wanted) const {
    return ValueOf(options, wanted);
  }
};

// Targets that are requested by a URL of http or https.
struct HttpTarget {
  bool operator==(const HttpTarget&) const = default;

  // The URL to request, with user and password. Over a socket, its host is
  // localhost. Must not be shown.
  std::string url = {};

  std::string host = {};  // As in `ServerTarget`.
  uint16_t port = 0;
  std::string path = {};    // Path and query, beginning with `/`.
  std::string socket = {};  // As in `ServerTarget`.
};

struct GrpcTarget {
  bool operator==(const GrpcTarget&) const = default;

  std::string url = {};  // The server's, with http or https, and no path.
  std::string host = {};
  uint16_t port = 0;
  std::string service = {};  // Valid UTF-8; empty: the server as a whole.
};

struct DnsTarget {
  bool operator==(const DnsTarget&) const = default;

  std::string name = {};

  // The type of the records, in capitals. Empty: addresses, found as any
  // program finds them, including in /etc/hosts.
  std::string type = {};

  // A value that an address or a record must have, or a regular expression
  // that it must match; empty if any will do. At most one is set.
  std::string value = {};
  std::string match = {};

  // The IPv4 address of the name server to ask, which requires a type. Empty:
  // the system's.
  std::string server = {};
  uint16_t port = 0;  // The port of `server`.
};

struct FileTarget {
  bool operator==(const FileTarget&) const = default;

  std::string path = {};  // Relative or absolute; contains no zero bytes.

  // How long the file must have been unchanged.
  absl::Duration stable = absl::ZeroDuration();
};

struct PidTarget {
  bool operator==(const PidTarget&) const = default;

  int32_t pid = 0;
};

// A name, such as a unit's or a container's, and the parameters that follow
// it after a `?`.
struct NamedTarget {
  bool operator==(const NamedTarget&) const = default;

  // Returns the value of a parameter, empty if it is not given.
  std::string_view Parameter(std::string_view wanted) const {
    return ValueOf(parameters, wanted);
  }

  std::string name = {};  // exec: the shell command.
  std::vector<std::pair<std::string, std::string>> parameters = {};
};

struct Target {
  // The row of the scheme; lives as long as the program.
  const Scheme* scheme = nullptr;

  // Consists of letters, digits, `_`, `.` and `-`; `text` if no label was
  // given.
  std::string label = {};

  // The target as given, without the label, user, password and query, because
  // they may be or contain a secret.
  std::string text = {};

  std::variant<ServerTarget, HttpTarget, GrpcTarget, DnsTarget, FileTarget,
               PidTarget, NamedTarget>
      what = {};
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_TARGET_H_
