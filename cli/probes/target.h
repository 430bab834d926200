// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses a target of the command line, `[LABEL=]URL`:
//
//   absl::StatusOr<waiter::cli::Target> target =
//       waiter::cli::ParseTarget("db=postgres://localhost");
//   // target->label == "db", target->host == "localhost", target->port == 5432
//
// A URL of a database is taken as programs have it in DATABASE_URL. What a
// probe does not need, such as the user and the name of the database, is
// ignored. Secrets stay out of everything that is shown.

#ifndef WAITER_CLI_PROBES_TARGET_H_
#define WAITER_CLI_PROBES_TARGET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

enum class Scheme : uint8_t {
  kTcp,        // tcp://HOST:PORT, or HOST:PORT alone
  kUnix,       // unix:PATH; @NAME is an abstract socket
  kHttp,       // http://[USER[:PASSWORD]@]HOST[:80][/PATH]
  kHttps,      // https://[USER[:PASSWORD]@]HOST[:443][/PATH]
  kHttpUnix,   // http+unix://[USER[:PASSWORD]@]SOCKET[/PATH], where SOCKET is
               // percent-encoded; also http://unix:SOCKET:[/PATH]
  kGrpc,       // grpc://HOST:PORT[/SERVICE]
  kGrpcs,      // grpcs://HOST[:443][/SERVICE], which is gRPC over TLS
  kDns,        // dns:NAME[?type=MX][&value=...][&server=10.0.0.2[:53]]
  kFile,       // file:PATH[?stable=2s]; PATH may be percent-encoded
  kRedis,      // redis://[USER:PASSWORD@]HOST[:6379][/DATABASE]
  kRediss,     // rediss://..., which is Redis over TLS
  kPostgres,   // postgres://[USER:PASSWORD@]HOST[:5432][/DATABASE][?OPTIONS],
               // also postgresql:
  kMysql,      // mysql://[USER:PASSWORD@]HOST[:3306][/DATABASE][?OPTIONS], also
               // mariadb:
  kAmqp,       // amqp://[USER:PASSWORD@]HOST[:5672][/VHOST]
  kAmqps,      // amqps://..., which is AMQP over TLS
  kKafka,      // kafka://HOST[:9092]
  kMongodb,    // mongodb://[USER:PASSWORD@]HOST[:27017][/DATABASE][?OPTIONS]
  kMemcached,  // memcached://HOST[:11211]
  kNats,       // nats://[USER:PASSWORD@]HOST[:4222]
  kSystemd,    // systemd:UNIT; `.service` may be left out
  kDocker,     // docker:CONTAINER, a name or an id; docker:2375 is a host and
               // a port
  kPid,        // pid:N
  kExec,       // exec:'SHELL COMMAND'
};

// A parsed target. Fields that its scheme does not use keep their defaults.
struct Target {
  Scheme scheme = Scheme::kTcp;

  // Consists of letters, digits, `_`, `.` and `-`; `text` if no label was
  // given.
  std::string label = {};

  // The target as given, without the label, user, password and query, any of
  // which may be or contain a secret.
  std::string text = {};

  // http, https: the URL as given, with user and password. http+unix: the same
  // with localhost as host. grpc, grpcs: the URL of the server with http and
  // https, without a path. Must not be shown.
  std::string url = {};

  // redis, postgres: those of the URL, decoded; the last for postgres only.
  // Must not be shown. Contain no zero bytes.
  std::string user = {};
  std::string password = {};
  std::string database = {};

  // A name, or a numeric address without brackets; for dns, the name. Not
  // empty; contains no blanks and control characters. Empty if a socket has a
  // path instead.
  std::string host = {};
  uint16_t port = 0;  // dns: that of `dns_server`.

  // unix, file: the path, relative or absolute. postgres: the path of a socket
  // if the host is a folder. http, https, http+unix: path and query, beginning
  // with `/`. grpc, grpcs: the name of the service, empty for the server as a
  // whole. exec: the shell command. systemd: the name of the unit. docker: the
  // name or the id of the container. Contains no
  // zero bytes, except for exec.
  std::string path = {};

  // http+unix: the path of the socket, or `@NAME` for an abstract one. Contains
  // no zero bytes, and fits into an address.
  std::string socket = {};

  // dns: the type of the records, in capitals. Empty: addresses, found as any
  // program finds them, also in /etc/hosts.
  std::string dns_type = {};

  // dns: a value that an address or a record must have; empty if any will do.
  std::string dns_value = {};

  // dns: the IPv4 address of the name server to ask, which requires a type.
  // Empty: the system's.
  std::string dns_server = {};

  // file: how long the file must have been unchanged.
  absl::Duration stable = absl::ZeroDuration();

  // pid: the number of the process.
  int32_t pid = 0;
};

// Returns `argument`, which need not be valid, as it may be shown: everything
// that may be or contain a secret is left out.
std::string WithoutSecrets(std::string_view argument);

// Parses `argument`. Text before the first `=` is a label only if a scheme, or
// a host and a port, follow. kInvalidArgument has one line that names the
// argument, without secrets, what is wrong with it, and how to write it.
absl::StatusOr<Target> ParseTarget(std::string_view argument);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_TARGET_H_
