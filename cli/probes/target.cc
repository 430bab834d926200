// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/text/closest_name.h"
#include "cli/text/duration_text.h"
#include "cli/text/percent.h"
#include "cli/text/printable.h"
#include "cli/text/utf8.h"

namespace waiter::cli {
namespace {

struct SchemeForm {
  std::string_view name;
  Scheme scheme;
  uint16_t port;  // The default; 0 if there is none.
  std::string_view example;
};

constexpr std::array<SchemeForm, 25> kSchemes = {{
    {"tcp", Scheme::kTcp, 0, "tcp://localhost:8080"},
    {"unix", Scheme::kUnix, 0, "unix:/run/app.sock"},
    {"http", Scheme::kHttp, 80, "http://localhost:8080/health"},
    {"https", Scheme::kHttps, 443, "https://example.com/health"},
    {"http+unix", Scheme::kHttpUnix, 0, "http+unix://%2Frun%2Fapp.sock/health"},
    {"grpc", Scheme::kGrpc, 0, "grpc://localhost:50051"},
    {"grpcs", Scheme::kGrpcs, 443, "grpcs://example.com/my.package.Service"},
    {"dns", Scheme::kDns, 0, "dns:example.com?type=MX"},
    {"file", Scheme::kFile, 0, "file:build/app.o?stable=2s"},
    {"redis", Scheme::kRedis, 6379, "redis://localhost:6379"},
    {"rediss", Scheme::kRediss, 6379, "rediss://localhost:6379"},
    {"postgres", Scheme::kPostgres, 5432, "postgres://localhost:5432"},
    {"postgresql", Scheme::kPostgres, 5432, "postgresql://localhost:5432"},
    {"mysql", Scheme::kMysql, 3306, "mysql://localhost:3306"},
    {"mariadb", Scheme::kMysql, 3306, "mariadb://localhost:3306"},
    {"amqp", Scheme::kAmqp, 5672, "amqp://localhost:5672"},
    {"amqps", Scheme::kAmqps, 5671, "amqps://localhost:5671"},
    {"kafka", Scheme::kKafka, 9092, "kafka://localhost:9092"},
    {"mongodb", Scheme::kMongodb, 27017, "mongodb://localhost:27017"},
    {"memcached", Scheme::kMemcached, 11211, "memcached://localhost:11211"},
    {"nats", Scheme::kNats, 4222, "nats://localhost:4222"},
    {"systemd", Scheme::kSystemd, 0, "systemd:nginx.service"},
    {"docker", Scheme::kDocker, 0, "docker:web"},
    {"pid", Scheme::kPid, 0, "pid:4711"},
    {"exec", Scheme::kExec, 0, "exec:'pg_isready -q'"},
}};

constexpr std::array<std::string_view, 10> kDnsTypes = {
    "A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"};

absl::Status Invalid(std::string_view why) {
  return absl::InvalidArgumentError(why);
}

absl::Status InvalidForm(std::string_view why, const SchemeForm& form) {
  return Invalid(absl::StrCat(why, "; write it as ", form.example));
}

absl::Status CheckSocketPath(std::string_view path) {
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  return path.size() <= kLongest
             ? absl::OkStatus()
             : Invalid(absl::StrCat("a socket path has at most ", kLongest,
                                    " characters; use a relative path"));
}

bool IsLabelCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-';
}

bool IsLabel(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), IsLabelCharacter);
}

// Returns the length of the scheme that `text` begins with, without its colon;
// 0 if there is none.
size_t SchemeLength(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return 0;
  const std::string_view scheme = text.substr(0, colon);
  const bool is_scheme =
      absl::ascii_isalpha(static_cast<unsigned char>(scheme[0])) &&
      std::all_of(scheme.begin(), scheme.end(),
                  [](char c) { return IsLabelCharacter(c) || c == '+'; });
  return is_scheme ? colon : 0;
}

// Returns whether the name of a driver may follow the name of the scheme.
bool MayNameDriver(Scheme scheme) {
  return scheme == Scheme::kRedis || scheme == Scheme::kRediss ||
         scheme == Scheme::kPostgres || scheme == Scheme::kMysql;
}

const SchemeForm* FormOf(std::string_view name) {
  const auto* const form =
      std::find_if(kSchemes.begin(), kSchemes.end(),
                   [&](const SchemeForm& known) { return known.name == name; });
  return form == kSchemes.end() ? nullptr : form;
}

const SchemeForm* FindScheme(std::string_view text) {
  const std::string name =
      absl::AsciiStrToLower(text.substr(0, SchemeLength(text)));
  const SchemeForm* const form = FormOf(name);
  const size_t plus = name.find('+');
  if (form != nullptr || plus == std::string::npos) return form;
  // Some libraries append the name of a driver, as in postgresql+asyncpg:.
  const SchemeForm* const plain = FormOf(name.substr(0, plus));
  return plain != nullptr && MayNameDriver(plain->scheme) ? plain : nullptr;
}

// Returns whether targets of `scheme` have the form SCHEME://HOST[:PORT] and
// are requested as they stand.
bool IsHttp(Scheme scheme) {
  return scheme == Scheme::kHttp || scheme == Scheme::kHttps;
}

// Returns whether targets of `scheme` have the form SCHEME://HOST.
bool IsUrl(Scheme scheme) {
  switch (scheme) {
    case Scheme::kUnix:
    case Scheme::kDns:
    case Scheme::kFile:
    case Scheme::kSystemd:
    case Scheme::kDocker:
    case Scheme::kPid:
    case Scheme::kExec:
      return false;
    default:
      return true;
  }
}

// Returns whether `text` ends with a colon and a number, and contains nothing
// that a host does not.
bool IsHostAndPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 &&
         (text[0] == '[' || text.find(':') == colon) &&
         IsDigits(text.substr(colon + 1)) &&
         text.find_first_of("/?#@=") == std::string_view::npos;
}

// Returns whether `text` is HOST:PORT. The host may be called like a scheme, as
// in redis:6379, except where a number may follow the scheme. An engine in a
// container of its own is often at docker:2375; few containers are called so,
// and their ids are longer.
bool IsBareTcp(std::string_view text) {
  constexpr size_t kLongestPort = 5;
  const SchemeForm* const form = FindScheme(text);
  const bool may_be_host =
      form == nullptr || IsUrl(form->scheme) ||
      (form->scheme == Scheme::kDocker &&
       text.size() <= form->name.size() + 1 + kLongestPort);
  return may_be_host && IsHostAndPort(text);
}

// Splits `argument` into a label, if it has one, and the rest.
std::pair<std::string_view, std::string_view> SplitLabel(
    std::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos ||
      !IsLabel(argument.substr(0, equals))) {
    return {"", argument};
  }
  const std::string_view rest = argument.substr(equals + 1);
  if (SchemeLength(rest) == 0 && !IsHostAndPort(rest)) return {"", argument};
  return {argument.substr(0, equals), rest};
}

// Returns `url` without user, password and query.
std::string ShownUrl(std::string_view url) {
  const size_t begin = std::min(url.find("://"), url.size() - 3) + 3;
  const std::string_view rest = url.substr(begin);
  const std::string_view authority =
      rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
  const std::string_view shown = rest.substr(authority.rfind('@') + 1);
  const size_t query = shown.find_first_of("?#");
  return absl::StrCat(url.substr(0, begin), shown.substr(0, query),
                      query == std::string_view::npos ? "" : "?...");
}

// Returns the error for `text`, which has no known scheme.
absl::Status NoScheme(std::string_view text) {
  size_t length = SchemeLength(text);
  if (!absl::StartsWith(text.substr(length), "://")) {
    // The user and password of a URL without a scheme.
    text.remove_prefix(text.rfind('@') + 1);
    length = SchemeLength(text);
  }
  const size_t slash = std::min(text.find('/'), text.size());
  if (IsHostAndPort(text.substr(0, slash))) {
    return Invalid(absl::StrCat("no scheme; write it as ",
                                slash == text.size() ? "tcp" : "http", "://",
                                text.substr(0, text.find('?'))));
  }
  if (absl::StartsWith(text, "/") || absl::StartsWith(text, ".")) {
    return Invalid(absl::StrCat("no scheme; write it as file:",
                                text.substr(0, text.find('?'))));
  }
  if (absl::EqualsIgnoreCase(text.substr(0, length), "mongodb+srv")) {
    return Invalid(
        "the name has SRV records instead of an address; write one of its "
        "hosts as mongodb://HOST");
  }
  std::vector<std::string> names;
  for (const SchemeForm& form : kSchemes) names.emplace_back(form.name);
  if (const std::string closest = ClosestName(text.substr(0, length), names);
      !closest.empty()) {
    return Invalid(absl::StrCat("unknown scheme ", text.substr(0, length),
                                "; did you mean ", closest, "?"));
  }
  const std::string known = absl::StrJoin(names, ", ");
  if (length == 0) {
    return Invalid(absl::StrCat(
        "no scheme; write it as tcp://HOST:PORT, or with one of: ", known));
  }
  return Invalid(absl::StrCat("unknown scheme ", text.substr(0, length),
                              "; the schemes are: ", known));
}

absl::Status ReadHttpPath(std::string_view path, Target& target) {
  if (std::any_of(path.begin(), path.end(), IsBlankOrControl)) {
    return Invalid(
        "the URL contains a blank or a control character; write a blank as "
        "%20");
  }
  // The fragment, which follows after #, is not part of a request.
  target.path = absl::StrCat(absl::StartsWith(path, "/") ? "" : "/",
                             path.substr(0, path.find('#')));
  return absl::OkStatus();
}

// Reads the host of a URL of a database, which may be encoded. A host that is
// a folder stands for the socket that PostgreSQL has there.
absl::Status ReadDatabaseHost(const SchemeForm& form, Target& target) {
  target.host = PercentDecoded(target.host);
  if (!absl::StartsWith(target.host, "/")) {
    return std::any_of(target.host.begin(), target.host.end(), IsBlankOrControl)
               ? InvalidForm("not a valid host", form)
               : absl::OkStatus();
  }
  if (form.scheme != Scheme::kPostgres) {
    return Invalid("the host is a path; write it as unix:PATH");
  }
  target.path = absl::StrCat(target.host, "/.s.PGSQL.", target.port);
  target.host.clear();
  return CheckSocketPath(target.path);
}

// Reads what a login needs: USER:PASSWORD, and the path of the URL.
absl::Status ReadLogin(std::string_view user_info, std::string_view path,
                       const SchemeForm& form, Target& target) {
  if (form.scheme != Scheme::kRedis && form.scheme != Scheme::kPostgres) {
    return absl::OkStatus();
  }
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(user_info, absl::MaxSplits(':', 1));
  target.user = PercentDecoded(parts.first);
  target.password = PercentDecoded(parts.second);
  if (form.scheme == Scheme::kPostgres) {
    absl::ConsumePrefix(&path, "/");
    target.database = PercentDecoded(path.substr(0, path.find_first_of("/?#")));
  }
  for (const std::string* const text :
       {&target.user, &target.password, &target.database}) {
    if (absl::StrContains(*text, '\0')) {
      return InvalidForm("the URL contains a zero byte", form);
    }
  }
  return absl::OkStatus();
}

// `rest` follows the colon.
absl::Status NoSlashes(std::string_view rest, const SchemeForm& form) {
  const std::string why = absl::StrCat("no // after ", form.name, ":");
  std::string_view host =
      rest.substr(std::min(rest.find_first_not_of('/'), rest.size()));
  host = host.substr(0, host.find_first_of("/?#"));
  if (form.scheme == Scheme::kHttpUnix || host.empty() ||
      absl::StrContains(rest, '@')) {
    return InvalidForm(why, form);
  }
  return Invalid(absl::StrCat(why, "; write it as ", form.name, "://", host));
}

// Returns the error for a URL with an @ where no password may have it.
absl::Status MisplacedAt() {
  return Invalid(
      "an @ after the host; in a password, write / as %2F, ? as %3F, # as "
      "%23 and @ as %40");
}

// Reads the URL of a request that goes over the socket `socket`. `user` is
// empty or ends with @.
absl::Status ReadHttpOverSocket(std::string_view socket, std::string_view user,
                                std::string_view path, const SchemeForm& form,
                                Target& target) {
  target.scheme = Scheme::kHttpUnix;
  target.socket = std::string(socket);
  if (target.socket == "@") {
    return InvalidForm("the abstract socket has no name", form);
  }
  if (absl::StrContains(target.socket, '\0')) {
    return InvalidForm("the path of the socket contains a zero byte", form);
  }
  if (absl::Status status = CheckSocketPath(target.socket); !status.ok()) {
    return status;
  }
  absl::Status status = ReadHttpPath(path, target);
  target.url = absl::StrCat("http://", user, "localhost", target.path);
  return status;
}

// Reads http+unix://SOCKET/PATH.
absl::Status ReadHttpUnix(std::string_view rest, const SchemeForm& form,
                          Target& target) {
  if (!absl::ConsumePrefix(&rest, "//")) return NoSlashes(rest, form);
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view path = rest.substr(end);
  const size_t user_end = rest.substr(0, end).rfind('@') + 1;
  const std::string_view socket = rest.substr(user_end, end - user_end);
  // Text before a colon may be a user, and what follows part of a password.
  if (absl::StrContains(socket, ':') && absl::StrContains(path, '@')) {
    return MisplacedAt();
  }
  if (user_end == 1) {
    return InvalidForm("the @ of an abstract socket must be written as %40",
                       form);
  }
  if (socket.empty()) {
    return InvalidForm("no path of a socket, in which / must be written as %2F",
                       form);
  }
  return ReadHttpOverSocket(PercentDecoded(socket), rest.substr(0, user_end),
                            path, form, target);
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
  constexpr SchemeForm kForm = {.name = "http",
                                .scheme = Scheme::kHttpUnix,
                                .port = 0,
                                .example = "http://unix:/run/app.sock:/health"};
  if (colon == std::string_view::npos) {
    return InvalidForm("no : after the path of the socket", kForm);
  }
  return ReadHttpOverSocket(rest.substr(0, colon), /*user=*/"",
                            rest.substr(colon + 1), kForm, target);
}

// Reads the name of a service, which follows host and port after a slash.
absl::Status ReadGrpcService(std::string_view authority, std::string_view path,
                             const SchemeForm& form, Target& target) {
  if (path.find_first_of("?#") != std::string_view::npos) {
    return InvalidForm("a service has no parameters", form);
  }
  absl::ConsumePrefix(&path, "/");
  target.path = PercentDecoded(path);
  if (std::any_of(target.path.begin(), target.path.end(), IsBlankOrControl) ||
      ToUtf8(target.path) != target.path) {
    return InvalidForm("not a name of a service", form);
  }
  target.url = absl::StrCat(
      form.scheme == Scheme::kGrpcs ? "https://" : "http://", authority);
  return absl::OkStatus();
}

absl::Status ReadUrl(std::string_view rest, const SchemeForm& form,
                     Target& target) {
  if (!absl::ConsumePrefix(&rest, "//")) return NoSlashes(rest, form);
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  const size_t user_end = authority.rfind('@') + 1;
  const std::string_view user_info =
      authority.substr(0, std::max<size_t>(user_end, 1) - 1);
  authority.remove_prefix(user_end);
  // Go's driver of MySQL writes user:password@tcp(host:port)/database.
  if (form.scheme == Scheme::kMysql && absl::EndsWith(authority, ")") &&
      absl::ConsumePrefix(&authority, "tcp(")) {
    authority.remove_suffix(1);
  }
  const std::string_view path = rest.substr(end);
  if (absl::StrContains(authority, ',')) {
    return InvalidForm("a target has one host: give a target for each", form);
  }
  absl::StatusOr<HostPort> host_port = ParseHostPort(authority, form.port);
  // Text that looks like a host and a port may be a user and part of a
  // password, which must not be shown. An @ is common in a path of HTTP, and in
  // a query that follows a path.
  std::string_view unlikely = path;
  if (host_port.ok() && absl::StartsWith(path, "/")) {
    unlikely = IsHttp(form.scheme) ? std::string_view()
                                   : path.substr(0, path.find('?'));
  }
  if (absl::StrContains(unlikely, '@')) return MisplacedAt();
  if (!host_port.ok()) {
    return InvalidForm(std::string(host_port.status().message()), form);
  }
  target.host = std::move(host_port->host);
  target.port = host_port->port;
  if (IsHttp(form.scheme)) return ReadHttpPath(path, target);
  if (form.scheme == Scheme::kGrpc || form.scheme == Scheme::kGrpcs) {
    return user_end == 0 ? ReadGrpcService(authority, path, form, target)
                         : InvalidForm("no user or password is needed", form);
  }
  if (form.scheme != Scheme::kTcp) {
    const absl::Status status = ReadLogin(user_info, path, form, target);
    return status.ok() ? ReadDatabaseHost(form, target) : status;
  }
  if (path.empty() && user_end == 0) return absl::OkStatus();
  return Invalid(absl::StrCat(path.empty() ? "no user or password is needed"
                                           : "nothing may follow host and port",
                              "; write it as tcp://", authority));
}

// A parameter of a target, such as stable=2s, and its value, which is empty if
// it is not given.
struct Parameter {
  std::string_view name;
  std::string_view value = {};
};

// Reads `rest` up to `?` into `value`, and what follows into `parameters`, all
// of which are optional.
absl::Status ReadParameters(std::string_view rest, const SchemeForm& form,
                            std::string& value,
                            absl::Span<Parameter> parameters) {
  const size_t mark = rest.find('?');
  value = std::string(rest.substr(0, mark));
  if (mark == std::string_view::npos) return absl::OkStatus();
  for (const std::string_view text :
       absl::StrSplit(rest.substr(mark + 1), '&')) {
    const std::pair<std::string_view, std::string_view> given =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    auto* const known = std::find_if(
        parameters.begin(), parameters.end(),
        [&](const Parameter& each) { return each.name == given.first; });
    if (known == parameters.end()) {
      const std::string names = absl::StrJoin(
          parameters, ", ", [](std::string* out, const Parameter& each) {
            absl::StrAppend(out, each.name);
          });
      return InvalidForm(
          absl::StrCat("unknown parameter \"", given.first, "\", only ", names,
                       parameters.size() == 1 ? " is" : " are", " known"),
          form);
    }
    if (given.second.empty()) {
      return InvalidForm(absl::StrCat(given.first, " has no value"), form);
    }
    if (!known->value.empty()) {
      return InvalidForm(absl::StrCat(given.first, " is given twice"), form);
    }
    known->value = given.second;
  }
  return absl::OkStatus();
}

absl::Status ReadNameServer(std::string_view text, const SchemeForm& form,
                            Target& target) {
  constexpr uint16_t kNameServerPort = 53;
  const absl::StatusOr<HostPort> server = ParseHostPort(text, kNameServerPort);
  in_addr address;
  if (!server.ok() || inet_pton(AF_INET, server->host.c_str(), &address) != 1) {
    return Invalid(absl::StrCat("server=", text,
                                ": write the IPv4 address of a name server, "
                                "as in server=10.0.0.2 or server=10.0.0.2:53"));
  }
  if (target.dns_type.empty()) {
    return InvalidForm("a server needs a type of records to ask for", form);
  }
  target.dns_server = server->host;
  target.port = server->port;
  return absl::OkStatus();
}

absl::Status ReadDns(std::string_view rest, const SchemeForm& form,
                     Target& target) {
  std::array<Parameter, 3> parameters = {
      {{.name = "type"}, {.name = "value"}, {.name = "server"}}};
  if (absl::Status status =
          ReadParameters(rest, form, target.host, absl::MakeSpan(parameters));
      !status.ok()) {
    return status;
  }
  const std::string_view type = parameters[0].value;
  const std::string_view server = parameters[2].value;
  if (target.host.empty()) return InvalidForm("no name", form);
  if (target.host.size() > kLongestHost) {
    return InvalidForm("the name is longer than 253 characters", form);
  }
  if (std::any_of(target.host.begin(), target.host.end(), [](char c) {
        return IsBlankOrControl(c) || c == '/' || c == ':';
      })) {
    return InvalidForm("not a DNS name", form);
  }
  target.dns_type = absl::AsciiStrToUpper(type);
  if (!type.empty() && std::find(kDnsTypes.begin(), kDnsTypes.end(),
                                 target.dns_type) == kDnsTypes.end()) {
    return Invalid(absl::StrCat("unknown type ", type, "; the types are: ",
                                absl::StrJoin(kDnsTypes, ", ")));
  }
  target.dns_value = PercentDecoded(parameters[1].value);
  return server.empty() ? absl::OkStatus()
                        : ReadNameServer(server, form, target);
}

// Checks a path, such as /a or a/b, and shortens ///a to /a.
absl::Status ReadPath(const SchemeForm& form, Target& target) {
  if (absl::StartsWith(target.path, "//")) {
    if (!absl::StartsWith(target.path, "///")) {
      return InvalidForm("a path must not have a host", form);
    }
    target.path.erase(0, 2);
  }
  if (target.path.empty()) return InvalidForm("no path", form);
  if (absl::StrContains(target.path, '\0')) {
    return InvalidForm("the path contains a zero byte", form);
  }
  return absl::OkStatus();
}

absl::Status ReadFile(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  std::array<Parameter, 1> parameters = {{{.name = "stable"}}};
  absl::Status status =
      ReadParameters(rest, form, target.path, absl::MakeSpan(parameters));
  const std::string_view stable = parameters[0].value;
  target.path = PercentDecoded(target.path);
  if (status.ok() && !stable.empty()) {
    const absl::StatusOr<absl::Duration> duration = ParseDurationText(stable);
    if (!duration.ok()) {
      return Invalid(
          absl::StrCat("stable=", stable, ": ", duration.status().message()));
    }
    target.stable = *duration;
  }
  return status.ok() ? ReadPath(form, target) : status;
}

absl::Status ReadUnix(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  target.path = std::string(rest);
  if (absl::Status status = ReadPath(form, target); !status.ok()) {
    return status;
  }
  return CheckSocketPath(target.path);
}

// Reads the name of a unit: https://www.freedesktop.org/software/systemd/man/
// latest/systemd.unit.html. As systemctl, takes a name without a type for that
// of a service.
absl::Status ReadSystemd(std::string_view rest, const SchemeForm& form,
                         Target& target) {
  constexpr size_t kLongest = 255;
  const bool is_valid = std::all_of(rest.begin(), rest.end(), [](char c) {
    return IsLabelCharacter(c) || absl::StrContains(":@\\", c);
  });
  if (rest.empty() || !is_valid) return InvalidForm("no name of a unit", form);
  constexpr std::array<std::string_view, 11> kTypes = {
      ".service", ".socket", ".device", ".mount", ".automount", ".swap",
      ".target",  ".path",   ".timer",  ".slice", ".scope"};
  const bool has_type = std::any_of(
      kTypes.begin(), kTypes.end(),
      [&](std::string_view type) { return absl::EndsWith(rest, type); });
  target.path = absl::StrCat(rest, has_type ? "" : ".service");
  return target.path.size() <= kLongest
             ? absl::OkStatus()
             : Invalid("the name is longer than 255 characters");
}

// Reads the name or the id of a container, in the characters that Docker
// allows.
absl::Status ReadDocker(std::string_view rest, const SchemeForm& form,
                        Target& target) {
  const auto is_alnum = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  if (rest.empty() || !is_alnum(rest[0]) ||
      !std::all_of(rest.begin(), rest.end(), IsLabelCharacter)) {
    return InvalidForm("no name of a container", form);
  }
  target.path = std::string(rest);
  return absl::OkStatus();
}

absl::Status ReadRest(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  switch (form.scheme) {
    case Scheme::kHttp:
      return HasSocket(rest) ? ReadHttpWithSocket(rest, target)
                             : ReadUrl(rest, form, target);
    case Scheme::kHttpUnix:
      return ReadHttpUnix(rest, form, target);
    case Scheme::kUnix:
      return ReadUnix(rest, form, target);
    case Scheme::kDns:
      return ReadDns(rest, form, target);
    case Scheme::kFile:
      return ReadFile(rest, form, target);
    case Scheme::kSystemd:
      return ReadSystemd(rest, form, target);
    case Scheme::kDocker:
      return ReadDocker(rest, form, target);
    case Scheme::kPid:
      return IsDigits(rest) && absl::SimpleAtoi(rest, &target.pid) &&
                     target.pid >= 1
                 ? absl::OkStatus()
                 : InvalidForm(
                       "the process number must be from 1 to 2147483647", form);
    case Scheme::kExec:
      target.path = std::string(rest);
      return absl::StripAsciiWhitespace(rest).empty()
                 ? InvalidForm("no shell command", form)
                 : absl::OkStatus();
    default:
      return ReadUrl(rest, form, target);
  }
}

absl::StatusOr<Target> Parse(std::string_view argument) {
  Target target;
  const auto [label, text] = SplitLabel(argument);
  target.label = std::string(label);
  target.text = std::string(text);
  absl::Status status;
  if (IsBareTcp(text)) {
    status = ReadUrl(absl::StrCat("//", text), kSchemes.front(), target);
  } else {
    const SchemeForm* const form = FindScheme(text);
    if (form == nullptr) return NoScheme(text);
    target.scheme = form->scheme;
    if (IsHttp(form->scheme)) target.url = std::string(text);
    if (IsUrl(form->scheme)) target.text = ShownUrl(text);
    status = ReadRest(text.substr(SchemeLength(text) + 1), *form, target);
  }
  if (!status.ok()) return status;
  if (target.label.empty()) target.label = target.text;
  return target;
}

}  // namespace

std::string WithoutSecrets(std::string_view argument) {
  const auto [label, text] = SplitLabel(argument);
  const SchemeForm* const form = FindScheme(text);
  if (form != nullptr && !IsUrl(form->scheme)) return std::string(argument);
  // In a wrong URL, a password may contain anything.
  std::string_view shown = text.substr(text.rfind('@') + 1);
  const size_t query = shown.find_first_of("?#");
  const std::string_view kept = text.substr(
      0, shown.size() == text.size() || form == nullptr
             ? 0
             : SchemeLength(text) + (absl::StrContains(text, "://") ? 3 : 1));
  return absl::StrCat(argument.substr(0, label.empty() ? 0 : label.size() + 1),
                      kept, shown.substr(0, query),
                      query == std::string_view::npos ? "" : "?...");
}

absl::StatusOr<Target> ParseTarget(std::string_view argument) {
  absl::StatusOr<Target> target = Parse(argument);
  if (target.ok()) return target;
  return Invalid(Printable(
      absl::StrCat(WithoutSecrets(argument), ": ", target.status().message())));
}

}  // namespace waiter::cli
