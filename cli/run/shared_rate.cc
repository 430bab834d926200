// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/shared_rate.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/text/duration_text.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kScheme = "redis://";
constexpr std::string_view kClusterScheme = "redis+cluster://";

absl::Status ReadNumber(const std::string& text, double& number) {
  return absl::SimpleAtod(text, &number)
             ? absl::OkStatus()
             : absl::InvalidArgumentError("it must be a number");
}

// Reads a parameter after the question mark. `name` is a known one.
absl::Status ReadParameter(const std::string& name, const std::string& value,
                           std::string& database,
                           SharedRateLimiterOptions& options) {
  if (name == "rate") return ReadNumber(value, options.rate.emplace());
  if (name == "burst") return ReadNumber(value, options.burst);
  if (name == "database") {
    database = value;
    return absl::OkStatus();
  }
  const absl::StatusOr<absl::Duration> horizon = ParseDurationText(value);
  if (horizon.ok()) options.horizon = *horizon;
  return horizon.status();
}

}  // namespace

absl::StatusOr<SharedRate> ParseSharedRate(std::string_view url) {
  const std::string text(url);
  size_t name_at = std::string::npos;
  for (const std::string_view scheme : {kScheme, kClusterScheme}) {
    if (!url.starts_with(scheme)) continue;
    // Passwords may contain any characters, including "/" and "@"; names
    // contain neither.
    const size_t at = text.rfind('@');
    name_at = text.find('/', at == std::string::npos ? scheme.size() : at);
  }
  if (name_at == std::string::npos) {
    return absl::InvalidArgumentError(
        "it must be redis://HOST/NAME, such as redis://10.0.0.5/ec2?rate=20");
  }
  SharedRate shared;
  const size_t query_at = text.find('?', name_at);
  shared.options.name = text.substr(name_at + 1, query_at - name_at - 1);
  std::string database;
  if (query_at != std::string::npos) {
    for (const absl::string_view parameter :
         absl::StrSplit(text.substr(query_at + 1), '&')) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(parameter, absl::MaxSplits('=', 1));
      // The values of unknown parameters, such as password=..., may be secrets.
      if (pair.first != "rate" && pair.first != "burst" &&
          pair.first != "horizon" && pair.first != "database") {
        return absl::InvalidArgumentError(
            "unknown parameter; the parameters are rate, burst, horizon and "
            "database");
      }
      absl::Status status =
          ReadParameter(pair.first, pair.second, database, shared.options);
      if (!status.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(pair.first, "=", pair.second, ": ", status.message()));
      }
    }
  }
  if (absl::Status status = Validate(shared.options); !status.ok()) {
    return status;
  }
  shared.server = text.substr(0, name_at);
  if (!database.empty()) absl::StrAppend(&shared.server, "/", database);
  return shared;
}

absl::StatusOr<std::shared_ptr<RedisClient>> ConnectToRedis(
    [[maybe_unused]] std::string_view url,
    [[maybe_unused]] const RedisClientOptions& options) {
#ifdef WAITER_HAS_HIREDIS
  return RedisClient::Make(url, options);
#else
  return absl::UnimplementedError(
      "this waiter was built without hiredis; install it (Debian: "
      "libhiredis-dev) and build waiter again");
#endif
}

absl::StatusOr<std::shared_ptr<RedisCaller>> ConnectToStore(
    std::string_view url, const RedisClientOptions& options) {
  if (!url.starts_with(kClusterScheme)) {
    if (url.find(',', url.rfind('@') + 1) != std::string_view::npos) {
      return absl::InvalidArgumentError(
          "for several hosts, use redis+cluster://HOST,HOST");
    }
    return ConnectToRedis(url, options);
  }
  const std::string text(url.substr(kClusterScheme.size()));
  const size_t hosts_at = text.rfind('@') + 1;
  std::vector<std::string> seeds;
  for (const absl::string_view host :
       absl::StrSplit(text.substr(hosts_at), ',')) {
    seeds.push_back(
        absl::StrCat(std::string(kScheme), text.substr(0, hosts_at), host));
  }
#ifdef WAITER_HAS_HIREDIS
  return RedisCluster::Make(seeds, options);
#else
  return ConnectToRedis(seeds.front(), options);
#endif
}

absl::StatusOr<std::shared_ptr<SharedRateLimiter>> MakeSharedLimiter(
    const std::optional<SharedRate>& rate) {
  if (!rate.has_value()) return nullptr;
  const absl::StatusOr<std::shared_ptr<RedisCaller>> client =
      ConnectToStore(rate->server);
  if (!client.ok()) {
    return absl::Status(
        client.status().code(),
        absl::StrCat("--shared-rate: ", client.status().message()));
  }
  return SharedRateLimiter::Make(std::make_shared<RedisBudgetStore>(*client),
                                 rate->options);
}

absl::Status SharedRateStatus(const SharedRateLimiter* limiter,
                              std::string_view uses) {
  if (limiter == nullptr) return absl::OkStatus();
  const SharedRateLimiterState state = limiter->State();
  if (state.mode != SharedBudgetMode::kLocal) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "--shared-rate: ", state.last_error.message(), "; this process ",
      std::string(uses), " its own rate limit"));
}

}  // namespace waiter::cli
