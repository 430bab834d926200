// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/interleavings.h"
#include "waiter/engine/task_gate.h"

namespace waiter::internal {
namespace {

using ::testing::HasSubstr;

// The scenarios run with a correct word, and with words that each have one
// defect, which they must find.
enum class Defect : uint8_t {
  kNone,
  kHidesAbandoned,    // As if no handle were ever destroyed.
  kHidesStop,         // As if no stop were ever requested.
  kHidesFreed,        // As if a task were never freed.
  kHidesEntered,      // As if no thread were ever inside.
  kHidesPollBegun,    // As if no poll on an executor had ever begun.
  kHidesRequest,      // As if no poll were ever requested.
  kHidesSuspend,      // As if no suspension were ever requested.
  kNeverNotifies,     // A thread that waits is not woken.
  kWeakened,          // The acquire or release of one operation is relaxed.
  kLosesGenerations,  // As if every wait were the first.
};

// An operation of the gate, by its line in task_gate.h, and the half of its
// memory order that matters.
struct Order {
  uint32_t line = 0;
  bool acquires = false;

  friend auto operator<=>(const Order&, const Order&) = default;
};
std::ostream& operator<<(std::ostream& out, const Order& order) {
  return out << "task_gate.h:" << order.line
             << (order.acquires ? ", acquire" : ", release");
}

// The orders that runs have met, and the one that `kWeakened` relaxes.
std::set<Order> met_orders;
Order weakened_order;

template <Defect kDefect>
class Word {
 public:
  Word(uint64_t value) : word_(value) {}  // NOLINT: as std::atomic

  uint64_t load(std::memory_order order,
                uint32_t line = __builtin_LINE()) const {
    return Seen(word_.load(Weakened(order, line)));
  }
  void store(uint64_t value, std::memory_order order,
             uint32_t line = __builtin_LINE()) {
    word_.store(value, Weakened(order, line));
  }
  uint64_t exchange(uint64_t value, std::memory_order order,
                    uint32_t line = __builtin_LINE()) {
    return word_.exchange(value, Weakened(order, line));
  }
  uint64_t fetch_or(uint64_t bits, std::memory_order order,
                    uint32_t line = __builtin_LINE()) {
    return word_.fetch_or(bits, Weakened(order, line));
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t desired,
                             std::memory_order success,
                             std::memory_order failure,
                             uint32_t line = __builtin_LINE()) {
    // The comparison is with the whole word, its hidden bits included.
    uint64_t actual = expected | (hidden_ & Hidden());
    const bool replaced = word_.compare_exchange_weak(
        actual, desired | (hidden_ & Hidden()), Weakened(success, line),
        Weakened(failure, line));
    if (!replaced) expected = Seen(actual);
    return replaced;
  }
  void wait(uint64_t old, std::memory_order order,
            uint32_t line = __builtin_LINE()) const {
    word_.wait(old, Weakened(order, line));
  }
  void notify_all() {
    if (kDefect != Defect::kNeverNotifies) word_.notify_all();
  }

 private:
  static constexpr uint64_t Hidden() {
    switch (kDefect) {
      case Defect::kHidesEntered:
        return 2;
      case Defect::kHidesAbandoned:
        return 4;
      case Defect::kHidesFreed:
        return 8;
      case Defect::kHidesStop:
        return 32;
      case Defect::kLosesGenerations:
        return ~uint64_t{511};
      case Defect::kHidesPollBegun:
        return 64;
      case Defect::kHidesRequest:
        return 128;
      case Defect::kHidesSuspend:
        return 256;
      default:
        return 0;
    }
  }
  uint64_t Seen(uint64_t word) const {
    hidden_ = word;
    return word & ~Hidden();
  }
  static std::memory_order Weakened(std::memory_order order, uint32_t line) {
    bool acquires = Acquires(order);
    bool releases = Releases(order);
    for (const bool half : {true, false}) {
      if (half ? !acquires : !releases) continue;
      const Order each = {line, half};
      if (kDefect == Defect::kNone) met_orders.insert(each);
      if (kDefect == Defect::kWeakened && each == weakened_order) {
        (half ? acquires : releases) = false;
      }
    }
    if (acquires && releases) return std::memory_order_acq_rel;
    if (acquires) return std::memory_order_acquire;
    if (releases) return std::memory_order_release;
    return std::memory_order_relaxed;
  }

  mutable uint64_t hidden_ = 0;
  ModelAtomic<uint64_t> word_;
};

// A record with one wait after the other, as an `EngineWorker` uses it.
template <Defect kDefect>
struct Record {
  BasicTaskGate<Word<kDefect>> gate;
  Generation generation = 0;
  ModelData task;             // The captures of the wait's functions.
  ModelData owned;            // Objects of the handle's owner that these use.
  ModelData note;             // Written by the owner before a request.
  int inside = 0;             // Threads in the task.
  int freed = 0;              // How often the task was freed.
  bool told_to_stop = false;  // `RequestStop` has returned.
  bool told_to_suspend = false;      // `RequestSuspend` has returned true.
  ModelAtomic<bool> posted = false;  // The worker has that request.
  int suspended = 0;                 // How often the state was handed over.
  bool forbidden = false;            // `Forbid` has returned.
  bool handle_gone = false;          // `Abandon` has returned.
  bool ended = false;
  bool poll_begun = false;       // On an executor.
  bool is_next = false;          // The record holds the next wait.
  bool was_met = false;          // A poll has met a request to poll.
  bool detached = false;         // `Detach` has returned true.
  bool detached_at_end = false;  // `Close` has returned true.
};

template <Defect kDefect>
void RunFunction(Record<kDefect>& record) {
  Interleaving& run = Interleaving::Current();
  run.Expect(record.freed == 0, "a function runs after its task was freed");
  run.Expect(++record.inside == 1, "two threads are in the task");
  run.Expect(!record.handle_gone, "a function runs after ~WaitHandle");
  record.task.Write();
  record.owned.Read();
  run.Yield();
  --record.inside;
}

template <Defect kDefect>
void Free(Record<kDefect>& record) {
  Interleaving& run = Interleaving::Current();
  run.Expect(++record.freed == 1, "the task is freed twice");
  run.Expect(++record.inside == 1, "the task is freed while a function runs");
  record.task.Write();
  record.owned.Read();
  --record.inside;
}

// Ends the wait on its worker, whose thread is inside, or whose owner freed the
// task.
template <Defect kDefect>
void End(Record<kDefect>& record) {
  if (!record.gate.freed()) Free(record);
  Interleaving::Current().Expect(!std::exchange(record.ended, true),
                                 "the wait ends twice");
  record.detached_at_end = record.gate.Close();
}

// One poll by the worker, which ends the wait if it must.
template <Defect kDefect>
void PollOnWorker(Record<kDefect>& record, bool ends) {
  const bool must_not_poll = record.told_to_stop;
  const bool must_be_held = record.told_to_suspend;
  const bool must_not_enter = record.forbidden;
  if (!record.gate.Enter(/*shared=*/true)) return;
  Interleaving::Current().Expect(!must_not_enter,
                                 "a thread enters after Forbid has returned");
  if (record.gate.stop_requested()) {
    End(record);
    return;
  }
  if (record.gate.suspend_requested()) {
    if (!record.gate.Leave()) End(record);
    return;
  }
  Interleaving::Current().Expect(!must_not_poll,
                                 "a poll starts after Cancel has returned");
  Interleaving::Current().Expect(!must_be_held,
                                 "a poll starts after Suspend has returned");
  RunFunction(record);
  if (ends || !record.gate.Leave()) End(record);
}

template <Defect kDefect>
void PollOnExecutor(Record<kDefect>& record) {
  const bool must_not_poll = record.told_to_stop;
  const bool must_be_held = record.told_to_suspend;
  if (!record.gate.EnterToPoll(record.generation)) return;
  Interleaving::Current().Expect(!must_not_poll,
                                 "a poll starts after Cancel has returned");
  Interleaving::Current().Expect(!must_be_held,
                                 "a poll starts after Suspend has returned");
  record.poll_begun = true;
  RunFunction(record);
  if (record.gate.Leave()) return;
  Free(record);
  record.gate.SetFreed();
}

// The deadline of a poll on an executor, and its answer if there is one.
template <Defect kDefect>
void EndOnWorker(Record<kDefect>& record) {
  if (record.gate.Enter(/*shared=*/true)) {
    Interleaving::Current().Expect(!record.poll_begun,
                                   "a poll that has begun is not awaited");
    End(record);
    return;
  }
  Interleaving::Current().Yield();
  if (record.gate.EnterForAnswer(/*shared=*/true)) End(record);
}

template <Defect kDefect>
void DestroyHandle(Record<kDefect>& record) {
  switch (record.gate.Abandon(record.generation, /*in_task=*/false)) {
    case AbandonOutcome::kFree:
      Free(record);
      record.gate.SetFreed();
      break;
    case AbandonOutcome::kEnded:
      break;
    case AbandonOutcome::kFreedOnLeaving:
      Interleaving::Current().Fail("the owner is not in the task");
  }
  record.handle_gone = true;
  // The owner's objects are also gone now.
  record.owned.Write();
}

template <Defect kDefect>
void CancelWait(Record<kDefect>& record) {
  if (record.gate.RequestStop(record.generation)) record.told_to_stop = true;
}

template <Defect kDefect>
void SuspendWait(Record<kDefect>& record) {
  if (!record.gate.RequestSuspend(record.generation)) return;
  record.told_to_suspend = true;
  record.posted.store(true, std::memory_order_release);
}

// Takes a requested suspension, or leaves it to a later call if a poll on an
// executor has begun. `answered` says that the worker has its answer.
template <Defect kDefect>
void SuspendOnWorker(Record<kDefect>& record, bool answered) {
  if (record.ended || !record.posted.load(std::memory_order_acquire)) return;
  const bool entered = answered ? record.gate.EnterForAnswer(/*shared=*/true)
                                : record.gate.Enter(/*shared=*/true);
  if (!entered) return;
  Interleaving::Current().Expect(answered || !record.poll_begun,
                                 "a poll that has begun is not awaited");
  // The function that gets the state runs like the others.
  if (!record.gate.abandoned()) {
    ++record.suspended;
    RunFunction(record);
  }
  End(record);
}

template <Defect kDefect>
std::shared_ptr<Record<kDefect>> NewRecord(Interleaving& run) {
  auto record = std::make_shared<Record<kDefect>>();
  record->generation = record->gate.OpenWithHandle();
  run.AtEnd([record] {
    Interleaving::Current().Expect(record->freed <= 1, "freed twice");
    if (!record->gate.IsOpen(record->generation) || record->handle_gone) {
      Interleaving::Current().Expect(record->freed == 1,
                                     "the task is never freed");
    }
  });
  return record;
}

using Scenario = std::function<void(Interleaving&)>;

// The owner destroys its handle while the worker polls, and then looks again.
template <Defect kDefect>
void AbandonAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/false);
    if (!record->ended) PollOnWorker(*record, /*ends=*/true);
  });
  run.AddThread([record] { DestroyHandle(*record); });
}

// The same with a first step that forbids to enter.
template <Defect kDefect>
void ForbidAndAbandonAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnWorker(*record, /*ends=*/true); });
  run.AddThread([record] {
    record->gate.Forbid(record->generation);
    record->forbidden = true;
    DestroyHandle(*record);
  });
}

// The same with a poll on an executor at the same time.
template <Defect kDefect>
void AbandonAgainstExecutor(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnExecutor(*record); });
  run.AddThread([record] { DestroyHandle(*record); });
  run.AddThread([record] { PollOnWorker(*record, /*ends=*/true); });
}

template <Defect kDefect>
void CancelAgainstWorkerAndExecutor(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnExecutor(*record); });
  run.AddThread([record] { CancelWait(*record); });
  run.AddThread([record] { PollOnWorker(*record, /*ends=*/false); });
}

// The worker gives up waiting for a poll while an executor begins it.
template <Defect kDefect>
void DeadlineAgainstExecutor(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnExecutor(*record); });
  run.AddThread([record] { EndOnWorker(*record); });
}

template <Defect kDefect>
void CancelThenAbandonAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/false);
    if (!record->ended) PollOnWorker(*record, /*ends=*/true);
  });
  run.AddThread([record] {
    CancelWait(*record);
    DestroyHandle(*record);
  });
}

// A wait is suspended while the worker polls, and ends in one way.
template <Defect kDefect>
void SuspendAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/false);
    SuspendOnWorker(*record, /*answered=*/false);
    if (!record->ended) PollOnWorker(*record, /*ends=*/true);
    SuspendOnWorker(*record, /*answered=*/false);
  });
  run.AddThread([record] { SuspendWait(*record); });
  run.AtEnd([record] {
    SuspendOnWorker(*record, /*answered=*/false);
    Interleaving::Current().Expect(record->ended, "a suspension is lost");
  });
}

// The same with a poll on an executor, whose answer comes first.
template <Defect kDefect>
void SuspendAgainstWorkerAndExecutor(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnExecutor(*record); });
  run.AddThread([record] { SuspendWait(*record); });
  run.AddThread([record] {
    SuspendOnWorker(*record, /*answered=*/false);
    if (!record->ended) PollOnWorker(*record, /*ends=*/false);
  });
  run.AtEnd([record] {
    SuspendOnWorker(*record, /*answered=*/true);
    Interleaving::Current().Expect(record->suspended == 1,
                                   "a wait is not suspended once");
  });
}

// A wait is suspended and cancelled, and suspended by two.
template <Defect kDefect>
void SuspendAgainstCancel(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { SuspendWait(*record); });
  run.AddThread([record] { CancelWait(*record); });
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/false);
    SuspendOnWorker(*record, /*answered=*/false);
  });
  run.AtEnd([record] {
    Interleaving::Current().Expect(
        record->ended || record->told_to_suspend != record->told_to_stop,
        "a wait is suspended and cancelled, or neither");
    const bool was_suspended = record->suspended == 1;
    SuspendOnWorker(*record, /*answered=*/false);
    Interleaving::Current().Expect(
        record->told_to_suspend == (was_suspended || record->suspended == 1),
        "the wait of a suspension ends otherwise");
  });
}

template <Defect kDefect>
void SuspendAgainstSuspend(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  auto requests = std::make_shared<int>(0);
  for (int i = 0; i < 2; ++i) {
    run.AddThread([record, requests] {
      *requests += record->gate.RequestSuspend(record->generation) ? 1 : 0;
    });
  }
  run.AtEnd([requests] {
    Interleaving::Current().Expect(*requests == 1, "not one request counts");
  });
}

// The owner destroys its handle while the state may be handed over.
template <Defect kDefect>
void SuspendThenAbandonAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/false);
    SuspendOnWorker(*record, /*answered=*/false);
  });
  run.AddThread([record] {
    SuspendWait(*record);
    DestroyHandle(*record);
  });
}

// A late answer, and a handle of the previous wait, meet the next wait of the
// record.
template <Defect kDefect>
void StaleReferencesAgainstNextWait(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    PollOnWorker(*record, /*ends=*/true);
    if (!record->ended) return;
    record->freed = 0;
    record->ended = false;
    record->is_next = true;
    record->gate.OpenWithHandle();
    Interleaving::Current().Yield();
    Interleaving::Current().Expect(!record->gate.stop_requested(),
                                   "a stale handle stops the next wait");
    Interleaving::Current().Expect(!record->gate.abandoned(),
                                   "a stale handle abandons the next wait");
    Interleaving::Current().Expect(!record->gate.poll_requested(),
                                   "a stale handle polls the next wait");
    Interleaving::Current().Expect(!record->gate.suspend_requested(),
                                   "a stale handle suspends the next wait");
    PollOnWorker(*record, /*ends=*/true);
  });
  run.AddThread([record] {
    record->gate.RequestStop(record->generation);
    record->gate.RequestPoll(record->generation);
    record->gate.RequestSuspend(record->generation);
    record->gate.Detach(record->generation);
  });
  run.AddThread([record] {
    if (record->gate.EnterToPoll(record->generation)) {
      Interleaving::Current().Expect(!record->is_next,
                                     "a stale poll enters the next wait");
      if (!record->gate.Leave()) Free(*record);
    }
  });
}

// Another thread checks if the wait has ended, and then reads its task.
template <Defect kDefect>
void LookAgainstWorker(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnWorker(*record, /*ends=*/true); });
  run.AddThread([record] {
    if (!record->gate.IsOpen(record->generation)) record->task.Read();
  });
}

// A poll that sees a request to stop also sees the owner's earlier writes.
template <Defect kDefect>
void CancelDuringPoll(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    if (!record->gate.Enter(/*shared=*/true)) return;
    Interleaving::Current().Yield();
    if (record->gate.stop_requested()) record->note.Read();
    End(*record);
  });
  run.AddThread([record] {
    record->note.Write();
    record->gate.RequestStop(record->generation);
  });
}

// A poll that meets a request sees the owner's earlier writes, and a request
// that no poll has met is still there.
template <Defect kDefect>
void NotifyDuringPolls(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    for (int poll = 0; poll < 2; ++poll) {
      if (!record->gate.Enter(/*shared=*/true)) return;
      if (record->gate.MeetPollRequest()) {
        record->note.Read();
        record->was_met = true;
      }
      Interleaving::Current().Yield();
      record->gate.Leave();
    }
  });
  run.AddThread([record] {
    record->note.Write();
    const bool is_first = record->gate.RequestPoll(record->generation);
    Interleaving::Current().Expect(is_first, "a request is not the first");
  });
  run.AtEnd([record] {
    Interleaving::Current().Expect(
        record->was_met || record->gate.poll_requested(), "a request is lost");
  });
}

// A reference that the handle gives up is removed once: by the owner who learns
// that the wait has ended, or by the end that learns of the detached handle.
template <Defect kDefect>
void DetachAgainstEnd(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] { PollOnWorker(*record, /*ends=*/true); });
  run.AddThread(
      [record] { record->detached = record->gate.Detach(record->generation); });
  run.AtEnd([record] {
    Interleaving::Current().Expect(
        record->ended && record->detached == record->detached_at_end,
        "a reference is removed twice or never");
  });
}

// The worker, which looks at all its waits, ends one whose owner has freed the
// task, and uses its memory again.
template <Defect kDefect>
void ReuseAfterAbandon(Interleaving& run) {
  auto record = NewRecord<kDefect>(run);
  run.AddThread([record] {
    if (!record->gate.freed()) return;
    End(*record);
    record->task.Write();
  });
  run.AddThread([record] { DestroyHandle(*record); });
}

struct NamedScenario {
  std::string name;
  Scenario scenario;
  // Exhaustive unless there are too many threads for that.
  ExplorationOptions options;
};

template <Defect kDefect>
std::vector<NamedScenario> Scenarios() {
  return {
      {"abandon against worker", AbandonAgainstWorker<kDefect>, {}},
      {"forbid and abandon against worker",
       ForbidAndAbandonAgainstWorker<kDefect>,
       {}},
      {"abandon against executor",
       AbandonAgainstExecutor<kDefect>,
       {.max_preemptions = 3}},
      {"cancel against worker and executor",
       CancelAgainstWorkerAndExecutor<kDefect>,
       {.max_preemptions = 3}},
      {"deadline against executor", DeadlineAgainstExecutor<kDefect>, {}},
      {"cancel, then abandon against worker",
       CancelThenAbandonAgainstWorker<kDefect>,
       {.max_preemptions = 4}},
      {"suspend against worker", SuspendAgainstWorker<kDefect>, {}},
      {"suspend against worker and executor",
       SuspendAgainstWorkerAndExecutor<kDefect>,
       {.max_preemptions = 3}},
      {"suspend against cancel",
       SuspendAgainstCancel<kDefect>,
       {.max_preemptions = 3}},
      {"suspend against suspend", SuspendAgainstSuspend<kDefect>, {}},
      {"suspend, then abandon against worker",
       SuspendThenAbandonAgainstWorker<kDefect>,
       {.max_preemptions = 4}},
      {"look against worker", LookAgainstWorker<kDefect>, {}},
      {"cancel during poll", CancelDuringPoll<kDefect>, {}},
      {"notify during polls", NotifyDuringPolls<kDefect>, {}},
      {"detach against end", DetachAgainstEnd<kDefect>, {}},
      {"reuse after abandon", ReuseAfterAbandon<kDefect>, {}},
      {"stale references against the next wait",
       StaleReferencesAgainstNextWait<kDefect>,
       {.max_preemptions = 3}},
  };
}

constexpr ExplorationOptions kFewInterleavings = {.max_preemptions = 2,
                                                  .max_stale_loads = 1};

// Returns the first failure that the scenario named `name` finds, or nothing.
template <Defect kDefect>
std::string FirstFailure(
    std::string_view name,
    std::optional<ExplorationOptions> options = std::nullopt) {
  for (const NamedScenario& each : Scenarios<kDefect>()) {
    if (each.name != name) continue;
    const Exploration result =
        ExploreInterleavings(options.value_or(each.options), each.scenario);
    if (!result.failure.empty()) return each.name + ": " + result.failure;
  }
  return "";
}

TEST(TaskGateInterleavingTest, HoldsInEveryInterleaving) {
  int64_t all = 0;
  for (const NamedScenario& each : Scenarios<Defect::kNone>()) {
    const Exploration result =
        ExploreInterleavings(each.options, each.scenario);

    EXPECT_EQ(result.failure, "") << each.name;
    std::cout << each.name << ": " << result.schedules << " interleavings\n";
    all += result.schedules;
  }
  EXPECT_GT(all, 1000);
}

TEST(TaskGateInterleavingTest, HoldsWithStaleLoads) {
  for (const NamedScenario& each : Scenarios<Defect::kNone>()) {
    const Exploration result =
        ExploreInterleavings(kFewInterleavings, each.scenario);

    EXPECT_EQ(result.failure, "") << each.name;
  }
}

TEST(TaskGateInterleavingTest, FindsEveryDefectOfTheWord) {
  EXPECT_THAT(FirstFailure<Defect::kHidesAbandoned>("abandon against executor"),
              HasSubstr("schedule"));
  EXPECT_THAT(
      FirstFailure<Defect::kHidesStop>("cancel against worker and executor"),
      HasSubstr("a poll starts after Cancel has returned"));
  EXPECT_THAT(FirstFailure<Defect::kHidesFreed>("abandon against executor"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kHidesEntered>("abandon against worker"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kHidesPollBegun>("abandon against executor"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kHidesRequest>("notify during polls"),
              HasSubstr("a request is lost"));
  EXPECT_THAT(FirstFailure<Defect::kHidesSuspend>("suspend against worker"),
              HasSubstr("a poll starts after Suspend has returned"));
  EXPECT_THAT(FirstFailure<Defect::kHidesSuspend>(
                  "suspend against worker and executor"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kHidesSuspend>("suspend against suspend"),
              HasSubstr("not one request counts"));
  EXPECT_THAT(FirstFailure<Defect::kHidesPollBegun>(
                  "suspend against worker and executor"),
              HasSubstr("a poll that has begun is not awaited"));
  EXPECT_THAT(FirstFailure<Defect::kHidesEntered>(
                  "suspend, then abandon against worker"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kNeverNotifies>("abandon against worker"),
              HasSubstr("no thread can continue"));
  EXPECT_THAT(FirstFailure<Defect::kLosesGenerations>("abandon against worker"),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kLosesGenerations>("detach against end"),
              HasSubstr("removed twice or never"));
}

// An acquire may be covered by another one of the same call, so that not each
// is missed.
TEST(TaskGateInterleavingTest, FindsEveryWeakenedReleaseAndMostAcquires) {
  for (const NamedScenario& each : Scenarios<Defect::kNone>()) {
    const Exploration result =
        ExploreInterleavings({.max_preemptions = 1}, each.scenario);
    EXPECT_EQ(result.failure, "") << each.name;
  }
  int acquires = 0;
  int releases = 0;
  for (const Order& order : met_orders) {
    weakened_order = order;
    const auto finds = [](std::string_view name) {
      return !FirstFailure<Defect::kWeakened>(name, kFewInterleavings).empty();
    };
    const bool found =
        finds("abandon against worker") || finds("abandon against executor") ||
        finds("look against worker") || finds("cancel during poll");
    if (order.acquires) {
      acquires += found ? 1 : 0;
    } else {
      EXPECT_TRUE(found) << order;
      ++releases;
    }
  }
  EXPECT_GE(releases, 3);
  EXPECT_GE(acquires, 4);
}

TEST(TaskGateTest, WaitThatHasEndedTakesNoRequestToStop) {
  TaskGate gate;
  const Generation ended = gate.OpenWithHandle();
  EXPECT_TRUE(gate.RequestStop(ended));
  gate.Close();
  const Generation next = gate.OpenWithHandle();

  EXPECT_FALSE(gate.RequestStop(ended));
  EXPECT_FALSE(gate.stop_requested());
  EXPECT_TRUE(gate.RequestStop(next));
  EXPECT_TRUE(gate.stop_requested());
}

TEST(TaskGateTest, FirstRequestToStopOrToSuspendCounts) {
  TaskGate gate;
  const Generation first = gate.OpenWithHandle();
  EXPECT_TRUE(gate.RequestSuspend(first));
  EXPECT_FALSE(gate.RequestSuspend(first));
  EXPECT_FALSE(gate.RequestStop(first));
  EXPECT_TRUE(gate.must_not_poll());
  EXPECT_FALSE(gate.must_end());
  gate.Close();
  const Generation second = gate.OpenWithHandle();

  EXPECT_FALSE(gate.RequestSuspend(first));
  EXPECT_FALSE(gate.suspend_requested());
  EXPECT_TRUE(gate.RequestStop(second));
  EXPECT_FALSE(gate.RequestSuspend(second));
  EXPECT_FALSE(gate.suspend_requested());
}

TEST(TaskGateTest, RequestsOfAPollAreOneUntilAPollMeetsThem) {
  TaskGate gate;
  const Generation ended = gate.OpenWithHandle();
  EXPECT_TRUE(gate.RequestPoll(ended));
  EXPECT_FALSE(gate.RequestPoll(ended));
  EXPECT_TRUE(gate.MeetPollRequest());
  EXPECT_FALSE(gate.MeetPollRequest());
  EXPECT_FALSE(gate.poll_requested());
  EXPECT_TRUE(gate.RequestPoll(ended));
  gate.Close();
  gate.OpenWithHandle();

  EXPECT_FALSE(gate.poll_requested());
  EXPECT_FALSE(gate.RequestPoll(ended));
}

TEST(TaskGateTest, CloseTellsWhetherTheHandleWasDetachedBefore) {
  TaskGate gate;
  const Generation detached = gate.OpenWithHandle();
  EXPECT_TRUE(gate.Detach(detached));
  EXPECT_TRUE(gate.Close());
  const Generation ended = gate.OpenWithHandle();
  EXPECT_FALSE(gate.Close());

  EXPECT_FALSE(gate.Detach(ended));
}

// Counts the operations that other processors notice.
class CountedWord {
 public:
  CountedWord(uint64_t value) : word_(value) {}  // NOLINT: as std::atomic

  uint64_t load(std::memory_order /*order*/) const { return word_; }
  void store(uint64_t value, std::memory_order /*order*/) {
    ++writes_;
    word_ = value;
  }
  bool compare_exchange_weak(uint64_t& expected, uint64_t desired,
                             std::memory_order /*success*/,
                             std::memory_order /*failure*/) {
    EXPECT_EQ(expected, word_);
    ++writes_;
    word_ = desired;
    return true;
  }

  static inline int writes_ = 0;

 private:
  uint64_t word_;
};

TEST(TaskGateTest, StepsOfADetachedWaitOnlyLoad) {
  BasicTaskGate<CountedWord> gate;
  gate.Detach(gate.OpenWithHandle());
  const int writes_before = CountedWord::writes_;

  EXPECT_TRUE(gate.Enter(/*shared=*/false));
  EXPECT_FALSE(gate.MeetPollRequest());
  EXPECT_TRUE(gate.Leave());

  EXPECT_EQ(CountedWord::writes_, writes_before);
}

}  // namespace
}  // namespace waiter::internal
