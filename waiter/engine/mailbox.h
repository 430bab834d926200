// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The mailbox of a thread that serves others: any thread posts mail; the thread
// takes all of it, and sleeps while the box is empty.
//
//   any thread                        the worker's thread
//   ----------                        -------------------
//   mailbox.Post([&](Mail& mail) {    while (mailbox.Rest()) {
//     mail.starts.Push(record);         mailbox.Take(mail);
//   });                                 ...
//                                     }
//
// The owner of several such threads sets its own flag that tells them to end,
// wakes them, and closes the mailboxes once all threads are at rest:
//
//   for (auto& mailbox : mailboxes) mailbox.Post([](Mail&) {});
//   while (AnyDisturbed(mailboxes)) {}  // `AwaitRest` of each, in turn.
//   for (auto& mailbox : mailboxes) mailbox.Close();
//
// When a whole pass of `AwaitRest` returns false, every thread was at rest when
// that pass began, so none of them can still post.
//
// A worker that does not sleep here, because an event loop runs it, has a hook
// that announces mail. The loop then has the worker take it.
//
// Invariants:
//  * A post wakes the worker. Nothing is lost between the worker's last look
//    and its sleep.
//  * The thread that posts the first mail since the last `Take` calls the hook
//    afterwards, so at least one call begins after mail that is not taken yet,
//    and there are no more calls than takes, plus one.
//  * Once the worker can take its mail, a post no longer touches the mailbox,
//    so the worker's owner may free the mailbox. A call of the hook does touch
//    it, and `Close` awaits that.
//  * Nothing is posted to a closed mailbox. After `Close`, neither a `put` nor
//    the hook runs.

#ifndef WAITER_ENGINE_MAILBOX_H_
#define WAITER_ENGINE_MAILBOX_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// The types that a mailbox synchronizes with. Tests have models of them.
struct RealSync {
  using Mutex = internal::Mutex;
  using Lock = internal::MutexLock;
  using Condition = internal::Condition;
  using Flag = std::atomic<bool>;
  using StopSource = waiter::stop_source;
};

// `Mail` is default-constructible and swappable. Thread-safe as each function
// says.
template <typename Mail, typename Sync = RealSync>
class BasicMailbox {
  using Mutex = typename Sync::Mutex;
  using Lock = typename Sync::Lock;
  using StopSource = typename Sync::StopSource;

 public:
  BasicMailbox() = default;
  // `on_mail` is the hook, or null. It is called without a lock and must not
  // throw, close the mailbox, or wait for a thread that does.
  explicit BasicMailbox(std::function<void()> on_mail)
      : on_mail_(std::move(on_mail)) {}
  BasicMailbox(const BasicMailbox&) = delete;
  BasicMailbox& operator=(const BasicMailbox&) = delete;

  // For any thread.

  // Calls `put` with the mail under the lock, and wakes the worker. Returns
  // false, without a call, if the mailbox is closed. If `put` throws, nothing
  // is posted.
  template <typename Put>
  bool Post(Put put) {
    StopSource wake{waiter::nostopstate};
    bool calls_hook = false;
    {
      const Lock lock(mutex_);
      if (closed_) return false;
      put(mail_);
      calls_hook = Announce(wake) && on_mail_ != nullptr;
      if (calls_hook) ++hook_calls_;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): it is copied, not moved.
    wake.request_stop();
    if (calls_hook) CallHook();
    return true;
  }

  // For the owner.

  // Blocks until the worker is inside `Rest` and has no mail. Returns whether
  // mail has come since the call before.
  bool AwaitRest() {
    const Lock lock(mutex_);
    while (sleep_ != SleepKind::kRest || has_mail()) at_rest_.Wait();
    return std::exchange(disturbed_, false);
  }

  // Refuses mail from now on, and ends `Rest`. Blocks while another thread is
  // in the hook.
  void Close() {
    const Lock lock(mutex_);
    closed_ = true;
    woken_.Notify();
    while (hook_calls_ > 0) hook_returned_.Wait();
  }

  // For the worker's thread.

  bool has_mail() const { return has_mail_.load(std::memory_order_acquire); }

  // Swaps the mail with `mail`, which should be empty.
  void Take(Mail& mail) {
    const Lock lock(mutex_);
    using std::swap;
    swap(mail_, mail);
    has_mail_.store(false, std::memory_order_relaxed);
  }

  // Blocks until there is mail, or until `wake_up` on the real clock.
  void SleepUntil(MonotonicTime wake_up) {
    const Lock lock(mutex_);
    sleep_ = SleepKind::kTimed;
    while (!has_mail() && woken_.WaitUntil(wake_up)) {
    }
    sleep_ = SleepKind::kAwake;
  }

  // Calls `sleep` with a stop token, which is stopped when mail comes. Does not
  // call it if there is mail.
  template <typename Sleep>
  void SleepBy(Sleep sleep) {
    StopSource wake{waiter::nostopstate};
    {
      const Lock lock(mutex_);
      if (has_mail()) return;
      if (!wake_.stop_possible() || wake_.stop_requested()) {
        wake_ = StopSource();
      }
      wake = wake_;
      sleep_ = SleepKind::kByToken;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): it is copied, not moved.
    sleep(wake.get_token());
    const Lock lock(mutex_);
    sleep_ = SleepKind::kAwake;
  }

  // Blocks until there is mail, and returns true; returns false once the
  // mailbox is closed. To be called when nothing else is left to do.
  bool Rest() {
    const Lock lock(mutex_);
    while (!has_mail() && !closed_) {
      sleep_ = SleepKind::kRest;
      at_rest_.Notify();
      woken_.Wait();
    }
    sleep_ = SleepKind::kAwake;
    return has_mail();
  }

 private:
  enum class SleepKind : uint8_t { kAwake, kTimed, kByToken, kRest };

  // Sets the flag and wakes the worker, or stores in `wake` the source that the
  // caller must stop, without the lock, to wake it. Returns whether this is the
  // first mail since the last `Take`.
  bool Announce(StopSource& wake) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    disturbed_ = true;
    if (has_mail_.load(std::memory_order_relaxed)) return false;
    has_mail_.store(true, std::memory_order_release);
    if (sleep_ == SleepKind::kByToken) {
      wake = wake_;
    } else if (sleep_ != SleepKind::kAwake) {
      woken_.Notify();
    }
    return true;
  }

  void CallHook() {
    on_mail_();
    const Lock lock(mutex_);
    if (--hook_calls_ == 0) hook_returned_.Notify();
  }

  const std::function<void()> on_mail_;
  Mutex mutex_;
  Mail mail_ ABSL_GUARDED_BY(mutex_);
  // Written under the lock. The worker looks at it without.
  typename Sync::Flag has_mail_ = false;
  bool disturbed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int hook_calls_ ABSL_GUARDED_BY(mutex_) = 0;  // In progress.
  SleepKind sleep_ ABSL_GUARDED_BY(mutex_) = SleepKind::kAwake;
  StopSource wake_ ABSL_GUARDED_BY(mutex_){waiter::nostopstate};
  typename Sync::Condition woken_{mutex_};
  typename Sync::Condition at_rest_{mutex_};
  typename Sync::Condition hook_returned_{mutex_};
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_MAILBOX_H_
