// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/history.h"

#include <string_view>

namespace waiter::chaos {

std::string_view ToString(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStoreKilled:
      return "store killed";
    case FaultKind::kStoreStopped:
      return "store stopped";
    case FaultKind::kStoreFull:
      return "store full";
    case FaultKind::kStoreEmptied:
      return "store emptied";
    case FaultKind::kStoreRewound:
      return "store rewound";
    case FaultKind::kScriptsLost:
      return "scripts lost";
    case FaultKind::kClientsKilled:
      return "clients killed";
    case FaultKind::kStalled:
      return "proxy stalls";
    case FaultKind::kRefused:
      return "proxy refuses";
    case FaultKind::kCut:
      return "proxy cuts";
    case FaultKind::kHalved:
      return "proxy halves";
    case FaultKind::kWorkerKilled:
      return "worker killed";
    case FaultKind::kWorkerStopped:
      return "worker stopped";
    case FaultKind::kWorkerLeft:
      return "worker left";
    case FaultKind::kWorkerJoined:
      return "worker joined";
    case FaultKind::kMachineStalled:
      break;
  }
  return "machine stalled";
}

}  // namespace waiter::chaos
