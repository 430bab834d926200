// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/schemes/probe_factory.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/strip.h"
#include "cli/loop/event_loop.h"
#include "cli/net/socket_address.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_probe.h"
#include "cli/probes/local/exec_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/target.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {

ProbeFactory::ProbeFactory(EventLoop& loop, ProcessReaper& reaper,
                           ProbeOptions options)
    : loop_(loop),
      reaper_(reaper),
      codes_(options.codes),
      http_(std::make_shared<const HttpOptions>(std::move(options.http))),
      login_(options.login),
      hold_open_(options.hold_open),
      http_of_(std::move(options.http_of)),
      operation_(std::move(options.operation)),
      calls_(loop),
      resolver_(calls_) {}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::Make(
    const Target& target) {
  return target.scheme->make(target, *this);
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

absl::StatusOr<HttpClient*> ProbeFactory::http_client() {
  if (http_client_ == nullptr) {
    absl::StatusOr<std::unique_ptr<HttpClient>> client =
        HttpClient::Make(loop_);
    if (!client.ok()) return client.status();
    http_client_ = *std::move(client);
  }
  return http_client_.get();
}

absl::StatusOr<std::unique_ptr<Probe>> ProbeFactory::MakeHttp(
    HttpDestination destination, std::shared_ptr<const HttpOptions> options,
    HttpJudge judge) {
  const absl::StatusOr<HttpClient*> client = http_client();
  if (!client.ok()) return client.status();
  return MakeHttpProbe(**client, std::move(destination), std::move(options),
                       std::move(judge));
}

std::string_view EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  const std::string_view text = value == nullptr ? "" : value;
  // Lines in files of variables from Windows end with it.
  return absl::StripSuffix(text, "\r");
}

}  // namespace waiter::cli
