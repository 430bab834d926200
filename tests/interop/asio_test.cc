// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits as operations of Asio. It has its own clock, so these tests run in real
// time. None depends on how much of it passes.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_BOOST

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "boost/asio.hpp"
#include "boost/asio/experimental/awaitable_operators.hpp"
#include "gmock/gmock.h"
#include "tests/interop/asio_waits.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/interop/asio.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::asio_test {
namespace {

namespace asio = boost::asio;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ThreadId = std::thread::id;

constexpr StopReason kCancelled = StopReason::kCancelled;
constexpr StopReason kShutDown = StopReason::kShutDown;
constexpr StopReason kSuccess = StopReason::kSuccess;

// Returns once no wait of `engine` is pending.
void AwaitNoneIn(const WaitEngine& engine) {
  while (engine.statistics().pending > 0) std::this_thread::yield();
}

// Runs the waits of a test on a thread of the engine, or on the context.
enum class Host { kThread, kContext };

// The engine of a test, which outlives its context only if it has a thread.
class AnyEngine {
 public:
  AnyEngine(Host host, asio::io_context& io) {
    if (host == Host::kThread) {
      engine_.emplace(WaitEngineOptions{.tick = absl::ZeroDuration()});
    } else {
      driver_.emplace(io, WaitEngineOptions{.tick = absl::ZeroDuration()});
    }
  }
  WaitEngine& get() {
    return engine_.has_value() ? *engine_ : driver_->engine();
  }
  void Destroy() {
    engine_.reset();
    driver_.reset();
  }

 private:
  std::optional<WaitEngine> engine_;
  std::optional<AsioEngineDriver> driver_;
};

class AsyncWaitTest : public testing::TestWithParam<Host> {
 protected:
  // Returns a handler that records the reason, on the executor of the context.
  auto Note() {
    return asio::bind_executor(io_, [this](const WaitResult<>& result) {
      EXPECT_TRUE(io_.get_executor().running_in_this_thread());
      reasons_.push_back(result.reason());
    });
  }

  asio::io_context io_;
  AnyEngine engine_{GetParam(), io_};
  std::vector<StopReason> reasons_;
};

std::string NameOf(const testing::TestParamInfo<Host>& host) {
  return host.param == Host::kThread ? "EngineWithAThread"
                                     : "EngineOnTheContext";
}
INSTANTIATE_TEST_SUITE_P(Hosts, AsyncWaitTest,
                         testing::Values(Host::kThread, Host::kContext),
                         NameOf);

TEST_P(AsyncWaitTest, HandlerIsCalledOnItsExecutorWithTheResult) {
  std::optional<int> value;
  ThreadId called_on;
  AsyncWait(engine_.get(), ReadyAfter(3),
            asio::bind_executor(io_, [&](WaitResult<int> result) {
              value = result.value();
              called_on = std::this_thread::get_id();
            }));
  EXPECT_FALSE(value.has_value());

  io_.run();

  EXPECT_EQ(value, 3);
  EXPECT_EQ(called_on, std::this_thread::get_id());
}

TEST_P(AsyncWaitTest, CoroutineAwaitsWaitsOneAfterAnother) {
  std::vector<int> values;
  const auto work = [&]() -> asio::awaitable<void> {
    for (int polls = 1; polls <= 3; ++polls) {
      auto wait = ReadyAfter(polls);
      const WaitResult<int> result = co_await AsyncWait(
          engine_.get(), std::move(wait), asio::use_awaitable);
      EXPECT_TRUE(io_.get_executor().running_in_this_thread());
      values.push_back(result.value());
    }
  };
  asio::co_spawn(io_, work(), asio::detached);

  io_.run();

  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST_P(AsyncWaitTest, FutureHasTheResult) {
  std::future<WaitResult<int>> future =
      AsyncWait(engine_.get(), ReadyAfter(2), asio::use_future);

  io_.run();

  EXPECT_EQ(future.get().value(), 2);
}

TEST_P(AsyncWaitTest, DeferredOperationStartsWhenItIsCalled) {
  int polls = 0;
  auto operation = AsyncWait(
      engine_.get(),
      Waiter([&polls,
              unique = std::make_unique<int>(1)] { return ++polls > *unique; },
             Quick()),
      asio::deferred);
  io_.run();
  EXPECT_EQ(polls, 0);

  io_.restart();
  std::move(operation)(Note());
  io_.run();

  EXPECT_EQ(polls, 2);
  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
}

TEST_P(AsyncWaitTest, OtherTokensWork) {
  AsyncWait(engine_.get(), ReadyAfter(1), asio::detached);
  std::optional<bool> ok;
  const auto work = [&]() -> asio::awaitable<void> {
    auto [result] = co_await AsyncWait(engine_.get(), ReadyAfter(1),
                                       asio::as_tuple(asio::use_awaitable));
    ok = result.ok();
  };
  asio::co_spawn(io_, work(), asio::detached);

  io_.run();

  EXPECT_EQ(ok, true);
}

TEST_P(AsyncWaitTest, HandlerAndValueMayBeMovableOnly) {
  int sum = 0;
  AsyncWait(
      engine_.get(),
      AsyncWaiter(
          [](const PollCompletion<std::unique_ptr<int>>& done) {
            done(Success(std::make_unique<int>(40)));
          },
          Quick()),
      asio::bind_executor(io_, [&sum, unique = std::make_unique<int>(2)](
                                   WaitResult<std::unique_ptr<int>> result) {
        sum = **std::move(result) + *unique;
      }));

  io_.run();

  EXPECT_EQ(sum, 42);
}

TEST_P(AsyncWaitTest, ExceptionOfTheStatusFunctionIsInTheReport) {
  std::exception_ptr exception;
  AsyncWait(
      engine_.get(),
      Waiter([]() -> bool { throw std::runtime_error("broken"); }, Quick()),
      asio::bind_executor(io_, [&](const WaitResult<>& result) {
        EXPECT_EQ(result.reason(), StopReason::kFailed);
        exception = result.report().exception;
      }));

  io_.run();

  ASSERT_NE(exception, nullptr);
  EXPECT_THROW(std::rethrow_exception(exception), std::runtime_error);
}

// An allocator that counts.
template <typename T>
class Counting {
 public:
  using value_type = T;

  explicit Counting(int& allocations) : allocations_(&allocations) {}
  template <typename U>
  Counting(const Counting<U>& other)  // NOLINT(google-explicit-constructor)
      : allocations_(other.allocations_) {}

  T* allocate(size_t count) {
    ++*allocations_;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, size_t count) {
    --*allocations_;
    std::allocator<T>().deallocate(place, count);
  }

  template <typename U>
  bool operator==(const Counting<U>& other) const {
    return allocations_ == other.allocations_;
  }

 private:
  template <typename U>
  friend class Counting;

  int* allocations_;
};

TEST(AsyncWaitAllocatorTest, AllocatorOfTheHandlerHasItsOperation) {
  asio::io_context io;
  WaitEngine engine;
  int allocations = 0;
  int highest = 0;
  std::latch posted(1);
  AsyncWait(engine, ReadyAfter(1),
            asio::bind_executor(
                io, asio::bind_allocator(Counting<void>(allocations),
                                         [&](const WaitResult<int>&) {
                                           EXPECT_EQ(allocations, 0)
                                               << "freed before the call";
                                         })));
  engine
      .Start(Waiter([] { return true; }, Quick()),
             [&](const WaitResult<>&) {
               highest = allocations;
               posted.count_down();
             })
      .Detach();
  posted.wait();
  EXPECT_EQ(highest, 1);

  io.run();
}

TEST_P(AsyncWaitTest, CompletesOnItsStrand) {
  auto strand = asio::make_strand(io_);
  std::atomic<int> inside = 0;
  std::atomic<int> calls = 0;
  constexpr int kWaits = 200;
  for (int i = 0; i < kWaits; ++i) {
    AsyncWait(engine_.get(), ReadyAfter(1 + i % 3),
              asio::bind_executor(strand, [&](const WaitResult<int>& result) {
                EXPECT_TRUE(result.ok());
                EXPECT_EQ(++inside, 1);
                EXPECT_TRUE(strand.running_in_this_thread());
                ++calls;
                --inside;
              }));
  }

  JoiningThread other([&] { io_.run(); });
  io_.run();
  other.join();

  EXPECT_EQ(calls, kWaits);
}

TEST_P(AsyncWaitTest, PendingWaitIsWorkOfTheContext) {
  std::optional<PollCompletion<>> answer;
  std::latch asked(1);
  AsyncWait(engine_.get(),
            AsyncWaiter(
                [&](PollCompletion<> done) {
                  answer = std::move(done);
                  asked.count_down();
                },
                {.timeout = absl::InfiniteDuration()}),
            Note());
  JoiningThread answerer([&] {
    asked.wait();
    (*answer)(Success());
  });

  io_.run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
}

// Cancellation.

TEST_P(AsyncWaitTest, EveryTypeOfCancellationEndsTheWait) {
  for (const asio::cancellation_type type :
       {asio::cancellation_type::terminal, asio::cancellation_type::partial,
        asio::cancellation_type::total, asio::cancellation_type::all}) {
    asio::cancellation_signal signal;
    AsyncWait(engine_.get(), NeverReady(),
              asio::bind_cancellation_slot(signal.slot(), Note()));
    signal.emit(type);  // Perhaps before the first poll.
    io_.restart();
    io_.run();
  }

  EXPECT_THAT(reasons_, AllOf(SizeIs(4), Each(Eq(kCancelled))));
}

TEST_P(AsyncWaitTest, CancellationOfNoTypeDoesNothing) {
  asio::cancellation_signal signal;
  AsyncWait(engine_.get(),
            Waiter([left = 3]() mutable { return --left == 0; }, Quick()),
            asio::bind_cancellation_slot(signal.slot(), Note()));
  signal.emit(asio::cancellation_type::none);

  io_.run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
}

TEST_P(AsyncWaitTest, CancellationInASleepEndsIt) {
  asio::cancellation_signal signal;
  asio::steady_timer timer(io_, std::chrono::milliseconds(2));
  AsyncWait(engine_.get(), NeverReady(),
            asio::bind_cancellation_slot(signal.slot(), Note()));
  timer.async_wait([&](const boost::system::error_code&) {
    EXPECT_THAT(reasons_, IsEmpty());
    signal.emit(asio::cancellation_type::total);
  });

  io_.run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled));
}

TEST_P(AsyncWaitTest, CancellationTellsThePollUnderWay) {
  asio::cancellation_signal signal;
  bool told = false;
  AsyncWait(engine_.get(),
            AsyncWaiter(
                [&](const PollContext& context, const PollCompletion<>&) {
                  asio::post(io_, [&, token = context.stop_token] {
                    EXPECT_FALSE(token.stop_requested());
                    signal.emit(asio::cancellation_type::all);
                    told = token.stop_requested();
                  });
                },
                Slow()),
            asio::bind_cancellation_slot(signal.slot(), Note()));

  io_.run();

  EXPECT_TRUE(told);
  EXPECT_THAT(reasons_, ElementsAre(kCancelled));
}

TEST_P(AsyncWaitTest, CancellationAfterTheEndDoesNothing) {
  asio::cancellation_signal signal;
  AsyncWait(engine_.get(), Waiter([] { return true; }, Quick()),
            asio::bind_cancellation_slot(signal.slot(), Note()));
  io_.run();
  signal.emit(asio::cancellation_type::all);
  engine_.Destroy();
  signal.emit(asio::cancellation_type::all);

  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
}

TEST_P(AsyncWaitTest, CancellationBetweenTheEndAndTheHandlerDoesNothing) {
  asio::cancellation_signal signal;
  std::latch ended(1);
  AsyncWait(engine_.get(), Waiter([] { return true; }, Quick()),
            asio::bind_cancellation_slot(signal.slot(), Note()));
  engine_.get()
      .Start(Waiter([] { return true; }, Quick()),
             [&](const WaitResult<>&) { ended.count_down(); })
      .Detach();
  if (GetParam() == Host::kThread) {
    ended.wait();
  } else {
    // Ends after the wait, in the same turn, and so before its handler.
    AsyncWait(engine_.get(), Waiter([] { return true; }, Quick()),
              [](const WaitResult<>&) {});
  }
  asio::post(io_, [&] { signal.emit(asio::cancellation_type::all); });

  io_.run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess));
}

TEST_P(AsyncWaitTest, FirstOfTwoOperationsCancelsTheOther) {
  using namespace asio::experimental::awaitable_operators;  // NOLINT
  std::vector<size_t> first;
  const auto work = [&]() -> asio::awaitable<void> {
    asio::steady_timer soon(io_, std::chrono::milliseconds(1));
    auto by_time =
        co_await (AsyncWait(engine_.get(), NeverReady(), asio::use_awaitable) ||
                  soon.async_wait(asio::use_awaitable));
    first.push_back(by_time.index());
    asio::steady_timer late(io_, std::chrono::hours(1));
    auto by_wait = co_await (
        AsyncWait(engine_.get(), ReadyAfter(2), asio::use_awaitable) ||
        late.async_wait(asio::use_awaitable));
    first.push_back(by_wait.index());
  };
  std::exception_ptr exception;
  asio::co_spawn(io_, work(),
                 [&](const std::exception_ptr& thrown) { exception = thrown; });

  io_.run();

  EXPECT_EQ(exception, nullptr);
  EXPECT_THAT(first, ElementsAre(1, 0));
}

// Ends of the engine and the context.

TEST_P(AsyncWaitTest, EndOfTheEngineIsAResult) {
  AsyncWait(engine_.get(), NeverReady(), Note());
  io_.poll();
  engine_.Destroy();
  EXPECT_THAT(reasons_, IsEmpty());

  io_.run();

  EXPECT_THAT(reasons_, ElementsAre(kShutDown));
}

TEST_P(AsyncWaitTest, HandlerMayDestroyTheEngine) {
  int other = 0;
  AsyncWait(engine_.get(), ReadyAfter(2),
            asio::bind_executor(
                io_, [&](const WaitResult<int>&) { engine_.Destroy(); }));
  AsyncWait(engine_.get(), ReadyAfter(2),
            asio::bind_executor(io_, [&](const WaitResult<int>&) { ++other; }));
  AsyncWait(engine_.get(), NeverReady(), Note());

  io_.run();

  EXPECT_EQ(other, 1);
  EXPECT_THAT(reasons_, ElementsAre(kShutDown));
}

TEST_P(AsyncWaitTest, ExceptionsOfHandlersLeaveRunAndOthersAreCalledLater) {
  int calls = 0;
  int thrown = 0;
  for (int i = 0; i < 5; ++i) {
    AsyncWait(engine_.get(), ReadyAfter(1),
              asio::bind_executor(io_, [&](const WaitResult<int>&) {
                if (++calls % 2 == 1) throw std::runtime_error("odd");
              }));
  }

  while (calls < 5) {
    try {
      io_.run();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }

  EXPECT_EQ(thrown, 3);
}

TEST(AsyncWaitContextTest, EndOfTheContextDestroysHandlersWithoutACall) {
  const auto held = std::make_shared<int>();
  WaitEngine engine;
  std::atomic<bool> polled = false;
  std::optional<asio::io_context> io(std::in_place);
  const auto poll = [&, held] {
    polled = true;
    polled.notify_all();
    return false;
  };
  AsyncWait(engine, Waiter(poll, Slow()),
            asio::bind_executor(*io, [held](const WaitResult<>&) {
              ADD_FAILURE() << "called";
            }));
  const auto work = [&engine, held]() -> asio::awaitable<void> {
    auto wait = NeverReady();
    (void)co_await AsyncWait(engine, std::move(wait), asio::use_awaitable);
    ADD_FAILURE() << "resumed";
  };
  asio::co_spawn(*io, work(), asio::detached);
  io->poll();
  polled.wait(false);

  io.reset();

  EXPECT_EQ(held.use_count(), 3) << "here, in `poll` and in `work`";
  AwaitNoneIn(engine);
}

TEST(AsyncWaitContextTest, EndOfTheContextMeetsEndsOfWaits) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> calls = 0;
    const auto held = std::make_shared<int>();
    WaitEngine engine({.threads = 2, .tick = absl::ZeroDuration()});
    {
      asio::io_context io;
      for (int i = 0; i < 20; ++i) {
        AsyncWait(engine,
                  Waiter([held, left = i % 4]() mutable { return left-- == 0; },
                         WaitOptions{.timeout = absl::Hours(1),
                                     .backoff = Every(absl::Microseconds(20))}),
                  asio::bind_executor(
                      io, [&calls, held](const WaitResult<>&) { ++calls; }));
      }
      if (round % 2 == 0) io.poll();
    }
    AwaitNoneIn(engine);
    EXPECT_LE(calls, 20);
    EXPECT_LE(held.use_count(), 1 + 20);
  }
}

// A handler is often the last owner of an object that also has the engine.
TEST(AsyncWaitContextTest, HandlersThatTheContextDestroysMayOwnTheEngine) {
  for (const Host host : {Host::kThread, Host::kContext}) {
    std::weak_ptr<AnyEngine> engine;
    bool restarted = false;
    {
      asio::io_context io;
      const auto owner = std::make_shared<AnyEngine>(host, io);
      engine = owner;
      for (int i = 0; i < 3; ++i) {
        AsyncWait(owner->get(), NeverReady(),
                  asio::bind_executor(io, [owner](const WaitResult<>&) {
                    ADD_FAILURE() << "called";
                  }));
      }
      // Starts a wait from the destructor of its capture.
      const auto restart = [&, owner](const void*) {
        restarted = true;
        AsyncWait(owner->get(), NeverReady(),
                  asio::bind_executor(io, [](const WaitResult<>&) {
                    ADD_FAILURE() << "called";
                  }));
      };
      AsyncWait(
          owner->get(), NeverReady(),
          asio::bind_executor(
              io, [last = std::shared_ptr<const void>(nullptr, restart)](
                      const WaitResult<>&) { ADD_FAILURE() << "called"; }));
      io.poll();
    }
    EXPECT_TRUE(restarted);
    EXPECT_TRUE(engine.expired());
  }
}

TEST(AsyncWaitContextTest, PoolOfThreadsIsAContextToo) {
  constexpr int kWaits = 300;
  std::atomic<int> calls = 0;
  WaitEngine engine;
  {
    asio::thread_pool pool(3);
    for (int i = 0; i < kWaits; ++i) {
      AsyncWait(engine, ReadyAfter(1 + i % 3),
                asio::bind_executor(pool, [&](const WaitResult<int>& result) {
                  EXPECT_TRUE(result.ok());
                  ++calls;
                }));
    }
    pool.join();
    EXPECT_EQ(calls, kWaits);
    AsyncWait(engine, NeverReady(),
              asio::bind_executor(pool, [](const WaitResult<>&) {
                ADD_FAILURE() << "called";
              }));
  }
  AwaitNoneIn(engine);
}

TEST(AsyncWaitContextTest, HandlerWithoutAnExecutorIsCalledOnTheEngine) {
  std::promise<ThreadId> called_on;
  std::promise<ThreadId> polled_on;
  WaitEngine engine;
  AsyncWait(engine,
            Waiter(
                [&] {
                  polled_on.set_value(std::this_thread::get_id());
                  return true;
                },
                Quick()),
            [&](const WaitResult<>&) {
              called_on.set_value(std::this_thread::get_id());
            });

  EXPECT_EQ(called_on.get_future().get(), polled_on.get_future().get());
}

TEST_P(AsyncWaitTest, TwoThreadsStartAndCancelWaitsAtOnce) {
  constexpr int kWaits = 300;
  std::atomic<int> ended = 0;
  {
    std::vector<JoiningThread> starters;
    starters.reserve(2);
    auto work = asio::make_work_guard(io_);
    JoiningThread runner([&] { io_.run(); });
    for (int thread = 0; thread < 2; ++thread) {
      starters.emplace_back([&, thread] {
        for (int i = 0; i < kWaits; ++i) {
          // Signals belong to one strand, on which they are emitted.
          auto strand = asio::make_strand(io_);
          auto signal = std::make_shared<asio::cancellation_signal>();
          AsyncWait(engine_.get(), ReadyAfter(1 + (i + thread) % 3),
                    asio::bind_cancellation_slot(
                        signal->slot(),
                        asio::bind_executor(
                            strand, [&ended, signal](const WaitResult<int>&) {
                              ++ended;
                            })));
          if (i % 2 == 0) {
            asio::post(strand, [signal] {
              signal->emit(asio::cancellation_type::all);
            });
          }
        }
      });
    }
    starters.clear();
    work.reset();
  }

  EXPECT_EQ(ended, 2 * kWaits);
}

}  // namespace
}  // namespace waiter::asio_test

#else

TEST(AsyncWaitTest, NeedsBoost) {
  GTEST_SKIP() << "this machine has no headers of Boost.Asio";
}

#endif  // WAITER_HAS_BOOST
