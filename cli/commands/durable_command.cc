// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/durable_command.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/commands/durable_output.h"
#include "cli/commands/durable_store_flags.h"
#include "cli/commands/durable_work.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/output/terminal.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/run/durable_store.h"
#include "cli/run/durable_target.h"
#include "cli/run/exit_code.h"
#include "cli/text/duration_text.h"
#include "cli/text/printable.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kDurableCommand = "waiter durable";
constexpr std::string_view kUsage =
    "usage: waiter durable ACTION --store=FILE [FLAG...] NAME ...\n"
    "Waits that outlive their process, in an SQLite file or on a PostgreSQL,\n"
    "Redis or Valkey server.\n"
    "\n"
    "  add     adds waits for targets\n"
    "  work    polls the waits, and runs a program when each ends\n"
    "  status  shows how many waits there are, and how late they are\n"
    "  list    lists the waits and kept results\n"
    "  show    shows one wait\n"
    "  notify  polls a wait immediately\n"
    "  cancel  ends a wait\n"
    "  forget  removes the result of a wait\n"
    "  move    moves waits to another store\n"
    "  check   finds damage in the store, and can repair it\n"
    "\n"
    "waiter durable ACTION --help shows the flags of an action.\n";

constexpr absl::Duration kStatusGap = absl::Seconds(2);
constexpr absl::Duration kReplaceGap = absl::Milliseconds(200);
constexpr absl::Duration kReplaceLimit = absl::Seconds(30);
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";
constexpr int kNo = 1;

// The arguments of all actions but `work`.
struct DurableArguments {
  DurableStoreFlags store;
  std::string to;
  std::string key;
  bool replace = false;
  std::optional<absl::Duration> timeout;
  absl::Duration first_delay;
  bool json = false;
  bool repair = false;
  bool watch = false;
  int max_overdue = 0;
};

enum class Action : uint8_t {
  kAdd,
  kStatus,
  kList,
  kShow,
  kNotify,
  kCancel,
  kForget,
  kMove,
  kCheck
};

struct ActionForm {
  Action action;
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;
  size_t least_words;
  size_t most_words;
};

constexpr std::array kActions = {
    ActionForm{
        Action::kAdd, "add", "--store=FILE [FLAG...] NAME TARGET...",
        "Adds a durable wait for each target; existing waits stay as they are.",
        3, std::numeric_limits<size_t>::max()},
    ActionForm{
        Action::kStatus, "status", "--store=FILE [FLAG...] [NAME]",
        "Shows how many waits NAME (or each name) has, and how late they are.",
        1, 2},
    ActionForm{Action::kList, "list", "--store=FILE [FLAG...] NAME",
               "Lists the waits and kept results of a name.", 2, 2},
    ActionForm{Action::kShow, "show", "--store=FILE [FLAG...] NAME KEY",
               "Shows one wait.", 3, 3},
    ActionForm{Action::kNotify, "notify", "--store=FILE [FLAG...] NAME KEY",
               "Requests an immediate poll of a wait.", 3, 3},
    ActionForm{Action::kCancel, "cancel", "--store=FILE [FLAG...] NAME KEY",
               "Requests that a wait be cancelled.", 3, 3},
    ActionForm{Action::kForget, "forget", "--store=FILE [FLAG...] NAME KEY",
               "Removes the result of a wait, so that the wait can be added "
               "again.",
               3, 3},
    ActionForm{Action::kMove, "move", "--from=FILE --to=URL [FLAG...] NAME",
               "Moves the pending waits of a name to another store.", 2, 2},
    ActionForm{
        Action::kCheck, "check", "--store=FILE [FLAG...] NAME",
        "Looks for damaged waits, and for server settings that endanger them.",
        2, 2},
};

Flags MakeFlags(const ActionForm& form, DurableArguments& arguments) {
  Flags flags(absl::StrCat(kDurableCommand, " ", form.name),
              std::string(form.arguments), std::string(form.summary));
  if (form.action == Action::kMove) {
    arguments.store.AddTo(flags, "from");
    flags.Add("to", "URL", "store to move the waits to", arguments.to);
    flags.HideValues("to");
  } else {
    arguments.store.AddTo(flags);
  }
  switch (form.action) {
    case Action::kAdd:
      flags.Add(
          "timeout", "40m", "when to give up; default: the workers' --timeout",
          Flags::Into(
              [](std::string_view text) { return ParseDurationText(text); },
              arguments.timeout));
      flags.AddSwitch("json", "print JSON", arguments.json);
      flags.Add("first-delay", "10s", "delay before the first poll",
                arguments.first_delay);
      flags.Add("key", "KEY",
                "key, for a single target; default its label or URL",
                arguments.key);
      // The programs that workers run get the variable.
      flags.HasNoVariable("key");
      flags.AddSwitch("replace",
                      "replace a wait with this key and another target",
                      arguments.replace);
      flags.HasNoVariable("replace");
      break;
    case Action::kStatus:
      flags.AddSwitch("json", "print JSON, one line per name and refresh",
                      arguments.json);
      flags.AddSwitch("watch", "refresh every 2s, until interrupted",
                      arguments.watch);
      flags.Add("max-overdue", "100",
                "exit with 1 if more waits than this are overdue",
                arguments.max_overdue, 0, std::numeric_limits<int>::max());
      flags.AddAlternatives({"watch", "max-overdue"}, ", which looks once");
      break;
    case Action::kList:
      flags.AddSwitch("json", "print JSON, one line per wait", arguments.json);
      break;
    case Action::kShow:
      flags.AddSwitch("json", "print JSON", arguments.json);
      break;
    case Action::kCheck:
      flags.AddSwitch("json", "print JSON", arguments.json);
      flags.AddSwitch("repair", "remove leftovers, and make lost waits due",
                      arguments.repair);
      flags.HasNoVariable("repair");
      break;
    case Action::kNotify:
    case Action::kCancel:
    case Action::kForget:
    case Action::kMove:
      flags.AddSwitch("json", "print JSON", arguments.json);
      break;
  }
  return flags;
}

// One call of an action.
struct Call {
  const DurableArguments& arguments;
  const Flags& flags;
  const std::vector<std::string>& words;
  const std::shared_ptr<WaitStore>& store;
  DurableClient& client;
  std::ostream& out;

  const std::string& name() const { return words[1]; }
};

absl::StatusOr<std::vector<DurableRequest>> ReadTargets(
    const DurableArguments& arguments, const std::vector<std::string>& words) {
  if (!arguments.key.empty() && words.size() > 3) {
    return absl::InvalidArgumentError(
        "--key: give only one target, or a label for each");
  }
  std::vector<DurableRequest> requests;
  std::set<std::string> keys;
  for (size_t i = 2; i < words.size(); ++i) {
    absl::StatusOr<DurableRequest> request =
        ToDurableRequest(words[i], arguments.key);
    if (!request.ok()) return request.status();
    if (!keys.insert(request->key).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          request->key, ": two targets have this key; give each its own"));
    }
    request->timeout = arguments.timeout;
    request->first_delay = arguments.first_delay;
    requests.push_back(*std::move(request));
  }
  return requests;
}

absl::StatusOr<DurableStatus> Get(const Call& call, const std::string& key) {
  return Answer<DurableStatus>([&](auto callback) {
    call.client.Get(call.name(), key, std::move(callback));
  });
}

// Ends and forgets the wait that has the key.
absl::Status Remove(const Call& call, const std::string& key) {
  const absl::Time end = absl::Now() + kReplaceLimit;
  for (bool is_cancelled = false; absl::Now() < end;) {
    const absl::StatusOr<DurableStatus> status = Get(call, key);
    if (!status.ok()) return status.status();
    if (status->phase == DurableStatus::Phase::kUnknown) {
      return absl::OkStatus();
    }
    const bool is_over = status->phase == DurableStatus::Phase::kDelivered;
    if (is_over || !is_cancelled) {
      const absl::StatusOr<DurableStatus> after =
          Answer<DurableStatus>([&](auto callback) {
            if (is_over) {
              call.client.Forget(call.name(), key, std::move(callback));
            } else {
              call.client.Cancel(call.name(), key, std::move(callback));
            }
          });
      if (!after.ok()) return after.status();
      is_cancelled = true;
    } else {
      absl::SleepFor(kReplaceGap);
    }
  }
  return absl::DeadlineExceededError(absl::StrCat(
      key, ": cancellation requested, but no worker has ended the wait within ",
      absl::FormatDuration(kReplaceLimit),
      "; start a worker, then repeat this command"));
}

// Replaces the waits for other targets that have the keys of `requests`.
// Returns their number.
absl::StatusOr<int64_t> Replace(const Call& call,
                                const std::vector<DurableRequest>& requests) {
  int64_t replaced = 0;
  for (const DurableRequest& request : requests) {
    const absl::StatusOr<DurableStatus> known = Get(call, request.key);
    if (!known.ok()) return known.status();
    if (known->phase == DurableStatus::Phase::kUnknown ||
        known->args == request.args) {
      continue;
    }
    if (!call.arguments.replace) {
      return absl::AlreadyExistsError(absl::StrCat(
          request.key, ": there is already a wait with this key, for ",
          WithoutSecrets(known->args),
          "; choose another key, or replace that wait with --replace (the "
          "other targets were added)"));
    }
    if (absl::Status status = Remove(call, request.key); !status.ok()) {
      return status;
    }
    const absl::StatusOr<bool> created = Answer<bool>([&](auto callback) {
      call.client.Enqueue(call.name(), request, std::move(callback));
    });
    if (!created.ok()) return created.status();
    ++replaced;
  }
  return replaced;
}

absl::StatusOr<int> Add(const Call& call,
                        const std::vector<DurableRequest>& requests) {
  const auto count = static_cast<int64_t>(requests.size());
  absl::StatusOr<int64_t> added = Answer<int64_t>([&](auto callback) {
    call.client.EnqueueMany(call.name(), requests, std::move(callback));
  });
  if (!added.ok()) return added.status();
  if (*added < count) {
    const absl::StatusOr<int64_t> replaced = Replace(call, requests);
    if (!replaced.ok()) return replaced.status();
    *added += *replaced;
  }
  if (call.arguments.json) {
    call.out << DurableAddedJson(call.name(), *added, count - *added) << '\n';
    return 0;
  }
  call.out << *added << " added";
  if (*added < count) call.out << ", " << count - *added << " already known";
  call.out << '\n';
  return 0;
}

absl::Status CheckKnown(const DurableSpace& space, const std::string& name) {
  for (const auto& [known, partitions] : space.names) {
    if (known == name) return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(name, ": no client or worker has used this name",
                   OtherNames(space, name)));
}

// Looks at the names of a space, one or all.
class Watcher {
 public:
  explicit Watcher(const Call& call) : call_(call) {}

  absl::StatusOr<std::vector<DurableLook>> Look() {
    const absl::StatusOr<DurableSpace> space = Answer<DurableSpace>(
        [&](auto callback) { call_.client.Describe(std::move(callback)); });
    if (!space.ok()) return space.status();
    std::vector<std::pair<std::string, int64_t>> names = space->names;
    if (call_.words.size() > 1) {
      if (absl::Status status = CheckKnown(*space, call_.name());
          !status.ok()) {
        return status;
      }
      names = {{call_.name(), call_.arguments.store.partitions}};
    }
    std::vector<DurableLook> looks;
    for (const auto& [name, partitions] : names) {
      absl::StatusOr<DurableStats> stats = Stats(name, partitions);
      if (!stats.ok()) return stats.status();
      looks.push_back({.name = name,
                       .stats = *std::move(stats),
                       .polls_per_second = std::nullopt,
                       .workers = space->workers});
      looks.back().polls_per_second = Rate(looks.back());
    }
    return looks;
  }

 private:
  absl::StatusOr<DurableStats> Stats(const std::string& name,
                                     int64_t partitions) const {
    const absl::StatusOr<std::unique_ptr<DurableClient>> client =
        DurableClient::Make(call_.store, {.space = call_.arguments.store.space,
                                          .partitions = partitions});
    if (!client.ok()) return client.status();
    return Answer<DurableStats>(
        [&](auto callback) { (*client)->Stats(name, std::move(callback)); });
  }

  // Returns the polls per second since the last call for the name.
  std::optional<double> Rate(const DurableLook& look) {
    const Count now = {absl::Now(), look.stats.polls};
    const auto [it, is_first] = counts_.emplace(look.name, now);
    if (is_first) return std::nullopt;
    const Count before = std::exchange(it->second, now);
    const double seconds = absl::ToDoubleSeconds(now.time - before.time);
    if (seconds <= 0) return std::nullopt;
    // The count is lower than before if the store has lost its data.
    return static_cast<double>(std::max<int64_t>(0, now.polls - before.polls)) /
           seconds;
  }

  struct Count {
    absl::Time time;
    int64_t polls;
  };

  const Call& call_;
  std::map<std::string, Count> counts_;
};

absl::StatusOr<int> Status(const Call& call) {
  Watcher watcher(call);
  const Terminal terminal = ThisTerminal();
  const bool is_page = call.arguments.watch && !call.arguments.json &&
                       terminal.out && !terminal.dumb;
  while (true) {
    const absl::StatusOr<std::vector<DurableLook>> looks = watcher.Look();
    if (!looks.ok()) return looks.status();
    if (is_page) call.out << kClearScreen;
    int64_t overdue = 0;
    std::string_view gap;
    for (const DurableLook& look : *looks) {
      overdue += look.stats.overdue;
      if (call.arguments.json) {
        call.out << DurableLookJson(look) << '\n';
      } else {
        call.out << std::exchange(gap, "\n") << DurableLookText(look);
      }
    }
    if (looks->empty() && !call.arguments.json) call.out << "no names\n";
    if (!call.arguments.watch || !(call.out << std::flush)) {
      return call.flags.Given("max-overdue") &&
                     overdue > call.arguments.max_overdue
                 ? kNo
                 : 0;
    }
    absl::SleepFor(kStatusGap);
    if (!call.arguments.json && !is_page) call.out << '\n';
  }
}

absl::StatusOr<int> List(const Call& call) {
  std::string cursor;
  do {
    const absl::StatusOr<DurableClient::Listed> listed =
        Answer<DurableClient::Listed>([&](auto callback) {
          call.client.List(call.name(), cursor, std::move(callback));
        });
    if (!listed.ok()) return listed.status();
    for (const DurableStatus& wait : listed->waits) {
      call.out << (call.arguments.json ? DurableJson(wait)
                                       : DurableLine(wait, absl::Now()))
               << '\n';
    }
    cursor = listed->cursor;
  } while (!cursor.empty() && call.out);
  return 0;
}

// Shows a wait, after the action.
absl::StatusOr<int> ActOn(const Call& call, Action action) {
  const std::string& key = call.words[2];
  const absl::StatusOr<DurableStatus> status =
      Answer<DurableStatus>([&](auto callback) {
        if (action == Action::kCancel) {
          call.client.Cancel(call.name(), key, std::move(callback));
        } else if (action == Action::kNotify) {
          call.client.Notify(call.name(), key, std::move(callback));
        } else {
          call.client.Get(call.name(), key, std::move(callback));
        }
      });
  if (!status.ok()) return status.status();
  if (call.arguments.json) {
    call.out << DurableJson(*status) << '\n';
  } else if (action == Action::kShow) {
    call.out << DurableText(*status, absl::Now());
  } else {
    call.out << DurableLine(*status, absl::Now()) << '\n';
  }
  return status->phase == DurableStatus::Phase::kUnknown ? kNo : 0;
}

absl::StatusOr<int> Forget(const Call& call) {
  const std::string& key = call.words[2];
  absl::StatusOr<DurableStatus> status = Get(call, key);
  if (!status.ok()) return status.status();
  if (status->phase == DurableStatus::Phase::kPending ||
      status->phase == DurableStatus::Phase::kEnded) {
    return absl::FailedPreconditionError(
        absl::StrCat(key, ": ", std::string(ToString(status->phase)),
                     "; only delivered results can be forgotten"));
  }
  const bool is_known = status->phase == DurableStatus::Phase::kDelivered;
  if (is_known) {
    status = Answer<DurableStatus>([&](auto callback) {
      call.client.Forget(call.name(), key, std::move(callback));
    });
    if (!status.ok()) return status.status();
  }
  if (call.arguments.json) {
    call.out << DurableJson(*status) << '\n';
  } else {
    call.out << (is_known ? "forgotten  " : "unknown    ") << Printable(key)
             << '\n';
  }
  return is_known ? 0 : kNo;
}

absl::StatusOr<int> Move(const Call& call) {
  const absl::StatusOr<std::shared_ptr<WaitStore>> to =
      ConnectToWaitStore(call.arguments.to);
  if (!to.ok()) return to.status();
  const absl::StatusOr<DurableMoveReport> report =
      Answer<DurableMoveReport>([&](auto callback) {
        MoveDurableWaits(call.store, *to, call.name(),
                         {.space = call.arguments.store.space,
                          .partitions = call.arguments.store.partitions},
                         std::move(callback));
      });
  if (!report.ok()) return report.status();
  if (call.arguments.json) {
    call.out << DurableMoveJson(call.name(), *report) << '\n';
  } else {
    call.out << DurableMoveText(*report);
  }
  const bool is_complete = report->held == 0 && report->undelivered == 0 &&
                           report->conflicts.empty();
  return is_complete ? 0 : kNo;
}

absl::StatusOr<int> Check(const Call& call) {
  const bool repairs = call.arguments.repair;
  const DurableCheckOptions options = {
      .space = call.arguments.store.space,
      .partitions = call.arguments.store.partitions,
      .repairs = repairs};
  const absl::StatusOr<DurableCheckReport> report =
      Answer<DurableCheckReport>([&](auto callback) {
        CheckDurableWaits(call.store, call.name(), options,
                          std::move(callback));
      });
  if (!report.ok()) return report.status();
  if (call.arguments.json) {
    call.out << DurableCheckJson(call.name(), *report, repairs) << '\n';
  } else {
    call.out << DurableCheckText(*report, repairs);
  }
  return report->is_clean() ? 0 : kNo;
}

absl::StatusOr<int> RunAction(const ActionForm& form,
                              const Invocation& invocation) {
  DurableArguments arguments;
  Flags flags = MakeFlags(form, arguments);
  absl::StatusOr<std::vector<std::string>> words =
      flags.Parse(invocation.args, invocation.environment);
  if (!words.ok()) return words.status();
  if (flags.ShowHelp(invocation.out)) return 0;
  if (absl::Status status = arguments.store.TakeStore(*words); !status.ok()) {
    return status;
  }
  if (form.action == Action::kMove && arguments.to.empty()) {
    return absl::InvalidArgumentError(
        "--to is missing; name the store to move to, such as "
        "--to=redis://HOST");
  }
  if (words->size() < form.least_words || words->size() > form.most_words) {
    return absl::InvalidArgumentError(absl::StrCat(
        "usage: ", kDurableCommand, " ", form.name, " ", form.arguments));
  }
  if (words->size() > 1) {
    absl::Status status = CheckWaitName((*words)[1]);
    if (!status.ok()) return status;
  }
  std::vector<DurableRequest> requests;
  if (form.action == Action::kAdd) {
    absl::StatusOr<std::vector<DurableRequest>> read =
        ReadTargets(arguments, *words);
    if (!read.ok()) return read.status();
    requests = *std::move(read);
  }
  const absl::StatusOr<std::shared_ptr<WaitStore>> store =
      ConnectToWaitStore(words->front());
  if (!store.ok()) return store.status();
  const absl::StatusOr<std::unique_ptr<DurableClient>> client =
      DurableClient::Make(*store, {.space = arguments.store.space,
                                   .partitions = arguments.store.partitions});
  if (!client.ok()) return client.status();
  const Call call = {arguments, flags,    *words,
                     *store,    **client, invocation.out};
  switch (form.action) {
    case Action::kAdd:
      return Add(call, requests);
    case Action::kStatus:
      return Status(call);
    case Action::kList:
      return List(call);
    case Action::kCheck:
      return Check(call);
    case Action::kForget:
      return Forget(call);
    case Action::kMove:
      return Move(call);
    case Action::kShow:
    case Action::kNotify:
    case Action::kCancel:
      break;
  }
  return ActOn(call, form.action);
}

int ToExitCode(const absl::StatusOr<int>& code, std::string_view action,
               std::ostream& err) {
  if (code.ok()) return *code;
  return ExitCode(code.status(), absl::StrCat(kDurableCommand, " ", action),
                  err);
}

}  // namespace

std::vector<std::string> DurableCommand::FlagNames() const {
  std::vector<std::string> names = DurableWorkFlagNames();
  for (const ActionForm& form : kActions) {
    DurableArguments arguments;
    for (std::string& name : MakeFlags(form, arguments).Names()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

int DurableCommand::Run(const Invocation& invocation) const {
  if (invocation.args.empty()) {
    return ExitCode(
        absl::InvalidArgumentError(
            "give an action, such as add or work; see waiter durable --help"),
        kDurableCommand, invocation.err);
  }
  const std::string& action = invocation.args[0];
  if (action == "--help" || action == "-h" || action == "help") {
    invocation.out << kUsage;
    return 0;
  }
  if (action == "work") {
    return ExitCode(DurableWork(invocation.AfterFirst()), "waiter durable work",
                    invocation.err);
  }
  for (const ActionForm& form : kActions) {
    if (action != form.name) continue;
    return ToExitCode(RunAction(form, invocation.AfterFirst()), action,
                      invocation.err);
  }
  return ExitCode(
      absl::InvalidArgumentError(
          "no such action; the actions are add, work, status, list, show, "
          "notify, cancel, forget, move and check"),
      kDurableCommand, invocation.err);
}

}  // namespace waiter::cli
