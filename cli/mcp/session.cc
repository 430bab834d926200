// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/mcp/session.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/mcp/wait_progress.h"
#include "cli/mcp/wait_request.h"
#include "cli/text/json.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/clock.h"
#include "waiter/version.h"

namespace waiter::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kRevisions = {
    "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

// Error codes of JSON-RPC.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kUnknownMethod = -32601;
constexpr int kInvalidParams = -32602;

// A process that is interrupted ends soon.
constexpr absl::Duration kCancelTime = absl::Seconds(5);

constexpr absl::Duration kLeastPollInterval = absl::Milliseconds(100);

std::string IdText(int64_t wait) { return absl::StrCat("w", wait); }

// Returns a member of a member, null if none.
Json Inner(const nlohmann::json& object, std::string_view outer,
           std::string_view inner) {
  const nlohmann::json* const member = FindMember(object, outer);
  const nlohmann::json* const found =
      member == nullptr ? nullptr : FindMember(*member, inner);
  return found == nullptr ? Json() : Json(*found);
}

MonotonicTime After(MonotonicTime now, absl::Duration time) {
  return now + absl::ToChronoNanoseconds(time);
}

std::string_view TaskStatus(WaitProgress::State state) {
  switch (state) {
    case WaitProgress::State::kWaiting:
      return "working";
    case WaitProgress::State::kCancelled:
      return "cancelled";
    case WaitProgress::State::kInvalid:
      return "failed";
    default:
      return "completed";
  }
}

Json StateSchema() {
  return {{"type", "object"},
          {"properties",
           {{"wait_id", {{"type", "string"}}},
            {"state",
             {{"enum",
               {"waiting", "ready", "failed", "timed_out", "cancelled",
                "invalid"}}}},
            {"elapsed_ms", {{"type", "integer"}}},
            {"timeout_ms", {{"type", "integer"}}},
            {"next_poll_ms", {{"type", "integer"}}},
            {"targets",
             {{"type", "array"},
              {"items",
               {{"type", "object"},
                {"properties",
                 {{"target", {{"type", "string"}}},
                  {"state", {{"type", "string"}}},
                  {"polls", {{"type", "integer"}}},
                  {"detail", {{"type", "string"}}}}}}}}}}},
          {"required", {"wait_id", "state"}}};
}

Json OfOneWait(const Json& more = Json::object()) {
  Json properties = {{"wait_id", {{"type", "string"}}}};
  properties.update(more);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"wait_id"}},
          {"additionalProperties", false}};
}

Json Tools() {
  Json wait_for = {
      {"name", "wait_for"},
      {"description",
       "Waits until targets are ready: servers, HTTP jobs, files, processes. "
       "Returns when they are, when one has failed, or when the slice is over "
       "(25s by default); then call wait_status with the wait_id. One call "
       "replaces many polls."},
      {"inputSchema", WaitRequestSchema()},
      {"outputSchema", StateSchema()},
      {"execution", {{"taskSupport", "optional"}}},
      {"annotations", {{"readOnlyHint", true}}}};
  Json wait_status = {
      {"name", "wait_status"},
      {"description",
       "Waits for another slice of a wait that wait_for started, and returns "
       "its state. A slice of 0 returns immediately."},
      {"inputSchema",
       OfOneWait({{"slice",
                   {{"type", "string"},
                    {"description", "Such as 25s, which is the default."}}}})},
      {"outputSchema", StateSchema()},
      {"annotations", {{"readOnlyHint", true}}}};
  Json wait_cancel = {{"name", "wait_cancel"},
                      {"description", "Ends a wait."},
                      {"inputSchema", OfOneWait()},
                      {"outputSchema", StateSchema()}};
  Json tools = Json::array();
  tools.push_back(std::move(wait_for));
  tools.push_back(std::move(wait_status));
  tools.push_back(std::move(wait_cancel));
  return tools;
}

}  // namespace

void McpSession::Receive(std::string_view message) {
  const absl::StatusOr<nlohmann::json> request = ParseJson(message);
  if (!request.ok()) {
    return Error(nullptr, kParseError, std::string(request.status().message()));
  }
  if (!request->is_object()) {
    return Error(nullptr, kInvalidRequest, "a message must be one JSON object");
  }
  static const auto* const nothing = new nlohmann::json();
  const nlohmann::json* params = FindMember(*request, "params");
  if (params == nullptr) params = nothing;
  const nlohmann::json* const id = FindMember(*request, "id");
  const std::string_view method = TextOf(*request, "method");
  if (id == nullptr) {
    if (method == "notifications/cancelled") CancelRequest(*params);
    return;
  }
  // A response: this server sends no requests.
  if (FindMember(*request, "result") != nullptr ||
      FindMember(*request, "error") != nullptr) {
    return;
  }
  if (method.empty() || (!id->is_string() && !id->is_number_integer())) {
    return Error(nullptr, kInvalidRequest,
                 "a request needs a method, and an id that is a string or a "
                 "whole number");
  }
  Dispatch(*id, method, *params);
}

void McpSession::Dispatch(const Json& id, std::string_view method,
                          const nlohmann::json& params) {
  ForgetExpiredTasks();
  if (method == "initialize") return Initialize(id, params);
  if (method == "ping") return Result(id, Json::object());
  if (method == "tools/list") return ListTools(id);
  if (method == "tools/call") return CallTool(id, params);
  if (method == "tasks/list") return ListTasks(id);
  if (method == "tasks/get" || method == "tasks/result" ||
      method == "tasks/cancel") {
    return TaskMethod(id, method, params);
  }
  Error(id, kUnknownMethod, absl::StrCat("unknown method ", method));
}

void McpSession::Initialize(const Json& id, const nlohmann::json& params) {
  const std::string_view wanted = TextOf(params, "protocolVersion");
  const bool is_known = std::find(kRevisions.begin(), kRevisions.end(),
                                  wanted) != kRevisions.end();
  Result(
      id,
      {{"protocolVersion", is_known ? wanted : kRevisions.front()},
       {"capabilities",
        {{"tools", Json::object()},
         {"tasks",
          {{"list", Json::object()},
           {"cancel", Json::object()},
           {"requests", {{"tools", {{"call", Json::object()}}}}}}}}},
       {"serverInfo",
        {{"name", "waiter"},
         {"version",
          absl::StrCat(WAITER_VERSION_MAJOR, ".", WAITER_VERSION_MINOR, ".",
                       WAITER_VERSION_PATCH)}}},
       {"instructions",
        "Use wait_for instead of polling. If its state is `waiting`, call "
        "wait_status with the wait_id; each call returns within one slice."}});
}

void McpSession::ListTools(const Json& id) { Result(id, {{"tools", Tools()}}); }

void McpSession::CallTool(const Json& id, const nlohmann::json& params) {
  const std::string_view name = TextOf(params, "name");
  static const auto* const none = new nlohmann::json(nlohmann::json::object());
  const nlohmann::json* const given = FindMember(params, "arguments");
  const nlohmann::json& arguments = given == nullptr ? *none : *given;
  if (name == "wait_for") return WaitFor(id, params, arguments);
  if (name == "wait_status") return WaitStatus(id, params, arguments);
  if (name == "wait_cancel") return WaitCancel(id, arguments);
  Error(id, kInvalidParams, absl::StrCat("unknown tool ", name));
}

void McpSession::WaitFor(const Json& id, const nlohmann::json& params,
                         const nlohmann::json& arguments) {
  const absl::StatusOr<WaitRequest> request =
      ParseWaitRequest(arguments, allowed_);
  if (!request.ok()) {
    return ToolError(id, std::string(request.status().message()));
  }
  if (!MakeRoom()) {
    return ToolError(id,
                     absl::StrCat(kMostRunning,
                                  " waits are running, which is the maximum; "
                                  "cancel one or wait for one to end"));
  }
  const int64_t wait = ++last_wait_;
  const absl::Time now = clock_.TimeNow();
  Wait& added = waits_
                    .insert({wait,
                             {.progress = WaitProgress(clock_.MonotonicNow()),
                              .created = now,
                              .updated = now}})
                    .first->second;
  const nlohmann::json* const task = FindMember(params, "task");
  if (task != nullptr && task->is_object()) {
    added.is_task = true;
    if (const nlohmann::json* const ttl = FindMember(*task, "ttl");
        ttl != nullptr && ttl->is_number_unsigned()) {
      added.time_to_live = absl::Milliseconds(ttl->get<uint64_t>());
    }
    host_.StartWait(wait, request->args);
    return Result(id, {{"task", TaskOf(wait)}});
  }
  host_.StartWait(wait, request->args);
  AnswerWithin(id, wait, request->slice, /*owns_wait=*/true, params);
}

void McpSession::WaitStatus(const Json& id, const nlohmann::json& params,
                            const nlohmann::json& arguments) {
  const std::optional<int64_t> wait = FindWait(arguments, "wait_id");
  if (!wait.has_value()) return ToolError(id, "no wait has this wait_id");
  const absl::StatusOr<absl::Duration> slice = ParseSlice(arguments);
  if (!slice.ok()) {
    return ToolError(id, std::string(slice.status().message()));
  }
  AnswerWithin(id, *wait, *slice, /*owns_wait=*/false, params);
}

void McpSession::WaitCancel(const Json& id, const nlohmann::json& arguments) {
  const std::optional<int64_t> wait = FindWait(arguments, "wait_id");
  if (!wait.has_value()) return ToolError(id, "no wait has this wait_id");
  if (!waits_.at(*wait).progress.has_ended()) host_.CancelWait(*wait);
  AnswerWithin(id, *wait, kCancelTime, /*owns_wait=*/false, nullptr);
}

void McpSession::TaskMethod(const Json& id, std::string_view method,
                            const nlohmann::json& params) {
  const std::optional<int64_t> wait = FindWait(params, "taskId");
  if (!wait.has_value() || !waits_.at(*wait).is_task) {
    return Error(id, kInvalidParams, "no task has this taskId");
  }
  if (method == "tasks/get") return Result(id, TaskOf(*wait));
  if (method == "tasks/cancel") return CancelTask(id, *wait);
  AnswerWithin(id, *wait, absl::InfiniteDuration(), /*owns_wait=*/false,
               params);
}

void McpSession::ListTasks(const Json& id) {
  Json tasks = Json::array();
  for (const auto& [wait, state] : waits_) {
    if (state.is_task) tasks.push_back(TaskOf(wait));
  }
  Result(id, {{"tasks", std::move(tasks)}});
}

void McpSession::CancelTask(const Json& id, int64_t wait) {
  if (waits_.at(wait).progress.has_ended()) {
    return Error(id, kInvalidParams, "the task has ended");
  }
  host_.CancelWait(wait);
  Json task = TaskOf(wait);
  task["status"] = "cancelled";
  Result(id, std::move(task));
}

void McpSession::CancelRequest(const nlohmann::json& params) {
  const nlohmann::json* const given = FindMember(params, "requestId");
  if (given == nullptr) return;
  const Json id = *given;
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    if (pending->id != id) continue;
    if (pending->owns_wait) host_.CancelWait(pending->wait);
    pending_.erase(pending);
    return;
  }
}

void McpSession::AnswerWithin(const Json& id, int64_t wait,
                              absl::Duration slice, bool owns_wait,
                              const nlohmann::json& params) {
  if (waits_.at(wait).progress.has_ended() || slice == absl::ZeroDuration()) {
    return Result(id, ResultOf(wait));
  }
  const MonotonicTime until = slice == absl::InfiniteDuration()
                                  ? MonotonicTime::max()
                                  : After(clock_.MonotonicNow(), slice);
  pending_.push_back(
      {.id = id,
       .wait = wait,
       .until = until,
       .owns_wait = owns_wait,
       .progress_token = Inner(params, "_meta", "progressToken")});
}

void McpSession::WaitWrote(int64_t wait, std::string_view line) {
  const auto found = waits_.find(wait);
  if (found == waits_.end()) return;
  Wait& state = found->second;
  const int64_t polls = state.progress.polls();
  state.progress.Add(line, clock_.MonotonicNow());
  if (state.progress.polls() == polls) return;
  state.updated = clock_.TimeNow();
  for (const Pending& pending : pending_) {
    if (pending.wait != wait || pending.progress_token.is_null()) continue;
    host_.Send(JsonText(
        {{"jsonrpc", "2.0"},
         {"method", "notifications/progress"},
         {"params",
          {{"progressToken", pending.progress_token},
           {"progress", state.progress.polls()},
           {"message", state.progress.Text(clock_.MonotonicNow())}}}}));
  }
}

void McpSession::WaitEnded(int64_t wait, int exit_code,
                           std::string_view message) {
  const auto found = waits_.find(wait);
  if (found == waits_.end()) return;
  found->second.progress.End(exit_code, message, clock_.MonotonicNow());
  found->second.updated = clock_.TimeNow();
  std::vector<Json> answered;
  for (const Pending& pending : pending_) {
    if (pending.wait == wait) answered.push_back(pending.id);
  }
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(),
                                [&](const Pending& pending) {
                                  return pending.wait == wait;
                                }),
                 pending_.end());
  for (const Json& id : answered) Result(id, ResultOf(wait));
}

void McpSession::Tick() {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<Pending> over;
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->until > now) {
      ++it;
      continue;
    }
    over.push_back(std::move(*it));
    it = pending_.erase(it);
  }
  for (const Pending& each : over) Result(each.id, ResultOf(each.wait));
}

MonotonicTime McpSession::NextTime() const {
  MonotonicTime next = MonotonicTime::max();
  for (const Pending& pending : pending_) next = std::min(next, pending.until);
  return next;
}

std::optional<int64_t> McpSession::FindWait(const nlohmann::json& arguments,
                                            std::string_view member) const {
  const std::string_view text = TextOf(arguments, member);
  int64_t wait = 0;
  if (text.substr(0, 1) != "w" || !absl::SimpleAtoi(text.substr(1), &wait) ||
      IdText(wait) != text || !waits_.contains(wait)) {
    return std::nullopt;
  }
  return wait;
}

// Returns whether one more wait may run.
bool McpSession::MakeRoom() {
  size_t running = 0;
  std::vector<int64_t> ended;
  for (const auto& [wait, state] : waits_) {
    if (state.progress.has_ended()) {
      ended.push_back(wait);
    } else {
      ++running;
    }
  }
  for (size_t i = 0; i + kMostKept <= ended.size(); ++i) {
    waits_.erase(ended[i]);
  }
  return running < kMostRunning;
}

void McpSession::ForgetExpiredTasks() {
  for (auto it = waits_.begin(); it != waits_.end();) {
    const Wait& wait = it->second;
    const bool is_over = wait.is_task && wait.progress.has_ended() &&
                         clock_.TimeNow() - wait.created > wait.time_to_live;
    it = is_over ? waits_.erase(it) : std::next(it);
  }
}

Json McpSession::TaskOf(int64_t wait) const {
  const Wait& state = waits_.at(wait);
  const MonotonicTime now = clock_.MonotonicNow();
  Json task = {{"taskId", IdText(wait)},
               {"status", TaskStatus(state.progress.state())},
               {"statusMessage", state.progress.Text(now)},
               {"createdAt", IsoTime(state.created)},
               {"lastUpdatedAt", IsoTime(state.updated)},
               {"ttl", nullptr}};
  if (state.time_to_live != absl::InfiniteDuration()) {
    task["ttl"] = absl::ToInt64Milliseconds(state.time_to_live);
  }
  if (!state.progress.has_ended()) {
    task["pollInterval"] = absl::ToInt64Milliseconds(
        std::max(kLeastPollInterval, state.progress.UntilNextPoll(now)));
  }
  return task;
}

Json McpSession::ResultOf(int64_t wait) const {
  const Wait& state = waits_.at(wait);
  const MonotonicTime now = clock_.MonotonicNow();
  std::string text = state.progress.Text(now);
  if (!state.progress.has_ended()) {
    absl::StrAppend(&text,
                    "\nThe wait continues. Call wait_status with wait_id ",
                    IdText(wait), ".");
  }
  Json structured = {{"wait_id", IdText(wait)}};
  structured.update(state.progress.Json(now));
  Json content = Json::array();
  content.push_back({{"type", "text"}, {"text", std::move(text)}});
  Json result = {
      {"content", std::move(content)},
      {"structuredContent", std::move(structured)},
      {"isError", state.progress.state() == WaitProgress::State::kInvalid}};
  if (state.is_task) {
    result["_meta"] = {
        {"io.modelcontextprotocol/related-task", {{"taskId", IdText(wait)}}}};
  }
  return result;
}

void McpSession::Result(const Json& id, Json result) {
  host_.Send(JsonText(
      {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}));
}

void McpSession::Error(const Json& id, int code, std::string_view message) {
  host_.Send(JsonText({{"jsonrpc", "2.0"},
                       {"id", id},
                       {"error", {{"code", code}, {"message", message}}}}));
}

void McpSession::ToolError(const Json& id, std::string_view message) {
  Json content = Json::array();
  content.push_back({{"type", "text"}, {"text", message}});
  Result(id, {{"content", std::move(content)}, {"isError", true}});
}

}  // namespace waiter::cli
