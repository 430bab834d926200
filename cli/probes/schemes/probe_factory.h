// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes the probe for a target. The probes of a run share a resolver of names
// and, once it is needed, libcurl.
//
//   waiter::cli::ProbeFactory factory(loop, reaper, {.codes = code_map});
//   absl::StatusOr<std::unique_ptr<waiter::cli::Probe>> probe =
//       factory.Make(target);

#ifndef WAITER_CLI_PROBES_SCHEMES_PROBE_FACTORY_H_
#define WAITER_CLI_PROBES_SCHEMES_PROBE_FACTORY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/net/resolver.h"
#include "cli/net/socket_address.h"
#include "cli/probes/code_map.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_probe.h"
#include "cli/probes/http/operation_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {

// Options that all probes of a run share.
struct ProbeOptions {
  CodeMap codes = {};
  HttpOptions http = {};

  // Whether probes log in with the user and password of the target, where that
  // is simple.
  bool login = false;

  // How long connections of tcp: and unix: must stay open.
  absl::Duration hold_open = absl::ZeroDuration();

  // Options of http and grpc targets that have their own, by label.
  std::map<std::string, HttpOptions> http_of = {};

  // If set, http and https targets are operations.
  std::optional<OperationOptions> operation = std::nullopt;
};

// Thread-compatible. Must outlive its probes.
class ProbeFactory {
 public:
  ProbeFactory(EventLoop& loop, ProcessReaper& reaper, ProbeOptions options);

  // Returns the probe for `target`, or kInvalidArgument if it cannot be made,
  // as for http without libcurl.
  absl::StatusOr<std::unique_ptr<Probe>> Make(const Target& target);

  // Returns a probe that runs `words`, a program and its arguments. The program
  // finds `text` as its target.
  std::unique_ptr<Probe> MakeExec(std::vector<std::string> words,
                                  std::string text);

  // The parts from which rows of schemes make probes. They live as long as
  // the factory.
  EventLoop& loop() { return loop_; }
  Resolver& resolver() { return resolver_; }
  BlockingCalls& calls() { return calls_; }
  ProcessReaper& reaper() { return reaper_; }
  const CodeMap& codes() const { return codes_; }
  AddressFamily family() const { return http_->family; }
  bool login() const { return login_; }
  absl::Duration hold_open() const { return hold_open_; }
  const std::optional<OperationOptions>& operation() const {
    return operation_;
  }

  // Returns the options of the label of `target`, or the options of all
  // targets.
  std::shared_ptr<const HttpOptions> OptionsOf(const Target& target) const;

  // Returns the client that all probes share, or kInvalidArgument without
  // libcurl.
  absl::StatusOr<HttpClient*> http_client();

  // As `MakeHttpProbe`, with the shared client.
  absl::StatusOr<std::unique_ptr<Probe>> MakeHttp(
      HttpDestination destination, std::shared_ptr<const HttpOptions> options,
      HttpJudge judge = nullptr);

 private:
  EventLoop& loop_;
  ProcessReaper& reaper_;
  const CodeMap codes_;
  const std::shared_ptr<const HttpOptions> http_;
  const bool login_;
  const absl::Duration hold_open_;
  const std::map<std::string, HttpOptions> http_of_;
  const std::optional<OperationOptions> operation_;
  BlockingCalls calls_;
  Resolver resolver_;
  std::unique_ptr<HttpClient> http_client_;  // Null until it is needed.
};

// Returns a variable of the environment, empty if it is not set.
std::string_view EnvironmentVariable(const char* name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SCHEMES_PROBE_FACTORY_H_
