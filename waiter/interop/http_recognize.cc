// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/http_dialect.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/http_operation.h"
#include "waiter/interop/json_view.h"

namespace waiter::internal {
namespace {

using Kind = HttpDialect::Kind;

RecognizedDialect Take(Kind kind, std::string reason) {
  return {.dialect = {.kind = kind}, .reason = std::move(reason)};
}

RecognizedDialect OfGoogle(const JsonView& body) {
  const std::string name = body.Word("name");
  const bool has_name = absl::StrContains(name, "operations/");
  if (body.IsBool("done") &&
      (!name.empty() || body.Has("response") || body.Has("error"))) {
    return Take(Kind::kGoogle, "member done");
  }
  // JSON of protocol buffers leaves out `false`.
  if (has_name && (!body.Has("status") && !body.Has("state"))) {
    return Take(Kind::kGoogle, "name of an operation");
  }
  return {};
}

RecognizedDialect OfObject(const JsonView& body) {
  const std::string object = body.Word("object");
  if (object.empty() || body.Word("status").empty()) return {};
  if (body.IsBool("livemode")) return Take(Kind::kStripe, "member livemode");
  for (const std::string_view known :
       {"batch", "fine_tuning.job", "response", "thread.run", "vector_store",
        "video", "upload", "eval.run"}) {
    if (object == known) {
      return Take(Kind::kOpenAi, absl::StrCat("object ", object));
    }
  }
  return {};
}

// Recognizes a body by members that no other dialect has.
RecognizedDialect OfBody(const JsonView& body) {
  if (!body.IsObject("")) return {};
  const std::string kind = body.Word("kind");
  if (absl::EndsWith(kind, "#operation")) {
    return Take(Kind::kCompute, absl::StrCat("kind ", ShownState(kind)));
  }
  if (absl::EndsWith(kind, "#job") && body.IsObject("status")) {
    return Take(Kind::kBigQuery, absl::StrCat("kind ", ShownState(kind)));
  }
  if (!kind.empty() && !body.Word("apiVersion").empty()) {
    return Take(Kind::kKubernetes, absl::StrCat("kind ", ShownState(kind)));
  }
  if (RecognizedDialect found = OfGoogle(body); !found.reason.empty()) {
    return found;
  }
  if (!body.Word("processing_status").empty()) {
    return Take(Kind::kAnthropic, "member processing_status");
  }
  if (RecognizedDialect found = OfObject(body); !found.reason.empty()) {
    return found;
  }
  for (const std::string_view list : {"check_runs", "workflow_runs"}) {
    if (body.IsArray(list)) {
      return Take(Kind::kGitHub, absl::StrCat("member ", ToAbsl(list)));
    }
  }
  if (body.Has("conclusion") && !body.Word("status").empty()) {
    return Take(Kind::kGitHub, "member conclusion");
  }
  if (body.IsBool("building") && body.Has("result")) {
    return Take(Kind::kJenkins, "member building");
  }
  const std::array<std::pair<std::string_view, Kind>, 4> members = {{
      {"dag_run_id", Kind::kAirflow},
      {"state.life_cycle_state", Kind::kDatabricks},
      {"TaskState", Kind::kRedfish},
      {"properties.provisioningState", Kind::kAzure},
  }};
  for (const auto& [member, dialect] : members) {
    if (body.Has(member)) {
      return Take(dialect, absl::StrCat("member ", ToAbsl(member)));
    }
  }
  if (body.IsBool("completed") && body.Has("task")) {
    return Take(Kind::kElasticsearch, "members completed and task");
  }
  if (body.Has("provisioningState")) {
    return Take(Kind::kAzure, "member provisioningState");
  }
  return {};
}

bool IsOfAzure(const HttpResponse& response) {
  constexpr std::array<std::string_view, 3> kNames = {
      "x-ms-request-id", "x-ms-correlation-request-id", "apim-request-id"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return !response.header(name).empty();
  });
}

}  // namespace

RecognizedDialect RecognizeDialect(const HttpResponse& response,
                                   const JsonView& body) {
  for (const std::string_view name :
       {"Operation-Location", "Azure-AsyncOperation"}) {
    if (!response.header(name).empty()) {
      return Take(Kind::kAzure, absl::StrCat("header ", ToAbsl(name)));
    }
  }
  if (RecognizedDialect found = OfBody(body); !found.reason.empty()) {
    return found;
  }
  const bool has_location = !response.header("Location").empty();
  const OperationState state =
      ReadState({.kind = Kind::kState}, body, /*is_monitor=*/false);
  const bool has_state = state.kind != OperationState::Kind::kNone;
  if (IsOfAzure(response) &&
      (has_state || (has_location && response.status == 202))) {
    return Take(Kind::kAzure, "header x-ms-request-id");
  }
  if (!response.header("Stripe-Version").empty() && has_state) {
    return Take(Kind::kStripe, "header Stripe-Version");
  }
  if (response.status == 202 && (has_location || !has_state)) {
    return Take(Kind::kAccepted, "HTTP 202");
  }
  if (has_state) return Take(Kind::kState, "a word for the state");
  return {};
}

}  // namespace waiter::internal
