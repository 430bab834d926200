// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/budget_book.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::sim {
namespace {

double Micros(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

std::chrono::nanoseconds FromMicros(double micros) {
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::ceil(micros * 1e3)));
}

}  // namespace

RateGrant BudgetBook::Grant(const RateRequest& request, double now) {
  const std::string& member = request.member.id;
  Rate& book = rates_[request.member.budget];
  if (request.member.leaves) {
    book.seen.erase(member);
    book.busy.erase(member);
    book.taken.erase(member);
    return {};
  }

  const auto want = static_cast<double>(request.want);
  book.seen[member] = now;
  if (now - book.swept >= 1e6 || now < book.swept) {
    book.swept = now;
    for (auto it = book.seen.begin(); it != book.seen.end();) {
      if (it->second > now - 1e7) {
        ++it;
        continue;
      }
      book.busy.erase(it->first);
      book.taken.erase(it->first);
      it = book.seen.erase(it);
    }
  }
  const auto members = static_cast<double>(book.seen.size());
  RateGrant grant = {.members = static_cast<int64_t>(members)};
  book.calls += 1;
  const double part = std::fmod(book.calls * 0.6180339887498949, 1);

  Measure(book, request, now);
  if (request.rate.has_value()) {
    book.rate = *request.rate;
  } else {
    Adapt(book, request, now);
    if (!book.limiting) {
      grant.ask_again = FromMicros(std::max(250000.0, members * 1000));
      return grant;
    }
  }

  const double interval = 1e6 / book.rate;
  if (want > 0) {
    book.busy[member] = now;
  } else {
    book.busy.erase(member);
  }
  const double sharing_time =
      std::clamp(3 * members * interval, 2000000.0, 1e7);
  std::erase_if(book.busy, [&](const auto& entry) {
    return entry.second <= now - sharing_time;
  });
  const double n = std::max(1.0, static_cast<double>(book.busy.size()));

  const double ahead = std::max(Micros(request.horizon), 2 * interval);
  const double tat = std::min(
      std::max(book.tat, now - (request.burst - 1) * interval), now + ahead);
  const double room = std::floor((now + ahead - tat) / interval);
  const double period =
      std::min(5000000.0, std::max({250000.0, members * 1000, n * interval}));
  const double part_of_period = period / (n * interval);
  const double most = 2 * part_of_period + 1;
  const auto taken = book.taken.find(member);
  double mine = taken == book.taken.end() ? book.served : taken->second;
  mine = std::min(std::max(mine, book.served - most), book.served + most);
  const double fair = std::floor(part_of_period + book.served - mine);
  // Unclaimed slots add up; members that were served more get the last of them.
  const double reserve = mine > book.served ? 0.4 : 0.25;
  const double spare =
      room - std::max(1.0, std::floor(ahead / interval * reserve));
  // A new member leaves most to others that may also be new.
  const bool is_new = taken == book.taken.end();
  double granted =
      std::max(std::min(fair, std::ceil(room * 0.75)), std::max(0.0, spare));
  if (is_new) granted = std::min(granted, std::ceil(room / 4));
  granted = std::min(want, std::max(0.0, granted));
  book.tat = tat + granted * interval;
  book.served += granted / n;
  if (want > 0) book.taken[member] = mine + granted;

  double again = period * (1 + 0.1 * part);
  if (is_new) again /= 5;
  if (room < 1) {
    again =
        std::min(period, tat + interval - ahead - now + part * n * interval);
  }
  grant.granted = static_cast<int64_t>(granted);
  grant.first_in = FromMicros(tat - now);
  grant.interval = FromMicros(interval);
  grant.rate = book.rate;
  grant.ask_again = FromMicros(again);
  return grant;
}

// As `internal::RateMeter`, by reports of many polls.
void BudgetBook::Measure(Rate& book, const RateRequest& request, double now) {
  const double window =
      absl::ToDoubleMicroseconds(request.adaptive.measurement_bucket);
  if (book.window == 0 || book.window > now) book.window = now;
  if (request.polls == 0) return;
  book.count += static_cast<double>(request.polls);
  if (now - book.window < window) return;
  const double windows = std::floor((now - book.window) / window);
  const double rate = book.count * 1e6 / (windows * window);
  book.measured = request.adaptive.smoothing * rate +
                  (1 - request.adaptive.smoothing) * book.measured;
  book.window += windows * window;
  book.count = 0;
}

// As `internal::CubicRate`, by reports of many polls.
void BudgetBook::Adapt(Rate& book, const RateRequest& request, double now) {
  const double window =
      absl::ToDoubleMicroseconds(request.adaptive.measurement_bucket);
  const double beta = request.adaptive.beta;
  const double scale = request.adaptive.scale_constant;
  // Polls of slots that were granted before a cut come until then.
  const double effect =
      window +
      std::max(Micros(request.horizon), book.limiting ? 2e6 / book.rate : 0.0);
  double rate = book.rate;
  if (request.throttled) {
    if (book.cut == 0 || now - book.cut >= effect || now < book.cut) {
      if (!book.limiting) {
        // The polls may all be of a measurement that has not ended.
        book.measured = std::max(book.measured, book.count * 1e6 / window);
        book.rate = book.measured;
      }
      book.w = std::min(book.measured, book.rate);
      rate = beta * book.w;
      book.cut = now;
      book.limiting = true;
    }
  } else if (book.limiting) {
    const double since =
        (now - book.cut) / 1e6 - std::pow(book.w * (1 - beta) / scale, 1.0 / 3);
    rate = scale * since * since * since + book.w;
  }
  if (!book.limiting) return;
  book.rate =
      std::max(request.adaptive.min_fill_rate,
               std::min(rate, request.adaptive.growth_limit * book.measured));
}

QuotaGrant BudgetBook::Sync(const QuotaRequest& request, double now) {
  const std::string& member = request.member.id;
  Quota& book = quotas_[request.member.budget];
  if (!book.exists) {
    book = {.exists = true, .level = request.capacity, .at = now};
  }
  for (auto it = book.ends.begin(); it != book.ends.end();) {
    if (it->second > now) {
      ++it;
      continue;
    }
    book.level += book.held[it->first];
    book.total -= book.held[it->first];
    book.held.erase(it->first);
    book.spent.erase(it->first);
    it = book.ends.erase(it);
  }
  if (now > book.at) {
    book.level += (now - book.at) / 1e6 * request.refill_per_second;
  }
  book.at = now;

  const auto known = book.held.find(member);
  const double has = std::max(0.0, request.has);
  auto n = static_cast<double>(book.held.size());
  if (known != book.held.end()) {
    // Requests whose answer was lost have already counted their tokens.
    const double spent = request.spent_in_all - book.spent[member];
    // Undoes grants that did not reach the member, and takes its debt.
    book.level +=
        known->second - (request.has + spent) + std::min(0.0, request.has);
    book.total -= known->second;
  } else {
    // Tokens that were spent unknown to the store count, but leave no debt.
    book.level = std::max(std::min(book.level, 0.0),
                          book.level - std::max(0.0, request.spent)) -
                 has;
    n += 1;
  }
  if (request.member.leaves) {
    book.level = std::min(book.level + has, request.capacity - book.total);
    book.held.erase(member);
    book.spent.erase(member);
    book.ends.erase(member);
    return {};
  }
  book.total += has;
  book.level = std::min(book.level, request.capacity - book.total);
  const double target =
      std::max(request.min_chunk, (book.level + book.total) / (n + 1));
  double change = target - has;
  if (change > 0) change = std::min(change, std::max(0.0, book.level));
  book.level -= change;
  book.total += change;
  book.held[member] = has + change;
  book.spent[member] = request.spent_in_all;
  book.ends[member] = now + Micros(request.lease);
  return {.change = change,
          .held = has + change,
          .level = book.level,
          .members = static_cast<int64_t>(n)};
}

double BudgetBook::TokensOf(const std::string& quota) const {
  const auto it = quotas_.find(quota);
  return it == quotas_.end() ? 0 : it->second.level + it->second.total;
}

}  // namespace waiter::sim
