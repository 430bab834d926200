// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds a million waits for a long time, and ends waits in every way:
//
//   ./bazelw run -c opt //tests/soak:soak -- --seconds=3600 --waits=1000000
//
// Two engines hold the waits, one with brief reports and one with an executor.
// Two threads start, cancel, destroy and detach them; functions of the waits do
// the same. A third thread makes small engines and destroys them while they
// still hold waits. ledger.h says what must hold for each wait. In addition,
// the resident memory must not grow after a warm-up.
//
// Prints the seed first, a line every 10 s, and at the end one line with the
// totals. If a check fails, it prints the check and exits with 1. The seed
// repeats the decisions of each thread, but not how the threads interleave.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/soak/helpers.h"
#include "tests/soak/ledger.h"
#include "tests/soak/waits.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/policy.h"

ABSL_FLAG(int64_t, seconds, 3600, "Length of the run.");
ABSL_FLAG(int64_t, waits, 1'000'000, "Waits that are pending at a time.");
ABSL_FLAG(int, threads, 2, "Threads of each of the two large engines.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of all decisions; 0: a random one.");
ABSL_FLAG(absl::Duration, delay, absl::Seconds(10),
          "Usual delay between two polls of a wait. --waits by --delay is the "
          "number of polls per second.");
ABSL_FLAG(int64_t, operations, 20'000,
          "Cancels, destroyed handles and the like per second.");
ABSL_FLAG(absl::Duration, grace, absl::Seconds(60),
          "Time after its deadline when a wait counts as lost, and the longest "
          "time that one call may take.");

namespace waiter::soak {
namespace {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// The work of a thread outside the engines.
class Outside {
 public:
  Outside(Host& brief, Host& full, uint64_t seed, int64_t waits,
          int64_t operations)
      : brief_(brief),
        full_(full),
        gen_(seed),
        waits_(waits),
        operations_(operations),
        held_(static_cast<size_t>(waits / 2 + waits / 8 + 16)) {}

  // Works until `stops`.
  void Work() {
    int64_t done = 0;
    const int64_t begin = NowMs();
    while (!brief_.shared.stops) {
      activity_.Set("start waits");
      int64_t budget = 500;
      while (Ledger::Get().pending() < waits_ && budget-- > 0) {
        Owned& place = FindPlace();
        activity_.Set("destroy a handle to make place");
        Destroy(place);
        activity_.Set("start a wait");
        place = StartWait(gen_() % 8 == 0 ? full_ : brief_, gen_(), {});
      }
      const int64_t due = (NowMs() - begin) * operations_ / 1000;
      for (int64_t i = 0; i < 200 && done < due; ++i, ++done) Operate();
      // A machine that is too slow skips operations instead of catching up.
      done = std::max(done, due - 1000);
      activity_.Set("sleep");
      if (budget > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    activity_.Set(nullptr);
  }

  // Changes three quarters of the waits, and ends all groups and coroutines.
  void EndSome() {
    activity_.Set("destroy handles at the end");
    for (size_t i = 0; i < held_.size(); ++i) {
      if (i % 4 != 0) Change(held_[i], brief_.shared, gen_());
      if (i % 4096 == 0) activity_.Set("destroy handles at the end");
    }
    activity_.Set("end groups");
    for (OwnedGroup& group : groups_) EndGroup(group, brief_.shared, gen_());
    activity_.Set("stop coroutines");
    for (OwnedCoroutine& each : coroutines_) {
      StopCoroutine(each, brief_.shared);
    }
    activity_.Set(nullptr);
  }

  // Destroys all handles, after the engines have ended.
  void EndRest() {
    for (Owned& owned : held_) Destroy(owned);
  }

  const Activity& activity() const { return activity_; }

 private:
  Owned& FindPlace() {
    for (int i = 0; i < 16; ++i) {
      Owned& place = held_[gen_() % held_.size()];
      if (place.HasEnded()) return place;
    }
    return held_[gen_() % held_.size()];
  }

  void Operate() {
    const uint64_t choice = gen_() % 64;
    Host& host = gen_() % 8 == 0 ? full_ : brief_;
    if (choice == 0) {
      activity_.Set("use a group");
      OwnedGroup& group = groups_[gen_() % groups_.size()];
      EndGroup(group, host.shared, gen_());
      group = StartGroup(host, gen_(), /*only_brief=*/false);
    } else if (choice == 1) {
      activity_.Set("use a coroutine");
      OwnedCoroutine& each = coroutines_[gen_() % coroutines_.size()];
      StopCoroutine(each, host.shared);
      each = StartCoroutine(host, gen_(), /*only_brief=*/false);
    } else {
      activity_.Set("change a wait");
      Change(held_[gen_() % held_.size()], host.shared, gen_());
    }
  }

  Host& brief_;
  Host& full_;
  SplitMix64 gen_;
  const int64_t waits_;
  const int64_t operations_;
  std::vector<Owned> held_;
  std::array<OwnedGroup, 64> groups_;
  std::array<OwnedCoroutine, 64> coroutines_;
  Activity activity_;
};

// Makes small engines with random options, and destroys them at random moments.
class SmallEngines {
 public:
  SmallEngines(Shared& shared, const Policies& policies, uint64_t seed)
      : shared_(shared), policies_(policies), gen_(seed) {}

  void Work() {
    while (!shared_.stops) {
      MakeOne();
      ++made_;
      activity_.Set("sleep");
      std::this_thread::sleep_for(std::chrono::milliseconds(gen_() % 8));
    }
    activity_.Set(nullptr);
  }

  int64_t made() const { return made_; }
  const Activity& activity() const { return activity_; }

 private:
  void MakeOne() {
    activity_.Set("make a small engine");
    WaitEngineOptions options = {
        .threads = static_cast<int>(gen_() % 3),
        .tick = std::array{absl::ZeroDuration(), absl::Microseconds(20),
                           absl::Milliseconds(1)}[gen_() % 3],
        .relative_slack = gen_() % 2 == 0 ? 0.1 : 0,
        .report = gen_() % 2 == 0 ? ReportLevel::kLean : ReportLevel::kFull,
        .on_callback_exception = [this](const std::exception_ptr&) {
          ++shared_.caught;
        }};
    const int threads = options.threads;
    bool is_unreliable = false;
    switch (gen_() % 3) {
      case 0:
        options.executor = [this](absl::AnyInvocable<void()> poll) {
          shared_.pool.Run(std::move(poll));
        };
        break;
      case 1:
        is_unreliable = true;
        options.executor =
            [this, turn = std::make_shared<std::atomic<uint64_t>>(gen_())](
                absl::AnyInvocable<void()> poll) {
              shared_.pool.Mistreat(std::move(poll), SplitMix64((*turn)++)());
            };
        break;
      default:
        break;
    }
    auto host = std::make_unique<Host>(shared_, policies_, options);
    host->is_unreliable = is_unreliable;
    std::vector<Owned> held;
    const uint64_t count = gen_() % 32;
    activity_.Set("start waits in a small engine");
    for (uint64_t i = 0; i < count; ++i) {
      const bool only_brief = gen_() % 2 == 0;
      held.push_back(StartWait(*host, gen_(), {.only_brief = only_brief}));
    }
    OwnedGroup group;
    if (gen_() % 4 == 0) group = StartGroup(*host, gen_(), gen_() % 2 == 0);
    OwnedCoroutine coroutine;
    if (gen_() % 4 == 0) {
      coroutine = StartCoroutine(*host, gen_(), gen_() % 2 == 0);
    }
    activity_.Set("turn a small engine");
    Turn(*host, threads, held);
    if (gen_() % 2 == 0) {
      activity_.Set("destroy handles in a small engine");
      for (Owned& owned : held) Destroy(owned);
      EndGroup(group, shared_, gen_());
    }
    if (gen_() % 2 == 0) StopCoroutine(coroutine, shared_);
    activity_.Set("destroy a small engine");
    host->ending = true;
    host.reset();
    activity_.Set("destroy handles after a small engine");
    for (Owned& owned : held) {
      if (!owned.HasEnded()) Fail("a wait has survived its engine");
      Destroy(owned);
    }
    if (group.token.entry() != nullptr) EndGroup(group, shared_, 1);
  }

  void Turn(Host& host, int threads, std::vector<Owned>& held) {
    const uint64_t turns = gen_() % 8;
    for (uint64_t i = 0; i < turns; ++i) {
      if (threads == 0) {
        host.engine.RunDue();
      } else if (gen_() % 2 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(gen_() % 500));
      } else {
        std::this_thread::yield();
      }
      if (!held.empty()) {
        Change(held[gen_() % held.size()], shared_, gen_());
      }
    }
  }

  Shared& shared_;
  const Policies& policies_;
  SplitMix64 gen_;
  std::atomic<int64_t> made_ = 0;
  Activity activity_;
};

Policies MakePolicies(absl::Duration delay,
                      const std::shared_ptr<SharedObserver>& observer) {
  Policies policies;
  const auto add = [&](std::vector<PolicyChoice>& list, absl::Duration timeout,
                       absl::Duration between,
                       std::optional<int64_t> attempts = std::nullopt,
                       std::shared_ptr<WaitObserver> watch = nullptr) {
    WaitOptions options;
    options.timeout = timeout;
    options.backoff = {.initial_delay = between,
                       .max_delay = between,
                       .multiplier = 1,
                       .jitter = Jitter::Equal()};
    options.max_attempts = attempts;
    options.poll_timeout = absl::Milliseconds(50);
    const bool is_observed = watch != nullptr;
    options.hooks.observer = std::move(watch);
    list.push_back({WaitPolicy::Make(options), timeout, is_observed});
  };
  for (const int factor : {1, 2}) {
    for (const int times : {4, 8, 16}) {
      add(policies.lasting, delay * factor * times, delay * factor);
      add(policies.lasting, delay * factor * times, delay * factor,
          /*attempts=*/20);
    }
  }
  add(policies.unbounded, absl::InfiniteDuration(), delay);
  add(policies.unbounded, absl::InfiniteDuration(), delay, /*attempts=*/20);
  add(policies.brief, absl::ZeroDuration(), absl::Milliseconds(1));
  add(policies.brief, absl::Milliseconds(1), absl::Microseconds(100));
  add(policies.brief, absl::Milliseconds(50), absl::Milliseconds(5));
  add(policies.brief, absl::Milliseconds(200), absl::Milliseconds(200));
  add(policies.brief, absl::Seconds(1), absl::ZeroDuration(), /*attempts=*/5);
  add(policies.brief, absl::Milliseconds(20), absl::Milliseconds(2),
      std::nullopt, observer);
  return policies;
}

// Returns the resident memory of this program.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}
// Returns the bytes that are allocated by `malloc`, including the pages of
// engines.
int64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

int64_t Megabytes(int64_t bytes) { return bytes >> 20; }

// Memory of the process at one time, in bytes.
struct Memory {
  static Memory Now() { return {ResidentBytes(), AllocatedBytes()}; }

  int64_t resident = 0;
  int64_t allocated = 0;
};

// The whole run.
class Soak {
 public:
  explicit Soak(uint64_t seed)
      : waits_(absl::GetFlag(FLAGS_waits)),
        ledger_(static_cast<size_t>(waits_ + waits_ / 4 + 16'384)),
        shared_(seed + 1),
        policies_(MakePolicies(absl::GetFlag(FLAGS_delay), observer_)),
        brief_(std::make_unique<Host>(shared_, policies_,
                                      Options(ReportLevel::kLean, false))),
        full_(std::make_unique<Host>(shared_, policies_,
                                     Options(ReportLevel::kFull, true))),
        small_(shared_, policies_, seed + 2) {
    const int64_t operations = absl::GetFlag(FLAGS_operations) / 2;
    for (uint64_t i = 0; i < outside_.size(); ++i) {
      outside_[i] = std::make_unique<Outside>(*brief_, *full_, seed + 3 + i,
                                              waits_, operations);
    }
    shared_.grace_ms = absl::ToInt64Milliseconds(absl::GetFlag(FLAGS_grace));
  }

  void Run() {
    const int64_t end = NowMs() + 1000 * absl::GetFlag(FLAGS_seconds);
    std::vector<std::thread> threads;
    threads.reserve(outside_.size() + 1);
    for (const auto& outside : outside_) {
      threads.emplace_back([&outside] { outside->Work(); });
    }
    threads.emplace_back([this] { small_.Work(); });
    while (NowMs() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    last_ = Memory::Now();
    shared_.stops = true;
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (const auto& outside : outside_) {
      threads.emplace_back([&outside] { outside->EndSome(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::unique_ptr<Host>* host : {&brief_, &full_}) {
      activity_.Set("destroy a large engine");
      (*host)->ending = true;
      host->reset();
    }
    activity_.Set("destroy handles after the engines");
    for (const auto& outside : outside_) outside->EndRest();
    activity_.Set(nullptr);
    CheckEnd();
    has_ended_ = true;
  }

  // Call this repeatedly while `Run` runs. Returns false once `Run` has ended.
  bool Watch() {
    if (has_ended_) return false;
    const int64_t now = NowMs();
    const int64_t limit = shared_.grace_ms;
    activity_.Check("main thread", now, limit);
    small_.activity().Check("thread with small engines", now, limit);
    for (const auto& outside : outside_) {
      outside->activity().Check("outside thread", now, limit);
    }
    if (now >= next_check_) {
      if (!shared_.stops) ledger_.CheckDue(now);
      next_check_ = now + 5'000;
    }
    const int64_t seconds = absl::GetFlag(FLAGS_seconds);
    // The heap fragments for some minutes, because the waits have many sizes
    // and end in a different order than they began. So a slow machine warms up
    // longer, up to `latest`: until 1.25 x `waits_` waits have ended.
    const int64_t warm_up = std::min<int64_t>(1'200'000, seconds * 1000 / 2);
    const int64_t latest = warm_up + seconds * 1000 / 3;
    if (!is_warm_ && now >= warm_up && AreAllPending()) {
      if (warm_.resident == 0 || now <= latest) warm_ = Memory::Now();
      is_warm_ = now > latest || ledger_.ended() >= waits_ + waits_ / 4;
    }
    if (now >= next_line_) {
      std::printf(
          "%lld s, %lld started, %lld ended, %lld pending, %lld small "
          "engines, resident %lld MB, allocated %lld MB\n",
          static_cast<long long>(now / 1000),
          static_cast<long long>(ledger_.started()),
          static_cast<long long>(ledger_.ended()),
          static_cast<long long>(ledger_.pending()),
          static_cast<long long>(small_.made()),
          static_cast<long long>(Megabytes(ResidentBytes())),
          static_cast<long long>(Megabytes(AllocatedBytes())));
      std::fflush(stdout);
      next_line_ += 10'000;
    }
    return true;
  }

  // Checks the memory and prints the last line. Call it after `Run`.
  void Conclude() const {
    // Less growth may have other causes than waits, which a small run cannot
    // tell apart.
    constexpr int64_t kTolerated = int64_t{16} << 20;
    const auto check = [=](std::string_view what, int64_t warm, int64_t last) {
      if (kIsSanitized || last - warm <= std::max(kTolerated, warm / 20)) {
        return;
      }
      Fail(absl::StrCat(what, " memory grew from ", Megabytes(warm), " MB to ",
                        Megabytes(last), " MB"));
    };
    if (warm_.resident == 0) {
      Fail(
          absl::StrCat("there were never ", absl::GetFlag(FLAGS_waits),
                       " waits at a time; a longer run has the time for them"));
    } else {
      check("resident", warm_.resident, last_.resident);
      check("allocated", warm_.allocated, last_.allocated);
    }
    std::printf(
        "soak: %lld waits started, %lld ended once, 0 lost, resident "
        "%lld to %lld MB, allocated %lld to %lld MB\n",
        static_cast<long long>(ledger_.started()),
        static_cast<long long>(ledger_.ended()),
        static_cast<long long>(Megabytes(warm_.resident)),
        static_cast<long long>(Megabytes(last_.resident)),
        static_cast<long long>(Megabytes(warm_.allocated)),
        static_cast<long long>(Megabytes(last_.allocated)));
  }

 private:
  // Returns whether at least 99.9 % of --waits are pending.
  bool AreAllPending() const {
    const int64_t waits = absl::GetFlag(FLAGS_waits);
    return ledger_.pending() >= waits - waits / 1000;
  }

  WaitEngineOptions Options(ReportLevel report, bool has_executor) {
    WaitEngineOptions options = {
        .threads = absl::GetFlag(FLAGS_threads),
        .report = report,
        .on_callback_exception = [this](const std::exception_ptr&) {
          ++shared_.caught;
        }};
    if (has_executor) {
      options.executor = [this](absl::AnyInvocable<void()> poll) {
        shared_.pool.Run(std::move(poll));
      };
    }
    return options;
  }

  void CheckEnd() {
    ledger_.CheckAllEnded();
    observer_->Check(shared_.observed);
    if (shared_.thrown != shared_.caught) {
      Fail(absl::StrCat(shared_.thrown.load(), " callbacks threw, and ",
                        shared_.caught.load(), " exceptions arrived"));
    }
    if (const int64_t left = OwnObservers(); left != 0) {
      Fail(absl::StrCat(left, " observers are left"));
    }
  }

  const int64_t waits_;
  Ledger ledger_;
  Shared shared_;
  const std::shared_ptr<SharedObserver> observer_ =
      std::make_shared<SharedObserver>();
  const Policies policies_;
  std::unique_ptr<Host> brief_;
  std::unique_ptr<Host> full_;
  SmallEngines small_;
  std::array<std::unique_ptr<Outside>, 2> outside_;
  Activity activity_;  // Activity of `Run` while it ends the engines.
  std::atomic<bool> has_ended_ = false;
  int64_t next_check_ = 5'000;
  int64_t next_line_ = 0;
  Memory warm_;
  bool is_warm_ = false;
  Memory last_;
};

int Main() {
  uint64_t seed = absl::GetFlag(FLAGS_seed);
  if (seed == 0) seed = std::random_device()();
  SetSeed(seed);
  std::printf("replay: ./bazelw run -c opt //tests/soak -- --seed=%llu\n",
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  NowMs();
  Soak soak(seed);
  std::thread thread([&soak] { soak.Run(); });
  while (soak.Watch()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  thread.join();
  soak.Conclude();
  return 0;
}

}  // namespace
}  // namespace waiter::soak

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return waiter::soak::Main();
}
