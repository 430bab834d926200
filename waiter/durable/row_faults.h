// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The faults that `CheckDurableWaits` finds in stores with tables:
//
//   for (WaitFault fault : FaultsOf(row)) ...

#ifndef WAITER_DURABLE_ROW_FAULTS_H_
#define WAITER_DURABLE_ROW_FAULTS_H_

#include <vector>

#include "waiter/durable/store.h"

namespace waiter::internal {

// The state of a wait, as its rows have it.
struct RowState {
  bool has_record = true;
  bool is_pending = false;  // Without a result.
  bool is_over = false;     // Delivered.
  bool is_due = false;
  bool is_kept = false;
  bool has_leftovers = false;
};

inline std::vector<WaitFault> FaultsOf(const RowState& row) {
  if (!row.has_record) return {WaitFault::kNoRecord};
  std::vector<WaitFault> faults;
  if (row.is_over && row.is_due) faults.push_back(WaitFault::kStillPending);
  if (!row.is_over && row.is_kept) faults.push_back(WaitFault::kNotDelivered);
  if (!row.is_due && !row.is_kept) faults.push_back(WaitFault::kAdrift);
  if (row.is_over && row.has_leftovers) faults.push_back(WaitFault::kLeftover);
  return faults;
}

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_ROW_FAULTS_H_
