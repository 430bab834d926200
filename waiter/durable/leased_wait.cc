// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/leased_wait.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {
namespace leased_wait_table {

using enum LeasedWait::State;
using enum LeasedWait::Event;

struct Row {
  LeasedWait::State from;
  LeasedWait::Event event;
  LeasedWait::State to;
};

constexpr auto kTransitions = std::to_array<Row>({
    {kClaimed, kSuspect, kSuspected},
    {kClaimed, kStart, kSleeping},
    {kClaimed, kStartDue, kDue},
    {kClaimed, kEnd, kEnding},
    {kClaimed, kFetch, kFetching},
    {kClaimed, kDeliver, kDelivering},
    {kClaimed, kSkip, kDelivered},

    {kSuspected, kStart, kSleeping},
    {kSuspected, kStartDue, kDue},
    {kSuspected, kEnd, kEnding},
    {kSuspected, kGiveBack, kReleasing},
    {kSuspected, kLose, kGone},

    // A rate limiter may let it sleep before its first poll.
    {kDue, kSleep, kDue},
    {kDue, kPoll, kPolling},
    {kDue, kGiveBack, kLeaving},
    {kDue, kSuspended, kReleasing},
    {kDue, kEnd, kEnding},
    {kDue, kLose, kDropped},

    {kSleeping, kSleep, kSleeping},
    {kSleeping, kPoll, kPolling},
    {kSleeping, kGiveBack, kLeaving},
    {kSleeping, kSuspended, kReleasing},
    {kSleeping, kEnd, kEnding},
    {kSleeping, kLose, kDropped},

    {kPolling, kPoll, kPolling},
    {kPolling, kSleep, kSleeping},
    // The poll may still be in progress, so the lease must run out.
    {kPolling, kSuspended, kGone},
    {kPolling, kEnd, kEnding},
    {kPolling, kLose, kDropped},

    // A result that came before the suspension counts.
    {kLeaving, kSuspended, kReleasing},
    {kLeaving, kEnd, kEnding},
    {kLeaving, kLose, kDropped},

    {kReleasing, kWritten, kGone},
    {kReleasing, kLose, kGone},

    {kEnding, kDeliver, kDelivering},
    {kEnding, kWritten, kGone},
    {kEnding, kLose, kGone},

    {kFetching, kDeliver, kDelivering},
    {kFetching, kSkip, kDelivered},
    {kFetching, kLose, kGone},

    {kDelivering, kAccepted, kDelivered},
    {kDelivering, kRefused, kReleasing},
    {kDelivering, kLose, kDropped},

    {kDelivered, kWritten, kGone},
    {kDelivered, kLose, kGone},

    {kDropped, kSuspended, kGone},
    {kDropped, kEnd, kGone},
    {kDropped, kAccepted, kGone},
    {kDropped, kRefused, kGone},
});

}  // namespace leased_wait_table

std::optional<LeasedWait::State> LeasedWait::Next(State state, Event event) {
  for (const auto& row : leased_wait_table::kTransitions) {
    if (row.from == state && row.event == event) return row.to;
  }
  return std::nullopt;
}

bool LeasedWait::Runs(State state) {
  return state == State::kDue || state == State::kSleeping ||
         state == State::kPolling || state == State::kLeaving ||
         state == State::kDelivering || state == State::kDropped;
}

LeasedWait::LeasedWait(const ClaimedWait& claimed, DurableRecord record,
                       const WaitLease& lease)
    : key_(claimed.key),
      args_(claimed.args),
      marks_(claimed.marks),
      record_(std::move(record)),
      lease_(lease),
      crashes_(claimed.crashes),
      is_cancelled_(claimed.is_cancelled),
      is_notified_(claimed.is_notified) {}

bool LeasedWait::Apply(Event event) {
  const std::optional<State> next = Next(state_, event);
  state_ = next.value_or(state_);
  if (state_ == State::kPolling) is_notified_ = false;
  return next.has_value();
}

bool LeasedWait::is_renewed() const {
  return write() == SettleAction::kHold && state_ != State::kClaimed &&
         state_ != State::kLeaving;
}

void LeasedWait::Begin(WaitToken token, std::chrono::nanoseconds wall_ahead,
                       MonotonicTime wake_up) {
  record_.token = std::move(token);
  wall_ahead_ = wall_ahead;
  wake_up_ = wake_up;
}

void LeasedWait::Save(WaitToken token, std::chrono::nanoseconds wall_ahead,
                      MonotonicTime wake_up) {
  Begin(std::move(token), wall_ahead, wake_up);
  is_dirty_ = true;
}

void LeasedWait::End(StopReason reason, const absl::Status& status,
                     int64_t attempts, int64_t now_us, bool has_handler,
                     std::string value) {
  record_.phase = has_handler ? WaitPhase::kEnded : WaitPhase::kDelivered;
  record_.reason = reason;
  record_.code = status.code();
  record_.message = CutMessage(ToStd(status.message()));
  record_.attempts = attempts;
  record_.elapsed_us = now_us - record_.born_us;
  value_ = std::move(value);
  is_dirty_ = true;
}

void LeasedWait::EndDelivery(bool is_accepted, MonotonicTime retry) {
  is_dirty_ = true;
  if (is_accepted) {
    record_.phase = WaitPhase::kDelivered;
  } else {
    ++record_.deliveries;
    wake_up_ = retry;
  }
}

std::optional<SettleAction> LeasedWait::write() const {
  switch (state_) {
    case State::kReleasing:
      return SettleAction::kRelease;
    case State::kEnding:
      return record_.phase == WaitPhase::kDelivered ? SettleAction::kEndUnheard
                                                    : SettleAction::kEnd;
    case State::kDelivered:
      return SettleAction::kDelivered;
    case State::kDropped:
    case State::kGone:
      return std::nullopt;
    default:
      return SettleAction::kHold;
  }
}

SettleItem LeasedWait::BeginWrite() {
  wants_write_ = false;
  is_writing_ = true;
  SettleItem item = {
      .key = key_, .fence = lease_.fence.value(), .action = *write()};
  if (std::exchange(is_dirty_, false)) {
    if (record_.phase == WaitPhase::kPending && !record_.token.empty()) {
      record_.token =
          ShiftWallClock(record_.token, -std::exchange(wall_ahead_, {}));
    }
    item.record = record_.Encode();
  }
  if (state_ == State::kEnding) {
    item.value = value_;
    item.reason = std::string(StopReasonName(record_.reason));
  }
  return item;
}

std::optional<LeasedWait::Event> LeasedWait::OnWritten(SettleAction action,
                                                       const WaitLease& lease) {
  is_writing_ = false;
  switch (action) {
    case SettleAction::kHold:
      lease_ = lease;
      crashes_ = 0;
      return std::nullopt;
    case SettleAction::kEnd:
      lease_ = lease;
      return Event::kDeliver;
    case SettleAction::kRelease:
    case SettleAction::kEndUnheard:
    case SettleAction::kDelivered:
      break;
  }
  return Event::kWritten;
}

void LeasedWait::OnWriteFailed() {
  is_writing_ = false;
  is_dirty_ = true;
}

}  // namespace waiter::internal
