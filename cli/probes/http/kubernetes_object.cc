// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/kubernetes_object.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_verdict.h"
#include "cli/probes/probe.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Longest text from outside that a detail shows, in bytes.
constexpr size_t kLongestKubernetesText = 200;

struct Kind {
  std::string_view plural;
  std::string_view singular;
  std::string_view short_name;
  std::string_view api;
  std::string_view condition;  // The usual one; empty if none.
  bool is_namespaced = true;
};

constexpr std::array<Kind, 11> kKinds = {{
    {"pods", "pod", "po", "/api/v1", "Ready"},
    {"nodes", "node", "no", "/api/v1", "Ready", false},
    {"deployments", "deployment", "deploy", "/apis/apps/v1", "Available"},
    {"replicasets", "replicaset", "rs", "/apis/apps/v1", ""},
    {"statefulsets", "statefulset", "sts", "/apis/apps/v1", ""},
    {"daemonsets", "daemonset", "ds", "/apis/apps/v1", ""},
    {"jobs", "job", "job", "/apis/batch/v1", "Complete"},
    {"services", "service", "svc", "/api/v1", ""},
    {"persistentvolumeclaims", "persistentvolumeclaim", "pvc", "/api/v1", ""},
    {"apiservices", "apiservice", "apiservice",
     "/apis/apiregistration.k8s.io/v1", "Available", false},
    {"customresourcedefinitions", "customresourcedefinition", "crd",
     "/apis/apiextensions.k8s.io/v1", "Established", false},
}};

bool IsLabelOfName(std::string_view text) {
  const auto is_alnum = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alnum(c) || c == '-'; });
}

// Reads PLURAL.VERSION.GROUP.
bool ReadQualifiedKind(std::string_view text, KubernetesObject& object) {
  const std::vector<std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('.', 2));
  if (parts.size() < 3 || !IsLabelOfName(parts[0]) ||
      !IsLabelOfName(parts[1]) || !IsKubernetesName(parts[2])) {
    return false;
  }
  object.plural = std::string(parts[0]);
  object.api = absl::StrCat("/apis/", parts[2], "/", parts[1]);
  return true;
}

const nlohmann::json* ConditionOf(const nlohmann::json& body,
                                  std::string_view type) {
  const nlohmann::json* const status = FindMember(body, "status");
  const nlohmann::json* const conditions =
      status == nullptr ? nullptr : FindMember(*status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  const auto found = std::find_if(
      conditions->begin(), conditions->end(), [&](const auto& condition) {
        const std::string* const known = FindString(condition, "type");
        return known != nullptr && absl::EqualsIgnoreCase(*known, type);
      });
  return found == conditions->end() ? nullptr : &*found;
}

std::string ShortTextOf(const nlohmann::json& object, std::string_view name) {
  return Shortened(TextOf(object, name), kLongestKubernetesText);
}

// Returns whether the controller has not yet seen the object as it is now.
bool IsOutdated(const nlohmann::json& body) {
  const nlohmann::json* const metadata = FindMember(body, "metadata");
  const nlohmann::json* const status = FindMember(body, "status");
  if (metadata == nullptr || status == nullptr) return false;
  const auto observed = FindNumber(*status, "observedGeneration");
  const auto generation = FindNumber(*metadata, "generation");
  return observed.has_value() && generation.has_value() &&
         *observed < *generation;
}

// Returns why the condition can no longer become true; empty if it can.
std::string WhyNever(const KubernetesObject& object,
                     const nlohmann::json& body) {
  if (!absl::EqualsIgnoreCase(object.status, "true")) return "";
  if (object.plural == "pods") {
    const nlohmann::json* const status = FindMember(body, "status");
    const std::string phase =
        status == nullptr ? "" : ShortTextOf(*status, "phase");
    return phase == "Failed" || phase == "Succeeded"
               ? absl::StrCat("the pod has ended: ", phase)
               : "";
  }
  if (object.plural == "jobs" &&
      !absl::EqualsIgnoreCase(object.condition, "failed")) {
    const nlohmann::json* const failed = ConditionOf(body, "Failed");
    return failed != nullptr && ShortTextOf(*failed, "status") == "True"
               ? absl::StrCat("the job has failed: ",
                              ShortTextOf(*failed, "message"))
               : "";
  }
  return "";
}

// Judges a pod whose containers should exit with 0, which is a phase and no
// condition.
Finding JudgePhase(const nlohmann::json& body) {
  const nlohmann::json* const status = FindMember(body, "status");
  const std::string phase =
      status == nullptr ? "" : ShortTextOf(*status, "phase");
  std::string detail = absl::StrCat("the pod's phase is ", phase);
  if (phase == "Succeeded") {
    return {.status = PollStatus::kSuccess, .detail = std::move(detail)};
  }
  return {
      .status = phase == "Failed" ? PollStatus::kFailed : PollStatus::kNotReady,
      .detail = std::move(detail),
      .unmet = true};
}

Finding JudgeBody(const KubernetesObject& object, const nlohmann::json& body) {
  if (object.plural == "pods" &&
      absl::EqualsIgnoreCase(object.condition, "succeeded")) {
    return JudgePhase(body);
  }
  const nlohmann::json* const found = ConditionOf(body, object.condition);
  const std::string status =
      found == nullptr ? "" : ShortTextOf(*found, "status");
  std::string detail =
      found == nullptr
          ? absl::StrCat("no condition ", object.condition, " yet")
          : absl::StrCat(ShortTextOf(*found, "type"), " is ", status);
  if (IsOutdated(body)) {
    return {.detail =
                absl::StrCat(detail, ", for an older generation of the object"),
            .unmet = true};
  }
  if (absl::EqualsIgnoreCase(status, object.status)) {
    return {.status = PollStatus::kSuccess, .detail = std::move(detail)};
  }
  if (std::string never = WhyNever(object, body); !never.empty()) {
    return {.status = PollStatus::kFailed, .detail = std::move(never)};
  }
  for (const std::string_view member : {"reason", "message"}) {
    const std::string text =
        found == nullptr ? "" : ShortTextOf(*found, std::string(member));
    if (!text.empty()) absl::StrAppend(&detail, ": ", text);
  }
  return {.detail = std::move(detail), .unmet = true};
}

}  // namespace

bool IsKubernetesName(std::string_view text) {
  constexpr size_t kLongest = 253;
  const std::vector<std::string_view> labels = absl::StrSplit(text, '.');
  return text.size() <= kLongest &&
         std::all_of(labels.begin(), labels.end(), IsLabelOfName);
}

absl::StatusOr<KubernetesObject> KubernetesObject::Parse(
    std::string_view kind_and_name, std::string_view condition) {
  const std::vector<std::string_view> parts =
      absl::StrSplit(kind_and_name, absl::MaxSplits('/', 1));
  if (parts.size() < 2 || !IsKubernetesName(parts[1])) {
    return absl::InvalidArgumentError("it must be KIND/NAME");
  }
  KubernetesObject object;
  object.name = std::string(parts[1]);
  const std::string kind = absl::AsciiStrToLower(parts[0]);
  const auto* const known =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& row) {
        return kind == row.plural || kind == row.singular ||
               kind == row.short_name;
      });
  if (known != kKinds.end()) {
    object.api = std::string(known->api);
    object.plural = std::string(known->plural);
    object.is_namespaced = known->is_namespaced;
    if (condition.empty()) condition = known->condition;
  } else if (!ReadQualifiedKind(kind, object)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown kind ", parts[0], ", only ",
                     absl::StrJoin(kKinds, ", ",
                                   [](std::string* out, const Kind& row) {
                                     absl::StrAppend(out, row.singular);
                                   }),
                     " and PLURAL.VERSION.GROUP are known"));
  }
  if (condition.empty()) {
    return absl::InvalidArgumentError(
        "this kind has no default condition; name one, as in ?condition=Ready");
  }
  const std::vector<std::string_view> wanted =
      absl::StrSplit(condition, absl::MaxSplits('=', 1));
  object.condition = std::string(wanted[0]);
  object.status = wanted.size() == 2 ? std::string(wanted[1]) : "True";
  return object;
}

std::string KubernetesObject::Path(std::string_view namespace_name) const {
  return absl::StrCat(
      api, is_namespaced ? absl::StrCat("/namespaces/", namespace_name) : "",
      "/", plural, "/", name);
}

Finding JudgeKubernetesObject(const KubernetesObject& object,
                              const HttpAnswer& answer, absl::Time now) {
  const bool is_answer = answer.error == HttpAnswer::Error::kNone;
  const bool has_body =
      is_answer && (answer.status == 200 || answer.status == 401 ||
                    answer.status == 403 || answer.status == 404);
  if (!has_body) return JudgeHttp(HttpOptions(), answer, now);
  const absl::StatusOr<nlohmann::json> body = ParseJson(answer.body);
  if (!body.ok() || FindString(*body, "kind") == nullptr) {
    return {.status = PollStatus::kServerError,
            .detail = absl::StrCat("HTTP ", answer.status,
                                   ", but not a response from an API server"),
            .hint = "is this the address of the API server?"};
  }
  if (answer.status == 200) return JudgeBody(object, *body);
  const std::string message = ShortTextOf(*body, "message");
  if (answer.status == 404) {
    return {.detail = message.empty() ? "not found" : message, .absent = true};
  }
  return {.status = PollStatus::kFailed,
          .detail = absl::StrCat("HTTP ", answer.status, ": ", message),
          .hint = answer.status == 403
                      ? "this user is not allowed to get the object"
                      : "the credentials are not accepted"};
}

}  // namespace waiter::cli
