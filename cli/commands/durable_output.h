// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durable waits as text for people and as JSON:
//
//   out << waiter::cli::DurableLine(status, absl::Now()) << '\n';
//   // pending    tcp://10.0.0.7:5432  3 polls, due in 4s: refused

#ifndef WAITER_CLI_COMMANDS_DURABLE_OUTPUT_H_
#define WAITER_CLI_COMMANDS_DURABLE_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/durable/client.h"

namespace waiter::cli {

// State of a name, as `waiter durable status` shows it.
struct DurableLook {
  std::string name;
  DurableStats stats;
  // Since the look before; unset in the first one.
  std::optional<double> polls_per_second;
  int64_t workers = 0;  // In the whole space.
};

// Return a line without its end. The target of a wait is shown without secrets.
std::string DurableLine(const DurableStatus& status, absl::Time now);
std::string DurableJson(const DurableStatus& status);
std::string DurableLookJson(const DurableLook& look);
std::string DurableAddedJson(std::string_view name, int64_t added,
                             int64_t known);

// Return lines, one for each field that is known.
std::string DurableText(const DurableStatus& status, absl::Time now);
std::string DurableLookText(const DurableLook& look);

// Return lines, and a line without its end, about a move.
std::string DurableMoveText(const DurableMoveReport& report);
std::string DurableMoveJson(std::string_view name,
                            const DurableMoveReport& report);

// Return lines, and a line without its end, about a check.
std::string DurableCheckText(const DurableCheckReport& report, bool repairs);
std::string DurableCheckJson(std::string_view name,
                             const DurableCheckReport& report, bool repairs);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_DURABLE_OUTPUT_H_
