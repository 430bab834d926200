// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A job behind gRPC. The types of gRPC are stand-ins with their shape.

#include "waiter/interop/grpc.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/grpc_api.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace grpc_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class GetJobRequest {
 public:
  void set_id(std::string id) { id_ = std::move(id); }

 private:
  std::string id_;
};

class Job {
 public:
  bool done() const { return is_done; }
  bool is_done = false;
  std::string result = {};
};

// The code that gRPC generates for a service.
// NOLINTBEGIN(readability-identifier-naming): the names of gRPC
class JobService {
 public:
  class Stub {
   public:
    using Done = std::function<void(grpc::Status)>;

    grpc::Status GetJob(grpc::ClientContext* /*context*/,
                        const GetJobRequest& /*request*/, Job* job) const {
      return answer(*job);
    }

    class async_interface {
     public:
      explicit async_interface(Stub& stub) : stub_(stub) {}
      void GetJob(grpc::ClientContext* context,
                  const GetJobRequest* /*request*/, Job* job, Done done) const {
        if (stub_.hangs) {
          stub_.hanging.emplace_back(context, std::move(done));
        } else {
          done(stub_.answer(*job));
        }
      }

     private:
      Stub& stub_;
    };
    async_interface* async() { return &async_; }

    std::function<grpc::Status(Job&)> answer;
    bool hangs = false;
    std::vector<std::pair<grpc::ClientContext*, Done>> hanging;

   private:
    async_interface async_{*this};
  };
};
// NOLINTEND(readability-identifier-naming)

absl::StatusOr<Job> WaitForJob(const JobService::Stub& stub,
                               const GetJobRequest& request,
                               waiter::WaitOptions options,
                               const waiter::stop_token& stop = {}) {
  options.poll_timeout = absl::Seconds(10);
  waiter::Waiter wait(
      [&](const waiter::PollContext& poll) -> waiter::Poll<Job> {
        grpc::ClientContext context;
        context.set_deadline(absl::ToChronoTime(poll.deadline));
        const waiter::stop_callback cancel(poll.stop_token,
                                           [&] { context.TryCancel(); });
        Job job;
        const grpc::Status status = stub.GetJob(&context, request, &job);
        if (!status.ok()) return waiter::FromGrpcStatus(status, context);
        if (!job.done()) return waiter::NotReady();
        return waiter::Success(std::move(job));
      },
      std::move(options));
  return wait.Wait(stop);
}

// A call, with the objects that must live until it ends.
struct Call {
  struct Cancel {
    void operator()() const { context->TryCancel(); }
    grpc::ClientContext* context;
  };

  grpc::ClientContext context;
  GetJobRequest request;
  Job job;
  std::optional<waiter::stop_callback<Cancel>> cancel;
};

// Calls `use` on the thread of `engine`. `engine` and `stub` must outlive the
// wait, and the channel of `stub` must outlive the last call.
waiter::WaitHandle StartWaitForJob(
    waiter::WaitEngine& engine, JobService::Stub& stub, GetJobRequest request,
    waiter::WaitOptions options,
    std::function<void(waiter::WaitResult<Job>)> use) {
  options.poll_timeout = absl::Seconds(10);
  waiter::AsyncWaiter wait(
      [&stub, request = std::move(request)](
          const waiter::PollContext& poll,
          const waiter::PollCompletion<Job>& done) {
        const auto call = std::make_shared<Call>();
        call->request = request;
        call->context.set_deadline(absl::ToChronoTime(poll.deadline));
        call->cancel.emplace(poll.stop_token, Call::Cancel{&call->context});
        stub.async()->GetJob(
            &call->context, &call->request, &call->job,
            [call, done](const grpc::Status& status) {
              call->cancel.reset();
              if (!status.ok()) {
                return done(waiter::FromGrpcStatus(status, call->context));
              }
              if (!call->job.done()) return done(waiter::NotReady());
              done(waiter::Success(std::move(call->job)));
            });
      },
      std::move(options));
  return engine.Start(std::move(wait), std::move(use));
}

// Answers with an error, then "not done", then "done".
std::function<grpc::Status(Job&)> DoneAtTheThirdCall() {
  return [calls = 0](Job& job) mutable {
    if (++calls == 1) return grpc::Status(grpc::UNAVAILABLE, "restarting");
    job.is_done = calls == 3;
    return grpc::Status();
  };
}

TEST(GrpcTest, WaitsForTheJob) {
  waiter::SimulatedClock clock;
  JobService::Stub stub;
  stub.answer = DoneAtTheThirdCall();

  const absl::StatusOr<Job> got =
      WaitForJob(stub, {}, {.timeout = absl::Minutes(5), .clock = &clock});

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->done());
}

TEST(GrpcTest, WaitsForTheJobOnAnEngine) {
  waiter::SimulatedClock clock;
  waiter::WaitEngine engine({.threads = 0, .clock = &clock});
  JobService::Stub stub;
  stub.answer = DoneAtTheThirdCall();
  std::vector<bool> done;

  const waiter::WaitHandle wait = StartWaitForJob(
      engine, stub, {}, {.timeout = absl::Minutes(5), .clock = &clock},
      [&](const waiter::WaitResult<Job>& result) {
        done.push_back(result.ok() && result->done());
      });
  engine.Run();

  EXPECT_THAT(done, ElementsAre(true));
}

TEST(GrpcTest, CancelledWaitCancelsItsCall) {
  waiter::SimulatedClock clock;
  waiter::WaitEngine engine({.threads = 0, .clock = &clock});
  JobService::Stub stub;
  stub.hangs = true;
  std::vector<waiter::StopReason> reasons;
  waiter::WaitHandle wait = StartWaitForJob(
      engine, stub, {}, {.timeout = absl::Minutes(5), .clock = &clock},
      [&](const waiter::WaitResult<Job>& result) {
        reasons.push_back(result.reason());
      });
  engine.RunDue();
  ASSERT_THAT(stub.hanging, SizeIs(1));

  wait.Cancel();
  engine.Run();

  EXPECT_THAT(reasons, ElementsAre(waiter::StopReason::kCancelled));
  EXPECT_TRUE(stub.hanging[0].first->cancelled());
  stub.hanging[0].second(grpc::Status(grpc::CANCELLED, ""));
}

}  // namespace
}  // namespace grpc_test
