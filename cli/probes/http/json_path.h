// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses and evaluates the expressions of `--json`.
//
//   absl::StatusOr<waiter::cli::JsonPath> ready =
//       waiter::cli::JsonPath::Parse(".items[0].status == \"UP\"");
//   if (!ready.ok()) return ready.status();
//   if (!ready->Holds(document)) detail = ready->Found(document);
//
// | expression                    | holds if                                 |
// | ----------------------------- | ---------------------------------------- |
// | `.a.b`                        | it exists, even if it is null            |
// | `.a == V`, `.a != V`          | it is, or is not, V: "text" in quotes, a |
// |                               | number, true, false or null              |
// | `.a < 3`, `<=`, `>`, `>=`     | it is a number, and compares so          |
//
// A missing value equals null, and no other comparison with it holds:
// `.state != "STARTING"` waits until there is a state. A path consists of
// `.name`, `."any name"`, `["any name"]` and `[0]`. `.` is the document, which
// an index may follow: `.[0]`.

#ifndef WAITER_CLI_PROBES_HTTP_JSON_PATH_H_
#define WAITER_CLI_PROBES_HTTP_JSON_PATH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// Immutable; safe to share between threads.
class JsonPath {
 public:
  // Parses `text`. kInvalidArgument names the error and its character, counted
  // from 1.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  bool Holds(const nlohmann::json& document) const;

  // Returns the value of the expression, for users to read: the text of a
  // string, otherwise JSON in one line. A missing value is null.
  std::string Value(const nlohmann::json& document) const;

  // Describes the value at the path in a few words: `.status is "STARTING"`,
  // `no .status`.
  std::string Found(const nlohmann::json& document) const;

 private:
  enum class Operator : uint8_t {
    kExists,
    kEqual,
    kNotEqual,
    kLess,
    kAtMost,
    kMore,
    kAtLeast,
  };
  using Scalar = std::variant<std::nullptr_t, bool, double, std::string>;
  using Step = std::variant<std::string, size_t>;  // A member, or an element.

  class Parser;

  // Returns nothing for an array or an object.
  static std::optional<Scalar> ScalarOf(const nlohmann::json& value);

  JsonPath() = default;

  // Returns null if there is no such value.
  const nlohmann::json* Find(const nlohmann::json& document) const;

  std::string path_;  // The path as written.
  std::vector<Step> steps_;
  Operator operator_ = Operator::kExists;
  Scalar operand_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_JSON_PATH_H_
