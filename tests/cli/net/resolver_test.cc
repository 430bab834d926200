// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/resolver.h"

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/net/name_lookup.h"
#include "cli/net/socket_address.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"

namespace waiter::cli::resolver_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Provides look-ups that record their questions. A look-up of "slow" hangs
// until the test releases it.
class Names {
 public:
  Resolver::LookUp LookUp() const {
    return [state = state_](const NameQuestion& question) {
      {
        const std::lock_guard lock(state->mutex);
        state->asked.push_back(question.name + " " + question.type);
      }
      if (question.name == "slow") {
        state->slow_asked.set_value();
        state->let_go.get_future().wait();
        state->passed.set_value();
      }
      return NameAnswer{.texts = {question.name + "!"}};
    };
  }

  std::vector<std::string> asked() const {
    const std::lock_guard lock(state_->mutex);
    return state_->asked;
  }
  void AwaitSlow() { state_->slow_asked.get_future().wait(); }
  void LetGo() { state_->let_go.set_value(); }
  void AwaitPassed() { state_->passed.get_future().wait(); }

 private:
  // A look-up may outlive the test.
  struct State {
    std::mutex mutex;
    std::vector<std::string> asked;
    std::promise<void> slow_asked;
    std::promise<void> let_go;
    std::promise<void> passed;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class ResolverTest : public testing::Test {
 protected:
  Resolver::Done Keep() {
    return [this](const NameAnswer& answer) {
      answers_.push_back(answer.texts.at(0));
    };
  }
  bool AwaitAnswers(size_t count) {
    return RunUntil(loop_, [&] { return answers_.size() >= count; });
  }

  EventLoop loop_;
  BlockingCalls calls_{loop_};
  Names names_;
  std::optional<Resolver> resolver_{std::in_place, calls_, names_.LookUp()};
  std::vector<std::string> answers_;
};

TEST_F(ResolverTest, AnswersComeLaterOnTheLoop) {
  const Resolver::Request a = resolver_->Ask({.name = "a"}, Keep());
  const Resolver::Request b =
      resolver_->Ask({.name = "b", .type = "MX"}, Keep());
  EXPECT_TRUE(answers_.empty());

  ASSERT_TRUE(AwaitAnswers(2));

  EXPECT_THAT(answers_, UnorderedElementsAre("a!", "b!"));
  EXPECT_THAT(names_.asked(), UnorderedElementsAre("a ", "b MX"));
}

TEST_F(ResolverTest, LookupUnderWayServesEveryEqualRequest) {
  std::vector<Resolver::Request> requests;
  requests.push_back(resolver_->Ask({.name = "slow"}, Keep()));
  names_.AwaitSlow();
  requests.push_back(resolver_->Ask({.name = "slow"}, Keep()));
  requests.push_back(resolver_->Ask({.name = "other"}, Keep()));
  ASSERT_TRUE(AwaitAnswers(1));
  EXPECT_THAT(answers_, ElementsAre("other!"));

  names_.LetGo();
  ASSERT_TRUE(AwaitAnswers(3));

  EXPECT_THAT(answers_, ElementsAre("other!", "slow!", "slow!"));
  EXPECT_THAT(names_.asked(), ElementsAre("slow ", "other "));
}

TEST_F(ResolverTest, RequestAfterAnAnswerLooksUpAgain) {
  for (size_t i = 1; i <= 3; ++i) {
    const Resolver::Request request = resolver_->Ask({.name = "a"}, Keep());
    ASSERT_TRUE(AwaitAnswers(i));
  }
  EXPECT_THAT(names_.asked(), ElementsAre("a ", "a ", "a "));
}

TEST_F(ResolverTest, EndedRequestGetsNoAnswer) {
  Resolver::Request ended = resolver_->Ask({.name = "slow"}, Keep());
  names_.AwaitSlow();
  ended = {};
  const Resolver::Request kept = resolver_->Ask({.name = "slow"}, Keep());
  names_.LetGo();

  ASSERT_TRUE(AwaitAnswers(1));

  EXPECT_THAT(answers_, ElementsAre("slow!"));
}

TEST_F(ResolverTest, AnswerMayEndOtherRequestsAndStartNewOnes) {
  Resolver::Request second;
  Resolver::Request again;
  const Resolver::Request first =
      resolver_->Ask({.name = "slow"}, [&](const NameAnswer&) {
        second = {};
        again = resolver_->Ask({.name = "again"}, Keep());
      });
  names_.AwaitSlow();
  second = resolver_->Ask({.name = "slow"}, Keep());
  names_.LetGo();

  ASSERT_TRUE(AwaitAnswers(1));

  EXPECT_THAT(answers_, ElementsAre("again!"));
}

TEST_F(ResolverTest, ResolverMayEndWhileALookupIsUnderWay) {
  {
    const Resolver::Request request = resolver_->Ask({.name = "slow"}, Keep());
    names_.AwaitSlow();
  }
  resolver_.reset();
  names_.LetGo();
  names_.AwaitPassed();
  bool later = false;
  calls_.Start([&later] { return [&later] { later = true; }; });

  EXPECT_TRUE(RunUntil(loop_, [&] { return later; }));
  EXPECT_TRUE(answers_.empty());
}

TEST(NameLookupTest, LocalhostHasAddressesOfTheWantedFamily) {
  const NameAnswer any = LookUpName({.name = "localhost"});
  ASSERT_TRUE(any.status.ok()) << any.status;
  EXPECT_EQ(any.addresses.size(), any.texts.size());
  EXPECT_FALSE(any.addresses.empty());

  const NameAnswer ipv4 =
      LookUpName({.name = "localhost", .family = AddressFamily::kIpv4});
  ASSERT_TRUE(ipv4.status.ok()) << ipv4.status;
  EXPECT_THAT(ipv4.texts, ElementsAre("127.0.0.1"));
}

TEST(NameLookupTest, InvalidNameIsNotFound) {
  // The name exceeds the limit on a label, so that no server is queried.
  const NameAnswer answer = LookUpName({.name = std::string(64, 'x')});
  EXPECT_FALSE(answer.status.ok());
  EXPECT_TRUE(answer.addresses.empty());
}

}  // namespace
}  // namespace waiter::cli::resolver_test
