// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/http_dialect.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/http_operation.h"
#include "waiter/interop/json_text.h"
#include "waiter/interop/json_view.h"
#include "waiter/interop/printable.h"

namespace waiter {
namespace {

using Kind = HttpDialect::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 17> kNames = {{
    {Kind::kAuto, "auto"},
    {Kind::kAccepted, "accepted"},
    {Kind::kAzure, "azure"},
    {Kind::kGoogle, "google"},
    {Kind::kCompute, "compute"},
    {Kind::kBigQuery, "bigquery"},
    {Kind::kKubernetes, "kubernetes"},
    {Kind::kOpenAi, "openai"},
    {Kind::kAnthropic, "anthropic"},
    {Kind::kGitHub, "github"},
    {Kind::kStripe, "stripe"},
    {Kind::kAirflow, "airflow"},
    {Kind::kDatabricks, "databricks"},
    {Kind::kJenkins, "jenkins"},
    {Kind::kElasticsearch, "elasticsearch"},
    {Kind::kRedfish, "redfish"},
    {Kind::kState, "state"},
}};

absl::Status UnknownDialect(std::string_view text) {
  std::string names;
  for (const auto& [kind, name] : kNames) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", internal::ToAbsl(name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dialect \"", internal::PrintableAscii(text, 60),
                   "\"; it must be ", names,
                   ", state:PATH=WORD, kubernetes:CONDITION or google:wait"));
}

// Returns "a.b" for ".a[].b", as jq would have it.
std::string PlainPath(std::string_view path) {
  std::string plain(path.substr(path.starts_with('.') ? 1 : 0));
  for (size_t at = plain.find("[]"); at != std::string::npos;
       at = plain.find("[]")) {
    plain.erase(at, 2);
  }
  return plain;
}

}  // namespace

absl::StatusOr<HttpDialect> HttpDialect::Parse(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto* const found =
      std::find_if(kNames.begin(), kNames.end(),
                   [&](const auto& known) { return known.second == name; });
  if (found == kNames.end()) return UnknownDialect(text);
  HttpDialect dialect = {.kind = found->first};
  if (colon == text.size()) return dialect;
  const std::string_view argument = text.substr(colon + 1);
  if (argument.empty()) return UnknownDialect(text);
  switch (dialect.kind) {
    case Kind::kState: {
      const size_t equals = std::min(argument.find('='), argument.size());
      dialect.path = PlainPath(argument.substr(0, equals));
      if (equals < argument.size()) dialect.word = argument.substr(equals + 1);
      if (dialect.path.empty()) return UnknownDialect(text);
      return dialect;
    }
    case Kind::kGoogle:
    case Kind::kCompute:
      if (argument != "wait") return UnknownDialect(text);
      [[fallthrough]];
    case Kind::kKubernetes:
      dialect.word = argument;
      return dialect;
    default:
      return UnknownDialect(text);
  }
}

std::string HttpDialect::ToString() const {
  std::string text;
  for (const auto& [known, name] : kNames) {
    if (known == kind) text = name;
  }
  if (kind == Kind::kState && !path.empty()) {
    absl::StrAppend(&text, ":", path, word.empty() ? "" : "=", word);
  } else if (kind != Kind::kState && !word.empty()) {
    absl::StrAppend(&text, ":", word);
  }
  return text;
}

namespace internal {
namespace {

constexpr size_t kMaxShownState = 80;

// Places of a state in a body, the most usual first.
constexpr std::array<std::string_view, 22> kStatePaths = {
    "status",
    "state",
    "phase",
    "status.state",
    "status.phase",
    "status.status",
    "job.status",
    "job.state",
    "task.status",
    "task.state",
    "data.status",
    "data.state",
    "data.attributes.status",
    "run.status",
    "build.status",
    "operation.status",
    "operation.state",
    "server.status",
    "result.status",
    "jobStatus",
    "buildStatus",
    "runtimeStatus"};

// Words for states, with letters and digits only.
constexpr std::array<std::string_view, 11> kGood = {
    "succeeded", "success", "successful", "completed",   "complete", "done",
    "finished",  "passed",  "fulfilled",  "jobcomplete", "ok"};
constexpr std::array<std::string_view, 21> kBad = {"fail",
                                                   "errored",
                                                   "aborted",
                                                   "expired",
                                                   "timedout",
                                                   "timeout",
                                                   "rejected",
                                                   "killed",
                                                   "crashed",
                                                   "exception",
                                                   "faulted",
                                                   "fault",
                                                   "incomplete",
                                                   "dead",
                                                   "deadletter",
                                                   "deadlettered",
                                                   "oomkilled",
                                                   "partialsuccess",
                                                   "partiallysucceeded",
                                                   "partiallyfailed",
                                                   "terminated"};
constexpr std::array<std::string_view, 21> kBusy = {
    "inprogress", "accepted",   "queued",       "enqueued", "scheduled",
    "notstarted", "started",    "submitted",    "pending",  "running",
    "working",    "processing", "provisioning", "creating", "updating",
    "deleting",   "waiting",    "executing",    "starting", "cancelling",
    "canceling"};

std::string Letters(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) letters.push_back(absl::ascii_tolower(byte));
  }
  return letters;
}

template <size_t kSize>
bool IsOneOf(const std::array<std::string_view, kSize>& words,
             std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view FirstStatePath(const JsonView& body) {
  for (const std::string_view path : kStatePaths) {
    if (!body.Word(path).empty()) return path;
  }
  return {};
}

// Returns the elements of arrays, and everything else as it is.
std::vector<std::string_view> Flattened(
    const std::vector<std::string_view>& values) {
  std::vector<std::string_view> flat;
  for (const std::string_view value : values) {
    if (!value.starts_with('[')) {
      flat.push_back(value);
      continue;
    }
    const std::vector<std::string_view> elements = JsonElements(value);
    flat.insert(flat.end(), elements.begin(), elements.end());
  }
  return flat;
}

// Returns the words at `path` in `json`; arrays mean their elements. An element
// without a word has an empty one.
std::vector<std::string> WordsAt(std::string_view json, std::string_view path) {
  std::vector<std::string_view> values = Flattened({json});
  for (const std::string_view step : JsonSteps(path)) {
    std::vector<std::string_view> inner;
    inner.reserve(values.size());
    for (const std::string_view value : values) {
      inner.push_back(FindJsonText(value, std::array{step}).value_or("null"));
    }
    values = Flattened(inner);
  }
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const std::string_view value : values) {
    words.push_back(JsonView(value).Text(""));
  }
  return words;
}

OperationState ReadWords(const HttpDialect& dialect, const JsonView& body) {
  const std::string_view path =
      dialect.path.empty() ? FirstStatePath(body) : dialect.path;
  std::vector<std::string> words;
  const std::optional<std::string_view> all = body.Find("");
  if (!path.empty() && all.has_value()) {
    words = WordsAt(*all, path);
  }
  OperationState slowest;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    OperationState state = dialect.word.empty()   ? StateOfWord(word, body)
                           : word == dialect.word ? SucceededState(word)
                                                  : StateOfWord(word, body);
    const bool is_other = !dialect.word.empty() && word != dialect.word;
    if (is_other && state.kind == OperationState::Kind::kSucceeded) {
      state = RunningState(word);
    }
    if (state.kind == OperationState::Kind::kFailed) return state;
    if (slowest.kind != OperationState::Kind::kRunning) slowest = state;
  }
  if (words.empty() && !dialect.path.empty()) {
    return RunningState(absl::StrCat("no ", dialect.path));
  }
  const bool has_gap =
      std::any_of(words.begin(), words.end(),
                  [](const auto& word) { return word.empty(); });
  if (has_gap && slowest.kind != OperationState::Kind::kRunning) {
    return RunningState(absl::StrCat("no ", ToAbsl(path)));
  }
  return slowest;
}

OperationState ReadAzure(const JsonView& body, bool is_monitor) {
  std::string word = body.Word("status");
  for (const std::string_view path :
       {"properties.provisioningState", "provisioningState"}) {
    const std::string state = body.Word(path);
    if (!state.empty() && (word.empty() || !is_monitor)) word = state;
  }
  if (word.empty()) {
    // Only an error is an end; otherwise the status of the response decides.
    return body.IsObject("error") ? FailedState("", body) : OperationState();
  }
  OperationState state = StateOfWord(word, body);
  const std::string percent = body.Text("percentComplete");
  if (state.kind == OperationState::Kind::kRunning && !percent.empty()) {
    absl::StrAppend(&state.text, ", ", ShownState(percent), " %");
  }
  return state;
}

OperationState ReadCompute(const JsonView& body) {
  const std::string word = body.Word("status");
  const std::string progress = body.Text("progress");
  if (word != "DONE") {
    return RunningState(
        progress.empty() ? word : absl::StrCat(word, ", ", progress, " %"));
  }
  if (body.IsObject("error") || body.Has("httpErrorStatusCode")) {
    return FailedState(word, body);
  }
  return SucceededState(word);
}

OperationState ReadBigQuery(const JsonView& body) {
  const std::string word = body.Word("status.state");
  if (word != "DONE") return RunningState(word);
  return body.IsObject("status.errorResult") ? FailedState(word, body)
                                             : SucceededState(word);
}

// Returns " (3 of 4)" for the items of a batch.
std::string ItemsText(const JsonView& body, std::string_view good,
                      std::string_view total) {
  const std::string done = body.Text(good);
  const std::string all = body.Text(total);
  if (done.empty() || all.empty()) return "";
  return absl::StrCat(" (", ShownState(done), " of ", ShownState(all), ")");
}

OperationState ReadOpenAi(const JsonView& body) {
  const std::string word = body.Word("status");
  if (word.empty()) return RunningState("no status");
  OperationState state = StateOfWord(word, body);
  if (state.kind != OperationState::Kind::kFailed) {
    state.text +=
        ItemsText(body, "request_counts.completed", "request_counts.total");
  }
  return state;
}

OperationState ReadAnthropic(const JsonView& body) {
  const std::string word = body.Word("processing_status");
  if (word != "ended") return RunningState(word);
  std::string counts;
  for (const std::string_view name :
       {"succeeded", "errored", "canceled", "expired"}) {
    const std::string count =
        body.Text(absl::StrCat("request_counts.", ToAbsl(name)));
    if (count.empty() || count == "0") continue;
    absl::StrAppend(&counts, counts.empty() ? "" : ", ", ShownState(count), " ",
                    ToAbsl(name));
  }
  const std::string text =
      absl::StrCat(word, counts.empty() ? "" : ": ", counts);
  const std::string succeeded = body.Text("request_counts.succeeded");
  // Success is per item; a batch without a successful item has failed.
  const bool has_success = !succeeded.empty() && succeeded != "0";
  return has_success || counts.empty() ? SucceededState(text)
                                       : FailedState(text, body);
}

OperationState ReadStripe(const JsonView& body) {
  const std::string word = body.Word("status");
  return word == "paid" || word == "complete" ? SucceededState(word)
                                              : StateOfWord(word, body);
}

OperationState ReadDatabricks(const JsonView& body) {
  const bool is_new = body.Has("status.state");
  const std::string cycle =
      body.Word(is_new ? "status.state" : "state.life_cycle_state");
  const std::string result = body.Word(
      is_new ? "status.termination_details.code" : "state.result_state");
  if (cycle == "INTERNAL_ERROR" || cycle == "SKIPPED") {
    return FailedState(cycle, body);
  }
  if (cycle != "TERMINATED") return RunningState(cycle);
  const std::string text = absl::StrCat(cycle, ", ", result);
  if (result == "SUCCESS") return SucceededState(text);
  return ClassOfStateWord(result) == StateWord::kCanceled
             ? FailedState(text, body, absl::StatusCode::kCancelled)
             : FailedState(text, body);
}

OperationState ReadJenkins(const JsonView& body) {
  const std::string result = body.Word("result");
  if (!body.Is("building", "false") || result.empty()) {
    return RunningState("building");
  }
  if (result == "SUCCESS") return SucceededState(result);
  OperationState state = FailedState(result, body);
  if (result == "ABORTED") state.code = absl::StatusCode::kCancelled;
  return state;
}

OperationState ReadElasticsearch(const JsonView& body) {
  if (!body.Is("completed", "true")) return RunningState("not completed");
  if (body.IsObject("error")) return FailedState("completed", body);
  const size_t failures = body.Elements("response.failures").size();
  if (failures > 0) {
    return FailedState(absl::StrCat("completed with ", failures, " failures"),
                       body);
  }
  return SucceededState("completed");
}

OperationState ReadRedfish(const JsonView& body) {
  const std::string word = body.Word("TaskState");
  const std::string health = body.Word("TaskStatus");
  if (word.empty()) return {};
  OperationState state = StateOfWord(word, body);
  if (word == "Interrupted") return FailedState(word, body);
  if (state.kind == OperationState::Kind::kSucceeded && health == "Critical") {
    return FailedState(absl::StrCat(word, ", ", health), body);
  }
  return state;
}

// Reads the words of a body as far as they are certain: a resource may have a
// separate status.
OperationState ReadAccepted(const JsonView& body) {
  const std::string_view path = FirstStatePath(body);
  if (path.empty()) return {};
  const std::string word = body.Word(path);
  if (ClassOfStateWord(word) == StateWord::kOther) {
    OperationState state;
    state.text = ShownState(word);
    return state;
  }
  return StateOfWord(word, body);
}

}  // namespace

std::string ShownState(std::string_view text) {
  return PrintableAscii(text, kMaxShownState);
}

OperationState RunningState(std::string_view word) {
  return {.kind = OperationState::Kind::kRunning,
          .text = word.empty() ? "no state in the answer" : ShownState(word),
          .has_word = !word.empty()};
}

OperationState SucceededState(std::string_view word) {
  return {.kind = OperationState::Kind::kSucceeded,
          .text = ShownState(word),
          .has_word = true};
}

OperationState FailedState(std::string_view word, const JsonView& body,
                           absl::StatusCode code) {
  const std::string error = OperationErrorOf(body);
  return {
      .kind = OperationState::Kind::kFailed,
      .text = absl::StrCat(ShownState(word),
                           word.empty() || error.empty() ? "" : ", ", error),
      .code = code,
      .has_word = true};
}

OperationState StateOfWord(std::string_view word, const JsonView& body) {
  switch (ClassOfStateWord(word)) {
    case StateWord::kSucceeded:
      return SucceededState(word);
    case StateWord::kCanceled:
      return FailedState(word, body, absl::StatusCode::kCancelled);
    case StateWord::kFailed:
      return FailedState(word, body);
    case StateWord::kRunning:
    case StateWord::kOther:
      break;
  }
  return RunningState(word);
}

StateWord ClassOfStateWord(std::string_view word) {
  const std::string text = Letters(word);
  if (text.empty()) return StateWord::kOther;
  if (text == "canceled" || text == "cancelled" || text == "stopped" ||
      text == "discarded") {
    return StateWord::kCanceled;
  }
  if (IsOneOf(kBad, text) || absl::EndsWith(text, "failed") ||
      absl::EndsWith(text, "failure") || absl::EndsWith(text, "error") ||
      absl::EndsWith(text, "witherrors") ||
      absl::EndsWith(text, "withfailures")) {
    return StateWord::kFailed;
  }
  // CloudFormation: the rollback is complete, so the change has failed.
  if (absl::EndsWith(text, "rollbackcomplete")) return StateWord::kFailed;
  if (IsOneOf(kGood, text) || absl::EndsWith(ToAbsl(word), "_COMPLETE")) {
    return StateWord::kSucceeded;
  }
  if (IsOneOf(kBusy, text) || absl::EndsWith(text, "inprogress")) {
    return StateWord::kRunning;
  }
  return StateWord::kOther;
}

OperationState ReadGoogle(const JsonView& body) {
  if (!body.Is("done", "true")) {
    for (const std::string_view path :
         {"metadata.progressPercent", "metadata.progressPercentage",
          "metadata.progress.progressPercent"}) {
      const std::string percent = body.Text(path);
      if (percent.empty()) continue;
      return RunningState(absl::StrCat("not done, ", percent, " %"));
    }
    return RunningState("not done");
  }
  if (body.IsObject("error")) {
    OperationState state = FailedState("", body);
    const std::string code = body.Text("error.code");
    int number = 0;
    // google.rpc.Code and Abseil have the same numbers.
    if (code.find_first_not_of("0123456789") == std::string::npos &&
        absl::SimpleAtoi(code, &number) && number > 0 && number < 17) {
      state.code = static_cast<absl::StatusCode>(number);
    }
    return state;
  }
  if (body.Has("response")) return SucceededState("done");
  return FailedState(
      "the operation is done, but has neither a response nor an error",
      JsonView(""), absl::StatusCode::kInternal);
}

std::string OperationIdOf(const HttpDialect& dialect, const JsonView& body) {
  switch (dialect.kind) {
    case Kind::kAirflow:
      return body.Word("dag_run_id");
    case Kind::kKubernetes:
      return body.Word("metadata.name");
    case Kind::kGoogle:
    case Kind::kCompute:
    case Kind::kBigQuery:
    case Kind::kJenkins:
      return "";
    default:
      break;
  }
  for (const std::string_view name :
       {"id", "job_id", "jobId", "task_id", "taskId", "operationId", "name",
        "metadata.name"}) {
    std::string id = body.Text(name);
    if (!id.empty()) return id;
  }
  return "";
}

std::string StatusLinkOf(const HttpDialect& dialect, const JsonView& body) {
  for (const std::string_view path :
       {"statusQueryGetUri", "selfLink", "urls.get", "status_url", "statusUrl",
        "_links.self.href", "links.self", "links.self.href", "@odata.id"}) {
    std::string link = body.Word(path);
    if (!link.empty()) return link;
  }
  return dialect.kind == Kind::kGitHub ? body.Word("url") : "";
}

OperationState ReadState(const HttpDialect& dialect, const JsonView& body,
                         bool is_monitor) {
  switch (dialect.kind) {
    case Kind::kAzure:
      return ReadAzure(body, is_monitor);
    case Kind::kGoogle:
      return ReadGoogle(body);
    case Kind::kCompute:
      return ReadCompute(body);
    case Kind::kBigQuery:
      return ReadBigQuery(body);
    case Kind::kKubernetes:
      return ReadKubernetes(dialect, body);
    case Kind::kOpenAi:
      return ReadOpenAi(body);
    case Kind::kAnthropic:
      return ReadAnthropic(body);
    case Kind::kGitHub:
      return ReadGitHub(body);
    case Kind::kStripe:
      return ReadStripe(body);
    case Kind::kAirflow:
      return StateOfWord(body.Word("state"), body);
    case Kind::kDatabricks:
      return ReadDatabricks(body);
    case Kind::kJenkins:
      return ReadJenkins(body);
    case Kind::kElasticsearch:
      return ReadElasticsearch(body);
    case Kind::kRedfish:
      return ReadRedfish(body);
    case Kind::kState:
      return ReadWords(dialect, body);
    case Kind::kAccepted:
    case Kind::kAuto:
      break;
  }
  return ReadAccepted(body);
}

}  // namespace internal
}  // namespace waiter
