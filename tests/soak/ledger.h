// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps one entry for each wait of the soak program, and makes the checks that
// need only the entries. The two functions of a wait hold tokens:
//
//   Entry& entry = ledger.Open(Kind::kPlain, ...);
//   WaitHandle wait = engine.Start(
//       Waiter([token = FunctionToken(entry)] {
//                const Call call(token.entry(), Call::kPoll);
//                return false;
//              }, policy),
//       [token = FunctionToken(entry)](const WaitResult<>&) {
//         const Call call(token.entry(), Call::kCallBack);
//       });
//
// When the last of these tokens is freed, the wait has ended: its callback must
// have run, or its handle must be destroyed. Anything else is a failure.

#ifndef WAITER_TESTS_SOAK_LEDGER_H_
#define WAITER_TESTS_SOAK_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waiter::soak {

// Prints `message` and the seed, and ends the program with 1.
[[noreturn]] void Fail(std::string_view message);
// Sets the seed that `Fail` prints. Not thread-safe.
void SetSeed(uint64_t seed);

// Returns the time since the program began, in milliseconds.
int64_t NowMs();

enum class Kind : uint8_t {
  kPlain,         // A function without arguments.
  kContext,       // A function with a context.
  kAsync,         // An asynchronous function, answered on another thread.
  kAsyncContext,  // The same with a context.
  kThrowing,      // A status function that throws.
  kObserved,      // A wait with its own observer.
  kLarge,         // Functions that do not fit into a record, and a value.
  kSelf,          // The status function owns the handle.
  kGroup,         // All waits of a `WaitGroup`.
  kCoroutine,     // A wait that resumes a coroutine.
};
inline constexpr size_t kKinds = 10;
std::string_view KindName(Kind kind);

struct Host;

// One wait, or one group. `Ledger::Open` sets everything.
struct Entry {
  enum Flag : uint32_t {
    kCalledBack = 1,
    kDestroying = 2,  // The handle's destructor has been called.
    kDestroyed = 4,   // The handle's destructor has returned.
    kCancelled = 8,
    kUnbounded = 16,  // The wait has no deadline.
    kLeaf = 32,       // The functions leave the handles of others alone.
    // The wait was started by a chain of 33 callbacks with `kShutDown`, so it
    // may end without a callback.
    kMayVanish = 64,
  };

  bool Has(uint32_t flags_asked) const { return (flags & flags_asked) != 0; }
  // Returns the same random number each time for equal `use`.
  uint64_t Draw(uint64_t use) const;

  std::atomic<int32_t> functions = 0;   // Tokens that functions hold.
  std::atomic<int32_t> references = 0;  // All tokens.
  std::atomic<int32_t> running = 0;     // Functions that run.
  std::atomic<uint32_t> flags = 0;
  std::atomic<uint32_t> polls = 0;
  std::atomic<Kind> kind = Kind::kPlain;
  uint8_t shut_downs = 0;        // Callbacks with `kShutDown` before this wait.
  std::atomic<int64_t> due = 0;  // Time at which the wait is overdue, in ms.
  uint64_t seed = 0;
  Host* host = nullptr;
};

// Thread-safe.
class Ledger {
 public:
  // Holds up to `capacity` entries at a time.
  explicit Ledger(size_t capacity);
  ~Ledger();

  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  static Ledger& Get();

  struct Opening {
    Kind kind;
    uint32_t flags;
    uint8_t shut_downs;
    int64_t due;
    uint64_t seed;
    Host* host;
  };
  // Returns an entry, or null if all are in use. The caller must hold a token
  // of each kind until it has started the wait.
  Entry* Open(const Opening& opening);

  // Fails if a wait is overdue.
  void CheckDue(int64_t now) const;
  // Returns how many waits of each kind are pending, as a text.
  std::string Pending() const;

  int64_t started() const { return started_; }
  int64_t ended() const { return called_back_ + abandoned_ + vanished_; }
  int64_t pending() const { return pending_; }
  // Fails unless every wait that was started has ended, and ended once.
  void CheckAllEnded() const;

 private:
  friend class FunctionToken;
  friend class OwnerToken;
  friend class Call;

  void FreeFunctions(Entry& entry);
  void FreeReference(Entry& entry);

  const size_t capacity_;
  const std::unique_ptr<Entry[]> entries_;  // NOLINT(modernize-avoid-c-arrays)
  std::mutex mutex_;
  std::vector<Entry*> free_;
  std::atomic<int64_t> started_ = 0;
  std::atomic<int64_t> called_back_ = 0;  // Calls of callbacks.
  std::atomic<int64_t> abandoned_ = 0;    // No callback: handle destroyed.
  std::atomic<int64_t> vanished_ = 0;     // No callback: `kMayVanish`.
  std::atomic<int64_t> pending_ = 0;
};

// Keeps the entry from being used for another wait.
class OwnerToken {
 public:
  OwnerToken() = default;
  explicit OwnerToken(Entry& entry) : entry_(&entry) { ++entry.references; }
  OwnerToken(OwnerToken&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  OwnerToken& operator=(OwnerToken&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~OwnerToken() {
    if (entry_ != nullptr) Ledger::Get().FreeReference(*entry_);
  }
  Entry* entry() const { return entry_; }

 private:
  Entry* entry_ = nullptr;
};

// Held by the functions of a wait.
class FunctionToken {
 public:
  explicit FunctionToken(Entry& entry) : entry_(&entry) {
    ++entry.references;
    ++entry.functions;
  }
  FunctionToken(const FunctionToken& other) : FunctionToken(*other.entry_) {}
  FunctionToken(FunctionToken&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  FunctionToken& operator=(const FunctionToken&) = delete;
  FunctionToken& operator=(FunctionToken&&) = delete;
  ~FunctionToken() {
    if (entry_ == nullptr) return;
    if (--entry_->functions == 0) Ledger::Get().FreeFunctions(*entry_);
    Ledger::Get().FreeReference(*entry_);
  }
  Entry& entry() const { return *entry_; }

 private:
  Entry* entry_;
};

// One call of a function of a wait. Checks that the wait may make it now.
class Call {
 public:
  enum Function { kPoll, kMemberPoll, kCallBack };

  Call(Entry& entry, Function function);
  ~Call() { --entry_.running; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Entry& entry_;
};

}  // namespace waiter::soak

#endif  // WAITER_TESTS_SOAK_LEDGER_H_
