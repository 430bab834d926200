// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/durable_history.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter {
namespace {

using Trouble = DurableHistory::Trouble;

const absl::Duration kLatestEffect = absl::Seconds(15);

bool AreEqual(const DurableResult& a, const DurableResult& b) {
  return a.key == b.key && a.reason == b.reason && a.attempts == b.attempts &&
         a.elapsed == b.elapsed && a.idempotency_key == b.idempotency_key &&
         a.value == b.value;
}

std::string Text(absl::Duration time) { return absl::FormatDuration(time); }

// The time from a claim until the worker gives the wait back or loses it.
struct Holding {
  int worker = 0;
  absl::Duration claimed;
  absl::Duration late;  // How much later the worker knew.
  // The store forgot the claim, or a renewal.
  bool is_forgotten = false;
  int64_t fence = 0;  // The last one.
  std::optional<absl::Duration> given_back = {};
  // When the last renewal was sent that the store acknowledged and kept.
  std::optional<absl::Duration> renewed = {};
  std::optional<absl::Duration> ended = {};  // When a result was first sent.
  bool is_recorded = false;                  // The store knows all its polls.
  std::vector<const DurableHistory::PollSeen*> polls = {};
};

struct Lease {
  absl::Duration at;
  int64_t fence = 0;
  int worker = 0;
};

// A result that the store may have forgotten.
struct ForgottenEnd {
  int worker = 0;
  absl::Duration sent;  // For the first time; maybe again much later.
};

// Returns the settles of all workers in the order in which they were sent.
std::vector<const DurableHistory::Settle*> InOrder(
    const std::vector<DurableHistory::Settle>& settles) {
  std::vector<const DurableHistory::Settle*> order;
  order.reserve(settles.size());
  for (const DurableHistory::Settle& settle : settles) order.push_back(&settle);
  std::stable_sort(
      order.begin(), order.end(),
      [](const auto* a, const auto* b) { return a->sent < b->sent; });
  return order;
}

// The events of one key.
struct Story {
  std::vector<Holding> holdings = {};
  std::map<std::pair<int, int64_t>, size_t> by_fence = {};
  std::vector<Lease> leases = {};  // Without forgotten ones.
  std::vector<absl::Duration> releases = {};
  bool has_ended = false;
  std::vector<ForgottenEnd> forgotten_ends = {};
  std::vector<const DurableHistory::PollSeen*> polls = {};
  std::vector<const DurableHistory::Delivery*> deliveries = {};

  Holding* Find(int worker, int64_t fence) {
    const auto it = by_fence.find({worker, fence});
    return it == by_fence.end() ? nullptr : &holdings[it->second];
  }
  bool WasDeliveredBy(absl::Duration time) const {
    return std::any_of(
        deliveries.begin(), deliveries.end(),
        [time](const auto* delivery) { return delivery->time <= time; });
  }
};

class Checker {
 public:
  explicit Checker(const DurableHistory& history) : history_(history) {
    for (const auto& [key, wait] : history.waits) stories_[key];
    TellClaims();
    for (const DurableHistory::Delivery& delivery : history.deliveries) {
      stories_[delivery.result.key].deliveries.push_back(&delivery);
    }
    TellSettles();
    for (const DurableHistory::PollSeen& poll : history.polls) {
      Story& story = stories_[poll.key];
      story.polls.push_back(&poll);
      Holding* const holding = story.Find(poll.worker, poll.fence);
      if (holding != nullptr) holding->polls.push_back(&poll);
    }
  }

  std::vector<std::string> Run() {
    for (auto& [key, story] : stories_) {
      CheckLeases(key, story);
      CheckPolls(key, story);
      CheckDeliveries(key, story);
      CheckCancel(key, story);
      CheckEnd(key, story);
    }
    for (const auto& notification : history_.notifications) {
      CheckNotification(notification);
    }
    CheckRest();
    const DurableLateness late = MeasureLateness();
    if (late.polls > 0 && late.p99 > history_.most_late) {
      Add("lateness: ", late.key, " was polled ", Text(late.p99),
          " late, the p99 of ", late.polls, " polls");
    }
    const DurableFailover failover = MeasureFailover();
    if (failover.longest > failover.limit) {
      Add("failover: ", failover.key, " was polled by another worker ",
          Text(failover.longest), " after its holder had died, instead of ",
          Text(failover.limit));
    }
    return std::move(violations_);
  }

  // Returns the failover whose last wait was polled latest, relative to its
  // limit.
  DurableFailover MeasureFailover() const {
    DurableFailover all;
    for (const Trouble& death : history_.troubles) {
      if (death.kind != Trouble::Kind::kDead) continue;
      const absl::Duration limit = history_.lease + history_.failover +
                                   history_.blur + StandStillAfter(death.to);
      if (!IsOnlyTrouble(death, death.to + limit)) continue;
      for (const auto& [key, story] : stories_) {
        const std::optional<absl::Duration> time =
            TimeOfFailover(key, story, death);
        if (!time.has_value()) continue;
        ++all.waits;
        if (all.waits > 1 && *time - limit <= all.longest - all.limit) continue;
        all.longest = *time;
        all.limit = limit;
        all.key = key;
      }
    }
    return all;
  }

  DurableLateness MeasureLateness() const {
    std::vector<std::pair<absl::Duration, std::string>> lateness;
    for (const auto& [key, story] : stories_) {
      const auto wait = history_.waits.find(key);
      if (wait == history_.waits.end()) continue;
      if (wait->second.cancelled.has_value()) continue;
      std::vector<absl::Duration> times = story.releases;
      // No worker can poll a wait that the store has forgotten.
      if (!IsForgotten(wait->second.enqueued)) {
        times.push_back(wait->second.enqueued + wait->second.first_delay);
      }
      for (const absl::Duration due : times) {
        // A notification may have brought the poll forward.
        if (!IsQuiet(due) || FirstNotification(key) <= due) continue;
        const auto poll =
            std::find_if(story.polls.begin(), story.polls.end(),
                         [&](const auto* seen) { return seen->time >= due; });
        lateness.emplace_back(poll == story.polls.end()
                                  ? absl::InfiniteDuration()
                                  : (*poll)->time - due,
                              key);
      }
    }
    if (lateness.empty()) return {};
    std::sort(lateness.begin(), lateness.end());
    const auto& [p99, key] = lateness[(lateness.size() * 99 - 1) / 100];
    return {.polls = lateness.size(), .p99 = p99, .key = key};
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    violations_.push_back(absl::StrCat(parts...));
  }

  absl::Duration TimeOf(int64_t fence) const {
    return absl::Microseconds(fence - history_.zero_us);
  }

  bool IsForgotten(absl::Duration time) const {
    return std::any_of(history_.losses.begin(), history_.losses.end(),
                       [&](const DurableHistory::Loss& loss) {
                         return time >= loss.from && time <= loss.to;
                       });
  }

  // Returns whether the store may have forgotten the settle. A call without an
  // answer may have taken effect up to `kLatestEffect` later.
  bool MayBeForgotten(const DurableHistory::Settle& settle) const {
    if (settle.at.has_value()) return IsForgotten(*settle.at);
    return std::any_of(history_.losses.begin(), history_.losses.end(),
                       [&](const DurableHistory::Loss& loss) {
                         return settle.sent <= loss.to &&
                                settle.sent + kLatestEffect >= loss.from;
                       });
  }

  // Returns how much the time of a result may be wrong.
  absl::Duration Slack(const Story& story) const {
    absl::Duration error = history_.slack;
    for (const Holding& holding : story.holdings) {
      if (holding.ended.has_value()) {
        error = std::max(error, holding.late / 2 + history_.round_trip);
      }
    }
    return error + history_.blur;
  }

  // Returns whether the store may have forgotten this result of a wait.
  bool IsForgotten(const Story& story, const DurableHistory::Wait& wait,
                   const DurableResult& result) const {
    const absl::Duration end = wait.enqueued + result.elapsed;
    const absl::Duration slack = Slack(story) + history_.round_trip;
    return std::any_of(
        story.forgotten_ends.begin(), story.forgotten_ends.end(),
        [&](const ForgottenEnd& forgotten) {
          return forgotten.sent >= end - slack &&
                 (forgotten.sent <= end + slack + kLatestEffect ||
                  IsTroubled(forgotten.worker, end - slack, forgotten.sent,
                             Trouble::Kind::kStopped));
        });
  }

  // Returns whether the worker had a trouble of `kind` in this time, or any
  // trouble if `kind` is unset.
  bool IsTroubled(int worker, absl::Duration from, absl::Duration to,
                  std::optional<Trouble::Kind> kind) const {
    return std::any_of(
        history_.troubles.begin(), history_.troubles.end(),
        [&](const Trouble& trouble) {
          return (trouble.worker == worker ||
                  worker == DurableHistory::kAllWorkers ||
                  trouble.worker == DurableHistory::kAllWorkers) &&
                 (!kind.has_value() || trouble.kind == *kind) &&
                 trouble.from <= to && trouble.to >= from;
        });
  }

  // Returns the first time, at or after `from`, that is followed by `length`
  // without troubles or their effects.
  absl::Duration QuietFrom(absl::Duration from, absl::Duration length) const {
    for (bool is_quiet = false; !is_quiet;) {
      is_quiet = true;
      for (const Trouble& trouble : history_.troubles) {
        if (trouble.from > from + length ||
            trouble.to < from - history_.recovery) {
          continue;
        }
        from = trouble.to + history_.recovery + absl::Nanoseconds(1);
        is_quiet = false;
      }
    }
    return from;
  }

  static bool IsHeld(const Story& story, absl::Duration time) {
    return std::any_of(
        story.holdings.begin(), story.holdings.end(),
        [time](const Holding& holding) {
          return holding.claimed <= time &&
                 holding.given_back.value_or(absl::InfiniteDuration()) >= time;
        });
  }

  // Returns whether the wait may have ended without a poll after this time,
  // because a poll in flight found its result.
  static bool MayEndWithout(const Story& story, absl::Duration time) {
    return std::any_of(story.holdings.begin(), story.holdings.end(),
                       [time](const Holding& holding) {
                         return holding.ended.has_value() &&
                                holding.claimed <= time;
                       });
  }

  void CheckNotification(const DurableHistory::Notification& notification) {
    const auto& [at, key] = notification;
    const auto wait = history_.waits.find(key);
    // A suspect waits for other suspects first.
    if (history_.most_after_notify == absl::InfiniteDuration() ||
        wait == history_.waits.end() || wait->second.cancelled.has_value() ||
        history_.marks.contains(key) || IsForgotten(at)) {
      return;
    }
    const Story& story = stories_[key];
    const absl::Duration most_held = history_.most_after_notify +
                                     history_.lease / 3 + history_.poll_time +
                                     history_.round_trip;
    const absl::Duration from = QuietFrom(at, most_held);
    const bool is_held = from > at || IsHeld(story, at);
    const absl::Duration last =
        from + history_.blur +
        (is_held ? most_held : history_.most_after_notify);
    if (last > history_.end || MayEndWithout(story, at)) return;
    const auto poll =
        std::find_if(story.polls.begin(), story.polls.end(),
                     [&](const auto* seen) { return seen->time >= at; });
    if (poll != story.polls.end() && (*poll)->time <= last) return;
    Add("notify: ", key, " was notified at ", Text(at), " and polled ",
        poll == story.polls.end() ? "never"
                                  : absl::StrCat("at ", Text((*poll)->time)),
        ", instead of by ", Text(last));
  }

  absl::Duration FirstNotification(const std::string& key) const {
    absl::Duration first = absl::InfiniteDuration();
    for (const auto& notification : history_.notifications) {
      if (notification.key == key) first = std::min(first, notification.at);
    }
    return first;
  }

  static bool IsShortStandStill(const Trouble& trouble) {
    return trouble.worker == DurableHistory::kAllWorkers &&
           trouble.to - trouble.from < absl::Seconds(1);
  }

  // Returns how long all workers were stopped while others took over.
  absl::Duration StandStillAfter(absl::Duration death) const {
    absl::Duration sum;
    for (const Trouble& trouble : history_.troubles) {
      if (trouble.kind == Trouble::Kind::kStopped &&
          IsShortStandStill(trouble) && trouble.to >= death &&
          trouble.from <= death + history_.lease + history_.failover) {
        sum += trouble.to - trouble.from;
      }
    }
    return sum;
  }

  bool IsOnlyTrouble(const Trouble& death, absl::Duration until) const {
    return until <= history_.end &&
           std::none_of(history_.troubles.begin(), history_.troubles.end(),
                        [&](const Trouble& trouble) {
                          return &trouble != &death &&
                                 !IsShortStandStill(trouble) &&
                                 trouble.from <= until &&
                                 trouble.to >= death.from - history_.recovery;
                        }) &&
           !IsForgotten(death.to);
  }

  // Returns the time from the death of a worker until another one polls the
  // wait. Unset if the wait did not need another worker.
  std::optional<absl::Duration> TimeOfFailover(const std::string& key,
                                               const Story& story,
                                               const Trouble& death) const {
    const auto wait = history_.waits.find(key);
    if (wait == history_.waits.end() || wait->second.cancelled.has_value()) {
      return std::nullopt;
    }
    const bool is_held = std::any_of(
        story.holdings.begin(), story.holdings.end(),
        [&](const Holding& holding) {
          return holding.worker == death.worker && !holding.is_forgotten &&
                 !holding.given_back.has_value() &&
                 !holding.ended.has_value() && TimeOf(holding.fence) > death.to;
        });
    if (!is_held) return std::nullopt;
    const auto poll = std::find_if(
        story.polls.begin(), story.polls.end(), [&](const auto* seen) {
          return seen->worker != death.worker && seen->time >= death.from;
        });
    return poll == story.polls.end() ? absl::InfiniteDuration()
                                     : (*poll)->time - death.from;
  }

  bool IsQuiet(absl::Duration due) const {
    const absl::Duration end = due + history_.most_late;
    return end <= history_.end &&
           !IsTroubled(DurableHistory::kAllWorkers, due - history_.recovery,
                       end, std::nullopt) &&
           !IsForgotten(due);
  }

  void TellClaims() {
    for (const DurableHistory::Claim& claim : history_.claims) {
      Story& story = stories_[claim.key];
      story.by_fence[{claim.worker, claim.fence}] = story.holdings.size();
      const bool is_forgotten = IsForgotten(claim.at);
      story.holdings.push_back({.worker = claim.worker,
                                .claimed = claim.at,
                                .late = claim.late,
                                .is_forgotten = is_forgotten,
                                .fence = claim.fence});
      if (is_forgotten) continue;
      story.leases.push_back({claim.at, claim.fence, claim.worker});
    }
  }

  void TellSettles() {
    for (const DurableHistory::Settle* const settle :
         InOrder(history_.settles)) {
      Story& story = stories_[settle->key];
      Holding* const holding = story.Find(settle->worker, settle->fence);
      if (holding == nullptr) continue;
      TellIntent(*settle, story, *holding);
      if (settle->at.has_value() && !settle->is_lost) {
        TellEffect(*settle, story, *holding);
      }
    }
  }

  static bool Stays(const DurableHistory::Settle& settle) {
    return settle.action == SettleAction::kHold ||
           settle.action == SettleAction::kEnd;
  }

  // Notes the settle as sent, even if it never took effect.
  void TellIntent(const DurableHistory::Settle& settle, Story& story,
                  Holding& holding) const {
    if (!Stays(settle) && !holding.given_back.has_value()) {
      holding.given_back = settle.sent;
    }
    if (settle.action != SettleAction::kEnd &&
        settle.action != SettleAction::kEndUnheard) {
      return;
    }
    if (!holding.ended.has_value()) holding.ended = settle.sent;
    if (MayBeForgotten(settle)) {
      story.forgotten_ends.push_back({settle.worker, *holding.ended});
    }
  }

  // Notes the settle's effect on the store.
  void TellEffect(const DurableHistory::Settle& settle, Story& story,
                  Holding& holding) const {
    if (Stays(settle)) {
      story.by_fence[{settle.worker, settle.new_fence}] =
          static_cast<size_t>(&holding - story.holdings.data());
      holding.fence = settle.new_fence;
    }
    if (IsForgotten(*settle.at)) {
      holding.is_forgotten = true;
      return;
    }
    if (Stays(settle)) {
      story.leases.push_back({*settle.at, settle.new_fence, settle.worker});
    }
    if (settle.action == SettleAction::kHold) {
      holding.renewed = settle.sent;
    } else {
      holding.is_recorded = true;
    }
    if (settle.action == SettleAction::kEnd) story.has_ended = true;
    // After a result, a release comes from a refused delivery, even if the
    // store's reply about the result was lost.
    if (settle.action == SettleAction::kRelease && !story.has_ended &&
        !story.WasDeliveredBy(settle.sent)) {
      story.releases.push_back(*settle.at + settle.delay);
    }
  }

  void CheckLeases(const std::string& key, Story& story) {
    std::sort(story.leases.begin(), story.leases.end(),
              [](const Lease& a, const Lease& b) { return a.at < b.at; });
    for (size_t i = 1; i < story.leases.size(); ++i) {
      const Lease& first = story.leases[i - 1];
      const Lease& second = story.leases[i];
      if (second.fence > first.fence) continue;
      Add("leases: ", key, " has the fence ", second.fence, " of worker ",
          second.worker, " at ", Text(second.at), " after ", first.fence,
          " of worker ", first.worker);
    }
    std::vector<const Holding*> order;
    for (const Holding& holding : story.holdings) {
      if (!holding.is_forgotten) order.push_back(&holding);
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->claimed < b->claimed;
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const Holding& first = *order[i - 1];
      absl::Duration end = TimeOf(first.fence);
      if (first.given_back.has_value()) end = std::min(end, *first.given_back);
      if (order[i]->claimed + history_.blur >= end) continue;
      Add("leases: ", key, " was claimed by worker ", order[i]->worker, " at ",
          Text(order[i]->claimed), " and held by worker ", first.worker,
          " until ", Text(end));
    }
  }

  static bool IsOfForgottenLease(Story& story,
                                 const DurableHistory::PollSeen& poll) {
    const Holding* const holding = story.Find(poll.worker, poll.fence);
    return holding != nullptr && holding->is_forgotten;
  }

  void CheckPolls(const std::string& key, Story& story) {
    const absl::Duration third = history_.lease / 3;
    const DurableHistory::PollSeen* highest = nullptr;
    for (const DurableHistory::PollSeen* const poll : story.polls) {
      const absl::Duration last = TimeOf(poll->fence) - third;
      // The poll may have begun before the worker was stopped.
      const bool may_be_late =
          history_.stops_within_polls &&
          IsTroubled(poll->worker, last - third - history_.blur, poll->time,
                     Trouble::Kind::kStopped);
      if (highest != nullptr && !may_be_late &&
          !IsOfForgottenLease(story, *poll) &&
          !IsOfForgottenLease(story, *highest) &&
          (poll->fence < highest->fence || (poll->fence == highest->fence &&
                                            poll->worker != highest->worker))) {
        Add("fences: ", key, " was polled by worker ", poll->worker, " at ",
            Text(poll->time), " with ", poll->fence, " after ", highest->fence,
            " of worker ", highest->worker);
      }
      if (highest == nullptr || poll->fence > highest->fence) highest = poll;
      if (story.Find(poll->worker, poll->fence) == nullptr) {
        Add("within: ", key, " was polled by worker ", poll->worker, " at ",
            Text(poll->time), " without a lease");
      } else if (poll->time > last + history_.blur && !may_be_late) {
        Add("within: ", key, " was polled by worker ", poll->worker, " at ",
            Text(poll->time), ", with a lease until ",
            Text(TimeOf(poll->fence)));
      }
    }
  }

  void CheckCancel(const std::string& key, const Story& story) {
    const auto wait = history_.waits.find(key);
    if (wait == history_.waits.end() || !wait->second.cancelled.has_value()) {
      return;
    }
    const absl::Duration cancelled = *wait->second.cancelled;
    if (IsForgotten(cancelled)) return;
    for (const DurableHistory::PollSeen* const poll : story.polls) {
      const absl::Duration after = poll->time - cancelled - history_.blur;
      const absl::Duration from = cancelled - history_.lease;
      const bool is_bad =
          after > history_.lease
              ? !history_.stops_within_polls ||
                    !IsTroubled(poll->worker, from, poll->time,
                                Trouble::Kind::kStopped)
              : after > history_.lease / 3 + history_.round_trip &&
                    !IsTroubled(poll->worker, from, poll->time, std::nullopt);
      if (!is_bad) continue;
      Add("cancel: ", key, " was polled by worker ", poll->worker, " at ",
          Text(poll->time), ", cancelled at ", Text(cancelled));
    }
  }

  void CheckDeliveries(const std::string& key, const Story& story) {
    const auto wait = history_.waits.find(key);
    const bool is_known = wait != history_.waits.end();
    const DurableHistory::Delivery* first = nullptr;
    for (const DurableHistory::Delivery* const delivery : story.deliveries) {
      const DurableResult& result = delivery->result;
      // If the enqueue was lost, the wait may have been enqueued and ended
      // again.
      if (!is_known || IsForgotten(wait->second.enqueued)) continue;
      if (first != nullptr &&
          first->result.idempotency_key != result.idempotency_key) {
        Add("same-result: ", key, " was delivered as ",
            first->result.idempotency_key, " and ", result.idempotency_key);
      }
      if (IsForgotten(story, wait->second, result)) continue;
      if (first != nullptr && !AreEqual(first->result, result)) {
        Add("same-result: ", key, " was delivered as ", Describe(first->result),
            " and ", Describe(result));
      }
      if (first == nullptr) first = delivery;
    }
  }

  static std::string Describe(const DurableResult& result) {
    return absl::StrCat(
        result.value.ok() ? *result.value : result.value.status().ToString(),
        " after ", result.attempts, " attempts and ", Text(result.elapsed));
  }

  void CheckEnd(const std::string& key, const Story& story) {
    const auto asked = history_.waits.find(key);
    if (asked == history_.waits.end()) return;
    const DurableHistory::Wait& wait = asked->second;
    // The wait may be gone, or come from a later enqueue.
    if (IsForgotten(wait.enqueued)) return;
    const auto found = history_.rest.results.find(key);
    if (found == history_.rest.results.end()) {
      Add("one-result: ", key, " has no result");
      return;
    }
    const DurableResult& result = found->second;
    const bool is_accepted = std::any_of(
        story.deliveries.begin(), story.deliveries.end(),
        [&](const DurableHistory::Delivery* delivery) {
          return delivery->is_accepted && AreEqual(delivery->result, result);
        });
    if (!is_accepted) {
      Add("delivered: ", key, " was not delivered as ", Describe(result));
    }
    CheckReason(key, story, wait, result);
    CheckAttempts(key, story, result);
  }

  void CheckReason(const std::string& key, const Story& story,
                   const DurableHistory::Wait& wait,
                   const DurableResult& result) {
    const absl::Duration slack = Slack(story);
    const absl::Duration end = wait.enqueued + result.elapsed;
    const bool has_found =
        std::any_of(story.polls.begin(), story.polls.end(),
                    [](const auto* poll) { return poll->found; });
    const absl::Duration last_poll = story.polls.empty()
                                         ? -absl::InfiniteDuration()
                                         : story.polls.back()->time;
    switch (result.reason) {
      case StopReason::kSuccess:
        if (!has_found || end + slack < wait.ready) {
          Add("truth: ", key, " succeeded after ", Text(result.elapsed),
              ", ready at ", Text(wait.ready));
        }
        return;
      case StopReason::kDeadline: {
        const absl::Duration deadline = wait.enqueued + wait.timeout;
        if (result.elapsed + slack < wait.timeout) {
          Add("early: ", key, " ended by its deadline after ",
              Text(result.elapsed), " of ", Text(wait.timeout));
        }
        if (last_poll + slack < deadline) {
          Add("last-poll: ", key, " was last polled at ", Text(last_poll),
              ", deadline ", Text(deadline));
        }
        if (wait.ready + slack < deadline && !history_.ends_polls) {
          Add("missed: ", key, " was ready at ", Text(wait.ready),
              ", deadline ", Text(deadline));
        }
        break;
      }
      case StopReason::kAttempts:
        if (result.attempts < history_.max_attempts) {
          Add("early: ", key, " ended by its attempts after ", result.attempts);
        }
        break;
      case StopReason::kCancelled:
        if (!wait.cancelled.has_value()) {
          Add("early: ", key, " ended as cancelled without a request");
        }
        return;
      case StopReason::kFailed:
        CheckCrashes(key, story, result);
        return;
      default:
        Add("early: ", key, " ended as ", Describe(result));
        return;
    }
    for (const Holding& holding : story.holdings) {
      if (!holding.ended.has_value() || !holding.is_recorded ||
          holding.is_forgotten || holding.polls.empty() ||
          !holding.polls.back()->found) {
        continue;
      }
      const absl::Duration poll = holding.polls.back()->time;
      // The worker may have sent the result long after the wait ended.
      const absl::Duration ended =
          std::min(*holding.ended, wait.enqueued + result.elapsed - slack);
      if (history_.ends_polls &&
          (poll + history_.poll_time >= ended ||
           IsTroubled(holding.worker, poll, *holding.ended,
                      Trouble::Kind::kStopped))) {
        continue;
      }
      Add("missed: ", key, " ended as ", Describe(result), " although worker ",
          holding.worker, " found success at ", Text(poll));
    }
  }

  void CheckCrashes(const std::string& key, const Story& story,
                    const DurableResult& result) {
    const auto mark = history_.marks.find(key);
    const int64_t marks = mark == history_.marks.end() ? 0 : mark->second;
    const auto crashes = std::count_if(
        story.holdings.begin(), story.holdings.end(),
        [&](const Holding& holding) {
          return IsTroubled(holding.worker, holding.claimed - history_.blur,
                            holding.given_back.value_or(TimeOf(holding.fence)),
                            std::nullopt);
        });
    if (absl::StrContains(result.value.status().message(),
                          "crashed its worker") &&
        crashes >= 3 && marks >= 3) {
      return;
    }
    Add("crashes: ", key, " ended as ", Describe(result), " with ", crashes,
        " holders in trouble and ", marks, " polls as a suspect");
  }

  void CheckAttempts(const std::string& key, const Story& story,
                     const DurableResult& result) {
    if (history_.max_attempts > 0 && result.attempts > history_.max_attempts) {
      Add("attempts: ", key, " has ", result.attempts, " of ",
          history_.max_attempts);
    }
    if (result.attempts > static_cast<int64_t>(story.polls.size())) {
      Add("attempts: ", key, " has ", result.attempts, ", and ",
          story.polls.size(), " polls");
    }
    // A poll in progress when a cancel or the deadline ends the wait may be
    // missing from the attempts.
    int64_t recorded = result.reason == StopReason::kCancelled ||
                               result.reason == StopReason::kDeadline
                           ? -1
                           : 0;
    for (const Holding& holding : story.holdings) {
      if (holding.is_forgotten) continue;
      int64_t polls = 0;
      for (const DurableHistory::PollSeen* const poll : holding.polls) {
        if (holding.is_recorded ||
            (holding.renewed.has_value() && poll->time < *holding.renewed)) {
          ++polls;
        }
      }
      // A poll may have been in progress at the renewal.
      if (!holding.is_recorded && polls > 0) --polls;
      recorded += polls;
    }
    if (result.attempts < recorded) {
      Add("attempts: ", key, " has ", result.attempts, ", and ", recorded,
          " polls that were recorded");
    }
  }

  void CheckRest() {
    const DurableHistory::AtRest& rest = history_.rest;
    if (rest.pending > 0 || rest.held > 0 || rest.enqueued != rest.ended ||
        rest.enqueued != static_cast<int64_t>(rest.results.size())) {
      Add("rest: ", rest.pending, " pending, ", rest.held, " held, ",
          rest.enqueued, " enqueued, ", rest.ended, " ended, ",
          rest.results.size(), " results");
    }
    std::set<std::string> either = rest.due;
    either.insert(rest.kept.begin(), rest.kept.end());
    if (either.size() != rest.due.size() + rest.kept.size() ||
        either != rest.records) {
      Add("rest: ", rest.records.size(), " records, ", rest.due.size(),
          " of them pending, ", rest.kept.size(), " kept");
    }
  }

  const DurableHistory& history_;
  std::map<std::string, Story> stories_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> Violations(const DurableHistory& history) {
  return Checker(history).Run();
}

std::string KeyOf(const std::string& violation) {
  const std::vector<std::string> words = absl::StrSplit(violation, ' ');
  return words.size() > 1 ? words[1] : "";
}

namespace {

std::string EffectOf(const DurableHistory::Settle& settle) {
  if (!settle.at.has_value()) return ": no answer";
  if (settle.is_lost) return ": lost";
  return absl::StrCat(": done at ", Text(*settle.at), ", new fence ",
                      settle.new_fence);
}

}  // namespace

std::string StoryOf(const DurableHistory& history, const std::string& key) {
  std::multimap<absl::Duration, std::string> lines;
  const auto add = [&](absl::Duration time, const auto&... parts) {
    lines.emplace(time, absl::StrCat(Text(time), " ", parts...));
  };
  std::set<int> workers = {DurableHistory::kAllWorkers};
  if (const auto wait = history.waits.find(key); wait != history.waits.end()) {
    add(wait->second.enqueued, "enqueued, timeout ", Text(wait->second.timeout),
        ", first delay ", Text(wait->second.first_delay));
    add(wait->second.ready, "ready");
    if (wait->second.cancelled.has_value()) {
      add(*wait->second.cancelled, "cancelled");
    }
  }
  for (const DurableHistory::Claim& claim : history.claims) {
    if (claim.key != key) continue;
    workers.insert(claim.worker);
    add(claim.at, "claimed by ", claim.worker, " with ", claim.fence,
        ", known ", Text(claim.late), " later");
  }
  for (const DurableHistory::Settle& settle : history.settles) {
    if (settle.key != key) continue;
    add(settle.sent, "worker ", settle.worker, " sends ",
        std::string(1, static_cast<char>(settle.action)), " with ",
        settle.fence, ", delay ", Text(settle.delay), EffectOf(settle));
  }
  for (const DurableHistory::PollSeen& poll : history.polls) {
    if (poll.key != key) continue;
    add(poll.time, "polled by ", poll.worker, " with ", poll.fence,
        poll.found ? ": found" : "");
  }
  for (const DurableHistory::Delivery& delivery : history.deliveries) {
    if (delivery.result.key != key) continue;
    add(delivery.time, "delivered as ", delivery.result.idempotency_key, ": ",
        std::string(StopReasonName(delivery.result.reason)), " after ",
        delivery.result.attempts, " attempts and ",
        Text(delivery.result.elapsed),
        delivery.is_accepted ? "" : ", not accepted");
  }
  for (const auto& notification : history.notifications) {
    if (notification.key == key) add(notification.at, "notified");
  }
  for (const Trouble& trouble : history.troubles) {
    if (!workers.contains(trouble.worker)) continue;
    constexpr std::array<absl::string_view, 3> kKinds = {"dead", "stopped",
                                                         "cut off"};
    add(trouble.from, "worker ", trouble.worker, " is ",
        kKinds[static_cast<size_t>(trouble.kind)], " until ", Text(trouble.to));
  }
  for (const DurableHistory::Loss& loss : history.losses) {
    add(loss.from, "lost until ", Text(loss.to));
  }
  std::string text;
  for (const auto& [time, line] : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

DurableLateness MeasureLateness(const DurableHistory& history) {
  return Checker(history).MeasureLateness();
}

DurableFailover MeasureFailover(const DurableHistory& history) {
  return Checker(history).MeasureFailover();
}

}  // namespace waiter
