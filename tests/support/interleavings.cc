// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/interleavings.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/joining_thread.h"

namespace waiter {
namespace {

// A point at which a run has alternatives, and the one that it takes.
struct Choice {
  size_t alternatives = 0;
  size_t taken = 0;
};

// A run with more steps than this is in an endless loop.
constexpr size_t kMostSteps = 2000;

// Unwinds the threads of a run that has failed.
struct RunFailed {};

// Threads that runs use one after the other.
class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    for (Slot& slot : slots_) {
      slot.body = nullptr;
      slot.turn.release();
    }
  }

  void SetBody(size_t index, std::function<void()> body) {
    slots_[index].body = std::move(body);
    if (slots_[index].thread.joinable()) return;
    slots_[index].thread = JoiningThread([&slot = slots_[index]] {
      for (;;) {
        slot.turn.acquire();
        if (slot.body == nullptr) return;
        slot.body();
      }
    });
  }
  void Resume(size_t index) { slots_[index].turn.release(); }
  void Pause(size_t index) { slots_[index].turn.acquire(); }

 private:
  struct Slot {
    std::binary_semaphore turn{0};
    std::function<void()> body;
    JoiningThread thread;
  };
  std::array<Slot, kMostModelThreads> slots_;
};

class Run;
thread_local Run* current_run = nullptr;

class Run final : public Interleaving {
 public:
  Run(ThreadPool& pool, std::vector<Choice>& choices,
      const ExplorationOptions& options)
      : pool_(pool),
        choices_(choices),
        preemptions_left_(options.max_preemptions),
        has_stale_loads_(options.max_stale_loads > 0),
        stale_loads_left_(options.max_stale_loads) {}

  void AddThread(std::function<void()> body) override {
    threads_.push_back({.body = std::move(body)});
  }
  void AtEnd(std::function<void()> check) override {
    check_ = std::move(check);
  }

  void Build(const std::function<void(Interleaving&)>& scenario) {
    current_run = this;
    scenario(*this);
    current_run = nullptr;
  }

  // Runs one schedule. Returns its failure.
  std::string Play() {
    // The code that builds a scenario happens before the code of its threads.
    for (Thread& thread : threads_) thread.clock = alone_clock_;
    is_alone_ = false;
    for (size_t i = 0; i < threads_.size(); ++i) {
      pool_.SetBody(i, [this, i] { Body(i); });
    }
    running_ = Choose(threads_.size());
    pool_.Resume(running_);
    all_ended_.acquire();
    current_run = this;
    is_alone_ = true;
    for (const Thread& thread : threads_) Join(alone_clock_, thread.clock);
    if (failure_.empty() && check_ != nullptr) check_();
    current_run = nullptr;
    return failure_;
  }

  void Yield() override {
    if (is_alone_) return;
    SwitchTo(Choose(running_));
  }
  void Block(const void* address) override {
    threads_[running_].blocked_on = address;
    SwitchTo(Choose(threads_.size()));
  }
  void Wake(const void* address) override {
    for (Thread& thread : threads_) {
      if (thread.blocked_on == address) thread.blocked_on = nullptr;
    }
  }

  size_t PickAge(size_t count) override {
    if (count < 2 || stale_loads_left_ == 0 || is_alone_) return 0;
    const size_t age = Take(count);
    if (age > 0) {
      --stale_loads_left_;
      trace_ += " -" + std::to_string(age);
    }
    return age;
  }

  bool has_stale_loads() const override { return has_stale_loads_; }

  VectorClock& clock() override {
    return is_alone_ ? alone_clock_ : threads_[running_].clock;
  }
  size_t thread() const override {
    return is_alone_ ? kMostModelThreads : running_;
  }

  void Fail(const std::string& why) override {
    if (failure_.empty()) failure_ = why + "; schedule:" + trace_;
  }

 private:
  struct Thread {
    std::function<void()> body;
    VectorClock clock = {};
    const void* blocked_on = nullptr;
    bool ended = false;
  };

  void Body(size_t index) {
    current_run = this;
    try {
      if (failure_.empty()) threads_[index].body();
    } catch (const RunFailed&) {
    }
    threads_[index].ended = true;
    const size_t next = Choose(threads_.size());
    current_run = nullptr;
    if (next < threads_.size()) {
      running_ = next;
      pool_.Resume(next);
    } else {
      all_ended_.release();
    }
  }

  // Returns the thread to continue with, which may be `current` if that is a
  // thread. Returns the number of threads if none is left.
  size_t Choose(size_t current) {
    std::vector<size_t> ready;
    const bool may_go_on = current < threads_.size();
    if (may_go_on) ready.push_back(current);
    bool all_ended = true;
    for (size_t i = 0; i < threads_.size(); ++i) {
      all_ended = all_ended && threads_[i].ended;
      // A run that has failed only unwinds.
      const bool blocked =
          threads_[i].blocked_on != nullptr && failure_.empty();
      if (threads_[i].ended || blocked || i == current) continue;
      if (may_go_on && (preemptions_left_ == 0 || !failure_.empty())) continue;
      ready.push_back(i);
    }
    if (ready.empty()) {
      if (all_ended) return threads_.size();
      Fail("no thread can continue");
      for (size_t i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].ended) return i;
      }
    }
    if (!failure_.empty()) return ready.front();
    const size_t next = ready[Take(ready.size())];
    if (may_go_on && next != current) --preemptions_left_;
    trace_ += ' ';
    trace_ += std::to_string(next);
    return next;
  }

  // Returns the alternative to take, out of `alternatives`.
  size_t Take(size_t alternatives) {
    if (depth_ == choices_.size()) choices_.push_back({alternatives});
    if (depth_ == kMostSteps) Fail("a thread does not end");
    return choices_[depth_++].taken;
  }

  void SwitchTo(size_t next) {
    const size_t self = running_;
    if (next != self) {
      running_ = next;
      pool_.Resume(next);
      pool_.Pause(self);
    }
    if (!failure_.empty()) throw RunFailed();
  }

  ThreadPool& pool_;
  std::vector<Choice>& choices_;
  int preemptions_left_;
  const bool has_stale_loads_;
  int stale_loads_left_;
  std::vector<Thread> threads_;
  std::function<void()> check_;
  std::binary_semaphore all_ended_{0};
  size_t running_ = 0;
  size_t depth_ = 0;
  bool is_alone_ = true;  // While it is built, and at the end.
  VectorClock alone_clock_ = {};
  std::string trace_;
  std::string failure_;
};

}  // namespace

Interleaving& Interleaving::Current() { return *current_run; }

Exploration ExploreInterleavings(
    const ExplorationOptions& options,
    const std::function<void(Interleaving& run)>& scenario) {
  Exploration result;
  ThreadPool pool;
  std::vector<Choice> choices;
  do {
    Run run(pool, choices, options);
    run.Build(scenario);
    ++result.schedules;
    result.failure = run.Play();
    if (!result.failure.empty()) break;
    // Takes the next alternative of the last choice that has one.
    while (!choices.empty() &&
           choices.back().taken + 1 == choices.back().alternatives) {
      choices.pop_back();
    }
    if (!choices.empty()) ++choices.back().taken;
  } while (!choices.empty());
  return result;
}

}  // namespace waiter
