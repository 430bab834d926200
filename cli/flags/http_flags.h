// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The flags of http targets.
//
//   waiter::cli::HttpFlags http;
//   http.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::cli::HttpOptions> options = http.Options(flags);

#ifndef WAITER_CLI_FLAGS_HTTP_FLAGS_H_
#define WAITER_CLI_FLAGS_HTTP_FLAGS_H_

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "cli/probes/http/http_options.h"

namespace waiter::cli {

// Thread-compatible.
class HttpFlags {
 public:
  HttpFlags() = default;
  // `AddTo` hands out its address.
  HttpFlags(const HttpFlags&) = delete;
  HttpFlags& operator=(const HttpFlags&) = delete;

  // Adds --method, --header, --data, --status, --body-regex, --json,
  // --expect-header, --not-ready-on, --insecure, --ca-file, --no-redirect,
  // --ipv4 and --ipv6.
  void AddTo(Flags& flags);

  // Returns what was asked for, or an error that names the flags that
  // contradict each other.
  absl::StatusOr<HttpOptions> Options(const Flags& flags) const;

  // For where no target is asked by HTTP: returns an error that names a flag of
  // the command line that would have no effect. A variable may be for others;
  // --ipv4 and --ipv6 are for all targets.
  static absl::Status CheckNoneGiven(const Flags& flags);

 private:
  HttpOptions options_;
  bool insecure_ = false;
  bool no_redirect_ = false;
  bool ipv4_ = false;
  bool ipv6_ = false;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_HTTP_FLAGS_H_
