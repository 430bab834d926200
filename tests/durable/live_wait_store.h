// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store of durable waits in memory, with its own thread and real time:
//
//   const auto book = std::make_shared<LiveWaitStore::Book>();
//   const auto store = std::make_shared<LiveWaitStore>(book);

#ifndef WAITER_TESTS_DURABLE_LIVE_WAIT_STORE_H_
#define WAITER_TESTS_DURABLE_LIVE_WAIT_STORE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/wait_book.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"

namespace waiter {

// Thread-safe. As with a Redis client, its last reference may be dropped in one
// of its callbacks.
class LiveWaitStore final : public WaitStore {
 public:
  // The waits that the stores of several processes share.
  struct Book {
    std::mutex mutex;
    WaitBook book;
  };

  explicit LiveWaitStore(std::shared_ptr<Book> book) : book_(std::move(book)) {
    thread_ = std::thread([loop = loop_] { Serve(*loop); });
  }
  ~LiveWaitStore() override {
    {
      const std::lock_guard lock(loop_->mutex);
      loop_->stops = true;
    }
    loop_->wakes.notify_all();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  // Returns the thread that runs callbacks and timers.
  std::thread::id thread() const { return thread_.get_id(); }

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Claim(request, now);
         });
  }
  void Settle(SettleRequest request, Callback<SettleReply> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Settle(request, now);
         });
  }
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Enqueue(request, now);
         });
  }
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Signal(request, now);
         });
  }
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override {
    Call(std::move(callback),
         [partition = std::move(partition), keys = std::move(keys)](
             WaitBook& book, int64_t) { return book.Get(partition, keys); });
  }
  void Scan(WaitPartition partition, std::string /*cursor*/,
            Callback<ScanReply> callback) override {
    Call(std::move(callback),
         [partition = std::move(partition)](WaitBook& book, int64_t) {
           return book.Scan(partition);
         });
  }
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override {
    Call(std::move(callback),
         [partition = std::move(partition)](WaitBook& book, int64_t now) {
           return book.Stats(partition, now);
         });
  }
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override {
    Call(std::move(callback),
         [partition = std::move(partition), key = std::move(key), begins](
             WaitBook& book, int64_t) {
           return book.Mark(partition, key, begins);
         });
  }
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override {
    Call(std::move(callback), [space = std::move(space), name = std::move(name),
                               partitions](WaitBook& book, int64_t) {
      return book.Open(space, name, partitions);
    });
  }
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Heartbeat(request, now);
         });
  }
  void Describe(std::string space, Callback<WaitSpace> callback) override {
    Call(std::move(callback),
         [space = std::move(space)](WaitBook& book, int64_t now) {
           return book.Describe(space, now);
         });
  }
  void Check(WaitPartition partition, std::string /*cursor*/,
             Callback<CheckReply> callback) override {
    Call(std::move(callback),
         [partition = std::move(partition)](WaitBook& book, int64_t) {
           return book.Check(partition);
         });
  }
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override {
    Call(std::move(callback),
         [request = std::move(request)](WaitBook& book, int64_t now) {
           return book.Examine(request, now);
         });
  }
  void Inspect(WaitPartition /*partition*/,
               Callback<WaitServer> callback) override {
    Call(std::move(callback),
         [](WaitBook& book, int64_t) { return book.server; });
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    Add(time, [timer = std::move(timer)](bool is_destroyed) {
      if (!is_destroyed) timer();
    });
  }
  Clock& clock() override { return GetRealClock(); }

 private:
  using Work = std::function<void(bool is_destroyed)>;

  struct Loop {
    std::mutex mutex;
    std::condition_variable wakes;
    std::multimap<MonotonicTime, Work> work;
    bool stops = false;
  };

  static void Serve(Loop& loop) {
    while (true) {
      Work work;
      bool stops = false;
      {
        std::unique_lock lock(loop.mutex);
        const auto has_work = [&loop] {
          return loop.stops ||
                 (!loop.work.empty() &&
                  loop.work.begin()->first <= GetRealClock().MonotonicNow());
        };
        while (!has_work()) {
          if (loop.work.empty()) {
            loop.wakes.wait(lock);
          } else {
            const MonotonicTime first = loop.work.begin()->first;
            loop.wakes.wait_for(lock, std::min<MonotonicTime::duration>(
                                          first - GetRealClock().MonotonicNow(),
                                          std::chrono::seconds(1)));
          }
        }
        stops = loop.stops;
        if (loop.work.empty()) return;
        work = std::move(loop.work.begin()->second);
        loop.work.erase(loop.work.begin());
      }
      work(stops);
    }
  }

  void Add(MonotonicTime time, Work work) {
    {
      const std::lock_guard lock(loop_->mutex);
      loop_->work.emplace(time, std::move(work));
    }
    loop_->wakes.notify_all();
  }

  template <typename T, typename Run>
  void Call(Callback<T> callback, Run run) {
    Add(GetRealClock().MonotonicNow(),
        [book = book_, run = std::move(run),
         callback = std::move(callback)](bool is_destroyed) {
          if (is_destroyed) return callback(absl::CancelledError("destroyed"));
          absl::StatusOr<T> reply;
          {
            const std::lock_guard lock(book->mutex);
            reply = run(book->book, absl::ToUnixMicros(absl::Now()));
          }
          callback(std::move(reply));
        });
  }

  const std::shared_ptr<Book> book_;
  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::thread thread_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_LIVE_WAIT_STORE_H_
