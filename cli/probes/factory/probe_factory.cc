// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/factory/probe_factory.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/docker_container.h"
#include "cli/probes/http/grpc_health.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_probe.h"
#include "cli/probes/http/operation_probe.h"
#include "cli/probes/local/exec_probe.h"
#include "cli/probes/local/file_probe.h"
#include "cli/probes/local/pid_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/socket/dns_probe.h"
#include "cli/probes/socket/socket_probe.h"
#include "cli/probes/target.h"
#include "cli/probes/wire/amqp_conversation.h"
#include "cli/probes/wire/conversation.h"
#include "cli/probes/wire/kafka_conversation.h"
#include "cli/probes/wire/memcached_conversation.h"
#include "cli/probes/wire/mongodb_conversation.h"
#include "cli/probes/wire/mysql_conversation.h"
#include "cli/probes/wire/nats_conversation.h"
#include "cli/probes/wire/postgres_conversation.h"
#include "cli/probes/wire/redis_conversation.h"
#include "cli/probes/wire/systemd_conversation.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {
namespace {

AddressFamily FamilyOf(const HttpOptions& http) {
  switch (http.family) {
    case HttpOptions::Family::kIpv4:
      return AddressFamily::kIpv4;
    case HttpOptions::Family::kIpv6:
      return AddressFamily::kIpv6;
    case HttpOptions::Family::kAny:
      break;
  }
  return AddressFamily::kAny;
}

// Returns the protocol of a scheme that names a server, null if a connection is
// enough, and nothing for other schemes.
std::optional<NewConversation> ConversationOf(const Target& target,
                                              bool login) {
  const Login who = {.user = target.user,
                     .password = target.password,
                     .database = target.database};
  switch (target.scheme) {
    case Scheme::kTcp:
    case Scheme::kUnix:
    case Scheme::kRediss:  // Nothing here speaks TLS.
    case Scheme::kAmqps:
      return nullptr;
    case Scheme::kRedis:
      if (login) return [who] { return NewRedisLogin(who); };
      return NewRedisConversation;
    case Scheme::kPostgres:
      if (login) return [who] { return NewPostgresLogin(who); };
      return NewPostgresConversation;
    case Scheme::kMysql:
      return NewMysqlConversation;
    case Scheme::kAmqp:
      return NewAmqpConversation;
    case Scheme::kKafka:
      return NewKafkaConversation;
    case Scheme::kMongodb:
      return NewMongodbConversation;
    case Scheme::kMemcached:
      return NewMemcachedConversation;
    case Scheme::kNats:
      return NewNatsConversation;
    default:
      return std::nullopt;
  }
}

// Returns a variable of the environment, empty if it is not set.
std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// Returns the path of the socket of the system bus.
std::string SystemBusPath() {
  std::string_view address = Variable("DBUS_SYSTEM_BUS_ADDRESS");
  if (!absl::ConsumePrefix(&address, "unix:path=")) {
    return "/run/dbus/system_bus_socket";
  }
  return std::string(address.substr(0, address.find_first_of(",;")));
}

}  // namespace

ProbeFactory::ProbeFactory(EventLoop& loop, ProcessReaper& reaper,
                           ProbeOptions options)
    : loop_(loop),
      reaper_(reaper),
      codes_(options.codes),
      http_(std::make_shared<const HttpOptions>(std::move(options.http))),
      login_(options.login),
      http_of_(std::move(options.http_of)),
      operation_(std::move(options.operation)),
      calls_(loop),
      resolver_(calls_) {}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::Make(
    const Target& target) {
  const AddressFamily family = FamilyOf(*http_);
  if (const std::optional<NewConversation> conversation =
          ConversationOf(target, login_)) {
    return std::make_unique<SocketProbe>(loop_, resolver_, target,
                                         *conversation, family);
  }
  switch (target.scheme) {
    case Scheme::kHttp:
    case Scheme::kHttps:
    case Scheme::kHttpUnix:
      return MakeHttpTarget(target);
    case Scheme::kGrpc:
    case Scheme::kGrpcs:
      return MakeHttp(
          {.url = absl::StrCat(target.url, kGrpcHealthPath), .http2 = true},
          std::make_shared<const HttpOptions>(
              GrpcHealthOptions(*OptionsOf(target), target.path)),
          [service = target.path](const HttpAnswer& answer, absl::Time now) {
            return JudgeGrpcHealth(service, answer, now);
          });
    case Scheme::kDns:
      return std::make_unique<DnsProbe>(resolver_, target, family);
    case Scheme::kSystemd: {
      Target bus = target;
      bus.path = SystemBusPath();
      return std::make_unique<SocketProbe>(
          loop_, resolver_, std::move(bus), [unit = target.path] {
            return NewSystemdConversation(unit, geteuid());
          });
    }
    case Scheme::kDocker:
      return MakeDocker(target);
    case Scheme::kFile:
      return std::make_unique<FileProbe>(loop_, calls_, target);
    case Scheme::kPid:
      return std::make_unique<PidProbe>(target);
    default:
      break;
  }
  return std::make_unique<ExecProbe>(
      reaper_, ExecProbeOptions{.command = ShellCommand(target.path),
                                .check = ShellSyntaxCheck(target.path),
                                .codes = codes_,
                                .target = target.text});
}

std::unique_ptr<Probe> ProbeFactory::MakeExec(std::vector<std::string> words,
                                              std::string text) {
  return std::make_unique<ExecProbe>(
      reaper_, ExecProbeOptions{.command = {.words = std::move(words)},
                                .codes = codes_,
                                .target = std::move(text)});
}

std::shared_ptr<const HttpOptions> ProbeFactory::OptionsOf(
    const Target& target) const {
  const auto own = http_of_.find(target.label);
  return own == http_of_.end()
             ? http_
             : std::make_shared<const HttpOptions>(own->second);
}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::MakeDocker(
    const Target& target) {
  absl::StatusOr<HttpDestination> container = DockerContainer(
      Variable("DOCKER_HOST"),
      /*wants_tls=*/!Variable("DOCKER_TLS_VERIFY").empty(), target.path);
  if (!container.ok()) return container.status();
  return MakeHttp(
      *std::move(container),
      std::make_shared<const HttpOptions>(
          HttpOptions{.follow_redirects = false, .family = http_->family}),
      [name = target.path](const HttpAnswer& answer, absl::Time now) {
        return JudgeDockerContainer(name, answer, now);
      });
}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::MakeHttpTarget(
    const Target& target) {
  if (!operation_.has_value()) {
    return MakeHttp({.url = target.url, .socket = target.socket},
                    OptionsOf(target));
  }
  if (absl::Status status = NeedHttpClient(); !status.ok()) return status;
  return MakeOperationProbe(*http_client_, {.url = target.url},
                            OptionsOf(target), *operation_);
}

absl::Status ProbeFactory::NeedHttpClient() {
  if (http_client_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<HttpClient>> client = HttpClient::Make(loop_);
  if (!client.ok()) return client.status();
  http_client_ = *std::move(client);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::MakeHttp(
    HttpDestination destination, std::shared_ptr<const HttpOptions> options,
    HttpJudge judge) {
  if (absl::Status status = NeedHttpClient(); !status.ok()) return status;
  return MakeHttpProbe(*http_client_, std::move(destination),
                       std::move(options), std::move(judge));
}

}  // namespace waiter::cli
