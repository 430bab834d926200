// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Turns the arguments of the tool `wait_for` into a command line of `waiter`,
// which checks the values:
//
//   {"targets": ["http://localhost:8080/ready"], "timeout": "5m"}
//
// becomes `--timeout=5m http://localhost:8080/ready`.

#ifndef WAITER_CLI_MCP_WAIT_REQUEST_H_
#define WAITER_CLI_MCP_WAIT_REQUEST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// The targets that a client may name; none at first.
class AllowedTargets {
 public:
  // Allows the schemes of a list such as "http,tcp". A scheme includes its form
  // over TLS: http allows https. kInvalidArgument names an unknown one.
  absl::Status Add(std::string_view schemes);

  // Returns why `target` is not allowed, or not a target, without its secrets.
  absl::Status Check(std::string_view target) const;

  bool empty() const { return schemes_.empty(); }

 private:
  std::vector<std::string> schemes_;
};

struct WaitRequest {
  std::vector<std::string> args;  // Of `waiter`.
  absl::Duration slice;           // How long the call may take.
};

inline constexpr absl::Duration kDefaultSlice = absl::Seconds(25);
inline constexpr absl::Duration kLongestSlice = absl::Minutes(10);

// Returns the command line for `arguments`, or kInvalidArgument with the
// problem. Each value is one word that begins with the name of its flag, so
// that none can pass for another flag.
absl::StatusOr<WaitRequest> ParseWaitRequest(const nlohmann::json& arguments,
                                             const AllowedTargets& allowed);

// Returns the time that the member `slice` of `arguments` asks for.
absl::StatusOr<absl::Duration> ParseSlice(const nlohmann::json& arguments);

// Returns the JSON Schema of the arguments.
nlohmann::ordered_json WaitRequestSchema();

}  // namespace waiter::cli

#endif  // WAITER_CLI_MCP_WAIT_REQUEST_H_
