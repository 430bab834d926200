// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/durable_work_log.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/output/run_log.h"
#include "cli/output/target_text.h"
#include "cli/text/json.h"
#include "cli/text/printable.h"
#include "cli/text/time_text.h"
#include "nlohmann/json.hpp"
#include "waiter/observer.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxDetail = 4096;

std::string Detail(const Poll<>& found) {
  return Shortened(found.detail(), kMaxDetail);
}

}  // namespace

class DurableWorkLog::Observer final : public WaitObserver {
 public:
  Observer(const DurableWorkLog& log, std::string name, WriteLine write)
      : log_(log), name_(std::move(name)), write_(std::move(write)) {}

  void OnStart(const StartEvent& start) override {
    if (log_.verbose_) Say(start.wait, "claimed");
    WriteJson(start.wait, "claim", Json::object());
  }

  void OnDecision(const DecisionEvent& decision) override {
    const PollEvent& poll = decision.poll;
    const std::string status(LogClass(poll.found.status()));
    const std::string detail = Detail(poll.found);
    if (log_.verbose_) {
      std::string text = absl::StrCat("poll ", poll.attempt, ": ", status);
      if (!detail.empty()) absl::StrAppend(&text, ": ", detail);
      if (!decision.ended.has_value()) {
        absl::StrAppend(&text, "; again in ", TimeText(decision.delay));
      }
      Say(poll.wait, text);
    }
    Json event = {
        {"attempt", poll.attempt}, {"class", status}, {"detail", detail}};
    if (!decision.ended.has_value()) {
      event["next_ms"] = JsonMilliseconds(decision.delay);
    }
    WriteJson(poll.wait, "poll", event);
  }

  PollHooks poll_hooks() const override {
    return {.before_poll = false,
            .after_poll = false,
            .on_decision = log_.verbose_ || log_.file_ != nullptr,
            .before_sleep = false};
  }

  // A wait that is given back ends as cancelled here, and continues elsewhere.
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override {
    const bool is_given_back = report.reason == StopReason::kCancelled;
    const std::string reason = is_given_back
                                   ? "released or cancelled"
                                   : std::string(StopReasonName(report.reason));
    if (log_.verbose_ || (!is_given_back && !log_.quiet_)) {
      std::string text =
          absl::StrCat(reason, " after ", PollsText(report.attempts), " in ",
                       TimeText(report.elapsed));
      if (!is_given_back && !report.status.ok()) {
        absl::StrAppend(&text, ": ", report.status.message());
      }
      Say(wait, text);
    }
    WriteJson(wait, "end",
              {{"reason", reason},
               {"attempts", report.attempts},
               {"elapsed_ms", JsonMilliseconds(report.elapsed)}});
  }

 private:
  void Say(const WaitIdentity& wait, std::string_view text) const {
    write_(absl::StrCat(name_, " ", std::string(wait.name), ": ",
                        std::string(text)));
  }

  void WriteJson(const WaitIdentity& wait, std::string_view event,
                 const Json& members) const {
    if (log_.file_ == nullptr) return;
    Json line = {{"v", 1},
                 {"t", IsoTime(absl::Now())},
                 {"event", std::string(event)},
                 {"name", name_},
                 {"key", Shortened(wait.name, kMaxDetail)}};
    line.update(members);
    const std::string text = JsonText(line) + "\n";
    // One call, so that lines of several threads do not mix.
    std::fwrite(text.data(), 1, text.size(), log_.file_.get());
    std::fflush(log_.file_.get());
  }

  const DurableWorkLog& log_;
  const std::string name_;
  const WriteLine write_;
};

void DurableWorkLog::AddTo(Flags& flags) {
  flags.AddSwitch("quiet", "do not say how waits end", quiet_);
  flags.AddSwitch("verbose", "also say when waits are claimed and polled",
                  verbose_);
  flags.AddAlternatives({"quiet", "verbose"}, "");
  flags.Add("log-json", "FILE", "append claims, polls and ends as JSON", path_);
}

absl::Status DurableWorkLog::Open() {
  if (path_.empty()) return absl::OkStatus();
  file_.reset(std::fopen(path_.c_str(), "ae"));
  if (file_ != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--log-json=", path_, ": ",
                   std::error_code(errno, std::generic_category()).message()));
}

std::shared_ptr<WaitObserver> DurableWorkLog::ObserverOf(
    const std::string& name, WriteLine write) const {
  return std::make_shared<Observer>(*this, name, std::move(write));
}

}  // namespace waiter::cli
