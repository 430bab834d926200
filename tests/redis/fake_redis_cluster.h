// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A Redis Cluster in this process. A test sets what its nodes do:
//
//   FakeRedisCluster cluster;
//   cluster.AddNode("a:1", 0, 16383);
//   auto client = RedisCluster::Make<FakeRedisConnection>({"redis://a:1"});
//   cluster.set_script("a:1", [](const auto& command) { ... });
//
// Only one exists at a time.

#ifndef WAITER_TESTS_REDIS_FAKE_REDIS_CLUSTER_H_
#define WAITER_TESTS_REDIS_FAKE_REDIS_CLUSTER_H_

#include <unistd.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"

namespace waiter {

// Thread-safe.
class FakeRedisCluster {
 public:
  using Command = std::vector<std::string>;

  // A node's reaction to a command.
  struct Answer {
    enum class Way : uint8_t { kReplies, kCloses, kHangs };
    Way way = Way::kReplies;
    RedisReply reply = {};
  };
  using Script = std::function<Answer(const Command& command, bool was_asking)>;

  FakeRedisCluster() { current() = this; }
  ~FakeRedisCluster() { current() = nullptr; }
  FakeRedisCluster(const FakeRedisCluster&) = delete;
  FakeRedisCluster& operator=(const FakeRedisCluster&) = delete;

  static FakeRedisCluster*& current() {
    static FakeRedisCluster* cluster = nullptr;
    return cluster;
  }

  static Answer Integer(int64_t value) {
    return {.reply = {.type = RedisReply::Type::kInteger, .integer = value}};
  }
  static Answer Text(const std::string& text) {
    return {.reply = {.type = RedisReply::Type::kText, .text = text}};
  }
  static Answer Error(const std::string& text) {
    return {.reply = {.type = RedisReply::Type::kError, .text = text}};
  }
  static Answer Close() { return {.way = Answer::Way::kCloses}; }
  static Answer Hang() { return {.way = Answer::Way::kHangs}; }

  // Adds a node that answers scripts with 1. Unless `first` is negative, the
  // map that all nodes report gives it these slots.
  void AddNode(const std::string& address, int first = -1, int last = -1) {
    const std::lock_guard lock(mutex_);
    scripts_[address] = [](const Command&, bool) { return Integer(1); };
    if (first >= 0) ranges_[first] = {last, address};
  }
  // Closes the node's connections at their next command, and refuses new ones.
  void RemoveNode(const std::string& address) {
    const std::lock_guard lock(mutex_);
    scripts_.erase(address);
  }
  void SetRange(int first, int last, const std::string& address) {
    const std::lock_guard lock(mutex_);
    ranges_[first] = {last, address};
  }
  void ClearRanges() {
    const std::lock_guard lock(mutex_);
    ranges_.clear();
  }
  // Sets the node's reaction to scripts.
  void set_script(const std::string& address, Script script) {
    const std::lock_guard lock(mutex_);
    scripts_[address] = std::move(script);
  }
  // Sets the node's reaction to CLUSTER SLOTS, instead of the map.
  void set_slots(const std::string& address, Answer answer) {
    const std::lock_guard lock(mutex_);
    slots_[address] = std::move(answer);
  }

  // Sets the version that all nodes report.
  void set_version(const std::string& version) {
    const std::lock_guard lock(mutex_);
    version_ = version;
  }

  // Returns each command that a node got, with its first key or argument.
  // Leaves out the commands of new connections and of the clock.
  std::vector<std::string> Log(const std::string& address) const {
    const std::lock_guard lock(mutex_);
    const auto it = logs_.find(address);
    return it == logs_.end() ? std::vector<std::string>() : it->second;
  }
  std::vector<std::string> Passwords(const std::string& address) const {
    const std::lock_guard lock(mutex_);
    const auto it = passwords_.find(address);
    return it == passwords_.end() ? std::vector<std::string>() : it->second;
  }
  int connections(const std::string& address) const {
    const std::lock_guard lock(mutex_);
    const auto it = connections_.find(address);
    return it == connections_.end() ? 0 : it->second;
  }

  // Called by connections.
  bool Connect(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (!scripts_.contains(address)) return false;
    ++connections_[address];
    return true;
  }
  Answer Run(const std::string& address, const Command& command,
             bool& is_asking) {
    Script script;
    bool was_asking = false;
    {
      const std::lock_guard lock(mutex_);
      const auto it = scripts_.find(address);
      if (it == scripts_.end()) return Close();
      if (command[0] == "INFO") {
        return Text(absl::StrCat("redis_version:", version_, "\r\n"));
      }
      if (command[0] == "AUTH") {
        passwords_[address].push_back(command.back());
        return Text("OK");
      }
      if (command[0] == "TIME") {
        return {
            .reply = {.type = RedisReply::Type::kArray,
                      .elements = {Text("1790000000").reply, Text("0").reply}}};
      }
      if (command[0] == "SCRIPT") return Text("sha");
      std::string line = command[0];
      if (command.size() > 3) {
        line += " " + command[3];
      } else if (command.size() > 1) {
        line += " " + command[1];
      }
      logs_[address].push_back(line);
      was_asking = std::exchange(is_asking, command[0] == "ASKING");
      if (is_asking) return Text("OK");
      if (command[0] == "CLUSTER") {
        const auto slots = slots_.find(address);
        return slots == slots_.end() ? Slots() : slots->second;
      }
      script = it->second;
    }
    return script(command, was_asking);
  }

 private:
  Answer Slots() const {
    RedisReply all = {.type = RedisReply::Type::kArray};
    for (const auto& [first, range] : ranges_) {
      const size_t colon = range.second.rfind(':');
      all.elements.push_back(
          {.type = RedisReply::Type::kArray,
           .elements = {
               Integer(first).reply,
               Integer(range.first).reply,
               {.type = RedisReply::Type::kArray,
                .elements = {
                    Text(range.second.substr(0, colon)).reply,
                    Integer(std::stoi(range.second.substr(colon + 1))).reply,
                    Text("id").reply}}}});
    }
    return {.reply = std::move(all)};
  }

  mutable std::mutex mutex_;
  std::string version_ = "7.0.15";
  std::map<std::string, Script> scripts_;
  std::map<int, std::pair<int, std::string>> ranges_;
  std::map<std::string, Answer> slots_;
  std::map<std::string, std::vector<std::string>> logs_;
  std::map<std::string, std::vector<std::string>> passwords_;
  std::map<std::string, int> connections_;
};

class FakeRedisConnection final : public internal::RedisConnection {
 public:
  static absl::StatusOr<std::unique_ptr<internal::RedisConnection>> Connect(
      const std::string& host, int port, Events events) {
    const std::string address = absl::StrCat(host, ":", port);
    if (!FakeRedisCluster::current()->Connect(address)) {
      return absl::UnavailableError("Connection refused");
    }
    return std::make_unique<FakeRedisConnection>(address, std::move(events));
  }

  FakeRedisConnection(std::string address, Events events)
      : address_(std::move(address)), events_(std::move(events)) {
    // The writing end of the pipe is always ready.
    if (pipe(pipe_.data()) != 0) pipe_ = {-1, -1};
  }
  ~FakeRedisConnection() override {
    for (const int end : pipe_) close(end);
  }
  FakeRedisConnection(const FakeRedisConnection&) = delete;
  FakeRedisConnection& operator=(const FakeRedisConnection&) = delete;

  int fd() const override { return is_open_ ? pipe_[1] : -1; }
  bool wants_to_read() const override { return false; }
  bool wants_to_write() const override {
    return !is_connected_ || !replies_.empty() || is_closing_;
  }
  void OnReady(bool /*readable*/, bool writable) override {
    if (!writable || !is_open_) return;
    if (!is_connected_) {
      is_connected_ = true;
      events_.on_connected();
      return;
    }
    while (!replies_.empty()) {
      auto [tag, reply] = std::move(replies_.front());
      replies_.pop_front();
      events_.on_reply(tag, &reply);
    }
    if (!is_closing_) return;
    is_open_ = false;
    for (const uint64_t tag : open_) events_.on_reply(tag, nullptr);
    events_.on_closed("Server closed the connection");
  }
  void Send(const std::vector<std::string_view>& command,
            uint64_t tag) override {
    if (is_closing_ || is_hanging_) {
      open_.push_back(tag);
      return;
    }
    FakeRedisCluster::Answer answer = FakeRedisCluster::current()->Run(
        address_, {command.begin(), command.end()}, is_asking_);
    switch (answer.way) {
      case FakeRedisCluster::Answer::Way::kReplies:
        replies_.emplace_back(tag, std::move(answer.reply));
        break;
      case FakeRedisCluster::Answer::Way::kCloses:
        is_closing_ = true;
        open_.push_back(tag);
        break;
      case FakeRedisCluster::Answer::Way::kHangs:
        is_hanging_ = true;
        open_.push_back(tag);
        break;
    }
  }

 private:
  const std::string address_;
  const Events events_;
  std::array<int, 2> pipe_ = {-1, -1};
  bool is_open_ = true;
  bool is_connected_ = false;
  bool is_closing_ = false;
  bool is_hanging_ = false;
  bool is_asking_ = false;
  std::deque<std::pair<uint64_t, RedisReply>> replies_;
  std::vector<uint64_t> open_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_REDIS_FAKE_REDIS_CLUSTER_H_
