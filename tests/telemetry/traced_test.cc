// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/telemetry/fake_opentelemetry.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/telemetry/trace.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace otel = opentelemetry;

class OpenTelemetryTracer {
 public:
  using Span = otel::nostd::shared_ptr<otel::trace::Span>;
  using Context = otel::context::Context;

  explicit OpenTelemetryTracer(
      otel::nostd::shared_ptr<otel::trace::Tracer> tracer)
      : tracer_(std::move(tracer)) {}

  Context Current() { return otel::context::RuntimeContext::GetCurrent(); }
  Context With(Context parent, const Span& span) {
    return otel::trace::SetSpan(parent, span);
  }
  auto MakeCurrent(const Context& context) {
    return otel::context::RuntimeContext::Attach(context);
  }
  Span StartSpan(std::string_view name, const Context& parent) {
    otel::trace::StartSpanOptions options;
    options.parent = parent;
    return tracer_->StartSpan(Text(name), {}, options);
  }
  void SetAttribute(Span& span, const waiter::TraceAttribute& attribute) {
    span->SetAttribute(Text(attribute.key), ValueOf(attribute));
  }
  void AddEvent(Span& span, std::string_view name,
                std::chrono::system_clock::time_point time,
                std::span<const waiter::TraceAttribute> attributes) {
    std::vector<
        std::pair<otel::nostd::string_view, otel::common::AttributeValue>>
        pairs;
    for (const waiter::TraceAttribute& attribute : attributes) {
      pairs.emplace_back(Text(attribute.key), ValueOf(attribute));
    }
    span->AddEvent(Text(name), time, pairs);
  }
  void SetError(Span& span, std::string_view description) {
    span->SetStatus(otel::trace::StatusCode::kError, Text(description));
  }
  void End(Span& span) { span->End(); }

 private:
  static otel::nostd::string_view Text(std::string_view text) {
    return {text.data(), text.size()};
  }
  static otel::common::AttributeValue ValueOf(
      const waiter::TraceAttribute& attribute) {
    if (const auto* text = std::get_if<std::string_view>(&attribute.value)) {
      return Text(*text);
    }
    if (const auto* number = std::get_if<double>(&attribute.value)) {
      return *number;
    }
    return std::get<int64_t>(attribute.value);
  }

  otel::nostd::shared_ptr<otel::trace::Tracer> tracer_;
};

namespace waiter {
namespace {

using ::opentelemetry::trace::SpanRecord;
using ::opentelemetry::trace::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

// Returns the name of the span that is current on this thread.
std::string CurrentSpan() {
  const auto span = otel::context::RuntimeContext::GetCurrent().span();
  return span == nullptr ? "none" : span->name();
}

std::vector<std::string> NamesOf(const std::vector<SpanRecord>& spans) {
  std::vector<std::string> names;
  for (const SpanRecord& span : spans) {
    names.push_back(absl::StrCat(span.parent, "/", span.name));
  }
  return names;
}

std::vector<std::string> AttemptsOf(const SpanRecord& span) {
  std::vector<std::string> attempts;
  for (const auto& [name, attributes] : span.events) {
    attempts.push_back(attributes.at("attempt"));
  }
  return attempts;
}

// After each test, every span has ended once, and none is current.
class TracedTest : public testing::Test {
 protected:
  ~TracedTest() override {
    EXPECT_THAT(spans(), Each(AllOf(Field(&SpanRecord::ends, 1),
                                    Field(&SpanRecord::calls_after_end, 0))));
    EXPECT_EQ(CurrentSpan(), "none");
  }

  WaitOptions Options() {
    return {.name = "instance i-0abc",
            .operation = "create instance",
            .timeout = absl::Minutes(1),
            .backoff = Every(absl::Seconds(2)),
            .clock = &clock_};
  }

  std::vector<SpanRecord> spans() { return library_->spans(); }

  SimulatedClock clock_;
  std::shared_ptr<otel::trace::Tracer> library_ =
      std::make_shared<otel::trace::Tracer>();
  OpenTelemetryTracer tracer_{library_};
};

TEST_F(TracedTest, WaitHasASpanAndEachPollAChildOfIt) {
  std::vector<std::string> current;
  Waiter wait(
      [&]() -> Poll<> {
        current.push_back(CurrentSpan());
        if (current.size() < 3) return NotReady("CREATING");
        return Success();
      },
      Options());

  EXPECT_TRUE(Traced(tracer_, wait).Wait().ok());

  EXPECT_THAT(NamesOf(spans()),
              ElementsAre("/wait create instance",
                          "wait create instance/poll create instance",
                          "wait create instance/poll create instance",
                          "wait create instance/poll create instance"));
  EXPECT_THAT(current, Each("poll create instance"));
  EXPECT_THAT(spans(), Each(Field(&SpanRecord::status, StatusCode::kUnset)));
  EXPECT_THAT(spans()[0].attributes,
              ElementsAre(Pair("waiter.name", "instance i-0abc"),
                          Pair("waiter.operation", "create instance"),
                          Pair("waiter.polls", "3"),
                          Pair("waiter.stop_reason", "success"),
                          Pair("waiter.timeout", "60.0")));
  EXPECT_THAT(spans()[2].attributes,
              ElementsAre(Pair("waiter.poll.attempt", "2"),
                          Pair("waiter.poll.status", "not ready")));
}

TEST_F(TracedTest, ParentIsTheSpanThatWasCurrentAtTheCallOfTraced) {
  Waiter wait([] { return true; }, Options());
  auto traced = [&] {
    auto request = tracer_.StartSpan("request", tracer_.Current());
    const auto scope =
        tracer_.MakeCurrent(tracer_.With(tracer_.Current(), request));
    tracer_.End(request);
    return Traced(tracer_, wait);
  }();

  EXPECT_TRUE(traced.Wait().ok());

  EXPECT_THAT(NamesOf(spans()), Contains("request/wait create instance"));
}

TEST_F(TracedTest, WaitWithinAPollIsAChildOfThePoll) {
  WaitOptions inner = Options();
  inner.operation = "inner";
  Waiter wait(
      [&] {
        return Traced(tracer_, Waiter([] { return true; }, inner)).Wait().ok();
      },
      Options());

  EXPECT_TRUE(Traced(tracer_, wait).Wait().ok());

  EXPECT_THAT(NamesOf(spans()), Contains("poll create instance/wait inner"));
}

TEST_F(TracedTest, WaitWithoutOperationAndDeadlineHasNoSuchAttributes) {
  WaitOptions options = Options();
  options.operation = "";
  options.timeout = absl::InfiniteDuration();

  EXPECT_TRUE(
      Traced(tracer_, Waiter([] { return true; }, options)).Wait().ok());

  EXPECT_THAT(NamesOf(spans()), ElementsAre("/wait", "wait/poll"));
  EXPECT_THAT(spans()[0].attributes,
              ElementsAre(Pair("waiter.name", "instance i-0abc"),
                          Pair("waiter.polls", "1"),
                          Pair("waiter.stop_reason", "success")));
}

TEST_F(TracedTest, OnlyAWaitThatDoesNotSucceedIsAnError) {
  Waiter wait(
      ScriptedPoll<>(clock_, {ServerError(absl::UnavailableError("busy")),
                              Failed(absl::AbortedError("deleted"))}),
      Options());

  EXPECT_FALSE(Traced(tracer_, wait).Wait().ok());

  const std::vector<SpanRecord> spans = this->spans();
  ASSERT_THAT(spans, SizeIs(3));
  EXPECT_EQ(spans[0].status, StatusCode::kError);
  EXPECT_THAT(spans[0].attributes, Contains(Pair("error.type", "ABORTED")));
  EXPECT_THAT(
      spans[0].description,
      testing::MatchesRegex("deleted \\(.*, after 2 attempts in .*\\)"));
  EXPECT_EQ(spans[1].status, StatusCode::kUnset);
  EXPECT_EQ(spans[2].status, StatusCode::kError);
  EXPECT_EQ(spans[2].description, "deleted");
}

TEST_F(TracedTest, FirstAndLastPollsAreEventsInTheirOrder) {
  int polls = 0;
  const std::string detail("CREATING\0\xff", 10);
  Waiter wait([&] { return ++polls == 10 ? Success() : NotReady(detail); },
              Options());

  EXPECT_TRUE(
      Traced(tracer_, wait, {.first_events = 2, .last_events = 3}).Wait().ok());

  EXPECT_THAT(AttemptsOf(spans()[0]), ElementsAre("1", "2", "8", "9", "10"));
  EXPECT_EQ(spans()[0].events[0].first, "waiter.poll");
  EXPECT_THAT(spans()[0].events[0].second,
              ElementsAre(Pair("attempt", "1"), Pair("delay", "2.0"),
                          Pair("detail", detail), Pair("reason", "not ready"),
                          Pair("status", "not ready")));
  EXPECT_THAT(spans()[0].events[4].second,
              ElementsAre(Pair("attempt", "10"), Pair("status", "success")));
}

TEST_F(TracedTest, PollIsAnEventOnceWhateverTheLimits) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const int polls : {1, 8, 9, 15, 16, 17, 40}) {
    for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
             {8, 8}, {0, 0}, {0, 3}, {3, 0}, {-1, -1}, {kHuge, kHuge}}) {
      SCOPED_TRACE(absl::StrCat(polls, ", ", first, ", ", last));
      const size_t before = spans().size();
      int made = 0;
      WaitOptions options = Options();
      options.timeout = absl::Hours(1);

      EXPECT_TRUE(Traced(tracer_,
                         Waiter([&] { return ++made == polls; }, options),
                         {.first_events = first, .last_events = last})
                      .Wait()
                      .ok());

      std::vector<std::string> expected;
      for (int i = 1; i <= polls; ++i) {
        if (i <= first || i > polls - last) expected.push_back(absl::StrCat(i));
      }
      EXPECT_EQ(AttemptsOf(spans().at(before)), expected);
    }
  }
}

TEST_F(TracedTest, LatePollsOfALongWaitRunWithinTheSpanOfTheWait) {
  for (const int64_t limit : {-1, 0, 2}) {
    const size_t before = spans().size();
    const size_t poll_spans = limit > 0 ? static_cast<size_t>(limit) : 0;
    std::vector<std::string> current;
    Waiter wait(
        [&] {
          current.push_back(CurrentSpan());
          return current.size() == 4;
        },
        Options());

    EXPECT_TRUE(Traced(tracer_, wait, {.poll_spans = limit}).Wait().ok());

    EXPECT_THAT(spans(), SizeIs(before + 1 + poll_spans));
    std::vector<std::string> expected(4, "wait create instance");
    std::fill_n(expected.begin(), poll_spans, "poll create instance");
    EXPECT_EQ(current, expected);
  }
}

TEST_F(TracedTest, EveryEndWithoutSuccessHasItsErrorType) {
  const auto run = [&](auto function, const WaitOptions& options) {
    return Traced(tracer_, Waiter(std::move(function), options));
  };
  const auto never = [] { return false; };
  stop_source stop;
  stop.request_stop();
  (void)run(never, Options()).Wait();
  (void)run(never, Options()).Wait(stop.get_token());
  WaitOptions one = Options();
  one.max_attempts = 1;
  (void)run(never, one).Wait();
  (void)run(std::function<bool()>(), Options()).Wait();
  EXPECT_THROW(
      (void)run([]() -> bool { throw std::runtime_error("no"); }, Options())
          .Wait(),
      std::runtime_error);

  std::vector<std::string> types;
  for (const SpanRecord& span : spans()) {
    if (span.name != "wait create instance") continue;
    EXPECT_EQ(span.status, StatusCode::kError);
    types.push_back(span.attributes.at("error.type"));
  }
  EXPECT_THAT(
      types, ElementsAre("DEADLINE_EXCEEDED", "CANCELLED", "RESOURCE_EXHAUSTED",
                         "INVALID_ARGUMENT", "UNKNOWN"));
}

TEST_F(TracedTest, WaitThatMakesNoPollHasASpan) {
  WaitOptions invalid = Options();
  invalid.max_attempts = -1;

  const WaitResult<> result =
      Traced(tracer_, Waiter([] { return true; }, invalid)).Wait();

  EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
  EXPECT_THAT(spans(),
              ElementsAre(Field(&SpanRecord::status, StatusCode::kError)));
}

TEST_F(TracedTest, FunctionThatThrowsEndsBothSpans) {
  Waiter wait([]() -> bool { throw std::string("thrown"); }, Options());
  auto traced = Traced(tracer_, wait);

  EXPECT_THROW((void)traced.Wait(), std::string);

  EXPECT_THAT(spans(), SizeIs(2));
  EXPECT_THAT(spans(),
              Each(AllOf(Field(&SpanRecord::ends, 1),
                         Field(&SpanRecord::status, StatusCode::kError))));
  EXPECT_EQ(CurrentSpan(), "none");
}

TEST_F(TracedTest, OwnObserverContextAndMoveOnlyValueStay) {
  class Polls : public WaitObserver {
   public:
    void AfterPoll(const PollEvent& /*poll*/) override { ++count; }
    int count = 0;
  };
  const auto polls = std::make_shared<Polls>();
  WaitOptions options = Options();
  options.hooks.observer = polls;
  Waiter wait(
      [owned = std::make_unique<int>(7)](const PollContext& context)
          -> absl::StatusOr<std::unique_ptr<int64_t>> {
        return std::make_unique<int64_t>(*owned + context.attempt);
      },
      options);

  const WaitResult<std::unique_ptr<int64_t>> result =
      Traced(tracer_, std::move(wait)).Wait();

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result.value(), 8);
  EXPECT_EQ(polls->count, 1);
}

// Records its calls in the list that an observer also uses.
struct ListingTracer {
  using Context = int;
  using Span = std::unique_ptr<std::string>;  // Not copyable.

  static Context Current() { return 0; }
  static Context With(Context /*parent*/, const Span& /*span*/) { return 0; }
  static std::unique_ptr<int> MakeCurrent(const Context& /*context*/) {
    return nullptr;
  }
  Span StartSpan(std::string_view name, const Context& /*parent*/) const {
    lines->push_back(absl::StrCat("tracer: start ", std::string(name)));
    return std::make_unique<std::string>(name);
  }
  static void SetAttribute(Span& /*span*/,
                           const TraceAttribute& /*attribute*/) {}
  static void AddEvent(Span& /*span*/, std::string_view /*name*/,
                       std::chrono::system_clock::time_point /*time*/,
                       std::span<const TraceAttribute> /*attributes*/) {}
  static void SetError(Span& /*span*/, std::string_view /*description*/) {}
  void End(Span& span) const {
    lines->push_back(absl::StrCat("tracer: end ", *span));
  }

  std::vector<std::string>* lines;
};

class ListingObserver : public WaitObserver {
 public:
  ListingObserver(std::string name, std::vector<std::string>& lines)
      : name_(std::move(name)), lines_(lines) {}
  void OnStart(const StartEvent& /*start*/) override { Add("start"); }
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) override {
    Add("before poll");
  }
  void AfterPoll(const PollEvent& /*poll*/) override { Add("after poll"); }
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    Add("done");
  }

 private:
  void Add(const std::string& what) {
    lines_.push_back(absl::StrCat(name_, ": ", what));
  }

  const std::string name_;
  std::vector<std::string>& lines_;
};

TEST_F(TracedTest, ObserversAreCalledBeforeTheTracer) {
  const std::vector<std::string> expected = {
      "all: start",       "own: start",       "tracer: start wait",
      "all: before poll", "own: before poll", "tracer: start poll",
      "all: after poll",  "own: after poll",  "tracer: end poll",
      "all: done",        "own: done",        "tracer: end wait"};
  std::vector<std::string> lines;
  ObserveEveryWait(std::make_shared<ListingObserver>("all", lines));
  WaitOptions options = Options();
  options.operation = "";
  options.hooks.observer = std::make_shared<ListingObserver>("own", lines);
  const auto traced = [&] {
    return Traced(ListingTracer{&lines}, Waiter([] { return true; }, options));
  };
  EXPECT_TRUE(traced().Wait().ok());
  EXPECT_EQ(lines, expected);

  lines.clear();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  engine.Start(traced(), [](const WaitResult<>&) {}).Detach();
  engine.Run();
  EXPECT_EQ(lines, expected);

  lines.clear();
  engine
      .Start(
          Traced(ListingTracer{&lines},
                 AsyncWaiter([](const PollCompletion<>& done) { done(true); },
                             options)),
          [](const WaitResult<>&) {})
      .Detach();
  engine.Run();
  ObserveEveryWait(nullptr);
  EXPECT_EQ(lines, expected);
}

TEST_F(TracedTest, ObserversSeeAWaitThatIsTracedTwiceOnce) {
  std::vector<std::string> lines;
  WaitOptions options = Options();
  options.hooks.observer = std::make_shared<ListingObserver>("own", lines);
  ObserveEveryWait(std::make_shared<ListingObserver>("all", lines));

  EXPECT_TRUE(
      Traced(tracer_, Traced(tracer_, Waiter([] { return true; }, options)))
          .Wait()
          .ok());

  ObserveEveryWait(nullptr);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "all: start"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "own: done"), 1);
  EXPECT_THAT(spans(), SizeIs(4));
}

TEST_F(TracedTest, WaitThatGoesOnHasASpanOfItsOwn) {
  WaitOptions options = Options();
  std::vector<WaitToken> tokens;
  options.hooks.on_checkpoint = [&](const WaitToken& token) {
    tokens.push_back(token);
  };
  ScriptedPoll<> script(clock_, {NotReady(), Success()});
  ASSERT_TRUE(Traced(tracer_, Waiter(std::ref(script), options)).Wait().ok());
  ASSERT_THAT(tokens, SizeIs(1));
  const size_t before = spans().size();

  const WaitResult<> result =
      Traced(tracer_, Waiter([] { return true; }, options))
          .Wait({.resume = tokens[0]});

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.report().attempts, 2);
  EXPECT_THAT(spans(), SizeIs(before + 2));
}

TEST_F(TracedTest, PollsOnAnExecutorHaveTheirSpansThere) {
  std::vector<std::string> current;
  WaitEngine engine({.threads = 0,
                     .tick = absl::ZeroDuration(),
                     .executor =
                         [](absl::AnyInvocable<void()> poll) {
                           JoiningThread thread(std::move(poll));
                         },
                     .clock = &clock_});
  const WaitHandle handle =
      engine.Start(Traced(tracer_, Waiter(
                                       [&] {
                                         current.push_back(CurrentSpan());
                                         return current.size() == 2;
                                       },
                                       Options())),
                   [](const WaitResult<>&) {});
  for (int round = 0; round < 4; ++round) {
    engine.RunDue();
    clock_.AdvanceTime(absl::Seconds(2));
  }

  EXPECT_THAT(current,
              ElementsAre("poll create instance", "poll create instance"));
  EXPECT_THAT(spans(), SizeIs(3));
  EXPECT_THAT(spans(), Each(Field(&SpanRecord::ends, 1)));
}

TEST_F(TracedTest, AsynchronousPollHasASpanUntilItsAnswer) {
  std::vector<PollCompletion<>> pending;
  std::string current;
  WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  const WaitHandle handle =
      engine.Start(Traced(tracer_, AsyncWaiter(
                                       [&](PollCompletion<> done) {
                                         current = CurrentSpan();
                                         pending.push_back(std::move(done));
                                       },
                                       Options())),
                   [](const WaitResult<>&) {});
  engine.RunDue();

  EXPECT_EQ(current, "poll create instance");
  EXPECT_EQ(CurrentSpan(), "none");
  EXPECT_THAT(spans(), Each(Field(&SpanRecord::ends, 0)));
  pending[0](Success());
  engine.RunDue();
  EXPECT_THAT(spans(), SizeIs(2));
  EXPECT_THAT(spans(), Each(Field(&SpanRecord::ends, 1)));
}

TEST_F(TracedTest, SpansEndHoweverAWaitOfAnEngineEnds) {
  std::vector<PollCompletion<>> pending;
  const auto never = [&] {
    return Traced(tracer_, Waiter([] { return false; }, Options()));
  };
  const auto unanswered = [&] {
    return Traced(tracer_, AsyncWaiter(
                               [&](PollCompletion<> done) {
                                 pending.push_back(std::move(done));
                               },
                               Options()));
  };
  const auto ignore = [](const WaitResult<>&) {};
  {
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    // The first one is destroyed before it begins.
    (void)engine.Start(never(), ignore);
    WaitHandle sleeps = engine.Start(never(), ignore);
    WaitHandle polls = engine.Start(unanswered(), ignore);
    WaitHandle cancelled = engine.Start(unanswered(), ignore);
    engine.Start(never(), ignore, {.name = "own name"}).Detach();
    engine.Start(unanswered(), ignore).Detach();
    engine.RunDue();
    sleeps = WaitHandle();
    polls = WaitHandle();
    cancelled.Cancel();
    engine.RunDue();
    EXPECT_THAT(pending, SizeIs(3));
  }
  // Answers that come too late.
  for (const PollCompletion<>& done : pending) done(Success());

  std::vector<std::string> reasons;
  std::vector<std::string> names;
  for (const SpanRecord& span : spans()) {
    if (span.name != "wait create instance") continue;
    reasons.push_back(span.attributes.at("waiter.stop_reason"));
    names.push_back(span.attributes.at("waiter.name"));
    EXPECT_EQ(span.attributes.at("error.type"), "CANCELLED");
  }
  EXPECT_THAT(reasons, SizeIs(6));
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "cancelled"), 4);
  EXPECT_EQ(std::count(names.begin(), names.end(), "own name"), 1);
}

TEST_F(TracedTest, OneWaiterTracesItsWaitsOnSeveralThreadsAndAnEngine) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 20;
  WaitOptions options = Options();
  options.clock = nullptr;
  options.backoff = Every(absl::ZeroDuration());
  auto traced =
      Traced(tracer_, Waiter(
                          [](const PollContext& context) {
                            EXPECT_EQ(CurrentSpan(), "poll create instance");
                            return context.attempt == 5;
                          },
                          options));
  RunThreads(kThreads, [&](int) {
    for (int wait = 0; wait < kWaits; ++wait) {
      EXPECT_TRUE(traced.Wait().ok());
    }
  });
  EXPECT_THAT(spans(), SizeIs(kThreads * kWaits * 6));
  {
    WaitEngine engine({.threads = 2});
    for (int wait = 0; wait < kWaits; ++wait) {
      engine.Start(traced, [](const WaitResult<>&) {}).Detach();
      WaitHandle destroyed = engine.Start(traced, [](const WaitResult<>&) {});
      destroyed.PollNow();
    }
  }
  const std::vector<SpanRecord> spans = this->spans();
  EXPECT_EQ(std::count_if(spans.begin(), spans.end(),
                          [](const SpanRecord& span) {
                            return span.name == "wait create instance";
                          }),
            kThreads * kWaits + 2 * kWaits);
}

}  // namespace
}  // namespace waiter
