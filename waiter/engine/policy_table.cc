// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/policy_table.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "waiter/policy.h"

namespace waiter::internal {

uint32_t PolicyTable::Add(std::shared_ptr<const WaitPolicy> policy) {
  const auto [place, is_new] = indexes_.try_emplace(
      policy.get(), static_cast<uint32_t>(entries_.size()));
  if (is_new) {
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      place->second = free_.back();
      free_.pop_back();
    }
    entries_[place->second].policy = std::move(policy);
  }
  last_ = place->second;
  ++entries_[last_].waits;
  return last_;
}

void PolicyTable::Erase(uint32_t index) {
  indexes_.erase(entries_[index].policy.get());
  entries_[index].policy = nullptr;
  free_.push_back(index);
}

}  // namespace waiter::internal
