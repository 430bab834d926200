// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/strip.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/budget_member.h"
#include "waiter/redis/budget_scripts.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter {
namespace {

// If `key` is the first key of a budget, which is `prefix` and the name in
// braces, adds the name.
void AddName(std::string_view prefix, const std::string& key,
             std::set<std::string>& names) {
  absl::string_view name = key;
  if (!absl::ConsumePrefix(&name, internal::ToAbsl(prefix)) ||
      !absl::ConsumePrefix(&name, "{") || !absl::ConsumeSuffix(&name, "}") ||
      !internal::CheckName(internal::ToStd(name)).ok()) {
    return;
  }
  names.emplace(name);
}

void Read(const absl::StatusOr<RedisReply>& reply, RateBudget& budget) {
  const auto numbers = internal::ToNumbers(reply, 4);
  budget.error = numbers.status();
  if (!numbers.ok()) return;
  const std::vector<double>& n = *numbers;
  if (n[0] > 0) budget.rate = n[0];
  budget.polls_per_second = n[1];
  budget.members = static_cast<int64_t>(n[2]);
  budget.busy_members = static_cast<int64_t>(n[3]);
}

void Read(const absl::StatusOr<RedisReply>& reply, QuotaBudget& budget) {
  const auto numbers = internal::ToNumbers(reply, 4);
  budget.error = numbers.status();
  if (!numbers.ok()) return;
  const std::vector<double>& n = *numbers;
  budget.capacity = n[0];
  budget.free = n[1];
  budget.leased = n[2];
  budget.members = static_cast<int64_t>(n[3]);
}

// One call of `ListBudgets`. Its callbacks hold it. For the client's thread.
class Listing : public std::enable_shared_from_this<Listing> {
 public:
  using Callback = std::function<void(absl::StatusOr<BudgetList>)>;

  Listing(const std::shared_ptr<RedisClient>& client, Callback callback)
      : client_(client), callback_(std::move(callback)) {}

  void Scan(const std::string& cursor) {
    Call(internal::GetBudgetScripts().key_scan, {}, {cursor, "waiter:*{*}"},
         [](Listing& self, const absl::StatusOr<RedisReply>& reply) {
           self.OnKeys(reply);
         });
  }

 private:
  using OnReply =
      std::function<void(Listing&, const absl::StatusOr<RedisReply>&)>;

  // The callbacks do not hold the client, whose end they would delay.
  void Call(const RedisScript& script, std::vector<std::string> keys,
            std::vector<std::string> arguments, OnReply on_reply) {
    const std::shared_ptr<RedisClient> client = client_.lock();
    if (client == nullptr) {
      return on_reply(*this, absl::CancelledError("client closed"));
    }
    client->Call(script, std::move(keys), std::move(arguments),
                 [self = shared_from_this(), on_reply = std::move(on_reply)](
                     const absl::StatusOr<RedisReply>& reply) {
                   on_reply(*self, reply);
                 });
  }

  void OnKeys(const absl::StatusOr<RedisReply>& reply) {
    if (!reply.ok()) return callback_(reply.status());
    if (reply->elements.size() != 2) {
      return callback_(absl::InternalError("Redis: SCAN returned no cursor"));
    }
    for (const RedisReply& key : reply->elements[1].elements) {
      AddName("waiter:rate:", key.text, rates_);
      AddName("waiter:quota:", key.text, quotas_);
    }
    const std::string& cursor = reply->elements[0].text;
    if (cursor != "0") return Scan(cursor);
    ReadAll();
  }

  void ReadAll() {
    pending_ = rates_.size() + quotas_.size();
    if (pending_ == 0) return callback_(std::move(list_));
    for (const std::string& name : rates_) {
      list_.rates.push_back({.name = name});
    }
    for (const std::string& name : quotas_) {
      list_.quotas.push_back({.name = name});
    }
    for (RateBudget& budget : list_.rates) {
      Call(internal::GetBudgetScripts().rate_status,
           internal::RateKeys(budget.name), {},
           [&budget](Listing& self, const absl::StatusOr<RedisReply>& reply) {
             Read(reply, budget);
             self.OnRead();
           });
    }
    for (QuotaBudget& budget : list_.quotas) {
      Call(internal::GetBudgetScripts().quota_status,
           internal::QuotaKeys(budget.name), {},
           [&budget](Listing& self, const absl::StatusOr<RedisReply>& reply) {
             Read(reply, budget);
             self.OnRead();
           });
    }
  }

  void OnRead() {
    if (--pending_ == 0) callback_(std::move(list_));
  }

  const std::weak_ptr<RedisClient> client_;
  const Callback callback_;
  std::set<std::string> rates_;
  std::set<std::string> quotas_;
  BudgetList list_;
  size_t pending_ = 0;
};

}  // namespace

void ListBudgets(const std::shared_ptr<RedisClient>& client,
                 std::function<void(absl::StatusOr<BudgetList>)> callback) {
  std::make_shared<Listing>(client, std::move(callback))->Scan("0");
}

}  // namespace waiter
