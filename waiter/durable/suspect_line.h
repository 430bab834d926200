// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose holders vanished more than once. They are polled one at a time,
// so that a wait that kills its process takes no others with it:
//
//   line.Add({partition, key});
//   std::optional<Suspect> next = line.Next();  // Mark it in the store.
//   line.OnMarked();                            // Poll it.
//   ...
//   if (line.EndPoll({partition, key})) ...     // Clear its mark.

#ifndef WAITER_DURABLE_SUSPECT_LINE_H_
#define WAITER_DURABLE_SUSPECT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace waiter::internal {

struct Suspect {
  size_t partition = 0;
  std::string key = {};

  friend bool operator==(const Suspect&, const Suspect&) = default;
};

// Thread-compatible. The current suspect is first marked, then polled.
class SuspectLine {
 public:
  void Add(Suspect suspect) { waiting_.push_back(std::move(suspect)); }

  // Makes the next suspect the current one and returns it; nullopt while there
  // is a current one.
  std::optional<Suspect> Next() {
    if (stage_ != Stage::kFree || waiting_.empty()) return std::nullopt;
    stage_ = Stage::kMarking;
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    return current_;
  }

  void OnMarked() { stage_ = Stage::kPolling; }
  void Skip() { stage_ = Stage::kFree; }
  // Returns whether `suspect` was being polled as the current one.
  bool EndPoll(const Suspect& suspect) {
    if (stage_ != Stage::kPolling || suspect != current_) return false;
    Skip();
    return true;
  }
  bool IsCurrent(const Suspect& suspect) const {
    return stage_ != Stage::kFree && suspect == current_;
  }

 private:
  enum class Stage : uint8_t { kFree, kMarking, kPolling };

  std::deque<Suspect> waiting_;
  Suspect current_;
  Stage stage_ = Stage::kFree;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_SUSPECT_LINE_H_
