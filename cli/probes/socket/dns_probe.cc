// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/dns_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/probes/wire/conversation.h"
#include "cli/text/text_regex.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Returns a value in a canonical form: names in lower case without the final
// dot, and addresses in one form.
std::string Canonical(std::string_view value) {
  const std::string text(value);
  in6_addr address;
  std::array<char, INET6_ADDRSTRLEN> written;
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1) {
    return inet_ntop(AF_INET6, &address, written.data(), written.size());
  }
  return absl::AsciiStrToLower(absl::StripSuffix(text, "."));
}

// Returns whether a record has the value. Records of mail servers and services
// may be named without the numbers before the name.
bool Has(std::string_view record, std::string_view type,
         std::string_view value) {
  if (type == "TXT" || type == "CAA") return record == value;
  const bool has_numbers = type == "MX" || type == "SRV";
  return Canonical(record) == Canonical(value) ||
         (has_numbers &&
          Canonical(record.substr(record.rfind(' ') + 1)) == Canonical(value));
}

}  // namespace

DnsProbe::DnsProbe(Resolver& resolver, const DnsTarget& target,
                   AddressFamily family, std::optional<TextRegex> match)
    : resolver_(resolver),
      question_({.name = target.name,
                 .type = target.type,
                 .family = family,
                 .server = target.server,
                 .server_port = target.port}),
      value_(target.value),
      match_(std::move(match)) {}

bool DnsProbe::Suits(const std::string& record) const {
  if (match_.has_value()) return match_->Matches(record);
  return value_.empty() || Has(record, question_.type, value_);
}

Finding DnsProbe::FromAnswer(const NameAnswer& answer) const {
  if (answer.status.ok()) {
    const std::string found = Excerpt(absl::StrJoin(answer.texts, ", "));
    if (std::any_of(answer.texts.begin(), answer.texts.end(),
                    [this](const std::string& text) { return Suits(text); })) {
      return {.status = PollStatus::kSuccess, .detail = found};
    }
    const std::string lack = match_.has_value()
                                 ? absl::StrCat(", none of which matches ",
                                                Excerpt(match_->pattern()))
                                 : absl::StrCat(", and not ", Excerpt(value_));
    return {.detail = absl::StrCat(found, lack), .absent = true};
  }
  const bool is_absent = absl::IsNotFound(answer.status);
  return {
      .status = is_absent ? PollStatus::kNotReady : PollStatus::kServerError,
      .detail = std::string(answer.status.message()),
      .hint = is_absent ? "" : absl::StrCat(Servers(), " up and reachable?"),
      .absent = is_absent};
}

std::string DnsProbe::Servers() const {
  return question_.server.empty()
             ? "are the name servers in /etc/resolv.conf"
             : absl::StrCat("is the name server ", question_.server, ":",
                            question_.server_port);
}

void DnsProbe::Start(const PollContext& /*context*/, Done done) {
  done_ = std::move(done);
  request_ = resolver_.Ask(question_, [this](const NameAnswer& answer) {
    Finish(FromAnswer(answer));
  });
}

void DnsProbe::TimeOut(absl::Duration timeout) {
  Finish({.status = PollStatus::kServerError,
          .detail = absl::StrCat("no answer from the name servers within ",
                                 absl::FormatDuration(timeout)),
          .hint = absl::StrCat(Servers(), " up and reachable?")});
}

void DnsProbe::Cancel() {
  done_ = nullptr;
  request_ = {};
}

void DnsProbe::Finish(Finding finding) {
  const Done done = std::move(done_);
  Cancel();
  done(std::move(finding));
}

}  // namespace waiter::cli
