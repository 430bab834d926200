// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/budgets_command.h"

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/run/exit_code.h"
#include "cli/run/shared_rate.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "nlohmann/json.hpp"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kBudgetsCommand = "waiter budgets";
constexpr absl::Duration kWatchGap = absl::Seconds(2);

struct StatusArguments {
  bool json = false;
  bool watch = false;
};

Flags MakeFlags(StatusArguments& arguments) {
  Flags flags(std::string(kBudgetsCommand),
              "[FLAG...] redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]",
              "Shows the budgets that processes share: limits, use, members.");
  flags.AddSwitch("json", "print JSON, one line per refresh", arguments.json);
  flags.AddSwitch("watch", "refresh every 2s, until interrupted",
                  arguments.watch);
  return flags;
}

absl::StatusOr<BudgetList> List(const std::shared_ptr<RedisClient>& client) {
  std::promise<absl::StatusOr<BudgetList>> list;
  ListBudgets(client, [&list](absl::StatusOr<BudgetList> got) {
    list.set_value(std::move(got));
  });
  return list.get_future().get();
}

std::string Number(double number) { return absl::StrFormat("%.6g", number); }

// Aligns the columns: names to the left, numbers to the right.
void PrintTable(const std::vector<std::vector<std::string>>& rows,
                std::ostream& out) {
  std::vector<size_t> widths(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const std::vector<std::string>& row : rows) {
    out << absl::StrFormat("%-*s", static_cast<int>(widths[0]), row[0]);
    for (size_t i = 1; i < row.size(); ++i) {
      out << absl::StrFormat("  %*s", static_cast<int>(widths[i]), row[i]);
    }
    out << '\n';
  }
}

void PrintErrors(const BudgetList& list, std::ostream& out) {
  const auto print = [&](const std::string& name, const absl::Status& error) {
    if (error.ok()) return;
    out << name << ": " << Printable(std::string(error.message())) << '\n';
  };
  for (const RateBudget& budget : list.rates) print(budget.name, budget.error);
  for (const QuotaBudget& budget : list.quotas) {
    print(budget.name, budget.error);
  }
}

void Print(const BudgetList& list, std::ostream& out) {
  if (list.rates.empty() && list.quotas.empty()) out << "no budgets\n";
  if (!list.rates.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"rate", "limit/s", "polls/s", "use", "members", "busy"}};
    for (const RateBudget& budget : list.rates) {
      rows.push_back(
          {budget.name, budget.rate.has_value() ? Number(*budget.rate) : "-",
           Number(budget.polls_per_second),
           budget.rate.has_value()
               ? absl::StrFormat("%.0f%%",
                                 100 * budget.polls_per_second / *budget.rate)
               : "-",
           absl::StrCat(budget.members), absl::StrCat(budget.busy_members)});
    }
    PrintTable(rows, out);
  }
  if (!list.rates.empty() && !list.quotas.empty()) out << '\n';
  if (!list.quotas.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"quota", "capacity", "free", "leased", "spent", "members"}};
    for (const QuotaBudget& budget : list.quotas) {
      rows.push_back(
          {budget.name, Number(budget.capacity), Number(budget.free),
           Number(budget.leased),
           Number(std::max(0.0, budget.capacity - budget.free - budget.leased)),
           absl::StrCat(budget.members)});
    }
    PrintTable(rows, out);
  }
  PrintErrors(list, out);
}

void PrintJson(const BudgetList& list, std::ostream& out) {
  using Json = nlohmann::ordered_json;
  Json rates = Json::array();
  for (const RateBudget& budget : list.rates) {
    Json row = {{"name", budget.name}};
    if (budget.error.ok()) {
      row["limit_per_second"] =
          budget.rate.has_value() ? JsonNumber(*budget.rate) : Json();
      row["polls_per_second"] = JsonNumber(budget.polls_per_second);
      row["members"] = budget.members;
      row["busy_members"] = budget.busy_members;
    } else {
      row["error"] = std::string(budget.error.message());
    }
    rates.push_back(std::move(row));
  }
  Json quotas = Json::array();
  for (const QuotaBudget& budget : list.quotas) {
    Json row = {{"name", budget.name}};
    if (budget.error.ok()) {
      row["capacity"] = JsonNumber(budget.capacity);
      row["free"] = JsonNumber(budget.free);
      row["leased"] = JsonNumber(budget.leased);
      row["members"] = budget.members;
    } else {
      row["error"] = std::string(budget.error.message());
    }
    quotas.push_back(std::move(row));
  }
  out << JsonText(
             Json{{"rates", std::move(rates)}, {"quotas", std::move(quotas)}})
      << '\n';
}

absl::Status Show(const std::string& url, const StatusArguments& arguments,
                  std::ostream& out) {
  const absl::StatusOr<std::shared_ptr<RedisClient>> client =
      ConnectToRedis(url);
  if (!client.ok()) return client.status();
  while (true) {
    const absl::StatusOr<BudgetList> list = List(*client);
    if (!list.ok()) return list.status();
    if (arguments.json) {
      PrintJson(*list, out);
    } else {
      Print(*list, out);
    }
    if (!arguments.watch || !(out << std::flush)) return absl::OkStatus();
    absl::SleepFor(kWatchGap);
    if (!arguments.json) out << '\n';
  }
}

}  // namespace

std::vector<std::string> BudgetsCommand::FlagNames() const {
  StatusArguments arguments;
  return MakeFlags(arguments).Names();
}

int BudgetsCommand::Run(const Invocation& invocation) const {
  StatusArguments arguments;
  Flags flags = MakeFlags(arguments);
  const absl::StatusOr<std::vector<std::string>> urls =
      flags.Parse(invocation.args, invocation.environment);
  if (!urls.ok()) {
    return ExitCode(urls.status(), kBudgetsCommand, invocation.err);
  }
  if (flags.ShowHelp(invocation.out)) return 0;
  if (urls->size() != 1) {
    return ExitCode(
        absl::InvalidArgumentError("give one URL, such as redis://10.0.0.5"),
        kBudgetsCommand, invocation.err);
  }
  return ExitCode(Show(urls->front(), arguments, invocation.out),
                  kBudgetsCommand, invocation.err);
}

}  // namespace waiter::cli
