// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/distributed/redis_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/distributed/internal/redis_connection.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_errors.h"
#include "waiter/distributed/redis_reply.h"
#include "waiter/distributed/store_clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/loop/split_mix64.h"

namespace waiter::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Tags of the commands that a connection begins with; those of calls follow.
constexpr uint64_t kAuthTag = 1;
constexpr uint64_t kSelectTag = 2;
constexpr uint64_t kInfoTag = 3;
constexpr uint64_t kTimeTag = 4;
constexpr uint64_t kFirstCallTag = 16;

constexpr int kLeastVersion = 7;
constexpr size_t kMostHashes = 1000;  // Programs have a few scripts.
constexpr nanoseconds kTimeGap = seconds(10);
constexpr nanoseconds kLongestSleep = seconds(60);

// Returns the value of a line "NAME:value" of INFO, or an empty text.
std::string_view InfoLine(std::string_view info, std::string_view name) {
  for (size_t at = info.find(name); at != std::string_view::npos;
       at = info.find(name, at + 1)) {
    if (at > 0 && info[at - 1] != '\n') continue;
    const std::string_view value = info.substr(at + name.size());
    if (value.empty() || value.front() != ':') continue;
    return value.substr(1, value.find_first_of("\r\n") - 1);
  }
  return {};
}

}  // namespace

WakePipe::WakePipe() {
  std::array<int, 2> ends = {-1, -1};
  // Without a pipe, the thread sleeps for the time of `AwaitEvents`.
  if (pipe(ends.data()) != 0) return;
  read_ = ends[0];
  write_ = ends[1];
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    fcntl(end, F_SETFL, O_NONBLOCK);
  }
}

WakePipe::~WakePipe() {
  if (read_ < 0) return;
  close(read_);
  close(write_);
}

void WakePipe::Wake() const {
  const char byte = 0;
  // A pipe that is full wakes the thread as well.
  if (write_ >= 0 && write(write_, &byte, 1) < 0) return;
}

void WakePipe::Drain() const {
  std::array<char, 64> bytes;
  while (read_ >= 0 && read(read_, bytes.data(), bytes.size()) > 0) {
  }
}

RedisLoop::RedisLoop(RedisLoopOptions options)
    : options_(std::move(options)),
      call_timeout_(absl::ToChronoNanoseconds(options_.client.call_timeout)),
      clock_(*options_.client.clock),
      next_tag_(kFirstCallTag),
      backoff_(options_.client.reconnect),
      gen_(MakeSeededSplitMix64()) {}

void RedisLoop::Start() {
  // Signals are for the threads of the program. This one would also get a
  // SIGPIPE from hiredis.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([self = shared_from_this()] { self->Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RedisLoop::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  pipe_.Wake();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void RedisLoop::Call(const RedisScript& script, std::vector<std::string> keys,
                     std::vector<std::string> arguments, Callback callback) {
  const MonotonicTime deadline =
      SaturatingAdd(clock_.MonotonicNow(), call_timeout_);
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    if (state_.pending >= options_.client.max_pending) {
      refused_.push_back(std::move(callback));
    } else {
      ++state_.pending;
      posted_.push_back({script, std::move(keys), std::move(arguments),
                         std::move(callback), deadline});
    }
    wakes = !std::exchange(is_awake_, true);
  }
  if (wakes) pipe_.Wake();
}

void RedisLoop::RunAt(MonotonicTime time, std::function<void()> timer) {
  bool wakes = false;
  {
    const MutexLock lock(mutex_);
    timers_.emplace(time, std::move(timer));
    wakes = !std::exchange(is_awake_, true);
  }
  if (wakes) pipe_.Wake();
}

RedisClientState RedisLoop::State() const {
  const MutexLock lock(mutex_);
  return state_;
}

void RedisLoop::Run() {
  while (true) {
    TakeCalls();
    const MonotonicTime now = clock_.MonotonicNow();
    {
      const MutexLock lock(mutex_);
      if (stopping_) break;
    }
    RunTimers(now);
    CheckTimes(now);
    SendWaiting();
    CloseIfBroken();
    AwaitEvents();
  }
  Finish();
}

void RedisLoop::TakeCalls() {
  std::vector<PendingCall> posted;
  std::vector<Callback> refused;
  {
    const MutexLock lock(mutex_);
    posted.swap(posted_);
    refused.swap(refused_);
  }
  std::move(posted.begin(), posted.end(), std::back_inserter(waiting_));
  for (const Callback& callback : refused) {
    callback(absl::ResourceExhaustedError(
        absl::StrCat("Redis at ", options_.url.Address(), ": ",
                     options_.client.max_pending, " calls wait for replies")));
  }
}

void RedisLoop::RunTimers(MonotonicTime now) {
  // Timers that these add wait for the next round.
  std::vector<std::function<void()>> due;
  {
    const MutexLock lock(mutex_);
    const auto end = timers_.upper_bound(now);
    for (auto it = timers_.begin(); it != end; ++it) {
      due.push_back(std::move(it->second));
    }
    timers_.erase(timers_.begin(), end);
  }
  for (const std::function<void()>& timer : due) timer();
}

void RedisLoop::CheckTimes(MonotonicTime now) {
  if (phase_ == Phase::kDown && now >= phase_end_) Connect(now);
  if ((phase_ == Phase::kConnecting || phase_ == Phase::kGreeting) &&
      now >= phase_end_) {
    Break(Unavailable(
        absl::StrCat("no connection within ",
                     absl::FormatDuration(options_.client.call_timeout))));
  }
  if (phase_ == Phase::kReady) {
    // Calls are sent in the order of their deadlines, apart from the few that
    // are sent twice.
    const bool is_late =
        !sent_.empty() && now >= sent_.begin()->second.deadline;
    // The server may be stopped or cut off. What it gets later, it would do
    // for nobody.
    if (is_late || (time_sent_ != MonotonicTime() &&
                    now - time_sent_ >= 2 * call_timeout_)) {
      Break(Unavailable(
          absl::StrCat("no reply within ",
                       absl::FormatDuration(options_.client.call_timeout))));
    } else if (now >= next_time_) {
      AskTime(now);
    }
  }
  while (!waiting_.empty() && now >= waiting_.front().deadline) {
    Answer(waiting_.front(), Unavailable("no connection in time"));
    waiting_.pop_front();
  }
}

void RedisLoop::AwaitEvents() {
  MonotonicTime wake_up = clock_.MonotonicNow() + kLongestSleep;
  if (phase_ != Phase::kReady) wake_up = std::min(wake_up, phase_end_);
  if (phase_ == Phase::kReady) {
    wake_up = std::min(wake_up, next_time_);
    if (time_sent_ != MonotonicTime()) {
      wake_up = std::min(wake_up, time_sent_ + 2 * call_timeout_);
    }
  }
  if (!sent_.empty()) {
    wake_up = std::min(wake_up, sent_.begin()->second.deadline);
  }
  if (!waiting_.empty()) wake_up = std::min(wake_up, waiting_.front().deadline);
  {
    const MutexLock lock(mutex_);
    if (stopping_ || !posted_.empty() || !refused_.empty()) return;
    if (!timers_.empty()) wake_up = std::min(wake_up, timers_.begin()->first);
    is_awake_ = false;
  }

  std::array<pollfd, 2> fds = {{{pipe_.fd(), POLLIN, 0}, {-1, 0, 0}}};
  if (connection_ != nullptr) {
    fds[1].fd = connection_->fd();
    fds[1].events =
        static_cast<short>((connection_->wants_to_read() ? POLLIN : 0) |
                           (connection_->wants_to_write() ? POLLOUT : 0));
  }
  const nanoseconds left =
      std::max(wake_up - clock_.MonotonicNow(), nanoseconds::zero());
  // Rounded up: no timer is early.
  const auto wait = std::chrono::ceil<milliseconds>(left);
  const int ready =
      poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
  {
    const MutexLock lock(mutex_);
    is_awake_ = true;
  }
  if (ready <= 0) return;
  if (fds[0].revents != 0) pipe_.Drain();
  if (connection_ != nullptr && fds[1].revents != 0) {
    // An error or hang-up shows in both.
    const bool failed = (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    connection_->OnReady(
        (fds[1].revents & POLLIN) != 0 || (failed && fds[1].events != POLLOUT),
        (fds[1].revents & POLLOUT) != 0 || failed);
    CloseIfBroken();
  }
}

void RedisLoop::Connect(MonotonicTime now) {
  phase_ = Phase::kConnecting;
  phase_end_ = now + call_timeout_;
  auto connection = options_.connector(
      options_.url.host, options_.url.port,
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

void RedisLoop::Greet() {
  phase_ = Phase::kGreeting;
  const RedisUrl& url = options_.url;
  greetings_left_ = 1;
  if (!url.password.empty()) {
    ++greetings_left_;
    std::vector<std::string> auth = {"AUTH"};
    if (!url.user.empty()) auth.push_back(url.user);
    auth.push_back(url.password);
    connection_->Send(auth, kAuthTag);
  }
  if (url.database != 0) {
    ++greetings_left_;
    connection_->Send({"SELECT", absl::StrCat(url.database)}, kSelectTag);
  }
  connection_->Send({"INFO", "server"}, kInfoTag);
}

void RedisLoop::OnReply(uint64_t tag, RedisReply* reply) {
  if (tag < kFirstCallTag) {
    if (reply == nullptr || is_broken_) return;  // `Break` follows or was.
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
  PendingCall call = std::move(it->second);
  sent_.erase(it);
  if (reply == nullptr) {
    Answer(call, Unavailable("connection lost before the reply"));
  } else {
    OnCallReply(std::move(call), std::move(*reply));
  }
}

void RedisLoop::OnGreeting(uint64_t tag, const RedisReply& reply) {
  if (reply.type == RedisReply::Type::kError) {
    absl::Status status = StatusOfError(reply.text, options_.url.Address());
    // Some users may not call INFO, and run scripts nevertheless.
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
  Publish();
}

void RedisLoop::OnInfo(const std::string& info) {
  version_ = InfoLine(info, "redis_version");
  int major = 0;
  if (absl::SimpleAtoi(version_.substr(0, version_.find('.')), &major) &&
      major < kLeastVersion) {
    Break(absl::FailedPreconditionError(absl::StrCat(
        "Redis at ", options_.url.Address(), " has version ", version_,
        "; the least version is ", kLeastVersion, ".0")));
  }
}

void RedisLoop::AskTime(MonotonicTime now) {
  time_sent_ = now;
  next_time_ = now + kTimeGap;
  connection_->Send({"TIME"}, kTimeTag);
}

void RedisLoop::OnTime(const RedisReply& reply) {
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
  Publish();
}

void RedisLoop::OnCallReply(PendingCall call, RedisReply reply) {
  if (reply.type != RedisReply::Type::kError) {
    progress_ = {};  // The next failure begins with short delays.
    Answer(call, std::move(reply));
  } else if (IsUnknownScript(reply.text) && !call.sends_text) {
    call.sends_text = true;
    waiting_.push_front(std::move(call));
  } else {
    Answer(call, StatusOfError(reply.text, options_.url.Address()));
  }
}

std::string RedisLoop::HashOf(const RedisScript& script) {
  const auto known = hashes_.find(script.text());
  if (known != hashes_.end()) return known->second;
  if (hashes_.size() >= kMostHashes) hashes_.clear();
  hashes_.emplace(script.text(), "");
  asked_hashes_.emplace(next_tag_, script.text());
  connection_->Send({"SCRIPT", "LOAD", script.text()}, next_tag_++);
  return "";
}

void RedisLoop::OnHash(uint64_t tag, RedisReply* reply) {
  const auto asked = asked_hashes_.find(tag);
  if (asked == asked_hashes_.end()) return;
  if (reply == nullptr) {
    hashes_.erase(asked->second);
  } else if (reply->type == RedisReply::Type::kText) {
    hashes_[asked->second] = std::move(reply->text);
  }
  asked_hashes_.erase(asked);
}

void RedisLoop::SendWaiting() {
  while (phase_ == Phase::kReady && !is_broken_ && !waiting_.empty()) {
    PendingCall call = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string hash = call.sends_text ? "" : HashOf(call.script);
    std::vector<std::string> command = {
        hash.empty() ? "EVAL" : "EVALSHA",
        hash.empty() ? call.script.text() : hash,
        absl::StrCat(call.keys.size())};
    command.insert(command.end(), call.keys.begin(), call.keys.end());
    command.insert(command.end(), call.arguments.begin(), call.arguments.end());
    const uint64_t tag = next_tag_++;
    sent_.emplace(tag, std::move(call));
    connection_->Send(command, tag);
  }
}

void RedisLoop::Break(absl::Status error) {
  if (is_broken_) return;
  is_broken_ = true;
  error_ = std::move(error);
}

void RedisLoop::CloseIfBroken() {
  if (!is_broken_) {
    // While there is no connection, calls fail at once.
    if (phase_ == Phase::kDown && !error_.ok()) FailAll(error_);
    return;
  }
  is_broken_ = false;
  connection_ = nullptr;
  asked_hashes_.clear();
  hashes_.clear();
  phase_ = Phase::kDown;
  phase_end_ = clock_.MonotonicNow() + backoff_.NextDelay(progress_, gen_);
  Publish();
  FailAll(error_);
}

void RedisLoop::FailAll(const absl::Status& status) {
  std::map<uint64_t, PendingCall> sent;
  sent.swap(sent_);
  std::deque<PendingCall> waiting;
  waiting.swap(waiting_);
  // Whatever ended the connection, calls on it may have run.
  for (auto& [tag, call] : sent) {
    Answer(call, absl::IsCancelled(status)
                     ? status
                     : absl::UnavailableError(status.message()));
  }
  for (PendingCall& call : waiting) Answer(call, status);
}

void RedisLoop::Finish() {
  // Members that leave say so, perhaps since the calls were last taken.
  TakeCalls();
  SendWaiting();
  if (connection_ != nullptr && phase_ == Phase::kReady) {
    connection_->OnReady(/*readable=*/false, /*writable=*/true);
  }
  connection_ = nullptr;
  while (true) {
    FailAll(absl::CancelledError(
        absl::StrCat("Redis at ", options_.url.Address(), ": client closed")));
    TakeCalls();
    if (waiting_.empty()) return;
  }
}

void RedisLoop::Answer(PendingCall& call, absl::StatusOr<RedisReply> reply) {
  {
    const MutexLock lock(mutex_);
    --state_.pending;
  }
  call.callback(std::move(reply));
}

void RedisLoop::Publish() {
  const auto store_time = store_clock_.At(clock_.MonotonicNow());
  const absl::Time wall_time = clock_.TimeNow();
  const MutexLock lock(mutex_);
  state_.connected = phase_ == Phase::kReady;
  state_.error = error_;
  state_.server_version = version_;
  state_.connections = connections_;
  if (store_time.has_value()) {
    state_.clock_offset = absl::FromUnixMicros(store_time->count()) - wall_time;
  }
}

absl::Status RedisLoop::Unavailable(const std::string& reason) const {
  return absl::UnavailableError(
      absl::StrCat("Redis at ", options_.url.Address(), ": ", reason));
}

}  // namespace waiter::internal
