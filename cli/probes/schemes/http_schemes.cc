// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schemes that are requests of HTTP: http:, https:, http+unix:, ws:, wss:,
// grpc: and grpcs:.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/http/grpc_health.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_verdict.h"
#include "cli/probes/http/operation_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"
#include "cli/text/percent.h"
#include "cli/text/utf8.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Reads the URL of a request that goes over the socket `socket`. `user` is
// empty or ends with @.
absl::Status ReadHttpOverSocket(std::string_view socket, std::string_view user,
                                std::string_view path, const Scheme& scheme,
                                Target& target) {
  HttpTarget& http = target.what.emplace<HttpTarget>();
  http.socket = std::string(socket);
  if (http.socket == "@") {
    return InvalidForm("the abstract socket has no name", scheme);
  }
  if (absl::StrContains(http.socket, '\0')) {
    return InvalidForm("the path of the socket contains a zero byte", scheme);
  }
  if (absl::Status status = CheckSocketPath(http.socket); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::string> request = RequestPath(path);
  if (!request.ok()) return request.status();
  http.path = *std::move(request);
  http.url = absl::StrCat("http://", user, "localhost", http.path);
  return absl::OkStatus();
}

// Returns USER:PASSWORD@ for a URL, in which any character may occur, or
// nothing without a user.
absl::StatusOr<std::string> EncodedUser(const UrlParts& parts,
                                        const Scheme& scheme) {
  const std::string login = absl::StrCat(parts.user, parts.password);
  // libcurl accepts no others.
  if (std::any_of(login.begin(), login.end(), [](char c) {
        return absl::ascii_iscntrl(static_cast<unsigned char>(c));
      })) {
    return InvalidForm("the user or password contains a control character",
                       scheme);
  }
  if (!parts.has_user) return "";
  return absl::StrCat(PercentEncoded(parts.user),
                      parts.password.empty() ? "" : ":",
                      PercentEncoded(parts.password), "@");
}

// Reads http+unix://SOCKET/PATH.
absl::Status ParseHttpUnix(std::string_view rest, const Scheme& scheme,
                           Target& target) {
  const absl::StatusOr<UrlParts> parts =
      ReadUrl(rest, scheme, {.at_in_path = true, .any_authority = true});
  if (!parts.ok()) return parts.status();
  const absl::StatusOr<std::string> user = EncodedUser(*parts, scheme);
  if (!user.ok()) return user.status();
  if (*user == "@") {
    return InvalidForm("the @ of an abstract socket must be written as %40",
                       scheme);
  }
  if (parts->authority.empty()) {
    return InvalidForm("the socket's path is missing; write / in it as %2F",
                       scheme);
  }
  return ReadHttpOverSocket(PercentDecoded(parts->authority), *user,
                            parts->path, scheme, target);
}

// Returns whether `rest` of an http URL has the form //unix:SOCKET:/PATH, which
// some programs use. The first slash tells it from a port or a password.
bool HasSocket(std::string_view rest) {
  return absl::ConsumePrefix(&rest, "//unix:") &&
         (absl::StartsWith(rest, "/") || absl::StartsWith(rest, "./") ||
          absl::StartsWith(rest, "../"));
}

// Reads //unix:SOCKET:/PATH.
absl::Status ReadHttpWithSocket(std::string_view rest, Target& target) {
  absl::ConsumePrefix(&rest, "//unix:");
  const std::string_view before_query =
      rest.substr(0, rest.find_first_of("?#"));
  size_t colon = before_query.find(":/");
  if (colon == std::string_view::npos && absl::EndsWith(before_query, ":")) {
    colon = before_query.size() - 1;
  }
  constexpr Scheme kForm = {.name = "http",
                            .example = "http://unix:/run/app.sock:/health",
                            .parse = nullptr,
                            .make = nullptr};
  if (colon == std::string_view::npos) {
    return InvalidForm("a : is missing after the socket's path", kForm);
  }
  return ReadHttpOverSocket(rest.substr(0, colon), /*user=*/"",
                            rest.substr(colon + 1), kForm, target);
}

// Reads //HOST/PATH into `target.what`, whose URL begins with `scheme_of_url`.
absl::Status ReadRequest(std::string_view rest, const Scheme& scheme,
                         std::string_view scheme_of_url, Target& target) {
  absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme, {.at_in_path = true});
  if (!parts.ok()) return parts.status();
  absl::StatusOr<std::string> path = RequestPath(parts->path);
  if (!path.ok()) return path.status();
  const absl::StatusOr<std::string> user = EncodedUser(*parts, scheme);
  if (!user.ok()) return user.status();
  target.what = HttpTarget{.url = absl::StrCat(scheme_of_url, "://", *user,
                                               parts->authority, parts->path),
                           .host = std::move(parts->host),
                           .port = parts->port,
                           .path = *std::move(path)};
  return absl::OkStatus();
}

absl::Status ParseHttp(std::string_view rest, const Scheme& scheme,
                       Target& target) {
  return HasSocket(rest) ? ReadHttpWithSocket(rest, target)
                         : ReadRequest(rest, scheme, "http", target);
}

absl::Status ParseHttps(std::string_view rest, const Scheme& scheme,
                        Target& target) {
  return ReadRequest(rest, scheme, "https", target);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeRequest(const Target& target,
                                                   ProbeFactory& factory) {
  const auto& http = std::get<HttpTarget>(target.what);
  if (!factory.operation().has_value()) {
    return factory.MakeHttp({.url = http.url, .socket = http.socket},
                            factory.OptionsOf(target));
  }
  const absl::StatusOr<HttpClient*> client = factory.http_client();
  if (!client.ok()) return client.status();
  return MakeOperationProbe(**client, {.url = http.url},
                            factory.OptionsOf(target), *factory.operation());
}

absl::Status ParseWs(std::string_view rest, const Scheme& scheme,
                     Target& target) {
  return ReadRequest(rest, scheme, scheme.name == "wss" ? "https" : "http",
                     target);
}

// Returns the options of a request to speak WebSocket (RFC 6455, 4.1), with the
// headers, the trust and the family of `options`. The key is from the RFC's
// example: nothing is sent over the connection.
HttpOptions WsOptions(const HttpOptions& options) {
  HttpOptions request = {
      .headers = {{"Connection", "Upgrade"},
                  {"Upgrade", "websocket"},
                  {"Sec-WebSocket-Version", "13"},
                  {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}},
      .status = {{{101, 101}}},
      .verify = options.verify,
      .ca_file = options.ca_file,
      .client_certificate_pem = options.client_certificate_pem,
      .client_key_pem = options.client_key_pem,
      .follow_redirects = false,
      .family = options.family};
  request.headers.insert(request.headers.end(), options.headers.begin(),
                         options.headers.end());
  return request;
}

// Judges an answer to a request with `WsOptions`.
Finding JudgeWs(const HttpOptions& options, const HttpAnswer& answer,
                absl::Time now) {
  constexpr std::string_view kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
  Finding finding = JudgeHttp(options, answer, now);
  if (finding.status != PollStatus::kSuccess) return finding;
  if (answer.header("Sec-WebSocket-Accept") != kAccept) {
    return {.status = PollStatus::kServerError,
            .detail = "HTTP 101, but the upgrade is not to WebSocket"};
  }
  finding.detail = "upgrade accepted";
  return finding;
}

absl::StatusOr<std::unique_ptr<Probe>> MakeWs(const Target& target,
                                              ProbeFactory& factory) {
  const auto options = std::make_shared<const HttpOptions>(
      WsOptions(*factory.OptionsOf(target)));
  return factory.MakeHttp(
      {.url = std::get<HttpTarget>(target.what).url, .upgrades = true}, options,
      [options](const HttpAnswer& answer, absl::Time now) {
        return JudgeWs(*options, answer, now);
      });
}

absl::Status ParseGrpc(std::string_view rest, const Scheme& scheme,
                       Target& target) {
  absl::StatusOr<UrlParts> parts = ReadUrl(rest, scheme);
  if (!parts.ok()) return parts.status();
  if (parts->has_user) {
    return InvalidForm("leave out the user and password", scheme);
  }
  std::string_view service = parts->path;
  if (service.find_first_of("?#") != std::string_view::npos) {
    return InvalidForm("a service takes no parameters; leave them out", scheme);
  }
  absl::ConsumePrefix(&service, "/");
  GrpcTarget& grpc = target.what.emplace<GrpcTarget>();
  grpc.service = PercentDecoded(service);
  if (std::any_of(grpc.service.begin(), grpc.service.end(), IsBlankOrControl) ||
      ToUtf8(grpc.service) != grpc.service) {
    return InvalidForm("not a valid service name", scheme);
  }
  grpc.url = absl::StrCat(scheme.name == "grpcs" ? "https://" : "http://",
                          parts->authority);
  grpc.host = std::move(parts->host);
  grpc.port = parts->port;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Probe>> MakeGrpc(const Target& target,
                                                ProbeFactory& factory) {
  const auto& grpc = std::get<GrpcTarget>(target.what);
  return factory.MakeHttp(
      {.url = absl::StrCat(grpc.url, kGrpcHealthPath), .http2 = true},
      std::make_shared<const HttpOptions>(
          GrpcHealthOptions(*factory.OptionsOf(target), grpc.service)),
      [service = grpc.service](const HttpAnswer& answer, absl::Time now) {
        return JudgeGrpcHealth(service, answer, now);
      });
}

constexpr auto kHttpSchemes = std::to_array<Scheme>({
    {.name = "http",
     .form = "`http://HOST/PATH`, `https://...`",
     .ready_when = "the status is 200 to 299, or the answer meets `--status`, "
                   "`--json`, `--body-regex` and `--expect-header`",
     .brief = "http[s]://HOST/PATH",
     .example = "http://localhost:8080/health",
     .port = 80,
     .flags = RequestFlags::kAll,
     .parse = ParseHttp,
     .make = MakeRequest},
    {.name = "https",
     .example = "https://example.com/health",
     .port = 443,
     .flags = RequestFlags::kAll,
     .parse = ParseHttps,
     .make = MakeRequest},
    {.name = "http+unix",
     .form = "`http+unix://SOCKET/PATH`",
     .ready_when = "the same over a Unix socket; write `/` in SOCKET as `%2F`, "
                   "or use `http://unix:SOCKET:/PATH`",
     .example = "http+unix://%2Frun%2Fapp.sock/health",
     .flags = RequestFlags::kAll,
     .parse = ParseHttpUnix,
     .make = MakeRequest},
    {.name = "ws",
     .form = "`ws://HOST/PATH`, `wss://...`",
     .ready_when = "the server accepts the upgrade to WebSocket",
     .example = "ws://localhost:8080/socket",
     .port = 80,
     .flags = RequestFlags::kTrust,
     .parse = ParseWs,
     .make = MakeWs},
    {.name = "wss",
     .example = "wss://example.com/socket",
     .port = 443,
     .flags = RequestFlags::kTrust,
     .parse = ParseWs,
     .make = MakeWs},
    {.name = "grpc",
     .form = "`grpc://HOST:PORT[/SERVICE]`, `grpcs://...`",
     .ready_when = "gRPC's health service (`grpc.health.v1.Health`) says "
                   "`SERVING`; `grpcs:` uses TLS, and port 443 by default",
     .example = "grpc://localhost:50051",
     .flags = RequestFlags::kTrust,
     .parse = ParseGrpc,
     .make = MakeGrpc},
    {.name = "grpcs",
     .example = "grpcs://example.com/my.package.Service",
     .port = 443,
     .flags = RequestFlags::kTrust,
     .parse = ParseGrpc,
     .make = MakeGrpc},
});

}  // namespace

absl::Span<const Scheme> HttpSchemes() { return kHttpSchemes; }

}  // namespace waiter::cli
