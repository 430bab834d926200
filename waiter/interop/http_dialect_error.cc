// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The error in the body of an answer about an operation.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "waiter/interop/http_dialect.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/json_text.h"
#include "waiter/interop/json_view.h"
#include "waiter/interop/printable.h"

namespace waiter::internal {
namespace {

constexpr size_t kMaxCode = 80;
constexpr size_t kMaxShownError = 300;

// A path without a member.
constexpr std::string_view kNoMember = "\n";

// Objects, or lists of them, that are errors.
constexpr std::array<std::string_view, 10> kPlaces = {
    "error",
    "properties.error",
    "status.errorResult",
    "last_payment_error",
    "Error",
    "status.termination_details",
    "lastError",
    "failure",
    "errorInfo",
    "state.error"};

// Lists of errors, which also may be texts.
constexpr std::array<std::string_view, 5> kLists = {
    "errors", "errors.data", "response.failures", "Messages", "failures"};

// Codes and messages among the other members.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10>
    kMembers = {{{"failure_code", "failure_message"},
                 {"state.result_state", "state.state_message"},
                 {"status.reason", "status.message"},
                 {kNoMember, "failureReason"},
                 {kNoMember, "failure_reason"},
                 {kNoMember, "errorMessage"},
                 {kNoMember, "error_message"},
                 {kNoMember, "statusReason"},
                 {kNoMember, "StatusReason"},
                 {"error", "cause"}}};

// Returns "CODE: MESSAGE" of two members.
std::string ErrorAt(const JsonView& body, std::string_view code,
                    std::string_view message) {
  std::string code_text = PrintableAscii(body.Text(code), kMaxCode);
  const std::string text = body.Word(message);
  const std::string line = PrintableAscii(
      text.substr(0, text.find_first_of("\r\n")), kMaxShownError - kMaxCode);
  if (line.empty()) return code_text;
  return code_text.empty() ? line : absl::StrCat(code_text, ": ", line);
}

// Returns the first of `paths` at which there is a word.
std::string_view FirstWord(const JsonView& body,
                           std::span<const std::string_view> paths) {
  for (const std::string_view path : paths) {
    if (!body.Word(path).empty()) return path;
  }
  return {};
}

std::string ErrorOf(const JsonView& error) {
  constexpr std::array<std::string_view, 6> kMessages = {
      "message", "detail", "title", "Message", "cause", "reason"};
  constexpr std::array<std::string_view, 6> kCodes = {
      "code", "reason", "error", "type", "status", "MessageId"};
  const std::string_view message = FirstWord(error, kMessages);
  const std::string_view code = FirstWord(error, kCodes);
  if (!message.empty() && code != message && !code.empty()) {
    return ErrorAt(error, code, message);
  }
  if (message == "reason" && !error.Word("type").empty()) {
    return ErrorAt(error, "type", message);
  }
  if (!message.empty()) return ErrorAt(error, kNoMember, message);
  return PrintableAscii(error.Text("code"), kMaxCode);
}

// Returns the most telling error among nested errors, as
// Azure has them.
std::string DeepestError(JsonView error) {
  constexpr int kMaxDepth = 4;
  std::string text;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (std::string own = ErrorOf(error); !own.empty()) text = std::move(own);
    std::vector<JsonView> inner = error.Elements("details");
    if (inner.empty()) inner = error.Elements("errors");
    if (inner.empty()) break;
    error = inner.front();
  }
  return text;
}

std::string ErrorInPlaces(const JsonView& body) {
  for (const std::string_view place : kPlaces) {
    const std::optional<std::string_view> error = body.Find(place);
    if (!error.has_value()) continue;
    const std::vector<std::string_view> list = JsonElements(*error);
    std::string text =
        DeepestError(JsonView(list.empty() ? *error : list.front()));
    if (!text.empty()) return text;
  }
  return {};
}

std::string ErrorInLists(const JsonView& body) {
  for (const std::string_view list : kLists) {
    const std::vector<JsonView> errors = body.Elements(list);
    if (errors.empty()) continue;
    std::string text = DeepestError(errors.front());
    if (text.empty()) {
      text = PrintableAscii(errors.front().Text(""), kMaxShownError);
    }
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

std::string OperationErrorOf(const JsonView& body) {
  if (std::string text = ErrorInPlaces(body); !text.empty()) return text;
  if (std::string text = ErrorInLists(body); !text.empty()) return text;
  for (const auto& [code, message] : kMembers) {
    if (!body.Word(message).empty()) return ErrorAt(body, code, message);
  }
  const std::optional<std::string_view> all = body.Find("");
  return all.has_value() ? ErrorTextOf(*all) : "";
}

}  // namespace waiter::internal
