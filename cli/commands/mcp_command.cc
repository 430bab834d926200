// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/mcp_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/loop/event_loop.h"
#include "cli/mcp/session.h"
#include "cli/mcp/wait_request.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "cli/run/exit_code.h"
#include "waiter/clock.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kMcpCommand = "waiter mcp";
constexpr size_t kLongestMessage = size_t{1} << 20U;

// Collects bytes into lines.
class Lines {
 public:
  // Calls `call` with each line that `bytes` completes, without its end. A line
  // that is too long is cut, so that no reader takes it for a message.
  template <typename Call>
  void Add(std::string_view bytes, Call call) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      rest_.append(
          bytes.substr(0, std::min(end, kLongestMessage - rest_.size())));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      const std::string line = std::exchange(rest_, {});
      if (!line.empty()) call(line);
    }
  }

 private:
  std::string rest_;
};

// Moves messages between standard input and output and a session, and runs its
// waits.
class Server : private McpHost {
 public:
  Server(EventLoop& loop, ProcessReaper& reaper, AllowedTargets allowed,
         std::ostream& out)
      : loop_(loop),
        reaper_(reaper),
        out_(out),
        session_(*this, loop.clock(), std::move(allowed)) {}

  // Serves until standard input ends, or the client stops reading.
  void Run() {
    const EventLoop::Watch reading =
        loop_.WhenReady(STDIN_FILENO, POLLIN, [this](short) { Read(); });
    while (!has_ended_ && out_.good()) {
      loop_.RunOnce(session_.NextTime());
      session_.Tick();
      ended_.clear();
    }
    waits_.clear();
  }

 private:
  struct Wait {
    Lines lines;
    std::unique_ptr<Process> process;
  };

  void Read() {
    std::array<char, size_t{64} << 10U> bytes;
    const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      has_ended_ = true;
      return;
    }
    input_.Add({bytes.data(), static_cast<size_t>(size)},
               [this](std::string_view line) { session_.Receive(line); });
  }

  void Send(std::string_view message) override {
    out_ << message << '\n' << std::flush;
  }

  void StartWait(int64_t id, const std::vector<std::string>& args) override {
    Command command = {.words = {"/proc/self/exe", "--progress=json"},
                       // They would change the client's request.
                       .environment = {{"WAITER_TARGETS", std::nullopt},
                                       {"WAITER_STATE", std::nullopt},
                                       {"WAITER_SLICE", std::nullopt},
                                       {"WAITER_QUIET", std::nullopt}}};
    command.words.insert(command.words.end(), args.begin(), args.end());
    Wait& wait = waits_[id];
    wait.process = std::make_unique<Process>(
        reaper_, command, [this, id](const ProcessEnd& end) { End(id, end); },
        [this, id, &wait](std::string_view bytes) {
          wait.lines.Add(bytes, [this, id](std::string_view line) {
            session_.WaitWrote(id, line);
          });
        });
  }

  void CancelWait(int64_t id) override {
    const auto found = waits_.find(id);
    if (found != waits_.end()) found->second.process->Terminate();
  }

  void End(int64_t id, const ProcessEnd& end) {
    const bool exited = end.how == ProcessEnd::How::kExited;
    session_.WaitEnded(id, exited ? end.code : kOwnFailure,
                       end.err.empty() && !exited ? Describe(end) : end.err);
    // This is a call by that process, which must outlive it.
    ended_.push_back(std::move(waits_[id].process));
    waits_.erase(id);
  }

  EventLoop& loop_;
  ProcessReaper& reaper_;
  std::ostream& out_;
  Lines input_;
  bool has_ended_ = false;
  std::map<int64_t, Wait> waits_;
  std::vector<std::unique_ptr<Process>> ended_;
  McpSession session_;
};

struct McpFlags {
  McpFlags()
      : flags(std::string(kMcpCommand), "--allow=SCHEMES",
              "Serves the Model Context Protocol on standard input and output, "
              "so that\nan agent waits by one call: tools wait_for, "
              "wait_status, wait_cancel.") {
    flags.AddRepeated(
        "allow", "http,tcp", "schemes of targets that a client may wait for",
        [this](std::string_view schemes) { return allowed.Add(schemes); });
    flags.SetNotes(
        "http includes https, and so on. With --allow=exec, the client can run "
        "any\ncommand. Variables such as WAITER_BEARER apply to all waits; no "
        "tool takes a\nsecret.\n");
  }
  McpFlags(const McpFlags&) = delete;
  McpFlags& operator=(const McpFlags&) = delete;

  AllowedTargets allowed;
  Flags flags;
};

}  // namespace

std::vector<std::string> McpCommand::FlagNames() const {
  return McpFlags().flags.Names();
}

int McpCommand::Run(const Invocation& invocation) const {
  const auto& [args, environment, out, err] = invocation;
  McpFlags mcp;
  absl::Status status = mcp.flags.ParseFlagsOnly(args, environment);
  if (status.ok() && mcp.flags.ShowHelp(out)) return 0;
  if (status.ok() && mcp.allowed.empty()) {
    status = absl::InvalidArgumentError(
        "--allow: say which targets a client may wait for, such as "
        "--allow=http,tcp");
  }
  if (!status.ok()) return ExitCode(status, kMcpCommand, err);
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe)
  EventLoop loop;
  ProcessReaper reaper(loop);
  Server(loop, reaper, std::move(mcp.allowed), out).Run();
  while (!reaper.idle()) loop.RunOnce(MonotonicTime::max());
  return 0;
}

}  // namespace waiter::cli
