// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The policies of a worker's waits. Waits share policies, most of them the one
// that was added last, so a wait refers to its policy by four bytes.
//
// Invariant: the count of an entry is the number of pending waits that use it;
// an entry without waits keeps no policy alive.

#ifndef WAITER_ENGINE_POLICY_TABLE_H_
#define WAITER_ENGINE_POLICY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "waiter/policy.h"

namespace waiter::internal {

// Thread-compatible.
class PolicyTable {
 public:
  // Returns the policy at an index with waits.
  const WaitPolicy& operator[](uint32_t index) const {
    return *entries_[index].policy;
  }

  // Shares the policy at an index with waits.
  std::shared_ptr<const WaitPolicy> Share(uint32_t index) const {
    return entries_[index].policy;
  }

  // If `policy` is the one that was added last, counts one more wait of it and
  // returns true. `last()` is then its index.
  bool AddToLast(const WaitPolicy& policy) {
    if (last_ >= entries_.size() || entries_[last_].policy.get() != &policy) {
      return false;
    }
    ++entries_[last_].waits;
    return true;
  }
  uint32_t last() const { return last_; }

  // Counts one wait of `policy`. Returns its index.
  uint32_t Add(std::shared_ptr<const WaitPolicy> policy);

  // Counts one wait less.
  void Remove(uint32_t index) {
    if (--entries_[index].waits == 0) Erase(index);
  }

  // Returns the number of policies with waits.
  size_t size() const { return indexes_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const WaitPolicy> policy;
    size_t waits = 0;
  };

  void Erase(uint32_t index);

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
  absl::flat_hash_map<const WaitPolicy*, uint32_t> indexes_;
  uint32_t last_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_POLICY_TABLE_H_
