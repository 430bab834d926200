// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kPrefix = "WAITER_";

bool IsOwn(std::string_view name) {
  return name == "WAITER_ATTEMPT" || name == "WAITER_ELAPSED_MS" ||
         name == "WAITER_DEADLINE_MS" || name == "WAITER_TARGET" ||
         absl::StartsWith(name, "WAITER_TEST_");
}

// Returns whether `waiter durable work` sets this variable for its program.
bool IsOfResult(std::string_view name) {
  return name == "WAITER_NAME" || name == "WAITER_KEY" ||
         name == "WAITER_RESULT" || name == "WAITER_DETAIL" ||
         name == "WAITER_IDEMPOTENCY_KEY";
}

// Returns whether Kubernetes sets this variable for a service called waiter, in
// every container of its namespace.
bool IsOfService(std::string_view name) {
  return name == "WAITER_SERVICE_HOST" || name == "WAITER_SERVICE_PORT" ||
         absl::StartsWith(name, "WAITER_SERVICE_PORT_") ||
         name == "WAITER_PORT" || absl::StartsWith(name, "WAITER_PORT_");
}

}  // namespace

std::vector<std::string> ProcessEnvironment() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr;
       ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

std::string VariableOf(std::string_view flag) {
  return absl::StrCat(
      kPrefix, absl::AsciiStrToUpper(absl::StrReplaceAll(flag, {{"-", "_"}})));
}

std::string_view FindVariable(absl::Span<const std::string> environment,
                              std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        absl::StartsWith(variable, name)) {
      return variable.substr(name.size() + 1);
    }
  }
  return {};
}

bool HasOwnVariables(absl::Span<const std::string> environment) {
  return std::any_of(environment.begin(), environment.end(),
                     [](const std::string& variable) {
                       return absl::StartsWith(variable, kPrefix);
                     });
}

void WarnOfUnknownVariables(absl::Span<const std::string> environment,
                            absl::Span<const std::string> flags,
                            std::ostream& err) {
  for (const std::string_view variable : environment) {
    const size_t equals = variable.find('=');
    const std::string_view name = variable.substr(0, equals);
    const bool is_set =
        equals != std::string_view::npos && equals + 1 < variable.size();
    if (!is_set || !absl::StartsWith(name, kPrefix) || IsOwn(name) ||
        IsOfResult(name) || IsOfService(name)) {
      continue;
    }
    const bool is_flag = std::any_of(
        flags.begin(), flags.end(),
        [&](const std::string& flag) { return VariableOf(flag) == name; });
    if (is_flag) continue;
    err << "waiter: " << Printable(name)
        << ": ignored, because no flag has this name\n";
  }
}

}  // namespace waiter::cli
