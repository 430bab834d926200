// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects the assertions of testing/catch2.h to Catch2. Tests include that
// header instead.

#ifndef WAITER_TESTING_INTERNAL_CATCH2_FRAMEWORK_H_
#define WAITER_TESTING_INTERNAL_CATCH2_FRAMEWORK_H_

#if __has_include("catch2/catch_test_macros.hpp")
#define WAITER_CATCH2_VERSION 3
#include "catch2/catch_assertion_info.hpp"
#include "catch2/catch_test_macros.hpp"
#include "catch2/catch_tostring.hpp"
#include "catch2/internal/catch_assertion_handler.hpp"
#if __has_include("catch2/internal/catch_test_failure_exception.hpp")
#include "catch2/internal/catch_test_failure_exception.hpp"
#endif
#else
#define WAITER_CATCH2_VERSION 2
#include "catch2/catch.hpp"
#endif

#include <concepts>
#include <cstddef>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "waiter/internal/exceptions.h"
#include "waiter/poll.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal {

struct Catch2 : eventually::PlainFramework<Catch2> {
  template <typename T>
  static std::string Print(const T& value) {
    if constexpr (eventually::Text<T>) {
      return eventually::PrintPlainly(value);
    } else {
      return ::Catch::Detail::stringify(value);
    }
  }

  // Whether values of type `T` are matched by a matcher of Catch2.
  template <typename T, typename M>
  static constexpr bool kIsMatcher = requires(const M& m, const T& value) {
    { m.match(value) } -> std::convertible_to<bool>;
    { m.toString() } -> std::convertible_to<std::string>;
  };

  template <typename T, typename M>
  static eventually::ValueMatcher<T> MatcherOf(const M& matcher) {
    if constexpr (kIsMatcher<T, M>) {
      return {[&matcher](const T& value, std::string& /*why*/) {
                return static_cast<bool>(matcher.match(value));
              },
              [&matcher] { return matcher.toString(); }};
    } else {
      return eventually::PlainMatcher<Catch2, T>(matcher);
    }
  }

  static bool EndsTest(const std::exception_ptr& exception) {
#if WAITER_CATCH2_VERSION == 3 && (defined(SKIP) || defined(CATCH_SKIP))
    if (eventually::Is<::Catch::TestSkipException>(exception)) return true;
#endif
    return eventually::Is<::Catch::TestFailureException>(exception);
  }

  // Reports the result of an assertion, and ends the test after a failure if
  // `disposition` says so.
  static void Report(const absl::Status& status, const char* macro,
                     const char* text, const char* file, int line,
                     ::Catch::ResultDisposition::Flags disposition) {
#if WAITER_CATCH2_VERSION == 3
    // Within a block, the failure is one of its round.
    if (!status.ok() &&
        eventually::FailRound(
            {file, line, std::string(status.message())},
            disposition == ::Catch::ResultDisposition::Normal)) {
      return;
    }
#endif
    ::Catch::AssertionHandler handler(
        macro, ::Catch::SourceLineInfo(file, static_cast<std::size_t>(line)),
        text, disposition);
    handler.handleMessage(status.ok() ? ::Catch::ResultWas::Ok
                                      : ::Catch::ResultWas::ExplicitFailure,
                          std::string(status.message()));
    handler.complete();
  }

#if WAITER_CATCH2_VERSION == 2
  static eventually::Round RunRound(absl::FunctionRef<void()> block);

 private:
  class Capture;
#else
  static eventually::Round RunRound(absl::FunctionRef<void()> block) {
    return eventually::RunOwnRound(block);
  }

  // Takes the result of a CHECK_POLLED or REQUIRE_POLLED.
  static void Check(bool passed, const char* text, const char* file, int line,
                    bool ends_round) {
    if (passed) return;
    Report(absl::UnknownError(text), "CHECK_POLLED", text, file, line,
           ends_round ? ::Catch::ResultDisposition::Normal
                      : ::Catch::ResultDisposition::ContinueOnFailure);
  }
#endif
};

#if WAITER_CATCH2_VERSION == 2

// Replaces the run during a round: takes results of assertions, and passes on
// everything else.
class Catch2::Capture final : public ::Catch::IResultCapture {
  using Info = ::Catch::AssertionInfo;
  using Reaction = ::Catch::AssertionReaction;
  using Was = ::Catch::ResultWas;

 public:
  Capture() : run_(::Catch::getResultCapture()) {
    ::Catch::getCurrentMutableContext().setResultCapture(this);
  }
  ~Capture() override {
    ::Catch::getCurrentMutableContext().setResultCapture(&run_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  eventually::Round& round() { return round_; }

  void handleExpr(const Info& info, const ::Catch::ITransientExpression& expr,
                  Reaction& reaction) override {
    const bool negated = ::Catch::isFalseTest(info.resultDisposition);
    if (expr.getResult() != negated) return Pass();
    std::ostringstream out;
    out << info.macroName << "( " << info.capturedExpression
        << " ), with expansion: " << (negated ? "!(" : "");
    expr.streamReconstructedExpression(out);
    out << (negated ? ")" : "");
    Fail(info, std::move(out).str(), reaction);
  }
  void handleMessage(const Info& info, Was::OfType type,
                     const ::Catch::StringRef& message,
                     Reaction& reaction) override {
    const std::string text(message.begin(), message.end());
    if (::Catch::isOk(type)) return Pass();
    Fail(info, text, reaction);
  }
  void handleUnexpectedExceptionNotThrown(const Info& info,
                                          Reaction& reaction) override {
    handleNonExpr(info, Was::DidntThrowException, reaction);
  }
  void handleUnexpectedInflightException(const Info& info,
                                         const std::string& message,
                                         Reaction& reaction) override {
    // `StopTrying` and `TryAgainAfter` are for the block.
    if (eventually::Is<Poll<>>(std::current_exception())) WAITER_RETHROW;
    Fail(info, TextOf(info) + " threw: " + message, reaction);
  }
  void handleIncomplete(const Info& /*info*/) override { passed_ = false; }
  void handleNonExpr(const Info& info, Was::OfType type,
                     Reaction& reaction) override {
    if (::Catch::isOk(type)) return Pass();
    Fail(info, TextOf(info) + " threw no exception", reaction);
  }
  bool lastAssertionPassed() override { return passed_; }
  void assertionPassed() override { passed_ = true; }

  bool sectionStarted(const ::Catch::SectionInfo& info,
                      ::Catch::Counts& assertions) override {
    return run_.sectionStarted(info, assertions);
  }
  void sectionEnded(const ::Catch::SectionEndInfo& info) override {
    run_.sectionEnded(info);
  }
  void sectionEndedEarly(const ::Catch::SectionEndInfo& info) override {
    run_.sectionEndedEarly(info);
  }
  ::Catch::IGeneratorTracker& acquireGeneratorTracker(
      ::Catch::StringRef name, const ::Catch::SourceLineInfo& line) override {
    return run_.acquireGeneratorTracker(name, line);
  }
#if defined(CATCH_CONFIG_ENABLE_BENCHMARKING)
  void benchmarkPreparing(const std::string& name) override {
    run_.benchmarkPreparing(name);
  }
  void benchmarkStarting(const ::Catch::BenchmarkInfo& info) override {
    run_.benchmarkStarting(info);
  }
  void benchmarkEnded(const ::Catch::BenchmarkStats<>& stats) override {
    run_.benchmarkEnded(stats);
  }
  void benchmarkFailed(const std::string& error) override {
    run_.benchmarkFailed(error);
  }
#endif
  // A message belongs to the assertions of the round.
  void pushScopedMessage(const ::Catch::MessageInfo& message) override {
    messages_.push_back(message);
  }
  void popScopedMessage(const ::Catch::MessageInfo& message) override {
    std::erase(messages_, message);
  }
  void emplaceUnscopedMessage(const ::Catch::MessageBuilder& builder) override {
    unscoped_.push_back(builder.m_stream.str());
  }
  void handleFatalErrorCondition(::Catch::StringRef message) override {
    run_.handleFatalErrorCondition(message);
  }
  std::string getCurrentTestName() const override {
    return run_.getCurrentTestName();
  }
  const ::Catch::AssertionResult* getLastResult() const override {
    return run_.getLastResult();
  }
  void exceptionEarlyReported() override {}

 private:
  static std::string TextOf(const Info& info) {
    std::ostringstream out;
    out << info.macroName << "( " << info.capturedExpression << " )";
    return std::move(out).str();
  }

  void Pass() {
    passed_ = true;
    unscoped_.clear();
  }

  void Fail(const Info& info, std::string text, Reaction& reaction) {
    passed_ = false;
    for (const ::Catch::MessageInfo& message : messages_) {
      text += "\n" + message.message;
    }
    for (const std::string& message : unscoped_) text += "\n" + message;
    unscoped_.clear();
    if ((info.resultDisposition & ::Catch::ResultDisposition::SuppressFail) !=
        0) {
      return;
    }
    round_.failures.push_back({info.lineInfo.file,
                               static_cast<int>(info.lineInfo.line),
                               std::move(text)});
    reaction.shouldThrow =
        (info.resultDisposition & ::Catch::ResultDisposition::Normal) != 0;
  }

  ::Catch::IResultCapture& run_;
  eventually::Round round_;
  bool passed_ = true;
  std::vector<::Catch::MessageInfo> messages_;
  std::vector<std::string> unscoped_;
};

inline eventually::Round Catch2::RunRound(absl::FunctionRef<void()> block) {
  Capture capture;
  WAITER_TRY { block(); }
  WAITER_CATCH(const ::Catch::TestFailureException&) {
    // A REQUIRE ended the round, and its failure is in it.
  }
  return std::move(capture.round());
}

#endif  // WAITER_CATCH2_VERSION == 2

}  // namespace waiter::internal

#endif  // WAITER_TESTING_INTERNAL_CATCH2_FRAMEWORK_H_
