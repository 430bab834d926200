// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls immediately when something announces a change.

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace announced_test {
namespace {

struct Build {
  bool is_done = false;
};

class Client {
 public:
  absl::StatusOr<bool> IsDone(const std::string& id) {
    ++polls;
    const auto build = builds.find(id);
    if (build == builds.end()) return absl::NotFoundError(id);
    return build->second.is_done;
  }

  std::map<std::string, Build> builds;
  int polls = 0;
};

class Webhook {
 public:
  class Subscription {
   public:
    explicit Subscription(Webhook& webhook) : webhook_(webhook) {}
    ~Subscription() { webhook_.on_change = nullptr; }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    Webhook& webhook_;
  };

  Subscription Subscribe(const std::string& /*id*/,
                         std::function<void()> call) {
    on_change = std::move(call);
    return Subscription(*this);
  }

  std::function<void()> on_change;
};

absl::Status WaitForBuild(Client& client, Webhook& webhook,
                          const std::string& id, waiter::WaitOptions options) {
  const waiter::PollNotifier changed;
  const auto subscription =
      webhook.Subscribe(id, [changed] { changed.PollNow(); });
  waiter::Waiter wait([&] { return client.IsDone(id); }, std::move(options));
  return wait.Wait({.notifier = &changed}).status();
}

// Thread-compatible.
class Builds {
 public:
  Builds(waiter::WaitEngine& engine, Client& client)
      : engine_(engine), client_(client) {}

  void Watch(const std::string& id, waiter::WaitOptions options,
             std::function<void(absl::Status)> done) {
    waiter::Waiter wait([this, id] { return client_.IsDone(id); },
                        std::move(options));
    waits_[id] = engine_.Start(
        std::move(wait), [done = std::move(done)](waiter::WaitResult<> result) {
          done(result.status());
        });
  }

  // Called by the server of the webhook.
  void OnChange(const std::string& id) {
    const auto wait = waits_.find(id);
    if (wait != waits_.end()) wait->second.PollNow();
  }

 private:
  waiter::WaitEngine& engine_;
  Client& client_;
  std::map<std::string, waiter::WaitHandle> waits_;
};

class AnnouncedTest : public testing::Test {
 protected:
  // Polls every ten minutes.
  waiter::WaitOptions Rarely() {
    return {.timeout = absl::Hours(1),
            .backoff = {.initial_delay = absl::Minutes(10),
                        .max_delay = absl::Minutes(10),
                        .jitter = waiter::Jitter::None()},
            .clock = &clock_};
  }

  // The build is done after 90 s, and `announce` is called then.
  void FinishAndAnnounce(std::function<void()> announce) {
    clock_.CallAt(absl::Seconds(90), [this, announce = std::move(announce)] {
      client_.builds["7"].is_done = true;
      announce();
    });
  }

  waiter::SimulatedClock clock_;
  Client client_{{{"7", {}}}};
};

TEST_F(AnnouncedTest, BlockingWaitPollsAtOnce) {
  Webhook webhook;
  FinishAndAnnounce([&] { webhook.on_change(); });

  EXPECT_TRUE(WaitForBuild(client_, webhook, "7", Rarely()).ok());

  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(90));
  EXPECT_EQ(client_.polls, 2);
  EXPECT_EQ(webhook.on_change, nullptr);
}

TEST_F(AnnouncedTest, AnnouncementThatIsLostOnlyDelaysTheAnswer) {
  Webhook webhook;
  FinishAndAnnounce([] {});

  EXPECT_TRUE(WaitForBuild(client_, webhook, "7", Rarely()).ok());

  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(10));
}

TEST_F(AnnouncedTest, WaitOnAnEnginePollsAtOnce) {
  waiter::WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  Builds builds(engine, client_);
  FinishAndAnnounce([&] {
    builds.OnChange("another");
    builds.OnChange("7");
  });
  absl::Status done = absl::UnknownError("no callback");
  builds.Watch("7", Rarely(), [&](absl::Status status) { done = status; });

  engine.Run();

  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(90));
}

}  // namespace
}  // namespace announced_test
