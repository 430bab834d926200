// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The dialects whose state is more than a word: objects of Kubernetes, and runs
// of GitHub.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/http_dialect.h"
#include "waiter/interop/internal/http_operation.h"
#include "waiter/interop/json_view.h"

namespace waiter::internal {
namespace {

using StateKind = OperationState::Kind;

int64_t NumberAt(const JsonView& body, std::string_view path,
                 int64_t otherwise) {
  int64_t number = otherwise;
  const std::string text = body.Text(path);
  return absl::SimpleAtoi(text, &number) ? number : otherwise;
}

// The conditions of an object that are not older than its specification.
class Conditions {
 public:
  explicit Conditions(const JsonView& object)
      : generation_(NumberAt(object, "metadata.generation", 0)),
        conditions_(object.Elements("status.conditions")) {}

  // Whether the condition `type` has the status `status`.
  bool Holds(std::string_view type, std::string_view status = "True") const {
    return Find(type, status) != nullptr;
  }

  bool Has(std::string_view type) const {
    return std::any_of(
        conditions_.begin(), conditions_.end(),
        [&](const JsonView& each) { return each.Word("type") == type; });
  }

  bool empty() const { return conditions_.empty(); }

  // Returns "Ready is False, ContainersNotReady: message".
  std::string Text(std::string_view type) const {
    for (const JsonView& each : conditions_) {
      if (each.Word("type") != type) continue;
      std::string text =
          absl::StrCat(ToAbsl(type), " is ", ShownState(each.Word("status")));
      const std::string reason = each.Word("reason");
      const std::string message = each.Word("message");
      if (!reason.empty()) absl::StrAppend(&text, ", ", ShownState(reason));
      if (!message.empty()) absl::StrAppend(&text, ": ", ShownState(message));
      return text;
    }
    return absl::StrCat("no condition ", ShownState(type));
  }

  const JsonView* Find(std::string_view type, std::string_view status) const {
    for (const JsonView& each : conditions_) {
      if (each.Word("type") != type || each.Word("status") != status) continue;
      const int64_t seen = NumberAt(each, "observedGeneration", generation_);
      if (seen >= generation_) return &each;
    }
    return nullptr;
  }

 private:
  const int64_t generation_;
  const std::vector<JsonView> conditions_;
};

OperationState Make(StateKind kind, std::string text) {
  return {.kind = kind, .text = std::move(text), .has_word = true};
}

// Replicas, as the kind of an object names them.
struct Replicas {
  int64_t wanted;
  int64_t updated;
  int64_t available;
  int64_t all;
};

Replicas ReplicasOf(const JsonView& object, std::string_view kind) {
  const JsonView status(object.Find("status").value_or("{}"));
  if (kind == "DaemonSet") {
    const int64_t wanted = NumberAt(status, "desiredNumberScheduled", 0);
    return {.wanted = wanted,
            .updated = NumberAt(status, "updatedNumberScheduled", 0),
            .available = NumberAt(status, "numberAvailable", 0),
            .all = wanted};
  }
  const int64_t all = NumberAt(status, "replicas", 0);
  return {.wanted = NumberAt(object, "spec.replicas", 1),
          // A ReplicaSet has one template, and no such number.
          .updated = kind == "ReplicaSet"
                         ? all
                         : NumberAt(status, "updatedReplicas", 0),
          .available = NumberAt(status, "availableReplicas", 0),
          .all = all};
}

OperationState ReadReplicas(const JsonView& object, std::string_view kind,
                            const Conditions& conditions) {
  const JsonView* const stuck = conditions.Find("Progressing", "False");
  if (stuck != nullptr && stuck->Word("reason") == "ProgressDeadlineExceeded") {
    return Make(StateKind::kFailed, conditions.Text("Progressing"));
  }
  const auto [wanted, updated, available, all] = ReplicasOf(object, kind);
  const std::string text =
      absl::StrCat(updated, " of ", wanted, " replicas updated, ", available,
                   " available, ", all, " in all");
  const bool is_done =
      updated >= wanted && available >= wanted && all <= updated;
  return Make(is_done ? StateKind::kSucceeded : StateKind::kRunning, text);
}

OperationState ReadPod(const JsonView& object, const Conditions& conditions) {
  const std::string phase = object.Word("status.phase");
  if (phase == "Failed") return FailedState(phase, object);
  if (phase == "Succeeded") return SucceededState(phase);
  if (phase == "Running" && conditions.Holds("Ready")) {
    return SucceededState("Running, Ready");
  }
  return RunningState(conditions.Has("Ready")
                          ? absl::StrCat(phase, ", ", conditions.Text("Ready"))
                          : phase);
}

// Reads an object of any other kind by the usual conditions, or by its phase.
OperationState ReadObject(const JsonView& object,
                          const Conditions& conditions) {
  for (const std::string_view type :
       {"Failed", "Stalled", "Degraded", "Denied"}) {
    if (conditions.Holds(type)) {
      return Make(StateKind::kFailed, conditions.Text(type));
    }
  }
  // Tekton and Knative: False is final, Unknown is not.
  if (conditions.Holds("Succeeded", "False")) {
    return Make(StateKind::kFailed, conditions.Text("Succeeded"));
  }
  for (const std::string_view type :
       {"Succeeded", "Complete", "Ready", "Available", "Established"}) {
    if (!conditions.Has(type)) continue;
    return Make(
        conditions.Holds(type) ? StateKind::kSucceeded : StateKind::kRunning,
        conditions.Text(type));
  }
  std::string phase = object.Word("status.phase");
  if (phase.empty()) phase = object.Word("status.operationState.phase");
  if (phase == "Bound" || phase == "Active") return SucceededState(phase);
  return phase.empty() ? RunningState("no conditions yet")
                       : StateOfWord(phase, object);
}

bool HasReplicas(std::string_view kind) {
  return kind == "Deployment" || kind == "StatefulSet" ||
         kind == "ReplicaSet" || kind == "DaemonSet";
}

// Returns whether the decimal number `a` is greater than `b`.
bool IsGreater(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

OperationState ReadRun(const JsonView& run) {
  const std::string status = run.Word("status");
  const std::string conclusion = run.Word("conclusion");
  if (status != "completed" || conclusion.empty()) return RunningState(status);
  const std::string text = absl::StrCat(status, ", ", conclusion);
  if (conclusion == "success" || conclusion == "neutral" ||
      conclusion == "skipped") {
    return SucceededState(text);
  }
  const std::string name = run.Word("name");
  OperationState state = FailedState(
      name.empty() ? text : absl::StrCat(name, ": ", text), JsonView(""));
  const std::string title = run.Word("output.title");
  if (!title.empty()) absl::StrAppend(&state.text, ", ", ShownState(title));
  if (conclusion == "cancelled") state.code = absl::StatusCode::kCancelled;
  return state;
}

// Returns whether `a` ended after `b` or, for runs without a time, is newer.
bool IsLater(const JsonView& a, const JsonView& b) {
  for (const std::string_view time : {"completed_at", "updated_at"}) {
    // Times in UTC, in one form.
    const std::string of_a = a.Word(time);
    const std::string of_b = b.Word(time);
    if (of_a != of_b && !of_a.empty() && !of_b.empty()) return of_a > of_b;
  }
  return IsGreater(a.Text("id"), b.Text("id"));
}

// The runs that have one name.
struct NamedRuns {
  const JsonView* last = nullptr;  // The one that ended last.
  const JsonView* busy = nullptr;  // One that runs; null if there is none.
};

// Once all runs of a name have ended, the last one to end counts: a failed run
// may be repeated, and services publish several.
OperationState ReadRuns(const JsonView& body, std::string_view list) {
  const std::vector<JsonView> runs = body.Elements(list);
  const int64_t total =
      NumberAt(body, "total_count", static_cast<int64_t>(runs.size()));
  if (total > static_cast<int64_t>(runs.size())) {
    return FailedState(
        absl::StrCat("the answer lists ", runs.size(), " of ", total,
                     " runs; add per_page=100 to the URL"),
        JsonView(""));
  }
  if (runs.empty()) return RunningState("no runs yet");
  std::map<std::string, NamedRuns> by_name;
  for (const JsonView& run : runs) {
    NamedRuns& known =
        by_name[absl::StrCat(run.Text("workflow_id"), " ", run.Word("name"))];
    if (ReadRun(run).kind == StateKind::kRunning) {
      known.busy = &run;
    } else if (known.last == nullptr || IsLater(run, *known.last)) {
      known.last = &run;
    }
  }
  std::string busy;
  for (const auto& [name, named] : by_name) {
    if (named.busy != nullptr) {
      busy = absl::StrCat(named.busy->Word("name"), ": ",
                          named.busy->Word("status"));
      continue;
    }
    OperationState state = ReadRun(*named.last);
    if (state.kind == StateKind::kFailed) return state;
  }
  if (!busy.empty()) return RunningState(busy);
  return SucceededState(absl::StrCat(by_name.size(), " runs completed"));
}

}  // namespace

OperationState ReadKubernetes(const HttpDialect& dialect,
                              const JsonView& body) {
  const std::string kind = body.Word("kind");
  if (kind == "Status") {
    return body.Word("status") == "Success" ? SucceededState("Success")
                                            : FailedState("Failure", body);
  }
  const int64_t generation = NumberAt(body, "metadata.generation", 0);
  const int64_t observed =
      NumberAt(body, "status.observedGeneration", generation);
  if (observed < generation) {
    return RunningState(absl::StrCat("observedGeneration ", observed,
                                     " is older than generation ", generation));
  }
  if (!body.Text("metadata.deletionTimestamp").empty()) {
    return RunningState("being deleted");
  }
  const Conditions conditions(body);
  if (!dialect.word.empty()) {
    return Make(conditions.Holds(dialect.word) ? StateKind::kSucceeded
                                               : StateKind::kRunning,
                conditions.Text(dialect.word));
  }
  // Before the controller has seen a new object, there is no status at all.
  if (HasReplicas(kind)) {
    return body.Has("status.observedGeneration")
               ? ReadReplicas(body, kind, conditions)
               : RunningState("no status yet");
  }
  if (kind == "Pod") return ReadPod(body, conditions);
  return ReadObject(body, conditions);
}

OperationState ReadGitHub(const JsonView& body) {
  for (const std::string_view list : {"check_runs", "workflow_runs"}) {
    if (body.IsArray(list)) return ReadRuns(body, list);
  }
  return ReadRun(body);
}

}  // namespace waiter::internal
