// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs workers that are killed and stopped, on a network that loses, delays and
// doubles calls. The store becomes unavailable and loses its last writes. The
// history of the waits must always be flawless. Mutants of the store and the
// workers show that each check finds a broken rule. To run more seeds, use
// --test_env=WAITER_TEST_SEEDS=1000000.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_history.h"
#include "tests/durable/durable_world.h"
#include "tests/durable/history_log.h"
#include "tests/durable/logged_wait_store.h"
#include "tests/support/first_seed.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

uint64_t SeedCount() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
  const char* given = std::getenv("WAITER_TEST_SEEDS");
  uint64_t count = 0;
  return given != nullptr && absl::SimpleAtoi(given, &count) ? count : 100;
}

// A defect of the store or the workers.
struct Mutant {
  const char* name = "None";
  const char* check = "";  // The check that finds it.
  WaitBook::Mutant book = WaitBook::Mutant::kNone;
  bool claims_by_worker_time = false;
  bool retries_unknown = false;
  bool forgets_secretly = false;  // The history lacks the store's losses.
  bool succeeds_early = false;    // Polls succeed a minute too early.
  bool overlooks = false;         // Half of the polls miss a success.
  bool ends_early = false;        // The limit of attempts is too low.
};

constexpr absl::Duration kNever = -absl::InfiniteDuration();

// Runs one world until all waits have ended, and returns the violations.
class Chaos {
 public:
  explicit Chaos(uint64_t seed, const Mutant& mutant = {})
      : gen_(seed), mutant_(mutant) {
    is_roomy_ = absl::Bernoulli(gen_, 0.5);
    world_.book->mutant = mutant.book;
    world_.options.lease = Between(absl::Seconds(2), absl::Seconds(20));
    world_.options.max_held = is_roomy_ ? 1000 : absl::Uniform(gen_, 3, 40);
    world_.options.claim_batch = absl::Uniform(gen_, 1, 20);
    world_.policy = {.timeout = absl::Minutes(3),
                     .max_attempts = 12,
                     .backoff = {.initial_delay = Between(
                                     absl::Milliseconds(50), absl::Seconds(8)),
                                 .max_delay = absl::Seconds(30)},
                     .hooks = {.seed = seed}};
    world_.function = [this](const DurablePoll& poll) { return Ask(poll); };
    constexpr std::array kForms = {Form::kOneByOne, Form::kAsync, Form::kBatch};
    world_.form = kForms.at(seed % kForms.size());
    world_.answer_time = Between(absl::Milliseconds(1), absl::Seconds(1));
    world_.batches = {
        .max_batch = absl::Uniform(gen_, 1, 10),
        .window = Between(absl::Milliseconds(1), absl::Milliseconds(500))};
    world_.name_options.max_held =
        is_roomy_ ? 1000 : absl::Uniform(gen_, 1, 40);
    world_.handler = [this](const DurableResult&) {
      // Every result must be delivered before the run ends.
      return !is_ending_ && absl::Bernoulli(gen_, 0.2)
                 ? absl::UnavailableError("busy")
                 : absl::OkStatus();
    };
    world_.wrap = [this](int worker, std::shared_ptr<WaitStore> store) {
      return std::make_shared<LoggedWaitStore>(
          std::move(store),
          std::make_shared<HistoryLog>(
              history_, worker, [this] { return world_.clock.Elapsed(); }));
    };
    history_.lease = world_.options.lease;
    history_.slack = absl::Seconds(3);
    history_.max_attempts = *world_.policy.max_attempts;
    history_.zero_us = MemoryWaitStore::StoreTime(world_.clock);
    history_.recovery = 2 * world_.options.lease + absl::Seconds(20);
    if (world_.form == Form::kAsync) {
      history_.poll_time = world_.answer_time;
      history_.ends_polls = true;
    }
    if (is_roomy_) {
      // The sum of the maximum time between two claims and the times of a call
      // of the store and of the API.
      history_.most_late = absl::Milliseconds(260);
      history_.most_after_notify = absl::Seconds(1);
      if (world_.form == Form::kBatch) {
        history_.most_late += world_.batches.window;
        history_.most_after_notify += world_.batches.window;
        // Waits that wait for their batch must not delay the claims of others.
        world_.options.claim_batch = 100;
      }
    }
    if (mutant_.ends_early) world_.policy.max_attempts = 6;
  }

  // The history of the last run.
  const DurableHistory& history() const { return history_; }

  std::vector<std::string> Run() {
    for (int i = 0; i < 20; ++i) EnqueueOne();
    for (int i = absl::Uniform(gen_, 1, 4); i > 0; --i) AddWorker();
    // No worker looked for waits until now.
    Note(DurableHistory::Trouble::Kind::kCut, DurableHistory::kAllWorkers,
         world_.clock.Elapsed());
    const absl::Duration end = world_.clock.Elapsed() + absl::Minutes(2);
    while (world_.clock.Elapsed() < end) {
      world_.Run(Between(absl::Milliseconds(10), absl::Seconds(5)));
      if (snapshot_.has_value()) {
        LoseTheLast();
      } else {
        BreakSomething();
      }
    }
    Heal();
    // After the recovery, polls must be in time.
    absl::Duration quiet = world_.clock.Elapsed();
    for (const DurableHistory::Trouble& trouble : history_.troubles) {
      quiet = std::max(quiet, trouble.to);
    }
    world_.Run(quiet + history_.recovery - world_.clock.Elapsed());
    for (int i = 0; i < 24; ++i) {
      EnqueueOne();
      NotifyOne(AnyKey());
      world_.Run(Between(absl::Milliseconds(10), absl::Seconds(1)));
      // Its poll may be in flight.
      NotifyOne(LastPolled());
      world_.Run(Between(absl::Milliseconds(10), absl::Seconds(1)));
      NotifyOne(LastPolled());
    }
    is_ending_ = true;
    const absl::Duration limit = world_.clock.Elapsed() + absl::Minutes(15);
    while (!IsAtRest() && world_.clock.Elapsed() < limit) {
      world_.Run(absl::Seconds(2));
    }
    return Violations(Result());
  }

 private:
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    // Clocks have whole nanoseconds.
    return absl::Floor(std::exp(absl::Uniform(gen_, 0.0, 1.0) *
                                std::log(absl::FDivDuration(most, least))) *
                           least,
                       absl::Nanoseconds(1));
  }

  void EnqueueOne() {
    const std::string key = absl::StrCat("k", keys_++);
    DurableRequest request = {.key = key};
    DurableHistory::Wait wait = {
        .enqueued = world_.clock.Elapsed(),
        .timeout = *world_.policy.timeout,
        .ready = world_.clock.Elapsed() +
                 Between(absl::Milliseconds(100), absl::Minutes(10))};
    if (absl::Bernoulli(gen_, 0.3)) {
      wait.timeout = Between(absl::Seconds(1), absl::Minutes(4));
      request.timeout = wait.timeout;
    }
    if (absl::Bernoulli(gen_, 0.3)) {
      wait.first_delay = Between(absl::Seconds(1), absl::Seconds(40));
      request.first_delay = wait.first_delay;
    }
    ready_[key] = wait.ready;
    if (!world_.Enqueue(request).ok()) return;
    // Until now, the store may have enqueued it.
    history_.waits[key] = wait;
  }

  void AddWorker() {
    const absl::Duration now = world_.clock.Elapsed();
    if (deserted_since_.has_value()) {
      history_.troubles.push_back({DurableHistory::Trouble::Kind::kCut,
                                   DurableHistory::kAllWorkers,
                                   *std::exchange(deserted_since_, {}), now});
    }
    const int index = static_cast<int>(world_.size());
    DurableWorld::Worker& worker = world_.AddWorker();
    worker.store().set_network([this, index] { return NextTrip(index); });
    if (mutant_.claims_by_worker_time) {
      worker.store().set_skew(absl::Uniform(gen_, -20, 20) * absl::Seconds(1));
    }
    worker.store().set_retries(mutant_.retries_unknown);
  }

  MemoryWaitStore::Trip NextTrip(int worker) {
    MemoryWaitStore::Trip trip;
    if (healed_) return trip;
    const MemoryWaitStore::Trip good = trip;
    if (absl::Bernoulli(gen_, 0.1)) {
      trip.there = Between(absl::Milliseconds(1), absl::Seconds(6));
    }
    if (absl::Bernoulli(gen_, 0.1)) {
      trip.back = Between(absl::Milliseconds(1), absl::Seconds(6));
    }
    const absl::Duration now = world_.clock.Elapsed();
    trip.loses_call = absl::Bernoulli(gen_, 0.03) || now < away_until_;
    trip.loses_answer = absl::Bernoulli(gen_, 0.03);
    trip.doubles = !trip.loses_call && absl::Bernoulli(gen_, 0.03);
    if (trip.there != good.there || trip.back != good.back || trip.loses_call ||
        trip.loses_answer) {
      Note(DurableHistory::Trouble::Kind::kCut, worker,
           now + MemoryWaitStore::kTimeout);
    }
    return trip;
  }

  // Adds a trouble from now until `to`.
  void Note(DurableHistory::Trouble::Kind kind, int worker, absl::Duration to) {
    history_.troubles.push_back({kind, worker, world_.clock.Elapsed(), to});
  }

  void Kill(int worker) {
    if (Worker(worker).is_dead()) return;
    Worker(worker).Kill();
    Note(DurableHistory::Trouble::Kind::kDead, worker, world_.clock.Elapsed());
    NoteIfDeserted();
  }

  void Drain(int worker) {
    Worker(worker).waits().Drain(absl::ZeroDuration());
    drained_.insert(worker);
    NoteIfDeserted();
  }

  // If no worker claims waits, all waits are late until the next worker starts.
  void NoteIfDeserted() {
    for (int i = 0; i < static_cast<int>(world_.size()); ++i) {
      if (!Worker(i).is_dead() && !drained_.contains(i)) return;
    }
    if (!deserted_since_.has_value()) deserted_since_ = world_.clock.Elapsed();
  }

  Poll<std::string> Ask(const DurablePoll& poll) {
    const std::string key(poll.key);
    const absl::Duration now = world_.clock.Elapsed();
    const int worker = world_.polls.back().worker;
    const bool is_ready = now >= ready_[key];
    history_.polls.push_back({now, worker, key, poll.fence, is_ready});
    if (!healed_ && absl::Bernoulli(gen_, 0.005)) Kill(worker);
    if (mutant_.overlooks && absl::Bernoulli(gen_, 0.5)) return NotReady();
    if (is_ready ||
        (mutant_.succeeds_early && now + absl::Minutes(1) >= ready_[key])) {
      return Success(absl::StrCat(key, " at ", poll.fence));
    }
    return NotReady();
  }

  DurableWorld::Worker& Worker(int index) {
    return world_.worker(static_cast<size_t>(index));
  }

  int AnyWorker() {
    return absl::Uniform(gen_, 0, static_cast<int>(world_.size()));
  }

  std::string AnyKey() {
    return absl::StrCat("k", absl::Uniform(gen_, 0, keys_));
  }

  void BreakSomething() {
    switch (absl::Uniform(gen_, 0, 11)) {
      case 0:
        Kill(AnyWorker());
        break;
      case 1:
      case 2:
        if (world_.size() < 12) AddWorker();
        break;
      case 3:
      case 4: {
        const int worker = AnyWorker();
        const absl::Duration until =
            world_.clock.Elapsed() +
            Between(absl::Milliseconds(10), absl::Minutes(1));
        Worker(worker).StopUntil(until);
        Note(DurableHistory::Trouble::Kind::kStopped, worker, until);
        break;
      }
      case 5:
        if (absl::Bernoulli(gen_, 0.5)) {
          CancelOne(AnyKey());
        } else {
          NotifyOne(AnyKey());
        }
        break;
      case 6:
        // The wait exists already, unless the store has lost it.
        (void)world_.Enqueue({.key = AnyKey()});
        break;
      case 7:
        EnqueueOne();
        break;
      case 8:
        away_until_ = world_.clock.Elapsed() +
                      Between(absl::Milliseconds(100), absl::Seconds(30));
        break;
      case 9:
        if (absl::Bernoulli(gen_, 0.7)) break;
        snapshot_ = *world_.book;
        snapshot_time_ = world_.clock.Elapsed();
        // The store will forget this enqueue and this cancel.
        if (absl::Bernoulli(gen_, 0.3)) EnqueueOne();
        if (absl::Bernoulli(gen_, 0.3)) CancelOne(AnyKey());
        break;
      default:
        Drain(AnyWorker());
        break;
    }
  }

  std::string LastPolled() {
    return world_.polls.empty() ? AnyKey() : world_.polls.back().key;
  }

  void NotifyOne(const std::string& key) {
    if (world_.Notify(key).phase != DurableStatus::Phase::kPending) return;
    history_.notifications.push_back({world_.clock.Elapsed(), key});
  }

  void CancelOne(const std::string& key) {
    const DurableStatus status = world_.Cancel(key);
    const auto wait = history_.waits.find(key);
    if (status.phase != DurableStatus::Phase::kPending ||
        wait == history_.waits.end()) {
      return;
    }
    // A cancel that the store forgot counts from its repetition.
    const absl::Duration now = world_.clock.Elapsed();
    if (!wait->second.cancelled.has_value() ||
        *wait->second.cancelled >= last_loss_) {
      wait->second.cancelled = now;
    }
  }

  // Returns the store to its snapshot.
  void LoseTheLast() {
    *world_.book = *std::move(snapshot_);
    snapshot_.reset();
    const absl::Duration now = world_.clock.Elapsed();
    if (!mutant_.forgets_secretly) {
      history_.losses.push_back({snapshot_time_, now});
    }
    Note(DurableHistory::Trouble::Kind::kCut, DurableHistory::kAllWorkers, now);
  }

  void Heal() {
    healed_ = true;
    if (snapshot_.has_value()) LoseTheLast();
    AddWorker();
    Note(DurableHistory::Trouble::Kind::kCut, DurableHistory::kAllWorkers,
         world_.clock.Elapsed());
  }

  bool IsAtRest() {
    if (world_.Stats().pending > 0) return false;
    for (size_t i = 0; i < world_.size(); ++i) {
      DurableWorld::Worker& worker = world_.worker(i);
      if (!worker.is_dead() && worker.waits().State().held > 0) return false;
    }
    return true;
  }

  DurableHistory Result() {
    for (const auto& delivery : world_.deliveries) {
      history_.deliveries.push_back(
          {delivery.time, delivery.result, delivery.is_accepted});
    }
    history_.end = world_.clock.Elapsed();
    DurableHistory::AtRest& rest = history_.rest;
    const DurableStats stats = world_.Stats();
    rest.pending = stats.pending;
    for (const auto& [counter, count] : stats.counters) {
      (counter == "enqueued" ? rest.enqueued : rest.ended) += count;
    }
    for (size_t i = 0; i < world_.size(); ++i) {
      if (world_.worker(i).is_dead()) continue;
      rest.held += world_.worker(i).waits().State().held;
    }
    for (int index = 0; index < world_.options.partitions; ++index) {
      const WaitBook::Partition& book = world_.book->Of(
          {.space = "default", .name = DurableWorld::kName, .index = index});
      for (const auto& [key, time] : book.due) rest.due.insert(key);
      for (const auto& [key, record] : book.records) rest.records.insert(key);
      for (const auto& [key, time] : book.done) rest.kept.insert(key);
    }
    for (const std::string& key : rest.records) {
      const DurableStatus status = world_.Get(key);
      if (status.phase == DurableStatus::Phase::kDelivered) {
        rest.results[key] = *status.result;
      }
    }
    return history_;
  }

  std::mt19937_64 gen_;
  const Mutant mutant_;
  DurableHistory history_;
  DurableWorld world_;
  std::map<std::string, absl::Duration> ready_;
  std::set<int> drained_;
  std::optional<absl::Duration> deserted_since_;
  int keys_ = 0;
  bool is_roomy_ = false;
  bool healed_ = false;
  bool is_ending_ = false;
  absl::Duration away_until_ = kNever;
  std::optional<WaitBook> snapshot_;
  absl::Duration snapshot_time_;
  absl::Duration last_loss_ = kNever;
};

TEST(DurableSimulationTest, HistoryIsFlawlessWhateverBreaks) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + SeedCount(); ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    Chaos chaos(seed);
    for (const std::string& violation : chaos.Run()) {
      ADD_FAILURE() << violation << "\n"
                    << StoryOf(chaos.history(), KeyOf(violation));
    }
    if (HasFailure()) break;
  }
}

// Returns the polls and settles of the workers, each in the order of the
// history.
std::vector<std::string> Deeds(const DurableHistory& history) {
  std::vector<std::string> deeds;
  for (const auto& poll : history.polls) {
    deeds.push_back(absl::StrCat("poll ", poll.key, " ", poll.fence, " ",
                                 absl::FormatDuration(poll.time)));
  }
  for (const auto& settle : history.settles) {
    deeds.push_back(absl::StrCat("settle ", settle.key, " ", settle.fence, " ",
                                 absl::FormatDuration(settle.sent)));
  }
  return deeds;
}

TEST(DurableSimulationTest, SeedRepeatsItsRun) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    Chaos first(seed);
    Chaos second(seed);
    (void)first.Run();
    (void)second.Run();
    ASSERT_FALSE(first.history().polls.empty());
    EXPECT_EQ(Deeds(first.history()), Deeds(second.history()));
  }
}

class DurableMutantTest : public testing::TestWithParam<Mutant> {};

INSTANTIATE_TEST_SUITE_P(
    Mutants, DurableMutantTest,
    testing::Values(
        // Mistakes that are easy to make.
        Mutant{.name = "SettleWithoutFence",
               .check = "leases",
               .book = WaitBook::Mutant::kSettlesWithoutFence},
        Mutant{.name = "ClaimByWorkerTime",
               .check = "leases",
               .claims_by_worker_time = true},
        Mutant{.name = "EvenFences",
               .check = "leases",
               .book = WaitBook::Mutant::kEvenFences},
        Mutant{.name = "RetryOfUnknown",
               .check = "leases",
               .retries_unknown = true},
        Mutant{.name = "CrashCountedAsCertain",
               .check = "crashes",
               .book = WaitBook::Mutant::kCountsCrashes},
        // One defect for each other check.
        Mutant{.name = "LostEnqueue",
               .check = "one-result",
               .book = WaitBook::Mutant::kForgetsEnqueues},
        Mutant{.name = "LostTail",
               .check = "one-result",
               .forgets_secretly = true},
        Mutant{.name = "UnwrittenEnd",
               .check = "same-result",
               .book = WaitBook::Mutant::kForgetsEnds},
        Mutant{.name = "DeliveredTooEarly",
               .check = "delivered",
               .book = WaitBook::Mutant::kDeliversAtOnce},
        Mutant{.name = "EqualFences",
               .check = "fences",
               .book = WaitBook::Mutant::kCoarseFences},
        Mutant{.name = "HalfALease",
               .check = "within",
               .book = WaitBook::Mutant::kHalvesLeases},
        Mutant{
            .name = "FalseSuccess", .check = "truth", .succeeds_early = true},
        Mutant{
            .name = "OverlookedSuccess", .check = "missed", .overlooks = true},
        Mutant{.name = "BornTooEarly",
               .check = "last-poll",
               .book = WaitBook::Mutant::kBackdates},
        Mutant{.name = "FewAttempts", .check = "early", .ends_early = true},
        Mutant{.name = "UnwrittenRelease",
               .check = "attempts",
               .book = WaitBook::Mutant::kForgetsReleases},
        Mutant{.name = "HiddenCancel",
               .check = "cancel",
               .book = WaitBook::Mutant::kHidesCancels},
        Mutant{.name = "KeptNowhere",
               .check = "rest",
               .book = WaitBook::Mutant::kKeepsNothing},
        Mutant{.name = "LateClaim",
               .check = "lateness",
               .book = WaitBook::Mutant::kHidesDue},
        Mutant{.name = "LostNotification",
               .check = "notify",
               .book = WaitBook::Mutant::kForgetsNotifications},
        Mutant{.name = "NotifiedTooEarly",
               .check = "notify",
               .book = WaitBook::Mutant::kReleasesNotified}),
    [](const auto& mutant) { return mutant.param.name; });

TEST_P(DurableMutantTest, IsCaughtWithinFiftySeeds) {
  const uint64_t first_seed = FirstSeed();
  RecordProperty("WAITER_TEST_SEED", std::to_string(first_seed));
  std::set<std::string> checks;
  for (uint64_t seed = first_seed; seed < first_seed + 50; ++seed) {
    for (const std::string& violation : Chaos(seed, GetParam()).Run()) {
      checks.insert(violation.substr(0, violation.find(':')));
    }
    if (checks.contains(GetParam().check)) return;
  }
  ADD_FAILURE() << "only found by " << absl::StrJoin(checks, ", ")
                << "; WAITER_TEST_SEED=" << first_seed;
}

}  // namespace
}  // namespace waiter
