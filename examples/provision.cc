// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a server, over real sockets, until it says that it is ready:
//
//   ./bazelw run //examples:provision
//   ./bazelw run //examples:provision -- --url http://localhost:8080/health
//   ./bazelw run //examples:provision -- --learn=/tmp/provisioning
//
// The wait itself is in `Run`; the rest of this file is command line and text.
// Needs libcurl.

#ifdef WAITER_HAS_CURL

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "examples/provisioning_server.h"
#include "examples/stop_on_signal.h"
#include "waiter/backoff.h"
#include "waiter/interop/http.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter_examples {
namespace {

constexpr std::string_view kHelp =
    "Waits for a server until it answers 2xx, and prints every poll.\n"
    "\n"
    "  --url=URL           the server to wait for, by http or https; by "
    "default,\n"
    "                      one that this program starts and that takes some\n"
    "                      seconds to become ready\n"
    "  --timeout=DURATION  when to give up, such as 90s or 5m; 30s by "
    "default;\n"
    "                      inf waits forever\n"
    "  --learn=FILE        polls by how long earlier runs took, which FILE "
    "keeps;\n"
    "                      run it four times to see fewer polls\n"
    "  --help              prints this text\n"
    "\n"
    "Exits with 0 if the server is ready, 1 if the wait failed, 2 if an\n"
    "argument is wrong, 130 after Ctrl-C and 143 after SIGTERM.\n";

constexpr int kReady = 0;
constexpr int kNotReady = 1;
constexpr int kUsageError = 2;
constexpr int kSignalled = 128;

std::string Seconds(absl::Duration duration) {
  return absl::StrFormat("%.3fs", absl::ToDoubleSeconds(duration));
}

// Prints a line for every poll.
class Progress : public waiter::WaitObserver {
 public:
  // Returns the status and detail of the last poll that was not cut short;
  // empty without such a poll.
  std::string_view last_seen() const { return last_seen_; }

 private:
  void BeforePoll(const waiter::WaitIdentity& /*wait*/,
                  int64_t attempt) override {
    if (attempt == 1) {
      absl::PrintF("%7s  %7s  %-12s  %-39s  %7s\n", "time", "attempt", "status",
                   "detail", "delay");
    }
    PrintPoll(Seconds(absl::ZeroDuration()));
  }

  // Prepares the line of a poll. The next hook prints it, because the delay is
  // not chosen yet.
  void AfterPoll(const waiter::PollEvent& poll) override {
    const waiter::Poll<>& found = poll.found;
    std::string detail(found.detail());
    if (found.retry_after() > absl::ZeroDuration()) {
      absl::StrAppend(&detail, ", after ",
                      absl::FormatDuration(found.retry_after()));
    }
    const std::string_view status = waiter::PollStatusName(found.status());
    line_ = absl::StrFormat("%7s  %7d  %-12s  %-39s", Seconds(poll.elapsed),
                            poll.attempt, status, detail);
    if (!absl::IsCancelled(found.error())) {
      last_seen_ = absl::StrCat(status, found.detail().empty() ? "" : ": ",
                                found.detail());
    }
  }

  void BeforeSleep(const waiter::SleepEvent& sleep) override {
    PrintPoll(Seconds(sleep.delay));
  }

  void OnDone(const waiter::WaitIdentity& /*wait*/,
              const waiter::WaitReport& /*report*/) override {
    PrintPoll("-");
  }

  void PrintPoll(std::string_view delay) {
    if (line_.empty()) return;
    absl::PrintF("%s  %7s\n", line_, delay);
    line_.clear();
  }

  std::string line_;
  std::string last_seen_;
};

void PrintReport(const waiter::WaitReport& report) {
  std::vector<std::string> counts;
  for (const waiter::PollStatus status :
       {waiter::PollStatus::kNotReady, waiter::PollStatus::kServerError,
        waiter::PollStatus::kThrottled, waiter::PollStatus::kFailed,
        waiter::PollStatus::kSuccess}) {
    if (report.count(status) == 0) continue;
    counts.push_back(absl::StrCat(report.count(status), " ",
                                  waiter::PollStatusName(status)));
  }
  absl::PrintF("\nreason    %s\n", waiter::StopReasonName(report.reason));
  absl::PrintF("attempts  %d", report.attempts);
  if (!counts.empty()) absl::PrintF(": %s", absl::StrJoin(counts, ", "));
  absl::PrintF("\nelapsed   %s, of which %s slept; longest poll %s\n",
               Seconds(report.elapsed), Seconds(report.slept),
               Seconds(report.longest_poll));
}

void PrintError(std::string_view text) {
  // The text may quote an argument with control characters.
  std::string line(text);
  std::replace_if(line.begin(), line.end(), absl::ascii_iscntrl, '?');
  absl::FPrintF(stderr, "provision: %s\n", line);
}

// The file of --learn and the delays it teaches; both null without the flag.
struct Learning {
  std::unique_ptr<waiter::DurationFile> file;
  std::shared_ptr<waiter::LearnedDelays> delays;
};

absl::StatusOr<Learning> LearnFrom(const std::optional<std::string>& path) {
  if (!path.has_value()) return Learning();
  const auto durations = std::make_shared<waiter::DurationModel>();
  absl::StatusOr<std::unique_ptr<waiter::DurationFile>> file =
      waiter::DurationFile::Open(*path, durations);
  if (!file.ok()) return file.status();
  // Learns from three runs instead of eight, and never polls early to find out
  // whether servers have become faster, so that few runs show the effect.
  absl::StatusOr<std::shared_ptr<waiter::LearnedDelays>> delays =
      waiter::LearnedDelays::Make(durations,
                                  {.min_observations = 3, .exploration = 0});
  if (!delays.ok()) return delays.status();
  return Learning{*std::move(file), *std::move(delays)};
}

// Waits for the server of `url` and returns the exit code.
int Run(const std::string& url, absl::Duration timeout,
        std::shared_ptr<waiter::LearnedDelays> learned_delays) {
  absl::PrintF("Waiting for %s (timeout %s); Ctrl-C ends it.\n\n", url,
               absl::FormatDuration(timeout));

  StopOnSignal stop;
  const auto progress = std::make_shared<Progress>();
  waiter::Waiter wait_until_ready(
      waiter::HttpPoller({.url = url}),
      {.name = url,
       .operation = "provisioning",
       .timeout = timeout,
       .poll_timeout = absl::Seconds(5),
       .backoff = {.initial_delay = absl::Milliseconds(200),
                   .max_delay = absl::Milliseconds(500),
                   .jitter = waiter::Jitter::Equal()},
       .delay_source = std::move(learned_delays),
       .polls =
           {// Leaves the last poll time for its answer.
            .last_lead = std::min(absl::Seconds(1), timeout / 4)},
       .hooks = {.observer = progress}});
  const waiter::WaitResult<waiter::HttpResponse> result =
      wait_until_ready.Wait(stop.token());

  PrintReport(result.report());
  switch (result.reason()) {
    case waiter::StopReason::kSuccess:
      return kReady;
    case waiter::StopReason::kInvalidOptions:
      PrintError(result.status().message());
      return kUsageError;
    case waiter::StopReason::kCancelled:
      PrintError(absl::StrCat(
          "stopped by ", stop.signal() == SIGINT ? "Ctrl-C" : "SIGTERM",
          "; last seen: ",
          progress->last_seen().empty() ? "nothing" : progress->last_seen()));
      return kSignalled + stop.signal();
    default:
      PrintError(result.status().ToString());
      return kNotReady;
  }
}

// Returns whether `text` may be the URL of a server; libcurl checks the rest.
bool IsUrl(std::string_view text) {
  return (absl::StartsWith(text, "http://") ||
          absl::StartsWith(text, "https://")) &&
         std::all_of(text.begin(), text.end(), absl::ascii_isgraph);
}

struct CommandLine {
  bool help = false;
  std::optional<std::string> url = std::nullopt;
  absl::Duration timeout = absl::Seconds(30);
  std::optional<std::string> learn = std::nullopt;
};

// Parses the arguments by hand, because `absl::ParseCommandLine` would print
// more than one line and exit with 1.
absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string_view>& arguments) {
  CommandLine parsed;
  for (auto argument = arguments.begin(); argument != arguments.end();
       ++argument) {
    const auto error = [text = *argument](std::string_view problem) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\": ", problem));
    };
    if (*argument == "--help") {
      parsed.help = true;
      return parsed;
    }
    // Takes both --name=value and --name value.
    const std::vector<std::string_view> parts =
        absl::StrSplit(*argument, absl::MaxSplits('=', 1));
    const std::string_view name = parts.front();
    if (name != "--url" && name != "--timeout" && name != "--learn") {
      return error("unknown argument; see --help");
    }
    if (parts.size() == 1 && std::next(argument) == arguments.end()) {
      return error("a value is missing");
    }
    const std::string_view value =
        parts.size() == 1 ? *++argument : parts.back();

    if (name == "--url") {
      if (!IsUrl(value)) return error("not a URL of http or https");
      parsed.url = std::string(value);
    } else if (name == "--learn") {
      if (value.empty()) return error("the name of a file is missing");
      parsed.learn = std::string(value);
    } else if (!absl::ParseDuration(value, &parsed.timeout) ||
               parsed.timeout <= absl::ZeroDuration()) {
      return error("a timeout must be above zero, such as 90s, 5m or inf");
    }
  }
  return parsed;
}

int Main(const std::vector<std::string_view>& arguments) {
  // Prints each line immediately, also into a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);

  const absl::StatusOr<CommandLine> command_line = ParseCommandLine(arguments);
  if (!command_line.ok()) {
    PrintError(command_line.status().message());
    return kUsageError;
  }
  if (command_line->help) {
    absl::PrintF("%s", kHelp);
    return EXIT_SUCCESS;
  }
  const absl::StatusOr<Learning> learning = LearnFrom(command_line->learn);
  if (!learning.ok()) {
    PrintError(learning.status().message());
    return kUsageError;
  }
  if (command_line->url.has_value()) {
    return Run(*command_line->url, command_line->timeout, learning->delays);
  }

  const absl::StatusOr<std::unique_ptr<ProvisioningServer>> server =
      ProvisioningServer::Start();
  if (!server.ok()) {
    PrintError(server.status().ToString());
    return kNotReady;
  }
  return Run(absl::StrCat("http://127.0.0.1:", (*server)->port(), "/"),
             command_line->timeout, learning->delays);
}

}  // namespace
}  // namespace waiter_examples

int main(int argc, char** argv) {
  return waiter_examples::Main({argv + 1, argv + std::max(argc, 1)});
}

#else  // WAITER_HAS_CURL

#include <cstdio>
#include <cstdlib>

int main() {
  std::fputs(
      "provision: built without libcurl; install its headers (Debian: "
      "libcurl4-openssl-dev) and build again\n",
      stderr);
  return EXIT_FAILURE;
}

#endif  // WAITER_HAS_CURL
