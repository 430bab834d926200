// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Expressions of `--json`, `--fail-json` and `--print`: the ones that
// json_path.h describes, which need no library, and all others of jq
// (jq_program.h).
//
//   absl::StatusOr<waiter::cli::JsonExpression> ready =
//       waiter::cli::JsonExpression::Parse("any(.items[]; .ready)");
//   if (!ready.ok()) return ready.status();
//   const waiter::cli::JsonExpression::Result result =
//       ready->Evaluate(document, body);
//
// An expression of jq holds if it gives at least one value, and none that is
// false or null. An assignment is refused, as it would always hold: `.a = 1` is
// a typo for `.a == 1`.

#ifndef WAITER_CLI_PROBES_HTTP_JSON_EXPRESSION_H_
#define WAITER_CLI_PROBES_HTTP_JSON_EXPRESSION_H_

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/probes/http/jq_program.h"
#include "cli/probes/http/json_path.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// Immutable, and cheap to copy. Thread-compatible.
class JsonExpression {
 public:
  // Parses `text`. kInvalidArgument names the error and its place, or a missing
  // library.
  static absl::StatusOr<JsonExpression> Parse(std::string_view text);

  struct Result {
    bool holds = false;

    // The result in a few words: `.status is "STARTING"`.
    std::string found = {};

    // The values for users to read, in a line each: the text of strings,
    // otherwise JSON.
    std::string value = {};

    // kInvalidArgument if the expression does not suit the document, as if it
    // iterates over a number; kResourceExhausted if it exceeds a limit.
    absl::Status status = absl::OkStatus();
  };

  // Evaluates `document`, which is the value of `json`.
  Result Evaluate(const nlohmann::json& document, std::string_view json) const;

 private:
  JsonExpression(std::string text, std::variant<JsonPath, JqProgram> parsed);

  std::string text_;
  std::variant<JsonPath, JqProgram> parsed_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_JSON_EXPRESSION_H_
