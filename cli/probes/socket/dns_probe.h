// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks whether a name has records, or one of a certain value or form:
//
//   waiter::cli::DnsProbe probe(resolver,
//                               {.name = "example.com", .type = "MX"});

#ifndef WAITER_CLI_PROBES_SOCKET_DNS_PROBE_H_
#define WAITER_CLI_PROBES_SOCKET_DNS_PROBE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/text/text_regex.h"
#include "waiter/poll.h"

namespace waiter::cli {

// A name, record or value that does not exist, according to the name servers,
// is absent. Their silence and their failures are server errors.
class DnsProbe : public Probe {
 public:
  // The resolver must outlive this. `family` applies if the target names no
  // type of records. `match` is the target's, parsed.
  DnsProbe(Resolver& resolver, const DnsTarget& target,
           AddressFamily family = AddressFamily::kAny,
           std::optional<TextRegex> match = std::nullopt);

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration timeout) override;
  void Cancel() override;

 private:
  Finding FromAnswer(const NameAnswer& answer) const;
  bool Suits(const std::string& record) const;

  // Returns the servers that are asked, for messages.
  std::string Servers() const;

  void Finish(Finding finding);

  Resolver& resolver_;
  const NameQuestion question_;
  const std::string value_;  // Empty if any will do.
  const std::optional<TextRegex> match_;
  Done done_;
  Resolver::Request request_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SOCKET_DNS_PROBE_H_
