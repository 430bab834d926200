// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connects the assertions of testing/boost_test.h to Boost.Test. Tests include
// that header instead.

#ifndef WAITER_TESTING_INTERNAL_BOOST_TEST_FRAMEWORK_H_
#define WAITER_TESTING_INTERNAL_BOOST_TEST_FRAMEWORK_H_

#include <array>
#include <boost/test/execution_monitor.hpp>
#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/tools/detail/print_helper.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test_log.hpp>
#include <boost/test/unit_test_log_formatter.hpp>
#include <cstddef>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "waiter/internal/exceptions.h"
#include "waiter/testing/internal/eventually_parts.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal {

struct BoostTest : eventually::PlainFramework<BoostTest> {
  // Boost.Test would not compile a value that it cannot print.
  template <typename T>
  static std::string Print(const T& value) {
    if constexpr (!eventually::Text<T> && eventually::Streamable<T>) {
      std::ostringstream out;
      ::boost::test_tools::tt_detail::print_log_value<T>()(out, value);
      return std::move(out).str();
    } else {
      return eventually::PrintPlainly(value);
    }
  }

  static bool EndsTest(const std::exception_ptr& exception) {
    return eventually::Is<::boost::execution_aborted>(exception);
  }

  static eventually::Round RunRound(absl::FunctionRef<void()> block);

 private:
  class Formatter;
  class Interception;
};

// Keeps the errors of a round instead of writing them.
class BoostTest::Formatter final
    : public ::boost::unit_test::unit_test_log_formatter {
  using Unit = ::boost::unit_test::test_unit;
  using Text = ::boost::unit_test::const_string;
  using Level = ::boost::unit_test::log_level;

 public:
  explicit Formatter(eventually::Round& round) : round_(round) {
    set_log_level(::boost::unit_test::log_all_errors);
  }

  void log_start(std::ostream&, ::boost::unit_test::counter_t) override {}
  void log_finish(std::ostream&) override {}
  void log_build_info(std::ostream&, bool) override {}
  void test_unit_start(std::ostream&, const Unit&) override {}
  void test_unit_finish(std::ostream&, const Unit&, unsigned long) override {}
  void log_exception_start(std::ostream&,
                           const ::boost::unit_test::log_checkpoint_data&,
                           const ::boost::execution_exception&) override {}
  void log_exception_finish(std::ostream&) override {}
  void log_entry_start(std::ostream&,
                       const ::boost::unit_test::log_entry_data& entry,
                       log_entry_types) override {
    round_.failures.push_back(
        {entry.m_file_name, static_cast<int>(entry.m_line_num), ""});
  }
  void log_entry_value(std::ostream&, Text value) override {
    round_.failures.back().text.append(value.begin(), value.size());
  }
  void log_entry_finish(std::ostream&) override {}
  void entry_context_start(std::ostream&, Level) override {}
  void log_entry_context(std::ostream&, Level, Text value) override {
    round_.failures.back().text.append("\n").append(value.begin(),
                                                    value.size());
  }
  void entry_context_finish(std::ostream&, Level) override {}

 private:
  eventually::Round& round_;
};

// While it exists, only the round receives the results of assertions.
class BoostTest::Interception final : public ::boost::unit_test::test_observer {
 public:
  explicit Interception(eventually::Round& round) : round_(round) {
    namespace ut = ::boost::unit_test;
    for (std::size_t i = 0; i < kFormats.size(); ++i) {
      levels_[i] =
          ut::unit_test_log.set_threshold_level(kFormats[i], ut::log_nothing);
    }
    outer_ = std::exchange(innermost_, this);
    keeps_own_ =
        outer_ == nullptr
            ? ut::unit_test_log.get_formatter(ut::OF_CUSTOM_LOGGER) != nullptr
            : outer_->keeps_own_;
    SetFormatter(this);
    if (outer_ != nullptr) {
      ut::framework::deregister_observer(*outer_);
    } else {
      ut::framework::deregister_observer(ut::results_collector);
    }
    ut::framework::register_observer(*this);
  }
  ~Interception() override {
    namespace ut = ::boost::unit_test;
    ut::framework::deregister_observer(*this);
    if (outer_ != nullptr) {
      ut::framework::register_observer(*outer_);
    } else {
      ut::framework::register_observer(ut::results_collector);
    }
    innermost_ = outer_;
    for (std::size_t i = 0; i < kFormats.size(); ++i) {
      ut::unit_test_log.set_threshold_level(kFormats[i], levels_[i]);
    }
    SetFormatter(outer_);
  }
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

  void assertion_result(::boost::unit_test::assertion_result result) override {
    if (result != ::boost::unit_test::AR_FAILED) return;
    ++failures_;
    // A formatter of the program's own is not replaced.
    if (round_.failures.size() < failures_) {
      round_.failures.push_back({"", 0, "an assertion failed"});
    }
  }

 private:
  static constexpr std::array kFormats = {
      ::boost::unit_test::OF_CLF, ::boost::unit_test::OF_XML,
      ::boost::unit_test::OF_JUNIT, ::boost::unit_test::OF_CUSTOM_LOGGER};

  void SetFormatter(Interception* interception) const {
    ::boost::unit_test::unit_test_log_t& log =
        ::boost::unit_test::unit_test_log;
    if (!keeps_own_) {
      log.add_formatter(interception == nullptr
                            ? nullptr
                            : new Formatter(interception->round_));
    }
    log.configure();
  }

  static inline Interception* innermost_ = nullptr;

  eventually::Round& round_;
  Interception* outer_ = nullptr;
  bool keeps_own_ = false;
  std::size_t failures_ = 0;
  std::array<::boost::unit_test::log_level, kFormats.size()> levels_;
};

inline eventually::Round BoostTest::RunRound(absl::FunctionRef<void()> block) {
  eventually::Round round;
  const Interception interception(round);
  WAITER_TRY { block(); }
  WAITER_CATCH(const ::boost::execution_aborted&) {
    // A BOOST_REQUIRE ended the round, and its failure is in it.
  }
  return round;
}

}  // namespace waiter::internal

#endif  // WAITER_TESTING_INTERNAL_BOOST_TEST_FRAMEWORK_H_
