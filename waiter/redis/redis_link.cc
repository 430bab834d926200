// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_link.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/host_lookup.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_errors.h"
#include "waiter/redis/redis_info.h"
#include "waiter/redis/redis_url.h"
#include "waiter/redis/store_clock.h"

namespace waiter::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Tags of the commands that a connection begins with; tags of calls follow.
constexpr uint64_t kAuthTag = 1;
constexpr uint64_t kSelectTag = 2;
constexpr uint64_t kInfoTag = 3;
constexpr uint64_t kTimeTag = 4;
constexpr uint64_t kAskingTag = 5;
constexpr uint64_t kFirstCallTag = 16;

constexpr int kLeastVersion = 7;
constexpr size_t kMostHashes = 1000;  // Programs have a few scripts.
constexpr nanoseconds kTimeGap = seconds(10);

}  // namespace

RedisLink::RedisLink(RedisUrl url, const RedisClientOptions& options,
                     const RedisConnector& connector, Owner& owner)
    : url_(std::move(url)),
      call_timeout_(options.call_timeout),
      call_time_(absl::ToChronoNanoseconds(options.call_timeout)),
      connector_(connector),
      owner_(owner),
      clock_(*options.clock),
      next_tag_(kFirstCallTag),
      backoff_(options.reconnect),
      gen_(MakeSeededSplitMix64()) {}

RedisClientState RedisLink::State() const {
  RedisClientState state;
  state.connected = is_ready();
  state.error = error_;
  state.server_version = version_;
  state.connections = connections_;
  if (const auto store_time = store_clock_.At(clock_.MonotonicNow());
      store_time.has_value()) {
    state.clock_offset =
        absl::FromUnixMicros(store_time->count()) - clock_.TimeNow();
  }
  return state;
}

void RedisLink::Add(RedisCall call) { waiting_.push_back(std::move(call)); }

void RedisLink::Work(MonotonicTime now) {
  CheckTimes(now);
  SendWaiting();
  CloseIfBroken();
}

MonotonicTime RedisLink::NextWork() const {
  if (is_ready() && !waiting_.empty()) return {};
  MonotonicTime next = MonotonicTime::max();
  if (!is_ready()) next = std::min(next, phase_end_);
  if (is_ready()) {
    next = std::min(next, next_time_);
    if (time_sent_ != MonotonicTime()) {
      next = std::min(next, time_sent_ + 2 * call_time_);
    }
  }
  if (!sent_.empty()) next = std::min(next, sent_.begin()->second.deadline);
  if (!waiting_.empty()) next = std::min(next, waiting_.front().deadline);
  return next;
}

short RedisLink::events() const {
  if (connection_ == nullptr) return 0;
  return static_cast<short>((connection_->wants_to_read() ? POLLIN : 0) |
                            (connection_->wants_to_write() ? POLLOUT : 0));
}

void RedisLink::OnEvents(short events) {
  if (connection_ == nullptr || events == 0) return;
  // An error or hang-up shows in both.
  const bool failed = (events & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  const bool only_writes =
      connection_->wants_to_write() && !connection_->wants_to_read();
  connection_->OnReady((events & POLLIN) != 0 || (failed && !only_writes),
                       (events & POLLOUT) != 0 || failed);
  CloseIfBroken();
}

void RedisLink::Close(const absl::Status& status) {
  SendWaiting();
  if (is_ready()) connection_->OnReady(/*readable=*/false, /*writable=*/true);
  connection_ = nullptr;
  phase_ = Phase::kDown;
  EndAll(status);
}

void RedisLink::CheckTimes(MonotonicTime now) {
  if (phase_ == Phase::kDown && now >= phase_end_) Connect(now);
  if (phase_ == Phase::kResolving) {
    if (const auto addresses = lookup_->Result(); addresses.has_value()) {
      lookup_ = nullptr;
      OnResolved(*addresses);
    } else if (now >= phase_end_) {
      Break(Unavailable(absl::StrCat("no address of the host within ",
                                     absl::FormatDuration(call_timeout_))));
    }
  }
  if ((phase_ == Phase::kConnecting || phase_ == Phase::kGreeting) &&
      now >= phase_end_) {
    Break(Unavailable(absl::StrCat("no connection within ",
                                   absl::FormatDuration(call_timeout_))));
  }
  if (phase_ == Phase::kReady) {
    // Calls are sent in the order of their deadlines, apart from the few that
    // are sent twice.
    const bool is_late =
        !sent_.empty() && now >= sent_.begin()->second.deadline;
    // The server may be stopped or cut off. Work on later requests
    // would be wasted.
    if (is_late ||
        (time_sent_ != MonotonicTime() && now - time_sent_ >= 2 * call_time_)) {
      Break(Unavailable(absl::StrCat("no reply within ",
                                     absl::FormatDuration(call_timeout_))));
    } else if (now >= next_time_) {
      AskTime(now);
    }
  }
  while (!waiting_.empty() && now >= waiting_.front().deadline) {
    RedisCall call = std::move(waiting_.front());
    waiting_.pop_front();
    owner_.OnEnd(*this, std::move(call), Unavailable("no connection in time"));
  }
}

void RedisLink::Connect(MonotonicTime now) {
  phase_end_ = now + call_time_;
  if (connector_.resolve == nullptr || IsHostAddress(url_.host)) {
    ConnectTo(url_.host);
    return;
  }
  phase_ = Phase::kResolving;
  // A lookup that hangs is not started again.
  if (lookup_ == nullptr) {
    lookup_ = std::make_unique<HostLookup>(connector_.resolve, url_.host,
                                           owner_.WakeUp());
  }
}

void RedisLink::OnResolved(const HostLookup::Addresses& addresses) {
  if (!addresses.ok()) {
    Break(Unavailable(std::string(addresses.status().message())));
  } else if (addresses->empty()) {
    Break(Unavailable("the host has no address"));
  } else {
    ConnectTo((*addresses)[next_address_ % addresses->size()]);
  }
}

void RedisLink::ConnectTo(const std::string& host) {
  phase_ = Phase::kConnecting;
  auto connection = connector_.connect(
      host, url_.port,
      {.on_connected = [this] { Greet(); },
       .on_reply = [this](uint64_t tag,
                          RedisReply* reply) { OnReply(tag, reply); },
       .on_closed =
           [this](const std::string& reason) { Break(Unavailable(reason)); }});
  if (!connection.ok()) {
    Break(Unavailable(std::string(connection.status().message())));
    return;
  }
  connection_ = *std::move(connection);
}

void RedisLink::Greet() {
  phase_ = Phase::kGreeting;
  const RedisUrl& url = url_;
  greetings_left_ = 1;
  if (!url.password.empty()) {
    ++greetings_left_;
    std::vector<std::string_view> auth = {"AUTH"};
    if (!url.user.empty()) auth.emplace_back(url.user);
    auth.emplace_back(url.password);
    connection_->Send(auth, kAuthTag);
  }
  if (url.database != 0) {
    ++greetings_left_;
    const std::string database = absl::StrCat(url.database);
    connection_->Send({"SELECT", database}, kSelectTag);
  }
  connection_->Send({"INFO", "server"}, kInfoTag);
}

void RedisLink::OnReply(uint64_t tag, RedisReply* reply) {
  if (tag < kFirstCallTag) {
    if (reply == nullptr || is_broken_) return;  // `Break` follows, or ran.
    if (tag == kAskingTag) return;  // The next reply shows if it worked.
    if (tag == kTimeTag) {
      OnTime(*reply);
    } else {
      OnGreeting(tag, *reply);
    }
    return;
  }
  const auto it = sent_.find(tag);
  if (it == sent_.end()) {
    OnHash(tag, reply);
    return;
  }
  RedisCall call = std::move(it->second);
  sent_.erase(it);
  if (reply == nullptr) {
    owner_.OnEnd(*this, std::move(call),
                 Unavailable("connection lost before the reply"));
  } else {
    OnCallReply(std::move(call), std::move(*reply));
  }
}

void RedisLink::OnGreeting(uint64_t tag, const RedisReply& reply) {
  if (reply.type == RedisReply::Type::kError) {
    absl::Status status = StatusOfError(reply.text, url_.Address());
    // Some users may run scripts, but not call INFO.
    if (tag != kInfoTag || !absl::IsPermissionDenied(status)) {
      Break(std::move(status));
      return;
    }
  } else if (tag == kInfoTag) {
    OnInfo(reply.text);
  }
  if (is_broken_ || --greetings_left_ > 0) return;
  phase_ = Phase::kReady;
  ++connections_;
  error_ = absl::OkStatus();
  next_time_ = {};
  time_sent_ = {};
  owner_.OnChange(*this);
}

void RedisLink::OnInfo(const std::string& info) {
  version_ = InfoLine(info, "redis_version");
  int major = 0;
  if (absl::SimpleAtoi(version_.substr(0, version_.find('.')), &major) &&
      major < kLeastVersion) {
    Break(absl::FailedPreconditionError(
        absl::StrCat("Redis at ", url_.Address(), " has version ", version_,
                     "; the minimum is ", kLeastVersion, ".0")));
  }
}

void RedisLink::AskTime(MonotonicTime now) {
  time_sent_ = now;
  next_time_ = now + kTimeGap;
  connection_->Send({"TIME"}, kTimeTag);
}

void RedisLink::OnTime(const RedisReply& reply) {
  const MonotonicTime now = clock_.MonotonicNow();
  int64_t whole = 0;
  int64_t micros = 0;
  if (reply.elements.size() == 2 &&
      absl::SimpleAtoi(reply.elements[0].text, &whole) &&
      absl::SimpleAtoi(reply.elements[1].text, &micros)) {
    store_clock_.Observe(time_sent_, now,
                         seconds(whole) + microseconds(micros));
  }
  time_sent_ = {};
  owner_.OnChange(*this);
}

void RedisLink::OnCallReply(RedisCall call, RedisReply reply) {
  if (reply.type != RedisReply::Type::kError) {
    progress_ = {};  // The next failure begins with short delays.
  } else if (IsUnknownScript(reply.text) && call.script.has_value() &&
             !call.sends_text) {
    call.sends_text = true;
    waiting_.push_front(std::move(call));
    return;
  }
  owner_.OnEnd(*this, std::move(call), std::move(reply));
}

std::string RedisLink::HashOf(const RedisScript& script) {
  const auto known = hashes_.find(script.text());
  if (known != hashes_.end()) return known->second;
  if (hashes_.size() >= kMostHashes) hashes_.clear();
  hashes_.emplace(script.text(), "");
  asked_hashes_.emplace(next_tag_, script.text());
  connection_->Send({"SCRIPT", "LOAD", script.text()}, next_tag_++);
  return "";
}

void RedisLink::OnHash(uint64_t tag, RedisReply* reply) {
  const auto asked = asked_hashes_.find(tag);
  if (asked == asked_hashes_.end()) return;
  if (reply == nullptr) {
    hashes_.erase(asked->second);
  } else if (reply->type == RedisReply::Type::kText) {
    hashes_[asked->second] = std::move(reply->text);
  }
  asked_hashes_.erase(asked);
}

void RedisLink::SendWaiting() {
  while (is_ready() && !is_broken_ && !waiting_.empty()) {
    const uint64_t tag = next_tag_++;
    const RedisCall& call =
        sent_.emplace(tag, std::move(waiting_.front())).first->second;
    waiting_.pop_front();
    SendCall(call, tag);
  }
}

void RedisLink::SendCall(const RedisCall& call, uint64_t tag) {
  std::string hash;
  std::string count;
  std::vector<std::string_view> command;
  command.reserve(3 + call.keys.size() + call.arguments.size());
  if (call.script.has_value()) {
    if (!call.sends_text) hash = HashOf(*call.script);
    count = absl::StrCat(call.keys.size());
    command.emplace_back(hash.empty() ? "EVAL" : "EVALSHA");
    command.emplace_back(hash.empty() ? call.script->text() : hash);
    command.emplace_back(count);
    command.insert(command.end(), call.keys.begin(), call.keys.end());
  }
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  // ASKING applies only to the next command, so nothing may come between them.
  if (call.is_asking) connection_->Send({"ASKING"}, kAskingTag);
  connection_->Send(command, tag);
}

void RedisLink::Break(absl::Status error) {
  if (is_broken_) return;
  is_broken_ = true;
  error_ = std::move(error);
}

void RedisLink::CloseIfBroken() {
  if (!is_broken_) {
    // Without a connection, calls fail immediately.
    if (phase_ == Phase::kDown && !error_.ok()) EndAll(error_);
    return;
  }
  is_broken_ = false;
  connection_ = nullptr;
  asked_hashes_.clear();
  hashes_.clear();
  if (phase_ == Phase::kConnecting || phase_ == Phase::kGreeting) {
    ++next_address_;
  }
  phase_ = Phase::kDown;
  phase_end_ = clock_.MonotonicNow() + backoff_.NextDelay(progress_, gen_);
  owner_.OnChange(*this);
  EndAll(error_);
}

void RedisLink::EndAll(const absl::Status& status) {
  std::map<uint64_t, RedisCall> sent;
  sent.swap(sent_);
  std::deque<RedisCall> waiting;
  waiting.swap(waiting_);
  // For any cause, calls on the connection may have run.
  const absl::Status unknown = absl::IsCancelled(status)
                                   ? status
                                   : absl::UnavailableError(status.message());
  for (auto& [tag, call] : sent) owner_.OnEnd(*this, std::move(call), unknown);
  for (RedisCall& call : waiting) owner_.OnEnd(*this, std::move(call), status);
}

absl::Status RedisLink::Unavailable(const std::string& reason) const {
  return absl::UnavailableError(
      absl::StrCat("Redis at ", url_.Address(), ": ", reason));
}

}  // namespace waiter::internal
