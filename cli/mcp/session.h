// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A session of the Model Context Protocol, revision 2025-11-25 and older, as
// the server: https://modelcontextprotocol.io/specification/2025-11-25. Its
// tools are `wait_for`, `wait_status` and `wait_cancel`. No I/O: the program
// around it moves the lines and runs the waits.
//
//   waiter::cli::McpSession session(host, clock, allowed);
//   session.Receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
//   // host.Send got the answer.
//
// A call of `wait_for` answers when the wait has ended or its slice is over;
// the wait continues after that, and `wait_status` waits for another slice. A
// client that asks for a task gets it immediately.

#ifndef WAITER_CLI_MCP_SESSION_H_
#define WAITER_CLI_MCP_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "cli/mcp/wait_progress.h"
#include "cli/mcp/wait_request.h"
#include "nlohmann/json.hpp"
#include "waiter/clock.h"

namespace waiter::cli {

// The program around a session, as the session sees it. Calls come from inside
// the calls of `McpSession`, and must not call it.
class McpHost {
 public:
  virtual ~McpHost() = default;

  // Sends one message, which has no line end.
  virtual void Send(std::string_view message) = 0;

  // Runs `waiter --progress=json ARGS`, and then calls `WaitWrote` and
  // `WaitEnded` with the same number.
  virtual void StartWait(int64_t wait,
                         const std::vector<std::string>& args) = 0;

  // Interrupts that process.
  virtual void CancelWait(int64_t wait) = 0;
};

// Thread-compatible.
class McpSession {
 public:
  static constexpr size_t kMostRunning = 32;
  static constexpr size_t kMostKept = 256;  // Ended waits, for `wait_status`.

  // The arguments must outlive this, except `allowed`.
  McpSession(McpHost& host, Clock& clock, AllowedTargets allowed)
      : host_(host), clock_(clock), allowed_(std::move(allowed)) {}

  // Handles one message of the client.
  void Receive(std::string_view message);

  // The process of a wait wrote a line, or ended after it had written `message`
  // to standard error.
  void WaitWrote(int64_t wait, std::string_view line);
  void WaitEnded(int64_t wait, int exit_code, std::string_view message);

  // Answers calls whose slice is over. To be called at `NextTime`, which is
  // `MonotonicTime::max()` without such a call.
  void Tick();
  MonotonicTime NextTime() const;

 private:
  using Json = nlohmann::ordered_json;

  struct Wait {
    WaitProgress progress;
    absl::Time created;
    absl::Time updated;
    bool is_task = false;
    absl::Duration time_to_live = absl::InfiniteDuration();  // For a task.
  };

  // A request that is answered later.
  struct Pending {
    Json id;
    int64_t wait;
    MonotonicTime until;  // Then the answer is that the wait continues.
    bool owns_wait;       // If the client drops the request, the wait ends.
    Json progress_token;  // Null if the client wants no progress.
  };

  void Dispatch(const Json& id, std::string_view method,
                const nlohmann::json& params);
  void Initialize(const Json& id, const nlohmann::json& params);
  void ListTools(const Json& id);
  void CallTool(const Json& id, const nlohmann::json& params);
  void WaitFor(const Json& id, const nlohmann::json& params,
               const nlohmann::json& arguments);
  void WaitStatus(const Json& id, const nlohmann::json& params,
                  const nlohmann::json& arguments);
  void WaitCancel(const Json& id, const nlohmann::json& arguments);
  void TaskMethod(const Json& id, std::string_view method,
                  const nlohmann::json& params);
  void ListTasks(const Json& id);
  void CancelTask(const Json& id, int64_t wait);
  void CancelRequest(const nlohmann::json& params);

  // Answers now if the wait has ended, otherwise not later than `slice`.
  void AnswerWithin(const Json& id, int64_t wait, absl::Duration slice,
                    bool owns_wait, const nlohmann::json& params);

  std::optional<int64_t> FindWait(const nlohmann::json& arguments,
                                  std::string_view member) const;
  bool MakeRoom();
  void ForgetExpiredTasks();
  Json TaskOf(int64_t wait) const;
  Json ResultOf(int64_t wait) const;

  void Result(const Json& id, Json result);
  void Error(const Json& id, int code, std::string_view message);
  void ToolError(const Json& id, std::string_view message);

  McpHost& host_;
  Clock& clock_;
  const AllowedTargets allowed_;
  int64_t last_wait_ = 0;
  std::map<int64_t, Wait> waits_;
  std::vector<Pending> pending_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_MCP_SESSION_H_
