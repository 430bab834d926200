// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/interleavings.h"
#include "tests/support/model_sync.h"
#include "waiter/clock.h"
#include "waiter/engine/mailbox.h"
#include "waiter/stop_token.h"

namespace waiter::internal::mailbox_interleaving_test {
namespace {

using ::testing::HasSubstr;

// The scenarios run with correct synchronization, and with each of these
// defects, which they must find.
enum class Defect : uint8_t {
  kNone,
  kNeverLocks,
  kNeverNotifies,  // A condition wakes no thread.
  kNeverStops,     // A request to stop wakes no thread.
  kHidesMail,      // The flag is always false.
  kNeverCalls,     // A hook does nothing.
};

// Set in a run once the owner of the mailbox may have freed it.
bool mailbox_gone = false;

void ExpectMailbox() {
  Interleaving::Current().Expect(!mailbox_gone,
                                 "a post touches a mailbox that is gone");
}

template <Defect kDefect>
class ABSL_SCOPED_LOCKABLE TriedLock {
 public:
  explicit TriedLock(ModelMutex& mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : mutex_(mutex) {
    ExpectMailbox();
    if constexpr (kDefect != Defect::kNeverLocks) mutex_.Lock();
  }
  ~TriedLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ExpectMailbox();
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
    ExpectMailbox();
    if constexpr (kDefect != Defect::kNeverNotifies) ModelCondition::Notify();
  }
};

template <Defect kDefect>
class TriedStopSource : public ModelStopSource {
 public:
  using ModelStopSource::ModelStopSource;
  void request_stop() {
    if constexpr (kDefect != Defect::kNeverStops) {
      ModelStopSource::request_stop();
    }
  }
};

template <Defect kDefect>
class TriedFlag : public ModelAtomic<bool> {
 public:
  using ModelAtomic<bool>::ModelAtomic;
  bool load(std::memory_order order) const {
    return ModelAtomic<bool>::load(order) && kDefect != Defect::kHidesMail;
  }
};

template <Defect kDefect>
struct TriedSync {
  using Mutex = ModelMutex;
  using Lock = TriedLock<kDefect>;
  using Condition = TriedCondition<kDefect>;
  using Flag = TriedFlag<kDefect>;
  using StopSource = TriedStopSource<kDefect>;
};

// Mail whose memory shows if two threads touch it simultaneously.
struct Mail {
  int letters = 0;
  std::shared_ptr<ModelData> touched = std::make_shared<ModelData>();

  // NOLINTNEXTLINE(readability-identifier-naming): found as std::swap is.
  friend void swap(Mail& a, Mail& b) {
    a.touched->Write();
    std::swap(a.letters, b.letters);
  }
};

template <Defect kDefect>
using Mailbox = BasicMailbox<Mail, TriedSync<kDefect>>;

enum class SleepForm : uint8_t { kRest, kUntil, kByToken };

template <Defect kDefect>
void Sleep(Mailbox<kDefect>& mailbox, SleepForm form) {
  switch (form) {
    case SleepForm::kRest:
      Interleaving::Current().Expect(mailbox.Rest(), "closed");
      break;
    case SleepForm::kUntil:
      mailbox.SleepUntil(MonotonicTime::max());
      break;
    case SleepForm::kByToken:
      mailbox.SleepBy([](const ModelStopSource& token) { token.Await(); });
      break;
  }
}

template <Defect kDefect>
void PostLetter(Mailbox<kDefect>& mailbox) {
  Interleaving::Current().Expect(mailbox.Post([](Mail& mail) {
    mail.touched->Write();
    ++mail.letters;
  }),
                                 "a post was refused");
}

// `posters` threads post one letter each to a worker, which sleeps in `form`
// until it has all of them. After that, no thread may use the mailbox.
template <Defect kDefect>
void PostToSleeper(Interleaving& run, int posters, SleepForm form) {
  mailbox_gone = false;
  auto mailbox = std::make_shared<Mailbox<kDefect>>();
  for (int i = 0; i < posters; ++i) {
    run.AddThread([mailbox] { PostLetter(*mailbox); });
  }
  run.AddThread([mailbox, posters, form] {
    int got = 0;
    while (got < posters) {
      Sleep(*mailbox, form);
      if (!mailbox->has_mail()) continue;
      Mail mail;
      mailbox->Take(mail);
      got += mail.letters;
    }
    Interleaving::Current().Expect(got == posters, "a letter came twice");
    mailbox_gone = true;
  });
}

// Two workers, and how many letters both have taken.
template <Defect kDefect>
struct Pair {
  std::array<Mailbox<kDefect>, 2> mailboxes;
  int done = 0;
};

// Passes letters to the other worker until there were `hops`.
template <Defect kDefect>
void RunWorker(Pair<kDefect>& pair, size_t own, int hops) {
  while (pair.mailboxes[own].Rest()) {
    Mail mail;
    pair.mailboxes[own].Take(mail);
    if (mail.letters == 0) continue;
    if (++pair.done < hops) PostLetter(pair.mailboxes[1 - own]);
  }
}

// Returns whether both workers are at rest, and were since the previous call.
template <Defect kDefect>
bool AwaitRestOfAll(Pair<kDefect>& pair) {
  bool at_rest = true;
  for (auto& mailbox : pair.mailboxes) {
    if (mailbox.AwaitRest()) at_rest = false;
  }
  return at_rest;
}

// Two workers, and an owner that shuts them down. The second worker begins with
// a letter. Each worker answers a letter by posting one to the other, until
// there were `hops`.
template <Defect kDefect>
void ShutDown(Interleaving& run, int hops, bool one_pass_only) {
  mailbox_gone = false;
  auto pair = std::make_shared<Pair<kDefect>>();
  PostLetter(pair->mailboxes[1]);
  run.AddThread([pair, hops] { RunWorker(*pair, 0, hops); });
  run.AddThread([pair, hops] { RunWorker(*pair, 1, hops); });
  run.AddThread([pair, one_pass_only] {
    for (auto& mailbox : pair->mailboxes) mailbox.Post([](Mail&) {});
    while (!AwaitRestOfAll(*pair) && !one_pass_only) {
    }
    for (auto& mailbox : pair->mailboxes) mailbox.Close();
  });
  run.AtEnd([pair, hops] {
    Interleaving::Current().Expect(pair->done == hops, "a letter was lost");
  });
}

// The hook tells this loop when to take mail. The loop must clear its flag
// before it takes mail: clearing it afterwards loses letters.
enum class LoopOrder : uint8_t { kClearThenTake, kTakeThenClear };

template <Defect kDefect>
struct HookedLoop {
  void TakeAll(LoopOrder order, int posters) {
    int got = 0;
    while (got < posters) {
      woken.wait(false);
      if (order == LoopOrder::kClearThenTake) woken.store(false);
      if (mailbox.has_mail()) {
        Mail mail;
        mailbox.Take(mail);
        ++takes;
        got += mail.letters;
      }
      if (order == LoopOrder::kTakeThenClear) woken.store(false);
    }
    Interleaving::Current().Expect(got == posters, "a letter came twice");
    mailbox.Close();
    mailbox_gone = true;
    loop.Write();
  }

  ModelAtomic<bool> woken = false;
  ModelData loop;  // Read by the hook, and gone after the close.
  int calls = 0;
  int takes = 0;
  Mailbox<kDefect> mailbox{[this] {
    ++calls;
    loop.Read();
    if constexpr (kDefect == Defect::kNeverCalls) return;
    woken.store(true);
    woken.notify_all();
  }};
};

// `posters` threads post one letter each to a loop. The loop takes mail only
// when the hook says so, and closes its mailbox once it has all.
template <Defect kDefect>
void PostToLoop(Interleaving& run, int posters, LoopOrder order) {
  mailbox_gone = false;
  auto loop = std::make_shared<HookedLoop<kDefect>>();
  for (int i = 0; i < posters; ++i) {
    run.AddThread([loop] { PostLetter(loop->mailbox); });
  }
  run.AddThread([loop, posters, order] { loop->TakeAll(order, posters); });
  run.AtEnd([loop] {
    Interleaving::Current().Expect(loop->calls == loop->takes,
                                   "calls of the hook are not one per take");
  });
}

// Nothing is posted once `Close` has returned.
template <Defect kDefect>
void PostAgainstClose(Interleaving& run) {
  struct State {
    Mailbox<kDefect> mailbox;
    ModelData clock;  // Read by `put`, and gone after the close.
  };
  mailbox_gone = false;
  auto state = std::make_shared<State>();
  run.AddThread([state] {
    state->mailbox.Post([&](Mail& mail) {
      state->clock.Read();
      ++mail.letters;
    });
  });
  run.AddThread([state] {
    state->mailbox.Close();
    state->clock.Write();
  });
  run.AddThread([state] {
    while (state->mailbox.Rest()) {
      Mail mail;
      state->mailbox.Take(mail);
    }
  });
}

// Returns the first failure that any scenario finds, or nothing. Adds to
// `schedules` how many were tried. With stale loads, few preemptions are.
template <Defect kDefect>
std::string FirstFailure(int64_t& schedules, int max_stale_loads = 0) {
  std::string failure;
  const auto explore = [&](const std::string& name, int max_preemptions,
                           auto scenario) {
    if (!failure.empty()) return;
    const ExplorationOptions options = {
        .max_preemptions = max_stale_loads > 0 ? std::min(max_preemptions, 2)
                                               : max_preemptions,
        .max_stale_loads = max_stale_loads};
    const Exploration result = ExploreInterleavings(options, scenario);
    std::cout << name << ": " << result.schedules << " interleavings\n";
    schedules += result.schedules;
    if (!result.failure.empty()) failure = name + ": " + result.failure;
  };
  // Scenarios with few interleavings come first, as they find most defects.
  const auto forms = {SleepForm::kRest, SleepForm::kUntil, SleepForm::kByToken};
  const auto name_of = [](SleepForm form) {
    return "form of sleep " + std::to_string(static_cast<int>(form));
  };
  for (const SleepForm form : forms) {
    explore(name_of(form) + ", one poster", 100,
            [&](Interleaving& run) { PostToSleeper<kDefect>(run, 1, form); });
  }
  explore("loop, one poster", 100, [](Interleaving& run) {
    PostToLoop<kDefect>(run, 1, LoopOrder::kClearThenTake);
  });
  for (const SleepForm form : forms) {
    explore(name_of(form) + ", two posters", 3,
            [&](Interleaving& run) { PostToSleeper<kDefect>(run, 2, form); });
  }
  explore("loop, two posters", 2, [](Interleaving& run) {
    PostToLoop<kDefect>(run, 2, LoopOrder::kClearThenTake);
  });
  explore("shut down", 1, [](Interleaving& run) {
    ShutDown<kDefect>(run, /*hops=*/3, /*one_pass_only=*/false);
  });
  explore("post against close", 3, PostAgainstClose<kDefect>);
  return failure;
}

TEST(MailboxInterleavingTest, HoldsInEveryInterleaving) {
  int64_t schedules = 0;

  EXPECT_EQ(FirstFailure<Defect::kNone>(schedules), "");

  EXPECT_GT(schedules, 1000);
}

TEST(MailboxInterleavingTest, HoldsWithStaleLoads) {
  int64_t schedules = 0;

  EXPECT_EQ(FirstFailure<Defect::kNone>(schedules, /*max_stale_loads=*/1), "");
}

TEST(MailboxInterleavingTest, FindsEveryDefectOfTheSynchronization) {
  int64_t schedules = 0;
  EXPECT_THAT(FirstFailure<Defect::kNeverLocks>(schedules), HasSubstr("race"));
  EXPECT_THAT(FirstFailure<Defect::kNeverNotifies>(schedules),
              HasSubstr("no thread can continue"));
  EXPECT_THAT(FirstFailure<Defect::kNeverStops>(schedules),
              HasSubstr("no thread can continue"));
  EXPECT_THAT(FirstFailure<Defect::kHidesMail>(schedules),
              HasSubstr("schedule"));
  EXPECT_THAT(FirstFailure<Defect::kNeverCalls>(schedules),
              HasSubstr("no thread can continue"));
}

// A loop that clears its flag after it takes mail misses mail in between.
TEST(MailboxInterleavingTest, FindsALoopThatClearsItsFlagTooLate) {
  const Exploration result =
      ExploreInterleavings({.max_preemptions = 2}, [](Interleaving& run) {
        PostToLoop<Defect::kNone>(run, 2, LoopOrder::kTakeThenClear);
      });

  EXPECT_THAT(result.failure, HasSubstr("no thread can continue"));
}

// One look at each worker is not enough: the second may post to the first after
// that look.
TEST(MailboxInterleavingTest, FindsAShutDownThatLooksOnce) {
  const Exploration result =
      ExploreInterleavings({.max_preemptions = 1}, [](Interleaving& run) {
        ShutDown<Defect::kNone>(run, /*hops=*/3, /*one_pass_only=*/true);
      });

  EXPECT_THAT(result.failure, HasSubstr("schedule"));
}

}  // namespace
}  // namespace waiter::internal::mailbox_interleaving_test
