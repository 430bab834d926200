// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls a real server of gRPC in this process, by the sync form and by the
// callback form of a call. Skipped in builds without gRPC.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_GRPC

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/health_check_service_interface.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/interop/grpc.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

static_assert(GrpcStatus<::grpc::Status>);
static_assert(GrpcClientContext<::grpc::ClientContext>);

// Far more than a call takes on a busy machine.
constexpr absl::Duration kAmple = absl::Seconds(60);

// Answers "/test/Busy" with a pushback, and "/test/Hang" not at all.
class Service : public ::grpc::CallbackGenericService {
 public:
  absl::Notification hangs;
  absl::Notification was_cancelled;

 private:
  class Reactor : public ::grpc::ServerGenericBidiReactor {
   public:
    Reactor(Service& service, ::grpc::GenericCallbackServerContext& context)
        : service_(service) {
      if (context.method() == "/test/Hang") {
        service_.hangs.Notify();
        return;
      }
      if (context.method() != "/test/Busy") {
        Finish(::grpc::Status(::grpc::UNIMPLEMENTED, "no such method"));
        return;
      }
      context.AddTrailingMetadata("grpc-retry-pushback-ms", "1500");
      Finish(::grpc::Status(::grpc::UNAVAILABLE, "busy"));
    }

    void OnCancel() override {
      service_.was_cancelled.Notify();
      Finish(::grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    Service& service_;
  };

  ::grpc::ServerGenericBidiReactor* CreateReactor(
      ::grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*this, *context);
  }
};

// A call, with the objects that must live until `done` has been called.
class Call {
 public:
  using Done = std::function<void(Call&, const ::grpc::Status&)>;

  // Takes the time and the stop token of `poll`.
  explicit Call(const PollContext& poll) : stop_(poll.stop_token) {
    context_.set_deadline(absl::ToChronoTime(poll.deadline));
  }

  // Begins the call. `done` may be called before this returns, and may destroy
  // the call.
  void Start(::grpc::GenericStub& stub, const std::string& method, Done done) {
    cancel_.emplace(stop_, Cancel{&context_});
    stub.UnaryCall(&context_, method, {}, &request_, &response_,
                   [this, done = std::move(done)](const ::grpc::Status& got) {
                     cancel_.reset();
                     done(*this, got);
                   });
  }

  const ::grpc::ClientContext& context() const { return context_; }

  std::string ResponseBytes() const {
    std::vector<::grpc::Slice> slices;
    std::string bytes;
    if (response_.Dump(&slices).ok()) {
      for (const ::grpc::Slice& slice : slices) {
        bytes.append(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
      }
    }
    return bytes;
  }

 private:
  struct Cancel {
    ::grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };

  stop_token stop_;
  ::grpc::ClientContext context_;
  ::grpc::Slice no_bytes_;
  ::grpc::ByteBuffer request_{&no_bytes_, 1};
  ::grpc::ByteBuffer response_;
  std::optional<stop_callback<Cancel>> cancel_;
};

class GrpcServerTest : public testing::Test {
 protected:
  GrpcServerTest() {
    ::grpc::EnableDefaultHealthCheckService(true);
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcServerTest() override {
    stub_.reset();
    Shutdown();
  }

  void SetUp() override { ASSERT_NE(server_, nullptr); }

  void Shutdown() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  ::grpc::GenericStub& Stub() {
    if (stub_ == nullptr) {
      stub_ = std::make_unique<::grpc::GenericStub>(
          ::grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_),
                                ::grpc::InsecureChannelCredentials()));
    }
    return *stub_;
  }

  // Makes one call, and awaits its end.
  Poll<> CallOnce(const PollContext& poll, const std::string& method,
                  const std::function<Poll<>(const Call&)>& answer) {
    absl::Notification ended;
    Poll<> found;
    Call call(poll);
    call.Start(Stub(), method,
               [&](const Call& made, const ::grpc::Status& status) {
                 found = status.ok() ? answer(made)
                                     : FromGrpcStatus(status, made.context());
                 ended.Notify();
               });
    ended.WaitForNotification();
    return found;
  }

  // Asks the health service that gRPC has built in.
  Poll<> CheckHealth(const PollContext& poll) {
    return CallOnce(poll, "/grpc.health.v1.Health/Check",
                    [](const Call& call) -> Poll<> {
                      // The field `status`, which is SERVING.
                      if (call.ResponseBytes() == "\x08\x01") return Success();
                      return NotReady("not serving");
                    });
  }

  int port_ = 0;
  Service service_;
  std::unique_ptr<::grpc::Server> server_;
  std::unique_ptr<::grpc::GenericStub> stub_;
};

TEST_F(GrpcServerTest, WaitsUntilTheServerServes) {
  server_->GetHealthCheckService()->SetServingStatus(false);
  int polls = 0;
  Waiter wait(
      [&](const PollContext& poll) {
        if (++polls == 3) {
          server_->GetHealthCheckService()->SetServingStatus(true);
        }
        return CheckHealth(poll);
      },
      {.timeout = kAmple,
       .backoff = {.initial_delay = absl::Milliseconds(1),
                   .max_delay = absl::Milliseconds(1)},
       .hooks = {.history_limit = 10}});

  const WaitResult<> result = wait.Wait();

  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(result.report().count(PollStatus::kNotReady), 2);
}

TEST_F(GrpcServerTest, ServerThatIsGoneIsServerError) {
  Shutdown();

  const Poll<> poll = CheckHealth({});

  EXPECT_EQ(poll.status(), PollStatus::kServerError) << poll.error();
  EXPECT_TRUE(absl::IsUnavailable(poll.error())) << poll.error();
}

TEST_F(GrpcServerTest, PushbackOfTheServerIsTheHint) {
  const Poll<> poll =
      CallOnce({}, "/test/Busy", [](const Call&) { return Success(); });

  EXPECT_EQ(poll.status(), PollStatus::kServerError);
  EXPECT_EQ(poll.error(), absl::UnavailableError("busy"));
  EXPECT_EQ(poll.retry_after(), absl::Milliseconds(1500));
}

TEST_F(GrpcServerTest, MethodThatIsNotThereIsFailed) {
  const Poll<> poll =
      CallOnce({}, "/test/Nonesuch", [](const Call&) { return Success(); });

  EXPECT_EQ(poll.status(), PollStatus::kFailed);
  EXPECT_TRUE(absl::IsUnimplemented(poll.error())) << poll.error();
}

TEST_F(GrpcServerTest, CallEndsWithTheTimeOfItsPoll) {
  Waiter wait(
      [&](const PollContext& poll) {
        return CallOnce(poll, "/test/Hang",
                        [](const Call&) { return Success(); });
      },
      {.timeout = kAmple,
       .max_attempts = 1,
       .poll_timeout = absl::Milliseconds(100)});

  const WaitResult<> result = wait.Wait();

  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.report().last_poll.error()))
      << result.report().last_poll.error();
  EXPECT_LT(result.report().elapsed, kAmple / 2);
}

TEST_F(GrpcServerTest, StopCancelsACallThatHangs) {
  WaitEngine engine;
  absl::Notification wait_ended;
  absl::Notification call_ended;
  std::optional<StopReason> reason;
  WaitHandle wait = engine.Start(
      AsyncWaiter(
          [&](const PollContext& poll, const PollCompletion<>& done) {
            auto* const call = new Call(poll);
            call->Start(Stub(), "/test/Hang",
                        [&call_ended, done](const Call& made,
                                            const ::grpc::Status& status) {
                          done(FromGrpcStatus(status, made.context()));
                          delete &made;
                          call_ended.Notify();
                        });
          },
          {.timeout = kAmple}),
      [&](const WaitResult<>& result) {
        reason = result.reason();
        wait_ended.Notify();
      });
  service_.hangs.WaitForNotification();

  wait.Cancel();

  EXPECT_TRUE(wait_ended.WaitForNotificationWithTimeout(kAmple / 2));
  EXPECT_TRUE(
      service_.was_cancelled.WaitForNotificationWithTimeout(kAmple / 2));
  EXPECT_EQ(reason, StopReason::kCancelled);
  // The thread of a callback must not be the last owner of the channel.
  call_ended.WaitForNotification();
}

}  // namespace
}  // namespace waiter

#else  // WAITER_HAS_GRPC

TEST(GrpcServerTest, IsSkipped) { GTEST_SKIP() << "built without gRPC"; }

#endif  // WAITER_HAS_GRPC
