// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises of [thread.stoptoken] on Waiter's own stop tokens, and on
// the standard library's if it has them, because the tests must also be right.

#include "waiter/stop_token.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <version>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/internal/own_stop_token.h"

#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace waiter::stop_token_test {
namespace {

using ::testing::UnorderedElementsAre;

// Waiter's own.
struct Own {
  using Token = internal::stop_token;
  using Source = internal::stop_source;
  using NoState = internal::nostopstate_t;
  template <typename F>
  using Callback = internal::stop_callback<F>;
  static constexpr NoState kNoState = internal::nostopstate;

  template <typename T, typename F>
  using Deduced =
      decltype(internal::stop_callback(std::declval<T>(), std::declval<F>()));
};

#ifdef __cpp_lib_jthread
struct Standard {
  using Token = std::stop_token;
  using Source = std::stop_source;
  using NoState = std::nostopstate_t;
  template <typename F>
  using Callback = std::stop_callback<F>;
  static constexpr NoState kNoState = std::nostopstate;

  template <typename T, typename F>
  using Deduced =
      decltype(std::stop_callback(std::declval<T>(), std::declval<F>()));
};
using Implementations = ::testing::Types<Own, Standard>;
#else
using Implementations = ::testing::Types<Own>;
#endif

struct ImplementationNames {
  template <typename Stop>
  static std::string GetName(int) {
    return std::is_same_v<Stop, Own> ? "Own" : "Standard";
  }
};

// Makes a callback of any function.
template <typename Stop, typename F>
auto OnStop(const typename Stop::Token& token, F function) {
  return typename Stop::template Callback<F>(token, std::move(function));
}

// A callback whose type does not depend on the function.
template <typename Stop>
using AnyCallback = typename Stop::template Callback<std::function<void()>>;

template <typename Stop>
class StopTokenTest : public ::testing::Test {};
TYPED_TEST_SUITE(StopTokenTest, Implementations, ImplementationNames);

template <typename Stop>
class StopTokenDeathTest : public ::testing::Test {};
TYPED_TEST_SUITE(StopTokenDeathTest, Implementations, ImplementationNames);

// The interface.

struct Function {
  explicit Function(int) {}
  explicit Function(const char*) noexcept {}
  void operator()() const {}
};

// libstdc++ lacks some of the standard's `noexcept`.
template <typename Stop>
constexpr bool kLacksNoexcept = !std::same_as<Stop, Own>;

TYPED_TEST(StopTokenTest, HasTheInterfaceOfTheStandard) {
  using Token = typename TypeParam::Token;
  static_assert(std::is_nothrow_default_constructible_v<Token>);
  static_assert(std::is_nothrow_copy_constructible_v<Token>);
  static_assert(std::is_nothrow_move_constructible_v<Token>);
  static_assert(std::is_nothrow_copy_assignable_v<Token>);
  static_assert(std::is_nothrow_move_assignable_v<Token>);
  static_assert(std::is_nothrow_swappable_v<Token>);
  static_assert(noexcept(std::declval<Token&>().swap(std::declval<Token&>())));
  static_assert(noexcept(std::declval<const Token&>().stop_requested()));
  static_assert(noexcept(std::declval<const Token&>().stop_possible()));
  static_assert(std::equality_comparable<Token>);
  static_assert(kLacksNoexcept<TypeParam> ||
                noexcept(std::declval<Token&>() == std::declval<Token&>()));

  using Source = typename TypeParam::Source;
  using NoState = typename TypeParam::NoState;
  static_assert(std::default_initializable<Source>);
  static_assert(std::is_nothrow_constructible_v<Source, NoState>);
  static_assert(!std::is_convertible_v<NoState, Source>);
  static_assert(std::is_nothrow_copy_constructible_v<Source>);
  static_assert(std::is_nothrow_move_constructible_v<Source>);
  static_assert(std::is_nothrow_copy_assignable_v<Source>);
  static_assert(std::is_nothrow_move_assignable_v<Source>);
  static_assert(std::is_nothrow_swappable_v<Source>);
  static_assert(
      noexcept(std::declval<Source&>().swap(std::declval<Source&>())));
  static_assert(noexcept(std::declval<const Source&>().get_token()));
  static_assert(noexcept(std::declval<const Source&>().stop_possible()));
  static_assert(noexcept(std::declval<const Source&>().stop_requested()));
  static_assert(noexcept(std::declval<Source&>().request_stop()));
  static_assert(std::equality_comparable<Source>);
  static_assert(noexcept(std::declval<Source&>() == std::declval<Source&>()));

  using Callback = typename TypeParam::template Callback<Function>;
  static_assert(std::same_as<typename Callback::callback_type, Function>);
  static_assert(std::is_constructible_v<Callback, const Token&, int>);
  static_assert(std::is_constructible_v<Callback, Token, Function>);
  static_assert(!std::is_constructible_v<Callback, Token, std::string>);
  static_assert(!std::is_nothrow_constructible_v<Callback, const Token&, int>);
  static_assert(
      kLacksNoexcept<TypeParam> ||
      std::is_nothrow_constructible_v<Callback, const Token&, const char*>);
  static_assert(!std::is_nothrow_constructible_v<Callback, Token, int>);
  static_assert(kLacksNoexcept<TypeParam> ||
                std::is_nothrow_constructible_v<Callback, Token, const char*>);
  static_assert(!std::is_copy_constructible_v<Callback>);
  static_assert(!std::is_move_constructible_v<Callback>);
  static_assert(!std::is_copy_assignable_v<Callback>);
  static_assert(!std::is_move_assignable_v<Callback>);
  static_assert(
      std::same_as<typename TypeParam::template Deduced<const Token&, Function>,
                   Callback>);
  static_assert(
      std::same_as<typename TypeParam::template Deduced<Token, Function&>,
                   Callback>);
}

TEST(StopTokenHeaderTest, TakesTheStandardsUnlessThereIsNone) {
#if WAITER_OWN_STOP_TOKEN
  using Expected = Own;
#else
  using Expected = Standard;
#endif
  static_assert(std::same_as<stop_token, Expected::Token>);
  static_assert(std::same_as<stop_source, Expected::Source>);
  static_assert(std::same_as<nostopstate_t, Expected::NoState>);
  static_assert(
      std::same_as<stop_callback<Function>, Expected::Callback<Function>>);
  const stop_source stop(nostopstate);
  const stop_callback on_stop(stop.get_token(), [] {});
  EXPECT_FALSE(stop.stop_possible());
}

// Tokens and sources.

TYPED_TEST(StopTokenTest, DefaultTokenIsNeverRequested) {
  const typename TypeParam::Token token;

  EXPECT_FALSE(token.stop_requested());
  EXPECT_FALSE(token.stop_possible());
}

TYPED_TEST(StopTokenTest, SourceWithoutStateRequestsNothing) {
  typename TypeParam::Source stop(TypeParam::kNoState);

  EXPECT_FALSE(stop.stop_possible());
  EXPECT_FALSE(stop.request_stop());
  EXPECT_FALSE(stop.stop_requested());
  EXPECT_EQ(stop.get_token(), typename TypeParam::Token());
}

TYPED_TEST(StopTokenTest, RequestReachesAllCopiesAndCountsOnce) {
  typename TypeParam::Source stop;
  typename TypeParam::Source copy = stop;
  const auto token = stop.get_token();
  const auto token_of_copy = copy.get_token();
  EXPECT_TRUE(stop.stop_possible());
  EXPECT_FALSE(stop.stop_requested());
  EXPECT_TRUE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());

  EXPECT_TRUE(stop.request_stop());

  EXPECT_FALSE(stop.request_stop());
  EXPECT_FALSE(copy.request_stop());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(copy.stop_requested());
  EXPECT_TRUE(stop.stop_possible());
  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(token_of_copy.stop_requested());
}

TYPED_TEST(StopTokenTest, StopIsPossibleWhileThereIsASource) {
  using Source = typename TypeParam::Source;
  std::optional<Source> first(std::in_place);
  const auto token = first->get_token();
  std::optional<Source> second = first;
  const Source none(TypeParam::kNoState);

  first.reset();
  EXPECT_TRUE(token.stop_possible());

  // The place of the source moves; its count does not.
  Source third = *std::move(second);
  second.reset();
  EXPECT_TRUE(token.stop_possible());

  third = none;
  EXPECT_FALSE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
}

TYPED_TEST(StopTokenTest, TokenKeepsTheRequestWithoutASource) {
  std::optional<typename TypeParam::Source> stop(std::in_place);
  const auto token = stop->get_token();
  stop->request_stop();

  stop.reset();

  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(token.stop_possible());
}

TYPED_TEST(StopTokenTest, AssignmentReplacesTheState) {
  using Source = typename TypeParam::Source;
  Source a;
  Source b;
  const auto token_of_a = a.get_token();
  auto token = a.get_token();

  a = b;
  EXPECT_FALSE(token_of_a.stop_possible());
  EXPECT_EQ(a, b);
  token = b.get_token();
  EXPECT_NE(token, token_of_a);
  EXPECT_EQ(token, a.get_token());

  Source& same = b;
  b = same;
  EXPECT_TRUE(b.stop_possible());
  const Source c;
  b = c;
  EXPECT_TRUE(token.stop_possible());  // Through `a`.
  a = c;
  EXPECT_FALSE(token.stop_possible());
}

// libstdc++ forgets to count the former source.
TEST(OwnStopTokenTest, MoveAssignmentReplacesTheState) {
  Own::Source a;
  Own::Source b;
  const Own::Token token_of_a = a.get_token();
  const Own::Token token_of_b = b.get_token();

  a = std::move(b);

  EXPECT_FALSE(token_of_a.stop_possible());
  EXPECT_EQ(a.get_token(), token_of_b);
  EXPECT_TRUE(token_of_b.stop_possible());
  a = Own::Source(Own::kNoState);
  EXPECT_FALSE(token_of_b.stop_possible());
}

TYPED_TEST(StopTokenTest, MovedFromObjectsHaveNoState) {
  typename TypeParam::Source from;
  typename TypeParam::Source to = std::move(from);
  auto token = to.get_token();
  const auto moved = std::move(token);

  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_FALSE(from.stop_possible());
  EXPECT_FALSE(from.request_stop());
  EXPECT_FALSE(token.stop_possible());
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(moved.stop_possible());
  EXPECT_TRUE(to.request_stop());
  EXPECT_TRUE(moved.stop_requested());
}

TYPED_TEST(StopTokenTest, SwapExchangesTheStates) {
  using std::swap;
  typename TypeParam::Source a;
  typename TypeParam::Source none(TypeParam::kNoState);
  auto token = a.get_token();
  typename TypeParam::Token no_token;

  swap(a, none);
  swap(token, no_token);
  EXPECT_FALSE(a.stop_possible());
  EXPECT_TRUE(none.stop_possible());
  EXPECT_FALSE(token.stop_possible());
  EXPECT_TRUE(no_token.stop_possible());

  a.swap(none);
  token.swap(no_token);
  EXPECT_TRUE(a.stop_possible());
  EXPECT_EQ(token, a.get_token());
}

TYPED_TEST(StopTokenTest, ObjectsAreEqualIfTheyShareAState) {
  using Source = typename TypeParam::Source;
  const Source a;
  const Source b;
  const Source& copy = a;

  EXPECT_EQ(a, copy);
  EXPECT_NE(a, b);
  EXPECT_EQ(Source(TypeParam::kNoState), Source(TypeParam::kNoState));
  EXPECT_NE(a, Source(TypeParam::kNoState));
  EXPECT_EQ(a.get_token(), copy.get_token());
  EXPECT_NE(a.get_token(), b.get_token());
  EXPECT_NE(a.get_token(), typename TypeParam::Token());
}

// Callbacks on one thread.

TYPED_TEST(StopTokenTest, CallbacksRunOnceDuringTheRequest) {
  typename TypeParam::Source stop;
  std::vector<int> ran;
  const auto first = OnStop<TypeParam>(stop.get_token(), [&] {
    EXPECT_TRUE(stop.stop_requested());
    ran.push_back(1);
  });
  const auto second =
      OnStop<TypeParam>(stop.get_token(), [&] { ran.push_back(2); });
  const auto third =
      OnStop<TypeParam>(stop.get_token(), [&] { ran.push_back(3); });
  EXPECT_TRUE(ran.empty());

  stop.request_stop();
  EXPECT_THAT(ran, UnorderedElementsAre(1, 2, 3));

  stop.request_stop();
  EXPECT_THAT(ran, UnorderedElementsAre(1, 2, 3));
}

TYPED_TEST(StopTokenTest, LateCallbackRunsInItsConstructor) {
  typename TypeParam::Source stop;
  stop.request_stop();
  std::thread::id ran_on;

  const auto on_stop = OnStop<TypeParam>(
      stop.get_token(), [&] { ran_on = std::this_thread::get_id(); });

  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

// Any order, so that the first, the middle and the last callback are destroyed.
TYPED_TEST(StopTokenTest, DestroyedCallbackDoesNotRun) {
  std::array<size_t, 3> order = {0, 1, 2};
  do {
    typename TypeParam::Source stop;
    std::vector<size_t> ran;
    std::array<std::optional<AnyCallback<TypeParam>>, 3> callbacks;
    for (size_t i = 0; i < 3; ++i) {
      callbacks.at(i).emplace(stop.get_token(), [&, i] { ran.push_back(i); });
    }

    callbacks.at(order[0]).reset();
    callbacks.at(order[1]).reset();
    stop.request_stop();

    EXPECT_THAT(ran, UnorderedElementsAre(order[2]));
  } while (std::ranges::next_permutation(order).found);
}

TYPED_TEST(StopTokenTest, CallbackWithoutAPossibleStopNeverRuns) {
  int runs = 0;
  const auto count = [&] { ++runs; };
  std::optional<typename TypeParam::Source> stop(std::in_place);
  const auto token = stop->get_token();
  stop.reset();

  {
    const auto no_state = OnStop<TypeParam>(typename TypeParam::Token(), count);
    const auto no_source = OnStop<TypeParam>(token, count);
  }

  EXPECT_EQ(runs, 0);
}

TYPED_TEST(StopTokenTest, CallbackOutlivesSourceAndToken) {
  std::optional<typename TypeParam::Source> stop(std::in_place);
  int runs = 0;
  const auto never = OnStop<TypeParam>(stop->get_token(), [&] { ++runs; });

  stop.reset();

  EXPECT_EQ(runs, 0);
}

TYPED_TEST(StopTokenTest, CallbackIsMadeOfATokenThatMoves) {
  typename TypeParam::Source stop;
  auto token = stop.get_token();
  int runs = 0;
  const auto count = [&] { ++runs; };

  const typename TypeParam::template Callback<decltype(count)> on_stop(
      std::move(token), count);
  stop.request_stop();

  EXPECT_EQ(runs, 1);
}

// Records as which kind of value it is called.
struct CalledAs {
  void operator()() & { *called = "lvalue"; }
  void operator()() const& { *called = "const lvalue"; }
  void operator()() && { *called = "rvalue"; }

  std::string* called;
};

TYPED_TEST(StopTokenTest, FunctionIsCalledAsItsTypeSays) {
  typename TypeParam::Source stop;
  std::array<std::string, 3> called;
  CalledAs lvalue{&called[1]};
  const CalledAs const_lvalue{&called[2]};
  const typename TypeParam::template Callback<CalledAs> by_value(
      stop.get_token(), CalledAs{called.data()});
  const typename TypeParam::template Callback<CalledAs&> by_reference(
      stop.get_token(), lvalue);
  const typename TypeParam::template Callback<const CalledAs&> by_const(
      stop.get_token(), const_lvalue);

  stop.request_stop();

  EXPECT_EQ(called[0], "rvalue");
  EXPECT_EQ(called[1], "lvalue");
  EXPECT_EQ(called[2], "const lvalue");
}

struct ThrowsWhenMade {
  explicit ThrowsWhenMade(int) { throw std::runtime_error("made"); }
  void operator()() const { ADD_FAILURE() << "it is called"; }
};

TYPED_TEST(StopTokenTest, CallbackThatCannotBeMadeIsNotRegistered) {
  using Callback = typename TypeParam::template Callback<ThrowsWhenMade>;
  typename TypeParam::Source stop;
  auto token = stop.get_token();

  EXPECT_THROW({ const Callback on_stop(token, 1); }, std::runtime_error);
  EXPECT_THROW({ const Callback on_stop(std::move(token), 1); },
               std::runtime_error);
  stop.request_stop();
}

// Callbacks that use what calls them.

TYPED_TEST(StopTokenTest, CallbackMayDestroyItself) {
  typename TypeParam::Source stop;
  std::optional<AnyCallback<TypeParam>> on_stop;
  int later_runs = 0;
  const auto later = OnStop<TypeParam>(stop.get_token(), [&] { ++later_runs; });
  bool ran = false;
  on_stop.emplace(stop.get_token(), [&] {
    // Destroying the callback destroys this function.
    bool& has_run = ran;
    on_stop.reset();
    has_run = true;
  });

  EXPECT_TRUE(stop.request_stop());

  EXPECT_TRUE(ran);
  EXPECT_FALSE(on_stop.has_value());
  EXPECT_EQ(later_runs, 1);
}

// The callback that runs first destroys the other two.
TYPED_TEST(StopTokenTest, CallbackMayDestroyOthers) {
  typename TypeParam::Source stop;
  std::array<std::optional<AnyCallback<TypeParam>>, 3> callbacks;
  int runs = 0;
  for (size_t i = 0; i < callbacks.size(); ++i) {
    callbacks.at(i).emplace(stop.get_token(), [&, i] {
      ++runs;
      for (size_t j = 0; j < callbacks.size(); ++j) {
        if (j != i) callbacks.at(j).reset();
      }
    });
  }

  stop.request_stop();

  EXPECT_EQ(runs, 1);
}

TYPED_TEST(StopTokenTest, CallbackMayDestroyOneThatHasRun) {
  typename TypeParam::Source stop;
  std::array<std::optional<AnyCallback<TypeParam>>, 2> callbacks;
  int runs = 0;
  for (auto& callback : callbacks) {
    callback.emplace(stop.get_token(), [&] {
      if (++runs == 2) {
        for (auto& other : callbacks) {
          if (&other != &callback) other.reset();
        }
      }
    });
  }

  stop.request_stop();

  EXPECT_EQ(runs, 2);
}

TYPED_TEST(StopTokenTest, CallbackMayDestroyTheLastSourceAndToken) {
  auto stop = std::make_unique<typename TypeParam::Source>();
  auto token = std::make_unique<typename TypeParam::Token>(stop->get_token());
  std::optional<AnyCallback<TypeParam>> on_stop;
  on_stop.emplace(*token, [&] {
    stop.reset();
    token.reset();
    on_stop.reset();
  });

  EXPECT_TRUE(stop->request_stop());

  EXPECT_EQ(stop, nullptr);
  EXPECT_EQ(token, nullptr);
}

TYPED_TEST(StopTokenTest, CallbackMayUseTheState) {
  typename TypeParam::Source stop;
  int inner_runs = 0;
  const auto on_stop = OnStop<TypeParam>(stop.get_token(), [&] {
    EXPECT_FALSE(stop.request_stop());
    EXPECT_TRUE(stop.get_token().stop_requested());
    const auto inner =
        OnStop<TypeParam>(stop.get_token(), [&] { ++inner_runs; });
    EXPECT_EQ(inner_runs, 1);
  });

  EXPECT_TRUE(stop.request_stop());

  EXPECT_EQ(inner_runs, 1);
}

// The second request runs on the first callback's thread.
TYPED_TEST(StopTokenTest, CallbackOfOneStateMayBeDestroyedByThatOfAnother) {
  typename TypeParam::Source outer;
  typename TypeParam::Source inner;
  std::optional<AnyCallback<TypeParam>> on_outer;
  const auto on_inner =
      OnStop<TypeParam>(inner.get_token(), [&] { on_outer.reset(); });
  on_outer.emplace(outer.get_token(), [&inner] { inner.request_stop(); });

  outer.request_stop();

  EXPECT_FALSE(on_outer.has_value());
}

TYPED_TEST(StopTokenDeathTest, ExceptionOfACallbackTerminates) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  typename TypeParam::Source stop;
  const auto throws = [] { throw std::runtime_error("thrown"); };

  EXPECT_DEATH(
      {
        const auto on_stop = OnStop<TypeParam>(stop.get_token(), throws);
        try {
          stop.request_stop();
        } catch (const std::runtime_error&) {
          _Exit(0);
        }
      },
      "");
  EXPECT_DEATH(
      {
        stop.request_stop();
        try {
          const auto on_stop = OnStop<TypeParam>(stop.get_token(), throws);
        } catch (const std::runtime_error&) {
          _Exit(0);
        }
      },
      "");
}

// Several threads.

// Gives other threads time to break the rule under test.
void LetOthersRun() {
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
}

TYPED_TEST(StopTokenTest, CallbackRunsOnTheThreadOfTheRequest) {
  typename TypeParam::Source stop;
  std::thread::id ran_on;
  const auto on_stop = OnStop<TypeParam>(
      stop.get_token(), [&] { ran_on = std::this_thread::get_id(); });
  std::thread::id requested_on;

  JoiningThread([&] {
    requested_on = std::this_thread::get_id();
    stop.request_stop();
  }).join();

  EXPECT_EQ(ran_on, requested_on);
}

TYPED_TEST(StopTokenTest, DestructorAwaitsTheCallbackOnAnotherThread) {
  for (int i = 0; i < 20; ++i) {
    typename TypeParam::Source stop;
    std::latch runs(1);
    std::latch is_destroyed(1);
    bool ended = false;
    std::optional<AnyCallback<TypeParam>> on_stop;
    on_stop.emplace(stop.get_token(), [&] {
      runs.count_down();
      is_destroyed.wait();
      LetOthersRun();
      ended = true;
    });
    const JoiningThread requester([&] { stop.request_stop(); });
    runs.wait();

    is_destroyed.count_down();
    on_stop.reset();

    ASSERT_TRUE(ended);
  }
}

// One callback runs until two others are destroyed. One of these has run.
TYPED_TEST(StopTokenTest, DestructorAwaitsNoOtherCallback) {
  typename TypeParam::Source stop;
  std::latch runs(1);
  std::latch others_are_gone(1);
  std::array<std::optional<AnyCallback<TypeParam>>, 3> callbacks;
  std::atomic<int> begun = 0;
  std::optional<AnyCallback<TypeParam>>* running = nullptr;
  for (auto& callback : callbacks) {
    callback.emplace(stop.get_token(), [&] {
      if (++begun != 2) return;
      running = &callback;
      runs.count_down();
      others_are_gone.wait();
    });
  }
  const JoiningThread requester([&] { stop.request_stop(); });
  runs.wait();

  for (auto& callback : callbacks) {
    if (&callback != running) callback.reset();
  }
  others_are_gone.count_down();
  running->reset();

  EXPECT_EQ(begun, 2);
}

// A callback runs until its own successor at the same address is destroyed on
// another thread.
TYPED_TEST(StopTokenTest, DestructorAwaitsNoFormerCallbackAtItsAddress) {
  typename TypeParam::Source stop;
  std::optional<AnyCallback<TypeParam>> on_stop;
  int successors = 0;
  on_stop.emplace(stop.get_token(), [&stop, &on_stop, &successors] {
    auto& source = stop;
    auto& callback = on_stop;
    auto& count = successors;
    callback.reset();
    callback.emplace(source.get_token(), [&count] { ++count; });
    JoiningThread([&callback] { callback.reset(); }).join();
  });

  stop.request_stop();

  EXPECT_EQ(successors, 1);
  EXPECT_FALSE(on_stop.has_value());
}

TYPED_TEST(StopTokenTest, OneOfManyRequestsCounts) {
  for (int i = 0; i < 50; ++i) {
    typename TypeParam::Source stop;
    int runs = 0;
    const auto on_stop = OnStop<TypeParam>(stop.get_token(), [&] { ++runs; });
    std::atomic<int> counted = 0;
    std::array sources = {stop, stop, stop, stop};
    RunThreads(/*count=*/4, [&](int thread) {
      if (!sources.at(static_cast<size_t>(thread)).request_stop()) return;
      ++counted;
      EXPECT_EQ(runs, 1);  // Callbacks run before the call returns.
    });

    ASSERT_EQ(counted, 1);
    ASSERT_EQ(runs, 1);
  }
}

TYPED_TEST(StopTokenTest, RequestPublishesWhatWasBefore) {
  for (int i = 0; i < 50; ++i) {
    typename TypeParam::Source stop;
    int written = 0;
    const JoiningThread requester([&] {
      written = 7;
      stop.request_stop();
    });

    const auto token = stop.get_token();
    while (!token.stop_requested()) std::this_thread::yield();

    ASSERT_EQ(written, 7);
  }
}

// Two threads add and remove callbacks while a third requests a stop.
TYPED_TEST(StopTokenTest, CallbacksComeAndGoDuringARequest) {
  for (int i = 0; i < 50; ++i) {
    typename TypeParam::Source stop;
    std::latch start(3);
    const auto come_and_go = [&start, token = stop.get_token()] {
      start.arrive_and_wait();
      for (bool last = false; !last;) {
        last = token.stop_requested();
        // Not atomic: the destructor of the callback orders the accesses.
        int runs = 0;
        int other_runs = 0;
        {
          const auto on_stop = OnStop<TypeParam>(token, [&] { ++runs; });
          const auto other = OnStop<TypeParam>(token, [&] { ++other_runs; });
        }
        EXPECT_LE(runs, 1);
        EXPECT_LE(other_runs, 1);
        if (last) {
          EXPECT_EQ(runs, 1);
          EXPECT_EQ(other_runs, 1);
        }
      }
    };
    const JoiningThread first(come_and_go);
    const JoiningThread second(come_and_go);
    start.arrive_and_wait();
    EXPECT_TRUE(stop.request_stop());
  }
}

// Owners of the state on several threads go in any order.
TYPED_TEST(StopTokenTest, LastOwnerMayBeOnAnyThread) {
  for (int i = 0; i < 50; ++i) {
    auto stop = std::make_unique<typename TypeParam::Source>();
    std::latch start(3);
    int runs = 0;
    {
      const JoiningThread holds_a_source([&start, source = *stop]() mutable {
        start.arrive_and_wait();
        auto token = source.get_token();
        source = typename TypeParam::Source(TypeParam::kNoState);
        token = typename TypeParam::Token();
      });
      const JoiningThread holds_a_callback(
          [&start, &runs, token = stop->get_token()]() mutable {
            const typename TypeParam::template Callback<std::function<void()>>
                on_stop(std::move(token), [&runs] { ++runs; });
            start.arrive_and_wait();
          });
      start.arrive_and_wait();
      if (i % 2 == 0) stop->request_stop();
      stop.reset();
    }
    ASSERT_LE(runs, i % 2 == 0 ? 1 : 0);
  }
}

}  // namespace
}  // namespace waiter::stop_token_test
