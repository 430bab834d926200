// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/mcp/wait_request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/schemes/schemes.h"
#include "cli/probes/target.h"
#include "cli/text/duration_text.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostTargets = 100;
constexpr size_t kMostValues = 20;
constexpr size_t kLongestValue = 4096;

enum class Type : uint8_t { kText, kTexts, kSwitch, kCount };

// An argument that becomes a flag of `waiter`.
struct Argument {
  std::string_view name;
  std::string_view flag;
  Type type;
  std::string_view help;
  bool is_expression = false;  // In jq.
};

constexpr auto kArguments = std::to_array<Argument>({
    {"timeout", "timeout", Type::kText,
     "Time limit of the whole wait, such as 10m. Default 1m."},
    {"any", "any", Type::kSwitch, "One ready target is enough."},
    {"at_least", "at-least", Type::kCount,
     "This many ready targets are enough."},
    {"gone", "gone", Type::kSwitch, "Wait until the targets are gone."},
    {"every", "every", Type::kText,
     "Fixed delay between polls, such as 10s. By default polls come every "
     "second, later less often."},
    {"hold", "hold", Type::kText, "How long a target must stay ready."},
    {"json", "json", Type::kTexts,
     "Conditions (jq) that the JSON of an HTTP target must meet, such as "
     ".status == \"DONE\".",
     true},
    {"body_regex", "body-regex", Type::kText,
     "A regular expression that the body of an HTTP target must match."},
    {"status", "status", Type::kText,
     "The HTTP status codes that mean ready, such as 200,404 or 200-299."},
    {"fail_json", "fail-json", Type::kTexts,
     "Conditions (jq) that end the wait as failed, such as .status == "
     "\"FAILED\".",
     true},
    {"fail_status", "fail-status", Type::kText,
     "The HTTP status codes that end the wait as failed."},
    {"fail_body_regex", "fail-body-regex", Type::kTexts,
     "Regular expressions whose match ends the wait as failed."},
    {"max_errors", "max-errors", Type::kCount,
     "How many errors per target to tolerate."},
});

absl::Status Invalid(const absl::AlphaNum& what) {
  return absl::InvalidArgumentError(what.Piece());
}

// Returns whether an expression of jq contains one of the names that read
// something outside of the answer. `.env` is a member of the answer.
bool ReadsMoreThanTheAnswer(std::string_view expression) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "env", "ENV", "import", "include", "input", "inputs", "modulemeta"};
  size_t i = 0;
  while (i < expression.size()) {
    const size_t begin = i;
    while (i < expression.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(expression[i])) ||
            expression[i] == '_')) {
      ++i;
    }
    const std::string_view word = expression.substr(begin, i - begin);
    const bool is_member = begin > 0 && expression[begin - 1] == '.';
    if (!is_member &&
        std::find(kNames.begin(), kNames.end(), word) != kNames.end()) {
      return true;
    }
    if (i == begin) ++i;
  }
  return false;
}

absl::Status AddText(const Argument& argument, const nlohmann::json& value,
                     std::vector<std::string>& args) {
  const auto* const text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() > kLongestValue) {
    return Invalid(absl::StrCat(argument.name,
                                ": it must be a string of up to ",
                                kLongestValue, " bytes"));
  }
  if (argument.is_expression && ReadsMoreThanTheAnswer(*text)) {
    return Invalid(absl::StrCat(
        argument.name,
        ": it must not use env, $ENV, import, include, input, inputs or "
        "modulemeta"));
  }
  args.push_back(absl::StrCat("--", argument.flag, "=", *text));
  return absl::OkStatus();
}

absl::Status AddTexts(const Argument& argument, const nlohmann::json& value,
                      std::vector<std::string>& args) {
  if (value.is_string()) return AddText(argument, value, args);
  if (!value.is_array() || value.size() > kMostValues) {
    return Invalid(absl::StrCat(argument.name,
                                ": it must be a string or up to ", kMostValues,
                                " strings"));
  }
  for (const nlohmann::json& each : value) {
    if (absl::Status status = AddText(argument, each, args); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status AddArgument(const Argument& argument, const nlohmann::json& value,
                         std::vector<std::string>& args) {
  switch (argument.type) {
    case Type::kText:
      return AddText(argument, value, args);
    case Type::kTexts:
      return AddTexts(argument, value, args);
    case Type::kSwitch:
      if (!value.is_boolean()) {
        return Invalid(
            absl::StrCat(argument.name, ": it must be true or false"));
      }
      if (value == true) args.push_back(absl::StrCat("--", argument.flag));
      return absl::OkStatus();
    case Type::kCount:
      break;
  }
  if (!value.is_number_unsigned()) {
    return Invalid(absl::StrCat(argument.name, ": it must be a whole number"));
  }
  args.push_back(absl::StrCat("--", argument.flag, "=", value.dump()));
  return absl::OkStatus();
}

absl::Status AddTargets(const nlohmann::json& arguments,
                        const AllowedTargets& allowed,
                        std::vector<std::string>& args) {
  const nlohmann::json* const targets = FindMember(arguments, "targets");
  if (targets == nullptr || !targets->is_array() || targets->empty() ||
      targets->size() > kMostTargets) {
    return Invalid(
        absl::StrCat("targets: give 1 to ", kMostTargets,
                     " targets, such as [\"http://localhost:8080/ready\"]"));
  }
  for (const nlohmann::json& each : *targets) {
    const auto* const text = each.get_ptr<const std::string*>();
    if (text == nullptr) return Invalid("targets: each must be a string");
    if (absl::Status status = allowed.Check(*text); !status.ok()) {
      return status;
    }
    args.push_back(*text);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AllowedTargets::Add(std::string_view schemes) {
  for (const auto name : absl::StrSplit(schemes, ',')) {
    const Scheme* const scheme = FindScheme(absl::StrCat(name, ":"));
    if (scheme == nullptr) {
      return Invalid(
          absl::StrCat("no scheme is called ", Printable(std::string(name)),
                       "; give a list of schemes, such as http,tcp"));
    }
    schemes_.emplace_back(scheme->name);
  }
  return absl::OkStatus();
}

absl::Status AllowedTargets::Check(std::string_view target) const {
  // The command line would take it for a flag.
  if (target.substr(0, 1) == "-") {
    return Invalid("targets: a target must not begin with -");
  }
  const absl::StatusOr<Target> parsed = ParseTarget(target);
  if (!parsed.ok()) return parsed.status();
  const std::string_view name = parsed->scheme->name;
  for (const std::string& scheme : schemes_) {
    if (name == scheme || name == absl::StrCat(scheme, "s")) {
      return absl::OkStatus();
    }
  }
  return Invalid(
      absl::StrCat("targets: ", name,
                   " is not allowed; to allow it, start this server with "
                   "--allow=",
                   name));
}

absl::StatusOr<absl::Duration> ParseSlice(const nlohmann::json& arguments) {
  const nlohmann::json* const member = FindMember(arguments, "slice");
  if (member == nullptr) return kDefaultSlice;
  const auto* const text = member->get_ptr<const std::string*>();
  if (text == nullptr) {
    return Invalid("slice: it must be a string, such as 25s");
  }
  const absl::StatusOr<absl::Duration> slice = ParseDurationText(*text);
  if (!slice.ok()) {
    return Invalid(absl::StrCat("slice: ", slice.status().message()));
  }
  if (*slice > kLongestSlice) {
    return Invalid(absl::StrCat("slice: it must be at most ",
                                absl::FormatDuration(kLongestSlice)));
  }
  return slice;
}

absl::StatusOr<WaitRequest> ParseWaitRequest(const nlohmann::json& arguments,
                                             const AllowedTargets& allowed) {
  if (!arguments.is_object()) return Invalid("the arguments must be an object");
  absl::StatusOr<absl::Duration> slice = ParseSlice(arguments);
  if (!slice.ok()) return slice.status();
  WaitRequest request = {.args = {}, .slice = *slice};
  for (const auto& [name, value] : arguments.items()) {
    if (name == "targets" || name == "slice") continue;
    const auto* const argument =
        std::find_if(kArguments.begin(), kArguments.end(),
                     [&](const Argument& known) { return known.name == name; });
    if (argument == kArguments.end()) {
      return Invalid(absl::StrCat("unknown argument ", Printable(name)));
    }
    absl::Status status = AddArgument(*argument, value, request.args);
    if (!status.ok()) return status;
  }
  absl::Status status = AddTargets(arguments, allowed, request.args);
  if (!status.ok()) return status;
  return request;
}

Json WaitRequestSchema() {
  Json properties = {
      {"targets",
       {{"type", "array"},
        {"items", {{"type", "string"}}},
        {"minItems", 1},
        {"maxItems", kMostTargets},
        {"description",
         "What to wait for: http://HOST/PATH, tcp://HOST:PORT, "
         "postgres://HOST, file:PATH and so on, each with LABEL= before it "
         "if it needs a name."}}},
      {"slice",
       {{"type", "string"},
        {"description",
         "How long this call may take, such as 25s. The wait continues after "
         "it; call wait_status."}}}};
  for (const Argument& argument : kArguments) {
    Json schema = Json::object();
    switch (argument.type) {
      case Type::kText:
        schema["type"] = "string";
        break;
      case Type::kTexts:
        schema["type"] = "array";
        schema["items"] = {{"type", "string"}};
        break;
      case Type::kSwitch:
        schema["type"] = "boolean";
        break;
      case Type::kCount:
        schema["type"] = "integer";
        break;
    }
    schema["description"] = argument.help;
    properties[std::string(argument.name)] = std::move(schema);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"targets"}},
          {"additionalProperties", false}};
}

}  // namespace waiter::cli
