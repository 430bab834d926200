// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/connect_failure.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Most addresses that a detail names; it counts the others.
constexpr size_t kMostNamed = 4;

// Returns "a", "a and b" or "a, b and c".
std::string Named(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  const size_t named = std::min(names.size() - 1, kMostNamed);
  const std::string first = absl::StrJoin(
      names.begin(), names.begin() + static_cast<ptrdiff_t>(named), ", ");
  return absl::StrCat(first, " and ",
                      named + 1 == names.size()
                          ? names.back()
                          : absl::StrCat(names.size() - named, " more"));
}

// Returns whether nothing listens, as distinct from a host that cannot be
// reached. ENOENT and ENOTDIR are errors of socket paths.
bool IsRefusal(int error) {
  return error == ECONNREFUSED || error == ENOENT || error == ENOTDIR;
}

// Returns whether this machine cannot use the address at all, for example
// because it lacks IPv6.
bool IsUnusableHere(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL ||
         error == ENETUNREACH;
}

bool IsOutOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

bool IsUnreachable(int error) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == EHOSTDOWN ||
         error == ENETDOWN;
}

std::string HintFor(absl::Span<const ConnectFailure> failures) {
  const auto any = [&](auto is) {
    return std::any_of(failures.begin(), failures.end(),
                       [&](const ConnectFailure& f) { return is(f.error); });
  };
  if (any([](int error) { return error == 0 || error == ETIMEDOUT; })) {
    return "the host may be down, or a firewall may drop packets to it";
  }
  if (any([](int error) { return error == ECONNREFUSED; })) {
    return "nothing is listening there: is the server running, and the port "
           "right?";
  }
  if (any([](int error) { return error == EACCES || error == EPERM; })) {
    return "this user has no permission to connect";
  }
  if (any(IsOutOfResources)) {
    return "this machine has run out of file descriptors or memory; see ulimit "
           "-n";
  }
  return any(IsUnreachable) ? "this machine has no route to the host" : "";
}

}  // namespace

Finding DescribeFailures(absl::Span<const ConnectFailure> failures,
                         absl::Duration timeout) {
  std::vector<std::string> refused;
  std::vector<std::string> silent;
  std::vector<std::string> others;
  bool any_usable = false;
  bool all_refused = true;
  bool forbidden = false;
  bool all_out_of_resources = true;
  for (const auto& [address, error] : failures) {
    const std::string name = address.ToString();
    const bool local = address.family() == AF_UNIX;
    if (error == 0) {
      silent.push_back(name);
    } else if (error == ECONNREFUSED) {
      refused.push_back(name);
    } else {
      others.push_back(
          absl::StrCat(name, ": ", std::generic_category().message(error)));
    }
    const bool refuses = IsRefusal(error);
    any_usable |= refuses;
    all_refused &= refuses || IsUnusableHere(error);
    forbidden |= local && (error == EACCES || error == EPERM);
    all_out_of_resources &= IsOutOfResources(error);
  }
  std::vector<std::string> parts;
  if (!refused.empty()) {
    parts.push_back(absl::StrCat("refused by ", Named(refused)));
  }
  if (!silent.empty()) {
    parts.push_back(absl::StrCat("no answer from ", Named(silent), " within ",
                                 absl::FormatDuration(timeout)));
  }
  if (!others.empty()) parts.push_back(Named(others));
  return {.status = forbidden              ? PollStatus::kFailed
                    : all_out_of_resources ? PollStatus::kServerError
                                           : PollStatus::kNotReady,
          .detail = absl::StrJoin(parts, "; "),
          .hint = HintFor(failures),
          .absent = any_usable && all_refused};
}

}  // namespace waiter::cli
