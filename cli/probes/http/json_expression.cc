// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/json_expression.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/probes/http/jq_program.h"
#include "cli/probes/http/json_path.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

// Largest part of a text from outside that a detail shows, in bytes.
constexpr size_t kLongestFound = 60;

// Returns whether `text` has a "=" that assigns, outside of strings.
bool Assigns(std::string_view text) {
  bool is_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_string = !is_string;
    } else if (text[i] == '=' && !is_string) {
      const char before = i == 0 ? ' ' : text[i - 1];
      const bool compares = before == '!' || before == '<' || before == '>';
      if (text.substr(i, 2) == "==") {
        ++i;
      } else if (!compares) {
        return true;
      }
    }
  }
  return false;
}

std::string PlainText(const std::string& json) {
  const absl::StatusOr<nlohmann::json> value = ParseJson(json);
  const auto* const text =
      value.ok() ? value->get_ptr<const std::string*>() : nullptr;
  return text == nullptr ? json : *text;
}

JsonExpression::Result ResultOf(std::string_view expression,
                                const JqProgram::Result& run) {
  if (!run.status.ok()) {
    return {.found = absl::StrCat(
                Shortened(expression, kLongestFound), ": ",
                Shortened(std::string(run.status.message()), kLongestFound)),
            .status = run.status};
  }
  return {.holds = !run.values.empty() &&
                   std::none_of(run.values.begin(), run.values.end(),
                                [](const std::string& value) {
                                  return value == "false" || value == "null";
                                }),
          .found = absl::StrCat(
              Shortened(expression, kLongestFound), " is ",
              run.values.empty()
                  ? "nothing"
                  : Shortened(absl::StrJoin(run.values, ", "), kLongestFound)),
          .value = absl::StrJoin(run.values, "\n",
                                 [](std::string* out, const std::string& json) {
                                   absl::StrAppend(out, PlainText(json));
                                 })};
}

}  // namespace

JsonExpression::JsonExpression(std::string text,
                               std::variant<JsonPath, JqProgram> parsed)
    : text_(std::move(text)), parsed_(std::move(parsed)) {}

absl::StatusOr<JsonExpression> JsonExpression::Parse(std::string_view text) {
  absl::StatusOr<JsonPath> path = JsonPath::Parse(text);
  if (path.ok()) return JsonExpression(std::string(text), *std::move(path));
  if (Assigns(text)) return path.status();
  absl::StatusOr<JqProgram> program = JqProgram::Parse(text);
  if (program.ok()) {
    return JsonExpression(std::string(text), *std::move(program));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path.status().message(), "; as jq: ", program.status().message()));
}

JsonExpression::Result JsonExpression::Evaluate(const nlohmann::json& document,
                                                std::string_view json) const {
  if (const auto* const path = std::get_if<JsonPath>(&parsed_)) {
    return {.holds = path->Holds(document),
            .found = path->Found(document),
            .value = path->Value(document)};
  }
  return ResultOf(text_, std::get<JqProgram>(parsed_).Run(json));
}

}  // namespace waiter::cli
