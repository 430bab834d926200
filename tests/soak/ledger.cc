// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/soak/ledger.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "waiter/backoff.h"

namespace waiter::soak {
namespace {

uint64_t seed_of_run = 0;
Ledger* ledger_of_run = nullptr;

std::string Describe(const Entry& entry) {
  return absl::StrCat("a wait of kind ", KindName(entry.kind), " (",
                      entry.Has(Entry::kCalledBack) ? "called back, " : "",
                      entry.Has(Entry::kDestroyed) ? "handle destroyed, "
                      : entry.Has(Entry::kDestroying)
                          ? "handle being destroyed, "
                          : "",
                      entry.Has(Entry::kCancelled) ? "cancelled, " : "",
                      entry.polls.load(), " polls, ", entry.functions.load(),
                      " functions held, ", entry.running.load(), " running)");
}

}  // namespace

void SetSeed(uint64_t seed) { seed_of_run = seed; }

void Fail(std::string_view message) {
  // The first failure is the one to look at, so the lock is never released.
  static std::mutex mutex;
  mutex.lock();
  std::printf("soak: FAILED: %s; seed %llu\n", std::string(message).c_str(),
              static_cast<unsigned long long>(seed_of_run));
  if (ledger_of_run != nullptr) {
    std::printf("soak: pending: %s\n", ledger_of_run->Pending().c_str());
  }
  std::fflush(stdout);
  std::_Exit(1);
}

int64_t NowMs() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

std::string_view KindName(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames = {
      "plain", "context", "async", "async with context", "throwing", "observed",
      "large", "self",    "group", "coroutine"};
  return kNames[static_cast<size_t>(kind)];
}

uint64_t Entry::Draw(uint64_t use) const {
  return SplitMix64(seed ^ (use << 32))();
}

Ledger::Ledger(size_t capacity)
    : capacity_(capacity), entries_(new Entry[capacity]) {
  ledger_of_run = this;
  free_.reserve(capacity);
  for (size_t i = capacity; i-- > 0;) free_.push_back(&entries_[i]);
}

Ledger::~Ledger() { ledger_of_run = nullptr; }

Ledger& Ledger::Get() { return *ledger_of_run; }

Entry* Ledger::Open(const Opening& opening) {
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    entry = free_.back();
    free_.pop_back();
  }
  entry->kind = opening.kind;
  entry->flags = opening.flags;
  entry->polls = 0;
  entry->shut_downs = opening.shut_downs;
  entry->due = opening.due;
  entry->seed = opening.seed;
  entry->host = opening.host;
  ++started_;
  ++pending_;
  return entry;
}

void Ledger::FreeFunctions(Entry& entry) {
  if (!entry.Has(Entry::kCalledBack)) {
    if (entry.Has(Entry::kDestroying)) {
      ++abandoned_;
    } else if (entry.Has(Entry::kMayVanish)) {
      ++vanished_;
    } else {
      Fail(absl::StrCat(Describe(entry),
                        " was freed without a callback, and its handle was "
                        "not destroyed"));
    }
  }
  if (entry.running != 0) {
    Fail(absl::StrCat(Describe(entry), " was freed while a function runs"));
  }
  --pending_;
}

void Ledger::FreeReference(Entry& entry) {
  if (--entry.references != 0) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(&entry);
}

void Ledger::CheckDue(int64_t now) const {
  for (size_t i = 0; i < capacity_; ++i) {
    const Entry& entry = entries_[i];
    // Reads `due` again last: an entry that was reused has a later time.
    if (entry.due < now && entry.functions > 0 && entry.due < now) {
      Fail(absl::StrCat("lost: ", Describe(entry), " should have ended ",
                        now - entry.due, " ms ago"));
    }
  }
}

std::string Ledger::Pending() const {
  std::array<int64_t, kKinds> counts = {};
  for (size_t i = 0; i < capacity_; ++i) {
    if (entries_[i].functions > 0) {
      ++counts[static_cast<size_t>(entries_[i].kind.load())];
    }
  }
  std::string text;
  for (size_t i = 0; i < kKinds; ++i) {
    if (counts[i] == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", counts[i], " ",
                    KindName(static_cast<Kind>(i)));
  }
  return text.empty() ? "none" : text;
}

void Ledger::CheckAllEnded() const {
  for (size_t i = 0; i < capacity_; ++i) {
    if (entries_[i].functions > 0) {
      Fail(absl::StrCat("lost: ", Describe(entries_[i]), " has not ended"));
    }
    if (entries_[i].references > 0) {
      Fail(absl::StrCat("leaked: a token of ", Describe(entries_[i])));
    }
  }
  if (started_ != called_back_ + abandoned_ + vanished_) {
    Fail(absl::StrCat(started_.load(), " waits started, but ",
                      called_back_.load(), " called back, ", abandoned_.load(),
                      " abandoned and ", vanished_.load(),
                      " freed by the shutdown"));
  }
}

Call::Call(Entry& entry, Function function) : entry_(entry) {
  const int32_t running = entry.running++;
  const auto fail = [&entry](std::string_view what) {
    Fail(absl::StrCat(Describe(entry), " ", what));
  };
  if (entry.functions <= 0) fail("runs a function that was freed");
  if (entry.Has(Entry::kDestroyed)) {
    fail("runs a function after its handle was destroyed");
  }
  if (running != 0 && function == kPoll) {
    fail("is polled while a function runs");
  }
  if (function == kCallBack) {
    if ((entry.flags.fetch_or(Entry::kCalledBack) & Entry::kCalledBack) != 0) {
      fail("is called back twice");
    }
    if (running != 0) fail("is called back while a function runs");
    ++Ledger::Get().called_back_;
  } else {
    if (entry.Has(Entry::kCalledBack)) fail("is polled after its callback");
    ++entry.polls;
  }
}

}  // namespace waiter::soak
