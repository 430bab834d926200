// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/wait_command.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
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
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/commands/subcommand.h"
#include "cli/commands/wait_arguments.h"
#include "cli/flags/flags.h"
#include "cli/flags/http_flags.h"
#include "cli/flags/output_flags.h"
#include "cli/flags/wait_flags.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/signals.h"
#include "cli/output/terminal.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/target.h"
#include "cli/process/exec_program.h"
#include "cli/process/process_reaper.h"
#include "cli/run/exit_code.h"
#include "cli/run/guard.h"
#include "cli/run/learned_name.h"
#include "cli/run/run_state.h"
#include "cli/run/shared_rate.h"
#include "cli/run/state_file.h"
#include "cli/run/wait_run.h"
#include "cli/text/printable.h"
#include "waiter/clock.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

namespace waiter::cli {
namespace {

struct EndingSignal {
  int number;
  std::string_view name;
};
constexpr std::array kEndingSignals = {
    EndingSignal{SIGINT, "SIGINT"}, EndingSignal{SIGTERM, "SIGTERM"},
    EndingSignal{SIGQUIT, "SIGQUIT"}, EndingSignal{SIGHUP, "SIGHUP"}};
constexpr int kSignalCode = 128;

// Raises the limit on open files for a number of targets, for its lifetime.
class FileLimit {
 public:
  explicit FileLimit(size_t targets) {
    getrlimit(RLIMIT_NOFILE, &before_);
    // A probe that runs a process has two pipes. This process needs some more.
    const rlim_t wanted = 4 * static_cast<rlim_t>(targets) + 64;
    rlimit raised = before_;
    raised.rlim_cur =
        std::max(before_.rlim_cur, std::min(wanted, before_.rlim_max));
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_ = {};
};

// Ignores SIGPIPE for its lifetime. A reader that goes away, such as head(1),
// ends neither the wait nor this process before its children.
class IgnoredPipe {
 public:
  IgnoredPipe() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~IgnoredPipe() { sigaction(SIGPIPE, &before_, nullptr); }
  IgnoredPipe(const IgnoredPipe&) = delete;
  IgnoredPipe& operator=(const IgnoredPipe&) = delete;

 private:
  struct sigaction before_ = {};
};

// Ends the process by `signal`, so that its parent sees why, and without a core
// file. Returns if the signal has no effect.
void DieOf(int signal) {
  rlimit core = {};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &core);
  std::signal(signal, SIG_DFL);  // NOLINT(concurrency-mt-unsafe)
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  std::raise(signal);
}

// Returns the operation of a target, under which its durations are kept.
std::string OperationOf(const WaitArguments& arguments,
                        const std::string& text) {
  const std::optional<LearnedName>& learn = arguments.wait().learn();
  if (!learn.has_value()) return "";
  if (!learn->operation.empty()) return learn->operation;
  // A target takes a different time to go than to become ready.
  return arguments.wait().gone() ? absl::StrCat("gone ", text) : text;
}

bool IsHttp(const Target& target) {
  return target.scheme->flags == RequestFlags::kAll;
}

// Returns how long a target may hold a request.
absl::Duration HoldOf(const WaitArguments& arguments, const Target& target) {
  if (!IsHttp(target)) return absl::ZeroDuration();
  const absl::StatusOr<HttpOptions> http =
      arguments.http().Options(arguments.flags(), target.label);
  return http.ok() ? absl::Duration(http->long_poll.hold)
                   : absl::ZeroDuration();
}

absl::StatusOr<std::vector<WaitTarget>> MakeTargets(
    const WaitArguments& arguments, ProbeFactory& factory) {
  std::vector<WaitTarget> targets;
  if (arguments.targets().empty()) {
    const std::string text = absl::StrJoin(arguments.words(), " ");
    targets.push_back({.label = arguments.words().front(),
                       .text = text,
                       .probe = factory.MakeExec(arguments.words(), text),
                       .operation = OperationOf(arguments, text)});
    return targets;
  }
  for (const Target& target : arguments.targets()) {
    absl::StatusOr<std::unique_ptr<Probe>> probe = factory.Make(target);
    if (!probe.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(target.label, ": ", probe.status().message()));
    }
    const absl::StatusOr<std::optional<absl::Duration>> timeout =
        arguments.wait().ProbeTimeoutOf(target.label,
                                        HoldOf(arguments, target));
    if (!timeout.ok()) return timeout.status();
    targets.push_back({.label = target.label,
                       .text = target.text,
                       .probe = *std::move(probe),
                       .operation = OperationOf(arguments, target.text),
                       .probe_timeout = *timeout});
  }
  return targets;
}

// Returns whether only the flags about header fields and certificates apply.
bool IsGrpc(const Target& target) {
  return target.scheme->flags == RequestFlags::kTrust;
}

// Returns the name of the machine, or of the socket, that gets the requests.
std::string HostOf(const Target& target) {
  if (const auto* const grpc = std::get_if<GrpcTarget>(&target.what)) {
    return absl::AsciiStrToLower(grpc->host);
  }
  const auto& http = std::get<HttpTarget>(target.what);
  return http.socket.empty() ? absl::AsciiStrToLower(http.host) : http.socket;
}

absl::Status CheckLabels(const WaitArguments& arguments) {
  for (const Flags::Labelled& given : arguments.flags().labelled()) {
    const bool for_any = given.name == "probe-timeout";
    const bool known =
        std::any_of(arguments.targets().begin(), arguments.targets().end(),
                    [&](const Target& target) {
                      const bool applies =
                          for_any || IsHttp(target) ||
                          (IsGrpc(target) && HttpFlags::IsForGrpc(given.name));
                      return target.label == given.label && applies;
                    });
    if (known) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", given.name, "@", given.label, ": no ",
                     for_any ? "" : "http ", "target has this label"));
  }
  return absl::OkStatus();
}

absl::Status CheckHttpFlags(const WaitArguments& arguments) {
  HttpFlags::Hosts hosts;
  for (const Target& target : arguments.targets()) {
    if (IsHttp(target)) hosts.http.insert(HostOf(target));
    if (IsGrpc(target)) hosts.grpc.insert(HostOf(target));
  }
  absl::Status used = HttpFlags::CheckUsed(arguments.flags(), hosts);
  return used.ok() ? HttpFlags::CheckHosts(arguments.flags(), hosts) : used;
}

// Checks that the flags fit the targets.
absl::Status CheckTargets(const WaitArguments& arguments) {
  absl::Status labels = CheckLabels(arguments);
  return labels.ok() ? CheckHttpFlags(arguments) : labels;
}

// Returns the options of http and grpc targets, by label.
absl::StatusOr<std::map<std::string, HttpOptions>> HttpOptionsByLabel(
    const WaitArguments& arguments) {
  std::map<std::string, HttpOptions> options;
  for (const Target& target : arguments.targets()) {
    if (!IsHttp(target) && !IsGrpc(target)) continue;
    absl::StatusOr<HttpOptions> own =
        arguments.http().Options(arguments.flags(), target.label);
    if (!own.ok()) return own.status();
    options[target.label] = *std::move(own);
  }
  return options;
}

// Makes a run continue from the file and keep its state there. Writes the file
// once, so that a user learns before the first poll that it cannot be written.
absl::Status UseStateFile(const StateFile& file,
                          const std::vector<WaitTarget>& targets,
                          WaitRunOptions& options) {
  std::vector<std::string> texts;
  texts.reserve(targets.size());
  for (const WaitTarget& target : targets) texts.push_back(target.text);
  absl::StatusOr<SavedRun> saved = file.Read(texts);
  if (!saved.ok()) return saved.status();
  options.state_file = &file;
  options.saved = *std::move(saved);
  if (options.saved.started == absl::InfinitePast()) {
    options.saved.started = GetRealClock().TimeNow();
    options.saved.limit = *options.policy.timeout;
  } else {
    options.resumed_with = *options.policy.timeout;
    options.policy.timeout =
        options.saved.limit.value_or(*options.policy.timeout);
  }
  return file.Write(options.saved);
}

// Returns the median of the known durations of an operation; nothing if there
// are fewer than `fewest`, or if half of them have no end.
std::optional<absl::Duration> UsualDuration(const DurationModel& model,
                                            const std::string& operation,
                                            int64_t fewest) {
  std::vector<ObservedDuration> known = model.Durations(operation);
  if (known.empty() || static_cast<int64_t>(known.size()) < fewest) {
    return std::nullopt;
  }
  const auto median =
      known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), median, known.end(),
                   [](const ObservedDuration& a, const ObservedDuration& b) {
                     return a.by < b.by;
                   });
  if (median->by == absl::InfiniteDuration()) return std::nullopt;
  return (median->after + median->by) / 2;
}

// Makes a run poll by the durations of a file, and add its own. Returns the
// file, or null if none.
absl::StatusOr<std::unique_ptr<DurationFile>> UseLearnedDelays(
    const WaitArguments& arguments, std::vector<WaitTarget>& targets,
    WaitRunOptions& options, std::ostream& err) {
  if (!arguments.wait().learn().has_value()) return nullptr;
  const std::string flag = arguments.flags().Label("learn");
  const std::string& path = arguments.wait().learn()->path;
  auto model = std::make_shared<DurationModel>();
  absl::StatusOr<std::unique_ptr<DurationFile>> file =
      DurationFile::Open(path, model);
  absl::Status status = file.status();
  if (status.ok()) {
    for (WaitTarget& target : targets) {
      target.usual = UsualDuration(*model, target.operation,
                                   arguments.wait().learned().min_observations);
    }
    absl::StatusOr<std::shared_ptr<LearnedDelays>> delays =
        LearnedDelays::Make(std::move(model), arguments.wait().learned());
    status = delays.status();
    if (delays.ok()) options.policy.delay_source = *std::move(delays);
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", status.message()));
  }
  const int64_t damaged = (*file)->damaged_lines();
  if (damaged > 0 && arguments.output().verbose()) {
    err << "waiter: "
        << Printable(
               absl::StrCat(flag, ": ", path, ": left out ", damaged,
                            damaged == 1 ? " damaged line" : " damaged lines"))
        << '\n';
  }
  return file;
}

// Returns why the file does not have all durations of the run, if so.
absl::Status LearnedStatus(const WaitArguments& arguments,
                           const DurationFile* file) {
  if (file == nullptr) return absl::OkStatus();
  const absl::Status status = file->status();
  return {status.code(), absl::StrCat(arguments.flags().Label("learn"), ": ",
                                      status.message())};
}

// Waits as `arguments` ask. All processes that it started have ended when it
// returns.
absl::StatusOr<RunEnd> Wait(const WaitArguments& arguments, std::ostream& out,
                            std::ostream& err) {
  const size_t count = std::max<size_t>(arguments.targets().size(), 1);
  absl::StatusOr<WaitRunOptions> options =
      arguments.wait().Options(arguments.flags(), count);
  if (!options.ok()) return options.status();
  const absl::StatusOr<RunListeners> listeners =
      arguments.output().Listeners(arguments.flags(), ThisTerminal(), out, err);
  if (!listeners.ok()) return listeners.status();
  const absl::StatusOr<HttpOptions> http =
      arguments.http().Options(arguments.flags());
  if (!http.ok()) return http.status();
  absl::StatusOr<std::map<std::string, HttpOptions>> http_of =
      HttpOptionsByLabel(arguments);
  if (!http_of.ok()) return http_of.status();
  if (absl::Status status = CheckTargets(arguments); !status.ok()) {
    return status;
  }
  std::vector<RunListener*> listening;
  listening.reserve(listeners->size());
  for (const auto& listener : *listeners) listening.push_back(listener.get());

  const FileLimit files(count);
  EventLoop loop;
  ProcessReaper reaper(loop, arguments.wait().kill_after());
  WaitRun* running = nullptr;
  // The first signal ends the wait. The next one kills processes that still
  // run.
  std::vector<std::unique_ptr<SignalWatch>> signals;
  signals.reserve(kEndingSignals.size());
  for (const EndingSignal& signal : kEndingSignals) {
    signals.push_back(
        std::make_unique<SignalWatch>(loop, signal.number, [&, signal] {
          if (running == nullptr) return reaper.KillNow();
          running->Stop({.exit_code = kSignalCode + signal.number,
                         .reason = "interrupted",
                         .detail = std::string(signal.name)});
        }));
  }
  RunEnd end;
  absl::Status saved;
  absl::Status shared;
  absl::Status learned;
  {
    ProbeFactory factory(loop, reaper,
                         {.codes = arguments.code_map(),
                          .http = *http,
                          .login = arguments.login(),
                          .hold_open = arguments.hold_open(),
                          .http_of = *std::move(http_of),
                          .operation = arguments.operation()});
    absl::StatusOr<std::vector<WaitTarget>> targets =
        MakeTargets(arguments, factory);
    if (!targets.ok()) return targets.status();
    const StateFile state_file(arguments.wait().state_file());
    if (arguments.flags().Given("state")) {
      absl::Status status = UseStateFile(state_file, *targets, *options);
      if (!status.ok()) return status;
    }
    const auto limiter = MakeSharedLimiter(arguments.wait().shared_rate());
    if (!limiter.ok()) return limiter.status();
    options->policy.budgets.rate_limiter = *limiter;
    const auto durations = UseLearnedDelays(arguments, *targets, *options, err);
    if (!durations.ok()) return durations.status();
    WaitRun run(loop, *std::move(targets), *options, std::move(listening));
    running = &run;
    const SignalWatch asked(loop, SIGUSR1, [&run] { run.Snapshot(); });
    const Guard guard(
        reaper, arguments.guards().options(), [&](const absl::Status& why) {
          const bool broken = absl::IsInvalidArgument(why);
          run.Stop({.exit_code = broken ? kUsageError : options->failure_code,
                    .reason = broken ? "invalid" : "guard",
                    .detail = std::string(why.message())});
        });
    end = run.Run();
    running = nullptr;
    saved = run.save_status();
    shared = SharedRateStatus(limiter->get(), "used");
    learned = LearnedStatus(arguments, durations->get());
  }
  while (!reaper.idle()) loop.RunOnce(MonotonicTime::max());
  const auto warn = [&err](const absl::Status& status) {
    if (status.ok()) return;
    err << "waiter: " << Printable(std::string(status.message())) << '\n';
  };
  for (const auto& listener : *listeners) warn(listener->status());
  warn(saved);
  warn(shared);
  warn(learned);
  return end;
}

int RunWait(WaitArguments::Kind kind, const Invocation& invocation) {
  const auto& [args, environment, out, err] = invocation;
  const std::string_view word = WaitCommand(kind).name();
  const std::string name =
      word.empty() ? "waiter" : absl::StrCat("waiter ", word);
  const InitialState initial;
  const IgnoredPipe pipe;
  WaitArguments arguments(kind);
  if (absl::Status status = arguments.Parse(args, environment); !status.ok()) {
    return ExitCode(status, name, err);
  }
  if (arguments.flags().ShowHelp(out)) return WrittenExitCode(out, name, err);
  const absl::StatusOr<RunEnd> end = Wait(arguments, out, err);
  if (!end.ok()) return ExitCode(end.status(), name, err);
  if (end->reason == "interrupted") {
    out << std::flush;
    err << std::flush;
    DieOf(end->exit_code - kSignalCode);
    return end->exit_code;
  }
  const bool has_program = kind != WaitArguments::Kind::kExec &&
                           !arguments.words().empty() && end->reason != "slice";
  const bool go_on = end->exit_code == 0 || arguments.wait().run_anyway();
  if (!has_program || !go_on) return end->exit_code;
  out << std::flush;
  err << std::flush;
  return ExecProgram(arguments.words(), initial, err);
}

}  // namespace

std::vector<std::string> WaitCommand::FlagNames() const {
  return WaitArguments(kind_).flags().Names();
}

int WaitCommand::Run(const Invocation& invocation) const {
  return RunWait(kind_, invocation);
}

}  // namespace waiter::cli
