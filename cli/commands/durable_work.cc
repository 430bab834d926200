// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/durable_work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/commands/durable_store_flags.h"
#include "cli/commands/durable_work_log.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/flags/http_flags.h"
#include "cli/flags/policy_flags.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/signals.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/target.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "cli/run/durable_store.h"
#include "cli/run/durable_target.h"
#include "cli/run/loop_jobs.h"
#include "cli/run/shared_rate.h"
#include "cli/run/target_wait.h"
#include "cli/text/printable.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kWorkCommand = "waiter durable work";
constexpr std::string_view kNotes =
    "PROGRAM can read WAITER_NAME, WAITER_KEY, WAITER_RESULT (success, "
    "failed,\n"
    "  deadline, cancelled, attempts), WAITER_DETAIL, WAITER_IDEMPOTENCY_KEY. "
    "It\n  is run again until it exits with 0; without PROGRAM, results are "
    "kept\nSIGTERM ends the worker: it finishes its current work, and releases "
    "the rest\n";

constexpr std::array kLeaveSignals = {SIGTERM, SIGINT, SIGHUP};
constexpr std::chrono::seconds kErrorGap(1);
// Maximum number of waits that a worker holds for each of its threads.
constexpr int kHeldPerThread = 100;

struct WorkArguments {
  DurableStoreFlags store;
  PolicyFlags policy;
  HttpFlags http;
  std::optional<SharedRate> shared_rate;
  absl::Duration probe_timeout = absl::Seconds(10);
  absl::Duration hold;
  int successes = 1;
  bool gone = false;
  bool allow_exec = false;
  int parallel = 16;
  absl::Duration lease = absl::Seconds(15);
  absl::Duration retain = absl::Hours(24);
  absl::Duration drain = absl::Seconds(25);
  std::vector<std::string> program;
  DurableWorkLog log;
};

Flags MakeFlags(WorkArguments& arguments) {
  Flags flags(
      std::string(kWorkCommand),
      "--store=FILE [FLAG...] NAME... [-- PROGRAM [ARG...]]",
      "Polls the durable waits of names, and runs PROGRAM when each ends.");
  flags.SetNotes(std::string(kNotes));
  arguments.store.AddTo(flags);
  flags.Add("parallel", "16", "maximum of polls and programs in parallel",
            arguments.parallel, 1, 128);
  flags.AddSwitch("allow-exec", "run exec: commands, which come from the store",
                  arguments.allow_exec);
  flags.Add("lease", "15s", "time until others take over a dead worker's waits",
            arguments.lease);
  flags.Add("retain", "24h", "how long results are kept", arguments.retain);
  flags.Add("drain", "25s", "time to finish polls and programs after SIGTERM",
            arguments.drain);
  arguments.log.AddTo(flags);
  flags.BeginTopic("when", "delays and limits");
  arguments.policy.AddTo(flags);
  flags.Add("shared-rate", "URL",
            "rate of many processes: redis://HOST/NAME?rate=20",
            Flags::Into(ParseSharedRate, arguments.shared_rate));
  flags.HideValues("shared-rate");
  flags.Add("probe-timeout", "10s", "time limit of each poll",
            arguments.probe_timeout);
  flags.AddSwitch("gone", "wait until targets are gone; an error is not gone",
                  arguments.gone);
  flags.Add("hold", "5s", "how long a target must stay ready", arguments.hold);
  flags.Add("successes", "3", "polls in a row that must find a target ready",
            arguments.successes, 1, std::numeric_limits<int>::max());
  flags.BeginTopic("http", "flags for all http targets");
  arguments.http.AddTo(flags);
  arguments.http.AddFamilyTo(flags);
  return flags;
}

absl::StatusOr<WaitOptions> PolicyOf(const WorkArguments& arguments,
                                     const Flags& flags) {
  if (!flags.labelled().empty()) {
    const Flags::Labelled& given = flags.labelled().front();
    return absl::InvalidArgumentError(
        absl::StrCat("--", given.name, "@", given.label,
                     ": workers do not know labels; leave out the @LABEL"));
  }
  if (arguments.probe_timeout == absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label("probe-timeout"),
                     "=0: it must be above zero, such as 10s"));
  }
  absl::StatusOr<WaitOptions> policy = arguments.policy.Options(flags);
  if (!policy.ok()) return policy;
  policy->poll_timeout = arguments.probe_timeout;
  policy->confirm.hold_for = arguments.hold;
  policy->confirm.successes = arguments.successes;
  policy->errors.retry_after.past_deadline =
      RetryAfterOptions::PastDeadline::kPollAtDeadline;
  if (absl::Status status = Validate(*policy); !status.ok()) return status;
  return policy;
}

// Polls and runs programs on a loop, for the threads of a worker.
class Worker {
 public:
  Worker(const WorkArguments& arguments, const HttpOptions& http,
         EventLoop& loop, ProcessReaper& reaper, std::ostream& out,
         std::ostream& err)
      : arguments_(arguments),
        loop_(loop),
        factory_(loop, reaper, {.http = http}),
        jobs_(reaper),
        out_(out),
        err_(err) {}

  Poll<std::string> Ask(const DurablePoll& poll) {
    const absl::StatusOr<Target> target =
        DurableTarget(poll.key, poll.args, arguments_.allow_exec);
    if (!target.ok()) return Failed(target.status());
    Finding found =
        jobs_.RunProbe([&] { return factory_.Make(*target); }, poll.context);
    if (arguments_.gone) found = Inverted(std::move(found));
    if (found.status == PollStatus::kSuccess) {
      const std::string& value = found.value.value_or(found.detail);
      return {std::in_place, value, found.detail};
    }
    return {found.status, found.detail, found.retry_after};
  }

  absl::Status Deliver(const DurableResult& result) {
    ProcessEnd end = jobs_.RunProgram(
        {.words = arguments_.program, .environment = ResultVariables(result)});
    const bool ok = end.how == ProcessEnd::How::kExited && end.code == 0;
    std::string message =
        ok ? "" : absl::StrCat(result.key, ": ", Describe(end));
    loop_.Post([this, end = std::move(end), message] {
      out_ << end.out << std::flush;
      err_ << end.err << std::flush;
      if (!message.empty()) Warn(message + "; will run again later");
    });
    return ok ? absl::OkStatus() : absl::UnavailableError(message);
  }

  // Returns a policy whose waits are logged.
  WaitOptions Logged(WaitOptions policy, const std::string& name) {
    policy.hooks.observer =
        arguments_.log.ObserverOf(name, [this](std::string line) {
          loop_.Post([this, line = std::move(line)] { Warn(line); });
        });
    return policy;
  }

  void Warn(std::string_view message) {
    err_ << kWorkCommand << ": " << Printable(message) << '\n' << std::flush;
  }

  LoopJobs& jobs() { return jobs_; }

 private:
  const WorkArguments& arguments_;
  EventLoop& loop_;
  ProbeFactory factory_;
  LoopJobs jobs_;
  std::ostream& out_;
  std::ostream& err_;
};

// Returns what there is to do for a name.
std::string Introduction(const std::string& name, const DurableStats& stats,
                         const DurableSpace& space, int threads) {
  const auto enqueued = std::find_if(
      stats.counters.begin(), stats.counters.end(),
      [](const auto& counter) { return counter.first == "enqueued"; });
  if (enqueued != stats.counters.end() && enqueued->second > 0) {
    return absl::StrCat("serves ", name, " with ", threads,
                        " threads: ", stats.pending, " pending, ",
                        stats.overdue, " overdue");
  }
  return absl::StrCat("serves ", name, ", to which no wait was ever added",
                      OtherNames(space, name));
}

// Returns the introductions, or an error if the store does not answer, or
// divides a name differently.
absl::StatusOr<std::vector<std::string>> CheckStore(
    const std::shared_ptr<WaitStore>& store, const WorkArguments& arguments,
    const std::vector<std::string>& names) {
  const DurableStoreFlags& flags = arguments.store;
  const absl::StatusOr<std::unique_ptr<DurableClient>> client =
      DurableClient::Make(
          store, {.space = flags.space, .partitions = flags.partitions});
  if (!client.ok()) return client.status();
  const absl::StatusOr<DurableSpace> space = Answer<DurableSpace>(
      [&](auto callback) { (*client)->Describe(std::move(callback)); });
  if (!space.ok()) return space.status();
  std::vector<std::string> introductions;
  for (const std::string& name : names) {
    const absl::StatusOr<DurableStats> stats = Answer<DurableStats>(
        [&](auto callback) { (*client)->Stats(name, std::move(callback)); });
    if (!stats.ok()) return stats.status();
    introductions.push_back(
        Introduction(name, *stats, *space, arguments.parallel));
  }
  return introductions;
}

// Returns the error of the store or of the shared rate, or OK if both work.
absl::Status TroubleOf(const DurableWaits& waits,
                       const SharedRateLimiter* limiter) {
  absl::Status status = waits.State().last_error;
  return status.ok() ? SharedRateStatus(limiter, "uses") : status;
}

// Runs the loop until a signal has come and the worker has ended. Signals are
// served before the introductions are printed.
void RunUntilSignal(std::unique_ptr<DurableWaits> waits,
                    const std::vector<std::string>& introductions,
                    const SharedRateLimiter* limiter, absl::Duration drain,
                    Worker& worker, EventLoop& loop, ProcessReaper& reaper) {
  bool has_ended = false;
  bool has_drained = false;
  std::thread drainer;
  const auto end_work = [&] {
    has_drained = waits->Drain(drain);
    loop.Post([&] { worker.jobs().Close(); });
    // Joins the threads, whose jobs the loop ends.
    waits = nullptr;
    loop.Post([&] { has_ended = true; });
  };
  const auto on_signal = [&] {
    if (!drainer.joinable()) {
      drainer = std::thread(end_work);
    } else {
      worker.jobs().Close();
      reaper.KillNow();
    }
  };
  std::vector<std::unique_ptr<SignalWatch>> signals;
  signals.reserve(kLeaveSignals.size());
  for (const int signal : kLeaveSignals) {
    signals.push_back(std::make_unique<SignalWatch>(loop, signal, on_signal));
  }
  // A reader of the output that goes away must not end the worker.
  const SignalWatch pipe(loop, SIGPIPE, [] {});
  for (const std::string& introduction : introductions) {
    worker.Warn(introduction);
  }
  waits->Start();
  absl::Status known;
  MonotonicTime next_look = {};
  while (!has_ended) {
    const MonotonicTime now = loop.clock().MonotonicNow();
    if (!drainer.joinable() && now >= next_look) {
      next_look = now + kErrorGap;
      const absl::Status error = TroubleOf(*waits, limiter);
      if (!error.ok() && known.ok()) {
        worker.Warn(absl::StrCat(error.message()));
      }
      known = error;
    }
    loop.RunOnce(now + kErrorGap);
  }
  drainer.join();
  if (!has_drained) {
    worker.Warn(
        "could not release all waits; other workers take them over later");
  }
}

absl::Status Work(const WorkArguments& arguments, WaitOptions policy,
                  const HttpOptions& http,
                  const std::vector<std::string>& words, std::ostream& out,
                  std::ostream& err) {
  const absl::StatusOr<std::shared_ptr<WaitStore>> store =
      ConnectToWaitStore(words.front());
  if (!store.ok()) return store.status();
  const absl::StatusOr<std::shared_ptr<SharedRateLimiter>> limiter =
      MakeSharedLimiter(arguments.shared_rate);
  if (!limiter.ok()) return limiter.status();
  policy.budgets.rate_limiter = *limiter;
  absl::StatusOr<std::unique_ptr<DurableWaits>> waits = DurableWaits::Make(
      *store, {.space = arguments.store.space,
               .threads = arguments.parallel,
               .partitions = arguments.store.partitions,
               .lease = arguments.lease,
               .max_held = int64_t{kHeldPerThread} * arguments.parallel,
               .retain = arguments.retain});
  if (!waits.ok()) return waits.status();
  const std::vector<std::string> names(words.begin() + 1, words.end());
  EventLoop loop;
  ProcessReaper reaper(loop);
  Worker worker(arguments, http, loop, reaper, out, err);
  absl::StatusOr<std::vector<std::string>> introductions =
      CheckStore(*store, arguments, names);
  if (!introductions.ok()) return introductions.status();
  if (arguments.log.quiet()) introductions->clear();
  for (const std::string& name : names) {
    DurableHandler handler;
    if (!arguments.program.empty()) {
      handler = [&worker](const DurableResult& result) {
        return worker.Deliver(result);
      };
    }
    absl::Status status = (*waits)->Register(
        name, worker.Logged(policy, name),
        [&worker](const DurablePoll& poll) { return worker.Ask(poll); },
        std::move(handler));
    if (!status.ok()) return status;
  }
  RunUntilSignal(*std::move(waits), *introductions, limiter->get(),
                 arguments.drain, worker, loop, reaper);
  while (!reaper.idle()) loop.RunOnce(MonotonicTime::max());
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> DurableWorkFlagNames() {
  WorkArguments arguments;
  return MakeFlags(arguments).Names();
}

absl::Status DurableWork(const Invocation& invocation) {
  const auto& [args, environment, out, err] = invocation;
  WorkArguments arguments;
  Flags flags = MakeFlags(arguments);
  const auto* const separator = std::find(args.begin(), args.end(), "--");
  absl::StatusOr<std::vector<std::string>> words = flags.Parse(
      args.subspan(0, static_cast<size_t>(separator - args.begin())),
      environment);
  if (!words.ok()) return words.status();
  if (flags.ShowHelp(out)) return absl::OkStatus();
  if (absl::Status status = arguments.store.TakeStore(*words); !status.ok()) {
    return status;
  }
  if (separator != args.end()) {
    arguments.program.assign(separator + 1, args.end());
    if (arguments.program.empty()) {
      return absl::InvalidArgumentError("PROGRAM is missing after --");
    }
  }
  if (words->size() < 2) {
    return absl::InvalidArgumentError(
        "give a store and a name, such as --store=jobs.db jobs");
  }
  for (size_t i = 1; i < words->size(); ++i) {
    if (absl::Status status = CheckWaitName((*words)[i]); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = arguments.log.Open(); !status.ok()) return status;
  absl::StatusOr<WaitOptions> policy = PolicyOf(arguments, flags);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<HttpOptions> http = arguments.http.Options(flags);
  if (!http.ok()) return http.status();
  policy->poll_timeout = arguments.probe_timeout + http->long_poll.hold;
  return Work(arguments, *std::move(policy), *http, *words, out, err);
}

}  // namespace waiter::cli
