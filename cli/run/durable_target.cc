// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/durable_target.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/probes/target.h"
#include "cli/text/printable.h"
#include "waiter/durable/client.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr size_t kLongestKey = 128;

absl::Status Refused(const Target& target, std::string_view why) {
  return absl::InvalidArgumentError(Printable(absl::StrCat(
      target.label == target.text ? std::string()
                                  : absl::StrCat(target.label, "="),
      target.text, ": ", why)));
}

// Polls may come from different workers.
absl::StatusOr<Target> ParsePollable(std::string_view argument) {
  absl::StatusOr<Target> target = ParseTarget(argument);
  if (!target.ok()) return target;
  const auto* const file = std::get_if<FileTarget>(&target->what);
  if (file == nullptr || file->stable == absl::ZeroDuration()) return target;
  return Refused(*target,
                 "durable waits do not support stable=, because workers do not "
                 "remember a file's changes");
}

}  // namespace

absl::StatusOr<DurableRequest> ToDurableRequest(std::string_view argument,
                                                std::string_view key) {
  const absl::StatusOr<Target> target = ParsePollable(argument);
  if (!target.ok()) return target.status();
  const bool has_label = target->label != target->text;
  std::string_view url = argument;
  if (has_label) url.remove_prefix(target->label.size() + 1);
  // The text is without user and password, and has "?..." for a query.
  if (url != target->text) {
    if (!absl::StartsWith(url, absl::StripSuffix(target->text, "?..."))) {
      return Refused(*target,
                     "the store would keep its user and password; leave them "
                     "out");
    }
    if (key.empty() && !has_label) {
      return Refused(*target,
                     "keys omit what follows the ?; give it a label, as in "
                     "LABEL=URL, or --key");
    }
  }
  DurableRequest request = {
      .key = key.empty() ? target->label : std::string(key),
      .args = std::string(argument)};
  if (request.key.size() > kLongestKey) {
    return Refused(*target,
                   absl::StrCat("keys have at most ", kLongestKey,
                                " bytes; give it a label, as in LABEL=URL, or "
                                "--key"));
  }
  return request;
}

absl::StatusOr<Target> DurableTarget(std::string_view key,
                                     std::string_view args, bool allow_exec) {
  absl::StatusOr<Target> target = ParsePollable(args.empty() ? key : args);
  if (target.ok() && target->scheme->name == "exec" && !allow_exec) {
    return Refused(*target, "the worker runs no commands without --allow-exec");
  }
  return target;
}

std::string ResultDetail(const DurableResult& result) {
  if (result.value.ok()) return *result.value;
  absl::string_view message = result.value.status().message();
  if (absl::ConsumePrefix(&message, absl::StrCat(result.key, ": "))) {
    return std::string(message);
  }
  const size_t suffix =
      message.rfind(absl::StrCat("(", result.key, ", after "));
  if (suffix != absl::string_view::npos && absl::EndsWith(message, ")")) {
    message = absl::StripSuffix(message.substr(0, suffix), " ");
  }
  return std::string(message);
}

std::map<std::string, std::optional<std::string>> ResultVariables(
    const DurableResult& result) {
  // Variables cannot contain zero bytes.
  const std::string detail = Printable(ResultDetail(result));
  return {{"WAITER_NAME", result.name},
          {"WAITER_KEY", Printable(result.key)},
          {"WAITER_RESULT", std::string(StopReasonName(result.reason))},
          {"WAITER_DETAIL", detail},
          {"WAITER_IDEMPOTENCY_KEY", Printable(result.idempotency_key)}};
}

}  // namespace waiter::cli
