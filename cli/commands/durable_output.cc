// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/durable_output.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/output/target_text.h"
#include "cli/probes/schemes/parse_target.h"
#include "cli/run/durable_target.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

using Json = nlohmann::ordered_json;
using Phase = DurableStatus::Phase;

// Returns which worker holds a pending wait, or when one may.
std::string TurnText(const DurableStatus& status, absl::Time now) {
  if (status.is_cancelled) return "cancel requested";
  if (status.is_held) return "held";
  if (status.due == absl::InfiniteFuture()) return "not due";
  const absl::Duration left = status.due - now;
  return left > absl::ZeroDuration()
             ? absl::StrCat("due in ", TimeText(left))
             : absl::StrCat("overdue by ", TimeText(-left));
}

void AppendField(std::string_view name, std::string_view value,
                 std::string& text) {
  if (value.empty()) return;
  absl::StrAppendFormat(&text, "%-16s %s\n", name, Printable(value));
}

}  // namespace

std::string DurableLine(const DurableStatus& status, absl::Time now) {
  std::string line = absl::StrFormat("%-10s %s", ToString(status.phase),
                                     Printable(status.key));
  std::string detail;
  if (status.phase == Phase::kPending) {
    absl::StrAppend(&line, "  ", PollsText(status.attempts), ", ",
                    TurnText(status, now));
    detail = status.last_poll;
  } else if (status.result.has_value()) {
    absl::StrAppend(&line, "  ",
                    std::string(StopReasonName(status.result->reason)),
                    " after ", PollsText(status.result->attempts));
    detail = ResultDetail(*status.result);
  }
  if (!detail.empty()) absl::StrAppend(&line, ": ", Printable(detail));
  return line;
}

std::string DurableText(const DurableStatus& status, absl::Time now) {
  std::string text;
  AppendField("key", status.key, text);
  AppendField("phase", ToString(status.phase), text);
  if (status.phase == Phase::kUnknown) return text;
  AppendField("target", WithoutSecrets(status.args), text);
  if (status.enqueued != absl::InfinitePast()) {
    AppendField("added",
                absl::StrCat(TimeText(std::max(absl::ZeroDuration(),
                                               now - status.enqueued)),
                             " ago"),
                text);
  }
  if (status.phase == Phase::kPending) {
    AppendField("polls", absl::StrCat(status.attempts), text);
    AppendField("turn", TurnText(status, now), text);
    AppendField("last poll", status.last_poll, text);
  }
  if (!status.result.has_value()) return text;
  const DurableResult& result = *status.result;
  AppendField("result", StopReasonName(result.reason), text);
  AppendField("detail", ResultDetail(result), text);
  AppendField("polls", absl::StrCat(result.attempts), text);
  AppendField("took", TimeText(result.elapsed), text);
  AppendField("idempotency key", result.idempotency_key, text);
  return text;
}

std::string DurableJson(const DurableStatus& status) {
  const auto time = [](absl::Time t) {
    return t == absl::InfinitePast() || t == absl::InfiniteFuture()
               ? Json()
               : Json(absl::FormatTime(absl::RFC3339_full, t,
                                       absl::UTCTimeZone()));
  };
  Json row = {{"key", status.key},
              {"phase", std::string(ToString(status.phase))}};
  if (status.phase != Phase::kUnknown) {
    row["target"] = WithoutSecrets(status.args);
    row["added"] = time(status.enqueued);
    row["attempts"] = status.attempts;
  }
  if (status.phase == Phase::kPending) {
    row["held"] = status.is_held;
    row["cancelled"] = status.is_cancelled;
    row["due"] = time(status.due);
    row["last_poll"] = status.last_poll;
  }
  if (status.result.has_value()) {
    const DurableResult& result = *status.result;
    row["result"] = std::string(StopReasonName(result.reason));
    row["detail"] = ResultDetail(result);
    row["elapsed_ms"] = JsonMilliseconds(result.elapsed);
    row["idempotency_key"] = result.idempotency_key;
  }
  return JsonText(row);
}

std::string DurableLookText(const DurableLook& look) {
  const DurableStats& stats = look.stats;
  std::string text;
  const auto append = [&](const std::string& name, const std::string& value) {
    absl::StrAppendFormat(&text, "%-16s %s\n", name, value);
  };
  append("name", look.name);
  append("pending", absl::StrCat(stats.pending));
  append("overdue", absl::StrCat(stats.overdue));
  append("oldest", TimeText(stats.oldest));
  append("undelivered", absl::StrCat(stats.undelivered));
  append("kept", absl::StrCat(stats.kept));
  append("workers", absl::StrCat(look.workers));
  append("polls", absl::StrCat(stats.polls));
  if (look.polls_per_second.has_value()) {
    append("polls/s", absl::StrFormat("%.1f", *look.polls_per_second));
  }
  for (const auto& [counter, count] : stats.counters) {
    append(Printable(counter), absl::StrCat(count));
  }
  return text;
}

std::string DurableLookJson(const DurableLook& look) {
  const DurableStats& stats = look.stats;
  Json counters = Json::object();
  for (const auto& [counter, count] : stats.counters) {
    counters[counter] = count;
  }
  return JsonText({{"name", look.name},
                   {"pending", stats.pending},
                   {"overdue", stats.overdue},
                   {"oldest_ms", JsonMilliseconds(stats.oldest)},
                   {"undelivered", stats.undelivered},
                   {"kept", stats.kept},
                   {"workers", look.workers},
                   {"polls", stats.polls},
                   {"polls_per_s", look.polls_per_second.has_value()
                                       ? JsonNumber(*look.polls_per_second)
                                       : Json()},
                   {"counters", std::move(counters)}});
}

std::string DurableAddedJson(std::string_view name, int64_t added,
                             int64_t known) {
  return JsonText(
      {{"name", std::string(name)}, {"added", added}, {"known", known}});
}

std::string DurableMoveText(const DurableMoveReport& report) {
  std::string text;
  AppendField("moved", absl::StrCat(report.moved), text);
  if (report.held > 0) {
    AppendField(
        "held",
        absl::StrCat(
            report.held,
            " by dead workers; move again once their leases have ended"),
        text);
  }
  if (report.undelivered > 0) {
    AppendField("undelivered",
                absl::StrCat(report.undelivered,
                             ", which a worker of the old store must deliver"),
                text);
  }
  for (const std::string& key : report.conflicts) {
    AppendField(
        "conflict",
        absl::StrCat(key, ", for which the new store has another target"),
        text);
  }
  return text;
}

std::string DurableMoveJson(std::string_view name,
                            const DurableMoveReport& report) {
  return JsonText({{"name", std::string(name)},
                   {"moved", report.moved},
                   {"held", report.held},
                   {"undelivered", report.undelivered},
                   {"conflicts", report.conflicts}});
}

std::string DurableCheckText(const DurableCheckReport& report, bool repairs) {
  std::string text;
  for (const WaitServer& server : report.servers) {
    AppendField("server", server.description, text);
    for (const std::string& fault : server.faults) {
      AppendField("setting", fault, text);
    }
  }
  for (const DurableFinding& finding : report.findings) {
    AppendField(ToString(finding.fault), ToString(finding), text);
  }
  const auto listed = static_cast<int64_t>(report.findings.size());
  if (report.found > listed) {
    AppendField("more", absl::StrCat(report.found - listed, " like these"),
                text);
  }
  if (report.uncounted > 0) {
    AppendField(
        "not counted",
        absl::StrCat(
            report.uncounted,
            " partitions, because waits were added or ended during the check"),
        text);
  }
  std::string found = "no damage";
  if (report.found > 0) {
    found =
        absl::StrCat(report.found, report.found == 1 ? " finding" : " findings",
                     repairs ? ", repaired" : "; --repair fixes them");
  }
  AppendField("records", absl::StrCat(report.records, ", ", found), text);
  return text;
}

std::string DurableCheckJson(std::string_view name,
                             const DurableCheckReport& report, bool repairs) {
  Json servers = Json::array();
  for (const WaitServer& server : report.servers) {
    servers.push_back(
        {{"description", server.description}, {"faults", server.faults}});
  }
  Json findings = Json::array();
  for (const DurableFinding& finding : report.findings) {
    Json row = {{"fault", std::string(ToString(finding.fault))},
                {"partition", finding.partition}};
    if (finding.fault == WaitFault::kMiscounted) {
      row["missing"] = finding.missing;
    } else {
      row["key"] = finding.key;
    }
    findings.push_back(std::move(row));
  }
  return JsonText({{"name", std::string(name)},
                   {"clean", report.is_clean()},
                   {"records", report.records},
                   {"found", report.found},
                   {"repaired", repairs ? report.found : 0},
                   {"uncounted", report.uncounted},
                   {"servers", std::move(servers)},
                   {"findings", std::move(findings)}});
}

}  // namespace waiter::cli
