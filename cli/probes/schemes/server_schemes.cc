// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schemes of sockets, tcp: and unix:, and of servers that speak their own
// protocol over one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/socket/first_of_probe.h"
#include "cli/probes/socket/postgres_login_probe.h"
#include "cli/probes/socket/socket_probe.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"
#include "cli/probes/wire/amqp_conversation.h"
#include "cli/probes/wire/conversation.h"
#include "cli/probes/wire/kafka_conversation.h"
#include "cli/probes/wire/memcached_conversation.h"
#include "cli/probes/wire/mongodb_conversation.h"
#include "cli/probes/wire/mqtt_conversation.h"
#include "cli/probes/wire/mysql_conversation.h"
#include "cli/probes/wire/nats_conversation.h"
#include "cli/probes/wire/postgres_conversation.h"
#include "cli/probes/wire/redis_conversation.h"
#include "cli/text/percent.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {
namespace {

absl::Status ParseTcp(std::string_view rest, const Scheme& scheme,
                      Target& target) {
  absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme);
  if (!parts.ok()) return parts.status();
  target.what =
      ServerTarget{.host = std::move(parts->host), .port = parts->port};
  if (parts->path.empty() && !parts->has_user) return absl::OkStatus();
  return Invalid(absl::StrCat(parts->path.empty()
                                  ? "leave out the user and password"
                                  : "nothing may follow host and port",
                              "; write it as tcp://", parts->authority));
}

absl::Status ParseUnix(std::string_view rest, const Scheme& scheme,
                       Target& target) {
  ServerTarget& server = target.what.emplace<ServerTarget>();
  server.socket = std::string(rest);
  absl::Status status = ReadPath(scheme, server.socket);
  return status.ok() ? CheckSocketPath(server.socket) : status;
}

// Reads USER:PASSWORD, the name of the database, and options.
absl::Status ReadLogin(const UrlParts& parts, const Scheme& scheme,
                       ServerTarget& server) {
  server.user = parts.user;
  server.password = parts.password;
  std::string_view rest = parts.path.substr(0, parts.path.find('#'));
  absl::ConsumePrefix(&rest, "/");
  const std::pair<std::string_view, std::string_view> path =
      absl::StrSplit(rest, absl::MaxSplits('?', 1));
  server.database = PercentDecoded(path.first.substr(0, path.first.find('/')));
  for (const std::string_view option : absl::StrSplit(path.second, '&')) {
    if (option.empty()) continue;
    const std::pair<std::string_view, std::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    server.options.emplace_back(PercentDecoded(pair.first),
                                PercentDecoded(pair.second));
  }
  const std::string all =
      absl::StrCat(server.user, server.password, server.database,
                   absl::StrJoin(server.options, "", absl::PairFormatter("")));
  return absl::StrContains(all, '\0')
             ? InvalidForm("the URL contains a zero byte", scheme)
             : absl::OkStatus();
}

// Reads the host, which may be encoded.
absl::Status ReadHost(const UrlParts& parts, const Scheme& scheme,
                      ServerTarget& server) {
  server.host = PercentDecoded(parts.host);
  server.port = parts.port;
  return std::any_of(server.host.begin(), server.host.end(), IsBlankOrControl)
             ? InvalidForm("not a valid host", scheme)
             : absl::OkStatus();
}

absl::Status ParseAnyServer(std::string_view rest, const Scheme& scheme,
                            UrlRules rules, Target& target) {
  absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme, rules);
  if (!parts.ok()) return parts.status();
  ServerTarget& server = target.what.emplace<ServerTarget>();
  absl::Status status = ReadHost(*parts, scheme, server);
  return absl::StartsWith(server.host, "/")
             ? Invalid("the host is a path; write it as unix:PATH")
             : status;
}

absl::Status ParseServer(std::string_view rest, const Scheme& scheme,
                         Target& target) {
  return ParseAnyServer(rest, scheme, {}, target);
}

absl::Status ParseMysql(std::string_view rest, const Scheme& scheme,
                        Target& target) {
  return ParseAnyServer(rest, scheme, {.tcp_in_parentheses = true}, target);
}

absl::Status ParseRedis(std::string_view rest, const Scheme& scheme,
                        Target& target) {
  const absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme);
  if (!parts.ok()) return parts.status();
  absl::Status status = ParseServer(rest, scheme, target);
  auto& server = std::get<ServerTarget>(target.what);
  if (status.ok()) status = ReadLogin(*parts, scheme, server);
  if (!status.ok()) return status;
  const std::string_view cluster = server.Option("cluster");
  if (!cluster.empty() && cluster != "ok") {
    return Invalid("cluster must be ok");
  }
  const std::string_view match = server.Option("match");
  if (!match.empty() && server.Option("key").empty()) {
    return Invalid("match needs a key, as in ?key=NAME&match=REGEX");
  }
  return CheckMatch(match);
}

// A host that is a folder means the socket that PostgreSQL has there.
absl::Status ParsePostgres(std::string_view rest, const Scheme& scheme,
                           Target& target) {
  absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme, {.many_hosts = true});
  if (!parts.ok()) return parts.status();
  ServerTarget& server = target.what.emplace<ServerTarget>();
  absl::Status status = ReadLogin(*parts, scheme, server);
  if (status.ok()) status = ReadHost(*parts, scheme, server);
  server.more_hosts = std::move(parts->more_hosts);
  if (!status.ok() || !absl::StartsWith(server.host, "/")) return status;
  if (!server.more_hosts.empty()) {
    return Invalid("in a list of hosts, none may be a path");
  }
  server.socket = absl::StrCat(server.host, "/.s.PGSQL.", server.port);
  server.host.clear();
  return CheckSocketPath(server.socket);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeWith(const Target& target,
                                                ProbeFactory& factory,
                                                NewConversation conversation,
                                                std::string_view note = "",
                                                absl::Duration hold_open = {}) {
  return std::make_unique<SocketProbe>(
      factory.loop(), factory.resolver(), std::get<ServerTarget>(target.what),
      std::move(conversation), factory.family(), note, hold_open);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeConnection(const Target& target,
                                                      ProbeFactory& factory) {
  return MakeWith(target, factory, nullptr, "", factory.hold_open());
}

absl::StatusOr<std::unique_ptr<Probe>> MakeWithoutTls(const Target& target,
                                                      ProbeFactory& factory) {
  return MakeWith(target, factory, nullptr, ", TLS not checked");
}

template <std::unique_ptr<Conversation> (*kConversation)()>
absl::StatusOr<std::unique_ptr<Probe>> MakeServer(const Target& target,
                                                  ProbeFactory& factory) {
  return MakeWith(target, factory, kConversation);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeRedis(const Target& target,
                                                 ProbeFactory& factory) {
  const auto& server = std::get<ServerTarget>(target.what);
  Login who = {.database = server.database};
  if (factory.login()) {
    who.user = server.user;
    who.password = server.password;
  }
  RedisChecks checks = {.cluster = !server.Option("cluster").empty(),
                        .key = std::string(server.Option("key"))};
  if (const std::string_view match = server.Option("match"); !match.empty()) {
    absl::StatusOr<TextRegex> regex = TextRegex::Parse(match);
    if (!regex.ok()) return regex.status();
    checks.match = *std::move(regex);
  }
  return MakeWith(target, factory,
                  [who, checks] { return NewRedisLogin(who, checks); });
}

absl::StatusOr<std::unique_ptr<Probe>> MakePostgres(const Target& target,
                                                    ProbeFactory& factory) {
  const auto& server = std::get<ServerTarget>(target.what);
  if (factory.login()) return MakePostgresLogin(factory.calls(), server);
  if (!server.Option("table").empty()) {
    return Invalid("table= needs --login, as only a user sees tables");
  }
  const std::string_view role = server.Option("target_session_attrs");
  const NewConversation conversation = role.empty() || role == "any"
                                           ? NewPostgresConversation
                                           : NewPostgresOfAnyRole;
  if (server.more_hosts.empty()) return MakeWith(target, factory, conversation);
  std::vector<std::unique_ptr<Probe>> probes;
  const auto add = [&](const std::string& host, uint16_t port) {
    probes.push_back(
        std::make_unique<SocketProbe>(factory.loop(), factory.resolver(),
                                      ServerTarget{.host = host, .port = port},
                                      conversation, factory.family()));
  };
  add(server.host, server.port);
  for (const auto& [host, port] : server.more_hosts) add(host, port);
  return std::make_unique<FirstOfProbe>(factory.loop(), std::move(probes));
}

constexpr std::array<Scheme, 2> kSocketSchemes = {{
    {.name = "tcp",
     .form = "`tcp://HOST:PORT`, `HOST:PORT`",
     .ready_when = "the port accepts a connection",
     .brief = "tcp://HOST:PORT",
     .example = "tcp://localhost:8080",
     .parse = ParseTcp,
     .make = MakeConnection},
    {.name = "unix",
     .form = "`unix:PATH`",
     .ready_when = "the socket accepts a connection; `unix:@NAME` is an "
                   "abstract socket",
     .brief = "unix:PATH",
     .example = "unix:/run/app.sock",
     .parse = ParseUnix,
     .make = MakeConnection},
}};

constexpr auto kServerSchemes = std::to_array<Scheme>({
    {.name = "redis",
     .form = "`redis://HOST[:6379][/DB][?key=NAME]`",
     .ready_when =
         "the server answers `PING`, has loaded its data and, with `key`, has "
         "the key; `&match=REGEX` requires that its value matches, "
         "`?cluster=ok` that its cluster is up",
     .example = "redis://localhost:6379",
     .port = 6379,
     .takes_driver = true,
     .parse = ParseRedis,
     .make = MakeRedis},
    {.name = "rediss",
     .form = "`rediss://HOST[:6379]`",
     .ready_when = "the port accepts a connection; TLS is not tried",
     .example = "rediss://localhost:6379",
     .port = 6379,
     .takes_driver = true,
     .parse = ParseServer,
     .make = MakeWithoutTls},
    {.name = "postgres",
     .form = "`postgres://HOST[:5432][,HOST...]`",
     .ready_when = "the server, or one of them, accepts logins; with "
                   "`--login`, `/DB?table=NAME` requires that table",
     .example = "postgres://localhost:5432",
     .port = 5432,
     .takes_driver = true,
     .parse = ParsePostgres,
     .make = MakePostgres},
    {.name = "postgresql",
     .example = "postgresql://localhost:5432",
     .port = 5432,
     .takes_driver = true,
     .parse = ParsePostgres,
     .make = MakePostgres},
    {.name = "mysql",
     .form = "`mysql://HOST[:3306]`",
     .ready_when = "the server accepts logins",
     .example = "mysql://localhost:3306",
     .port = 3306,
     .takes_driver = true,
     .parse = ParseMysql,
     .make = MakeServer<NewMysqlConversation>},
    {.name = "mariadb",
     .example = "mariadb://localhost:3306",
     .port = 3306,
     .takes_driver = true,
     .parse = ParseMysql,
     .make = MakeServer<NewMysqlConversation>},
    {.name = "amqp",
     .form = "`amqp://HOST[:5672]`",
     .ready_when = "the broker, such as RabbitMQ, starts to negotiate; "
                   "`amqps:` is checked as `rediss:` is",
     .example = "amqp://localhost:5672",
     .port = 5672,
     .parse = ParseServer,
     .make = MakeServer<NewAmqpConversation>},
    {.name = "amqps",
     .example = "amqps://localhost:5671",
     .port = 5671,
     .parse = ParseServer,
     .make = MakeWithoutTls},
    {.name = "kafka",
     .form = "`kafka://HOST[:9092]`",
     .ready_when = "the broker answers `ApiVersions`",
     .example = "kafka://localhost:9092",
     .port = 9092,
     .parse = ParseServer,
     .make = MakeServer<NewKafkaConversation>},
    {.name = "mongodb",
     .form = "`mongodb://HOST[:27017]`",
     .ready_when = "the server answers `hello`, and is primary, secondary or "
                   "arbiter if it belongs to a replica set",
     .example = "mongodb://localhost:27017",
     .port = 27017,
     .parse = ParseServer,
     .make = MakeServer<NewMongodbConversation>},
    {.name = "memcached",
     .form = "`memcached://HOST[:11211]`",
     .ready_when = "the server answers `version`",
     .example = "memcached://localhost:11211",
     .port = 11211,
     .parse = ParseServer,
     .make = MakeServer<NewMemcachedConversation>},
    {.name = "nats",
     .form = "`nats://HOST[:4222]`",
     .ready_when =
         "the server answers `PING`, or says that it requires a login "
         "or TLS",
     .example = "nats://localhost:4222",
     .port = 4222,
     .parse = ParseServer,
     .make = MakeServer<NewNatsConversation>},
    {.name = "mqtt",
     .form = "`mqtt://HOST[:1883]`",
     .ready_when = "the broker answers `CONNECT`, or refuses a client without "
                   "a login; `mqtts:` is checked as `rediss:` is",
     .example = "mqtt://localhost:1883",
     .port = 1883,
     .parse = ParseServer,
     .make = MakeServer<NewMqttConversation>},
    {.name = "mqtts",
     .example = "mqtts://localhost:8883",
     .port = 8883,
     .parse = ParseServer,
     .make = MakeWithoutTls},
});

}  // namespace

absl::Span<const Scheme> SocketSchemes() { return kSocketSchemes; }
absl::Span<const Scheme> ServerSchemes() { return kServerSchemes; }

}  // namespace waiter::cli
