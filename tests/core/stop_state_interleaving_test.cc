// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/interleavings.h"
#include "tests/support/model_sync.h"
#include "waiter/internal/stop_state.h"

namespace waiter::internal::stop_state_interleaving_test {
namespace {

using ::testing::HasSubstr;

// The scenarios run with correct synchronization, and with each of these
// defects, which they must find.
enum class Defect : uint8_t {
  kNone,
  kNeverLocks,
  kNeverNotifies,   // A condition wakes no thread.
  kNeverRequested,  // The flag is always false.
};

template <Defect kDefect>
class ABSL_SCOPED_LOCKABLE TriedLock {
 public:
  explicit TriedLock(ModelMutex& mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : mutex_(mutex) {
    if constexpr (kDefect != Defect::kNeverLocks) mutex_.Lock();
  }
  ~TriedLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (kDefect != Defect::kNeverLocks) mutex_.Unlock();
  }
  TriedLock(const TriedLock&) = delete;
  TriedLock& operator=(const TriedLock&) = delete;

 private:
  ModelMutex& mutex_;
};

template <Defect kDefect>
class TriedCondition : public ModelCondition {
 public:
  using ModelCondition::ModelCondition;
  void Notify() {
    if constexpr (kDefect != Defect::kNeverNotifies) ModelCondition::Notify();
  }
};

template <Defect kDefect>
class TriedFlag : public ModelAtomic<bool> {
 public:
  using ModelAtomic<bool>::ModelAtomic;
  bool load(std::memory_order order) const {
    return ModelAtomic<bool>::load(order) && kDefect != Defect::kNeverRequested;
  }
};

template <Defect kDefect>
struct TriedSync {
  using Mutex = ModelMutex;
  using Lock = TriedLock<kDefect>;
  using Condition = TriedCondition<kDefect>;
  using Flag = TriedFlag<kDefect>;
  using Count = ModelAtomic<size_t>;
};

void Expect(bool condition, const std::string& why) {
  Interleaving::Current().Expect(condition, why);
}

template <Defect kDefect>
using State = BasicStopState<TriedSync<kDefect>>;

// A callback whose memory shows if it runs while it is destroyed.
template <Defect kDefect>
class Callback : State<kDefect>::Node {
  using Node = typename State<kDefect>::Node;

 public:
  explicit Callback(State<kDefect>& state)
      : Node([](Node& node) { static_cast<Callback&>(node).Run(); }),
        state_(state) {}

  // Runs with the callback. Set this before `Add`.
  std::function<void()> action = [] {};

  void Add() { is_listed_ = state_.Add(*this); }

  // Acts as the destructor.
  void Remove() {
    if (is_listed_) state_.Remove(*this);
    is_removed_ = true;
    memory_.Write();
  }

  int runs() const { return runs_; }

 private:
  void Run() {
    Expect(!is_removed_, "a callback runs that is destroyed");
    // An action may remove this callback.
    memory_.Write();
    Interleaving::Current().Yield();
    Expect(!is_removed_, "a callback is destroyed while it runs");
    memory_.Write();
    ++runs_;
    action();
  }

  State<kDefect>& state_;
  ModelData memory_;
  bool is_listed_ = false;
  bool is_removed_ = false;
  int runs_ = 0;
};

// A state with one source and a few callbacks.
template <Defect kDefect>
struct Scene {
  Scene() { state.AddSource(); }

  State<kDefect> state;
  std::array<Callback<kDefect>, 3> callbacks = {Callback<kDefect>(state),
                                                Callback<kDefect>(state),
                                                Callback<kDefect>(state)};
  int requests = 0;
  ModelData written_before;
};

// A callback comes and goes while a stop is requested. It runs at most once,
// and exactly once if it came later.
template <Defect kDefect>
void RequestAgainstRegistration(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  run.AddThread([scene] { Expect(scene->state.RequestStop(), "refused"); });
  run.AddThread([scene] {
    const bool is_late = scene->state.stop_requested();
    scene->callbacks[0].Add();
    scene->callbacks[0].Remove();
    const int runs = scene->callbacks[0].runs();
    Expect(is_late ? runs == 1 : runs <= 1, "ran a wrong number of times");
  });
}

// Callbacks in the list are removed before they run, or while they do.
template <Defect kDefect>
void RequestAgainstRemovals(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  for (auto& callback : scene->callbacks) callback.Add();
  run.AddThread([scene] { Expect(scene->state.RequestStop(), "refused"); });
  run.AddThread([scene] { scene->callbacks[0].Remove(); });
  run.AddThread([scene] { scene->callbacks[1].Remove(); });
  run.AtEnd([scene] {
    for (const auto& callback : scene->callbacks) {
      Expect(callback.runs() <= 1, "ran twice");
    }
    Expect(scene->callbacks[2].runs() == 1, "was forgotten");
  });
}

// A callback destroys itself and another one, while a third comes and goes.
template <Defect kDefect>
void RemovalsByACallback(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  scene->callbacks[0].Add();
  scene->callbacks[1].Add();
  scene->callbacks[1].action = [scene = scene.get()] {
    scene->callbacks[1].Remove();
    scene->callbacks[0].Remove();
  };
  run.AddThread([scene] { Expect(scene->state.RequestStop(), "refused"); });
  run.AddThread([scene] {
    scene->callbacks[2].Add();
    scene->callbacks[2].Remove();
  });
  run.AtEnd([scene] {
    Expect(scene->callbacks[0].runs() == 0, "ran though it was destroyed");
    Expect(scene->callbacks[1].runs() == 1, "was forgotten");
  });
}

// Exactly one of two requests counts. Writes of a thread before its request are
// visible to threads that see the request.
template <Defect kDefect>
void TwoRequests(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  scene->callbacks[0].Add();
  run.AddThread([scene] {
    scene->written_before.Write();
    if (scene->state.RequestStop()) {
      ++scene->requests;
      Expect(scene->callbacks[0].runs() == 1, "has not run");
    }
  });
  run.AddThread([scene] {
    if (scene->state.RequestStop()) {
      ++scene->requests;
      Expect(scene->callbacks[0].runs() == 1, "has not run");
    }
  });
  run.AtEnd([scene] { Expect(scene->requests == 1, "not one request"); });
}

template <Defect kDefect>
void RequestPublishes(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  run.AddThread([scene] {
    scene->written_before.Write();
    scene->state.RequestStop();
  });
  run.AddThread([scene] {
    if (scene->state.stop_requested()) scene->written_before.Read();
  });
}

// The last source requests a stop and goes: a stop is possible all the time.
template <Defect kDefect>
void LastSourceRequests(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  run.AddThread([scene] {
    scene->state.RequestStop();
    scene->state.RemoveSource();
  });
  run.AddThread([scene] {
    Expect(scene->state.stop_possible(), "a stop is not possible");
    scene->callbacks[0].Add();
    scene->callbacks[0].Remove();
  });
  run.AtEnd([scene] {
    Expect(scene->state.stop_requested(), "the request is lost");
  });
}

// The last owner, on either thread, frees the state after all others.
template <Defect kDefect>
void OwnersGo(Interleaving& run) {
  auto scene = std::make_shared<Scene<kDefect>>();
  auto memory = std::make_shared<ModelData>();
  auto freed = std::make_shared<int>(0);
  scene->state.AddOwner();
  for (int i = 0; i < 2; ++i) {
    run.AddThread([scene, memory, freed] {
      memory->Read();
      if (!scene->state.RemoveOwner()) return;
      memory->Write();
      ++*freed;
    });
  }
  run.AtEnd([freed] { Expect(*freed == 1, "freed not once"); });
}

// Returns the first failure that any scenario finds, or nothing. Adds to
// `schedules` how many were tried.
template <Defect kDefect>
std::string FirstFailure(int64_t& schedules) {
  std::string failure;
  const auto explore = [&](const std::string& name, int max_preemptions,
                           auto scenario) {
    if (!failure.empty()) return;
    const Exploration result = ExploreInterleavings(
        {.max_preemptions = max_preemptions, .max_stale_loads = 1}, scenario);
    std::cout << name << ": " << result.schedules << " interleavings\n";
    schedules += result.schedules;
    if (!result.failure.empty()) failure = name + ": " + result.failure;
  };
  explore("two requests", 100, TwoRequests<kDefect>);
  explore("registration", 100, RequestAgainstRegistration<kDefect>);
  explore("removals", 2, RequestAgainstRemovals<kDefect>);
  explore("removals by a callback", 3, RemovalsByACallback<kDefect>);
  explore("request publishes", 100, RequestPublishes<kDefect>);
  explore("last source requests", 100, LastSourceRequests<kDefect>);
  explore("owners go", 100, OwnersGo<kDefect>);
  return failure;
}

TEST(StopStateInterleavingTest, HoldsInEveryInterleaving) {
  int64_t schedules = 0;

  EXPECT_EQ(FirstFailure<Defect::kNone>(schedules), "");

  EXPECT_GT(schedules, 100);
}

TEST(StopStateInterleavingTest, FindsEveryDefectOfTheSynchronization) {
  int64_t schedules = 0;
  EXPECT_THAT(FirstFailure<Defect::kNeverLocks>(schedules),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kNeverNotifies>(schedules),
              HasSubstr("no thread can continue"));
  EXPECT_THAT(FirstFailure<Defect::kNeverRequested>(schedules),
              HasSubstr("schedule"));
}

}  // namespace
}  // namespace waiter::internal::stop_state_interleaving_test
