// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One row of the table of schemes. Everything that the command knows about a
// scheme is here: parser, probe, help, documentation and completions.
//
//   constexpr std::array<waiter::cli::Scheme, 1> kSchemes = {{
//       {.name = "nats",
//        .form = "`nats://HOST[:4222]`",
//        .ready_when = "the server answers `PING`",
//        .example = "nats://localhost:4222",
//        .port = 4222,
//        .parse = ParseServer,
//        .make = MakeServer<NewNatsConversation>}}};

#ifndef WAITER_CLI_PROBES_SCHEME_H_
#define WAITER_CLI_PROBES_SCHEME_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"

namespace waiter::cli {

class ProbeFactory;

// The request flags that apply to a scheme.
enum class RequestFlags : uint8_t {
  kNone,
  kTrust,  // Flags about header fields and certificates.
  kAll,
};

struct Scheme {
  std::string_view name;  // Lower case.

  // The rows of documentation: how to write a target, in Markdown, and when it
  // is ready. Empty if the row of another scheme also describes this one.
  std::string_view form = {};
  std::string_view ready_when = {};

  // The form in `waiter --help`; empty if the name alone is enough there.
  std::string_view brief = {};

  std::string_view example;  // Begins with the name.
  uint16_t port = 0;         // The default; 0 if none.
  RequestFlags flags = RequestFlags::kNone;

  // Whether the name of a driver may follow after +, as in
  // postgresql+asyncpg:.
  bool takes_driver = false;

  // Whether NAME:NUMBER is a host and a port, as in docker:2375, although
  // targets are not URLs.
  bool may_be_host = false;

  // Parses the text after the colon into `target.what`. The message of an error
  // names the problem and the correct form, without secrets; it need not be
  // printable.
  absl::Status (*parse)(std::string_view rest, const Scheme& scheme,
                        Target& target);

  // Makes the probe of a target that `parse` made. kInvalidArgument if it
  // cannot be made, as for http without libcurl.
  absl::StatusOr<std::unique_ptr<Probe>> (*make)(const Target& target,
                                                 ProbeFactory& factory);

  // Returns whether targets have the form NAME://HOST.
  constexpr bool IsUrl() const {
    return example.substr(name.size(), 3) == "://";
  }
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SCHEME_H_
