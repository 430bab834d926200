// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The scheme of names: dns:.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/socket/dns_probe.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"
#include "cli/text/ascii_host.h"
#include "cli/text/percent.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {
namespace {

constexpr std::array<std::string_view, 10> kDnsTypes = {
    "A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"};

absl::Status ReadNameServer(std::string_view text, const Scheme& scheme,
                            DnsTarget& target) {
  constexpr uint16_t kNameServerPort = 53;
  const absl::StatusOr<HostPort> server = ParseHostPort(text, kNameServerPort);
  in_addr address;
  if (!server.ok() || inet_pton(AF_INET, server->host.c_str(), &address) != 1) {
    return Invalid(absl::StrCat("server=", text,
                                ": write the IPv4 address of a name server, "
                                "as in server=10.0.0.2 or server=10.0.0.2:53"));
  }
  if (target.type.empty()) {
    return InvalidForm("server= needs a type, as in ?type=A&server=10.0.0.2",
                       scheme);
  }
  target.server = server->host;
  target.port = server->port;
  return absl::OkStatus();
}

absl::Status ParseDns(std::string_view rest, const Scheme& scheme,
                      Target& target) {
  DnsTarget& dns = target.what.emplace<DnsTarget>();
  std::array<Parameter, 4> parameters = {{{.name = "type"},
                                          {.name = "value"},
                                          {.name = "server"},
                                          {.name = "match"}}};
  if (absl::Status status =
          ReadParameters(rest, scheme, dns.name, absl::MakeSpan(parameters));
      !status.ok()) {
    return status;
  }
  const std::string_view type = parameters[0].value;
  const std::string_view server = parameters[2].value;
  if (dns.name.empty()) return InvalidForm("the name is missing", scheme);
  if (dns.name.size() > kLongestHost) {
    return InvalidForm("the name is longer than 253 characters", scheme);
  }
  if (std::any_of(dns.name.begin(), dns.name.end(), [](char c) {
        return IsBlankOrControl(c) || c == '/' || c == ':';
      })) {
    return InvalidForm("not a DNS name", scheme);
  }
  absl::StatusOr<std::string> ascii = AsciiHost(dns.name);
  if (!ascii.ok()) return ascii.status();
  dns.name = *std::move(ascii);
  dns.type = absl::AsciiStrToUpper(type);
  if (!type.empty() && std::find(kDnsTypes.begin(), kDnsTypes.end(),
                                 dns.type) == kDnsTypes.end()) {
    return Invalid(absl::StrCat("unknown type ", type, "; the types are: ",
                                absl::StrJoin(kDnsTypes, ", ")));
  }
  dns.value = PercentDecoded(parameters[1].value);
  dns.match = PercentDecoded(parameters[3].value);
  if (!dns.value.empty() && !dns.match.empty()) {
    return InvalidForm("value and match exclude each other", scheme);
  }
  if (absl::Status status = CheckMatch(dns.match); !status.ok()) return status;
  return server.empty() ? absl::OkStatus()
                        : ReadNameServer(server, scheme, dns);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeDns(const Target& target,
                                               ProbeFactory& factory) {
  const auto& dns = std::get<DnsTarget>(target.what);
  std::optional<TextRegex> match;
  if (!dns.match.empty()) {
    absl::StatusOr<TextRegex> regex = TextRegex::Parse(dns.match);
    if (!regex.ok()) return regex.status();
    match = *std::move(regex);
  }
  return std::make_unique<DnsProbe>(factory.resolver(), dns, factory.family(),
                                    std::move(match));
}

constexpr std::array<Scheme, 1> kDnsSchemes = {{
    {.name = "dns",
     .form = "`dns:NAME[?type=MX]`",
     .ready_when = "the name has an address, or a record of the type; "
                   "`&value=mx.example.com` requires that record, "
                   "`&match=REGEX` one that matches, and "
                   "`&server=10.0.0.2[:53]` asks another name server",
     .brief = "dns:NAME",
     .example = "dns:example.com?type=MX",
     .parse = ParseDns,
     .make = MakeDns},
}};

}  // namespace

absl::Span<const Scheme> DnsSchemes() { return kDnsSchemes; }

}  // namespace waiter::cli
