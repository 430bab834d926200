// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags for http and https targets. Some also apply to grpc:
//
//   waiter::cli::HttpFlags http;
//   http.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::cli::HttpOptions> options =
//       http.Options(flags, target.label);

#ifndef WAITER_CLI_FLAGS_HTTP_FLAGS_H_
#define WAITER_CLI_FLAGS_HTTP_FLAGS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "cli/probes/http/http_options.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Thread-compatible.
class HttpFlags {
 public:
  HttpFlags() = default;
  // `AddTo` hands out the address of this.
  HttpFlags(const HttpFlags&) = delete;
  HttpFlags& operator=(const HttpFlags&) = delete;

  // Adds --method, --header, --bearer, --data, --status, --body-regex, --json,
  // --expect-header, --not-ready-on, --fail-json, --fail-status,
  // --fail-body-regex, --print, --insecure, --ca-file, --netrc, --long-poll,
  // --no-redirect and --http2.
  void AddTo(Flags& flags);

  // Adds --ipv4 and --ipv6, which have an effect on all targets.
  void AddFamilyTo(Flags& flags);

  // Returns the options for the target that is called `label`, by the flags
  // without a label and the flags with this one, which add to the others or win
  // over them. Returns an error that names a flag that contradicts another.
  absl::StatusOr<HttpOptions> Options(const Flags& flags,
                                      std::string_view label = {}) const;

  // Hosts that get requests.
  struct Hosts {
    std::set<std::string> http = {};
    std::set<std::string> grpc = {};
  };

  // Returns whether the flag `name` has an effect on grpc targets: --header,
  // --bearer, --insecure and --ca-file.
  static bool IsForGrpc(std::string_view name);

  // Checks that --header, --bearer and --data, which may hold secrets, name
  // their target if they would go to different hosts.
  static absl::Status CheckHosts(const Flags& flags, const Hosts& hosts);

  // Returns an error that names a flag of the command line that has no effect
  // because there is no target that it applies to. A variable is not an error,
  // as it may be meant for other runs.
  static absl::Status CheckUsed(const Flags& flags, const Hosts& hosts);

 private:
  struct Labelled {
    std::string name;
    std::string label;
    std::string value;
    // The values of --data, --header and --bearer, which are read once.
    std::optional<std::string> data;
    HttpFields headers;
  };

  HttpOptions options_;
  std::vector<Labelled> labelled_;  // Valid.
  bool insecure_ = false;
  bool no_redirect_ = false;
  bool http2_ = false;
  bool ipv4_ = false;
  bool ipv6_ = false;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_HTTP_FLAGS_H_
