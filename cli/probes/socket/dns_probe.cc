// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/dns_probe.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/net/name_lookup.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/probes/wire/conversation.h"
#include "waiter/poll_context.h"
#include "waiter/poll_status.h"

namespace waiter::cli {
namespace {

Finding FromAnswer(const NameAnswer& answer) {
  if (answer.status.ok()) {
    return {.status = PollStatus::kSuccess,
            .detail = Excerpt(absl::StrJoin(answer.texts, ", "))};
  }
  const bool is_absent = absl::IsNotFound(answer.status);
  return {
      .status = is_absent ? PollStatus::kNotReady : PollStatus::kServerError,
      .detail = std::string(answer.status.message()),
      .hint = is_absent ? ""
                        : "are the name servers in /etc/resolv.conf "
                          "up and reachable?",
      .absent = is_absent};
}

}  // namespace

DnsProbe::DnsProbe(Resolver& resolver, const Target& target,
                   AddressFamily family)
    : resolver_(resolver),
      question_(
          {.name = target.host, .type = target.dns_type, .family = family}) {}

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
          .hint = "are the name servers in /etc/resolv.conf up and "
                  "reachable?"});
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
