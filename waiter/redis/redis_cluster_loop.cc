// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_cluster_loop.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_errors.h"
#include "waiter/redis/redis_link.h"
#include "waiter/redis/redis_loop.h"
#include "waiter/redis/redis_slots.h"
#include "waiter/redis/redis_url.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kMostRedirections = 5;
constexpr nanoseconds kLeastReadGap = milliseconds(100);
constexpr nanoseconds kMostGap = seconds(1);
// Without a request for this long, the gaps begin with short ones.
constexpr nanoseconds kCalm = seconds(10);
// How long a node without slots is kept after a call. It may be about to get
// its first slots.
constexpr nanoseconds kUnusedTime = seconds(10);
constexpr nanoseconds kDoubt = seconds(5);

// Returns whether a node says that it may be cut off from its cluster.
bool IsCutOff(const std::string& error) {
  return absl::StartsWith(error, "CLUSTERDOWN ") ||
         absl::StartsWith(error, "NOREPLICAS ") ||
         absl::StartsWith(error, "MASTERDOWN ");
}

}  // namespace

RedisClusterLoop::RedisClusterLoop(std::vector<RedisUrl> seeds,
                                   const RedisClientOptions& options,
                                   RedisConnector connector)
    : RedisLoop(options,
                absl::StrCat("Redis Cluster at ", seeds.front().Address())),
      seeds_(std::move(seeds)),
      options_(options),
      connector_(std::move(connector)),
      slots_(kRedisSlots, nullptr),
      backoff_(options.reconnect),
      gen_(MakeSeededSplitMix64()) {
  for (const RedisUrl& seed : seeds_) known_.push_back({seed.host, seed.port});
}

RedisClusterState RedisClusterLoop::State() const {
  const MutexLock lock(mutex_);
  RedisClusterState state = state_;
  state.pending = pending();
  return state;
}

void RedisClusterLoop::Route(RedisCall call) {
  if (call.keys.empty()) {
    Answer(call, absl::InvalidArgumentError(absl::StrCat(
                     name(), ": a call without keys has no node")));
    return;
  }
  if (!has_slots_) {
    unrouted_.push_back(std::move(call));
    return;
  }
  const int slot = RedisSlot(call.keys.front());
  Node* const node = slots_[static_cast<size_t>(slot)];
  if (node == nullptr) {
    is_stale_ = true;
    Answer(call, absl::AbortedError(
                     absl::StrCat(name(), ": no node has the slot ", slot)));
    return;
  }
  Send(*node, std::move(call));
}

void RedisClusterLoop::Work(MonotonicTime now) {
  DropNodes(now);
  if (WantsSlots() && now >= next_ask_) AskSlots(now);
  // Before callbacks, which may read it.
  if (is_changed_) Publish();
  EndUnrouted(now);
}

MonotonicTime RedisClusterLoop::NextWork() const {
  if (is_changed_) return {};
  MonotonicTime next = MonotonicTime::max();
  if (WantsSlots()) next = next_ask_;
  if (!unrouted_.empty()) next = std::min(next, unrouted_.front().deadline);
  for (const auto& [address, node] : nodes_) {
    if (!node.has_slots && node.link.is_idle()) next = std::min(next, node.end);
  }
  return next;
}

void RedisClusterLoop::Close(const absl::Status& status) {
  std::deque<RedisCall> calls;
  calls.swap(unrouted_);
  for (RedisCall& call : calls) Answer(call, status);
}

void RedisClusterLoop::OnEnd(RedisLink& link, RedisCall call,
                             absl::StatusOr<RedisReply> reply) {
  if (!call.script.has_value()) {
    OnSlots(link, reply);
    return;
  }
  if (!reply.ok() || reply->type != RedisReply::Type::kError) {
    Answer(call, std::move(reply));
    return;
  }
  const std::string& error = reply->text;
  if (const std::optional<RedisRedirection> to =
          ParseRedirection(error, link.url().host);
      to.has_value()) {
    Redirect(link, std::move(call), error, *to);
    return;
  }
  if (IsCutOff(error)) {
    is_stale_ = true;
    NodeAt({link.url().host, link.url().port}).doubtful_end =
        clock().MonotonicNow() + kDoubt;
  }
  Answer(call, StatusOfError(error, link.url().Address()));
}

void RedisClusterLoop::OnChange(RedisLink& /*link*/) { is_changed_ = true; }

RedisUrl RedisClusterLoop::UrlOf(const RedisAddress& address) const {
  RedisUrl url = seeds_.front();
  url.host = address.host;
  url.port = address.port;
  return url;
}

RedisClusterLoop::Node& RedisClusterLoop::NodeAt(const RedisAddress& address) {
  RedisUrl url = UrlOf(address);
  const std::string name = url.Address();
  const auto [it, is_new] =
      nodes_.try_emplace(name, std::move(url), options_, connector_,
                         static_cast<RedisLink::Owner&>(*this));
  if (is_new) it->second.end = clock().MonotonicNow() + kUnusedTime;
  return it->second;
}

void RedisClusterLoop::Send(Node& node, RedisCall call) {
  if (!std::exchange(node.is_used, true)) {
    links_.push_back(&node.link);
    is_changed_ = true;
  }
  if (!node.has_slots) node.end = clock().MonotonicNow() + kUnusedTime;
  node.link.Add(std::move(call));
}

void RedisClusterLoop::Redirect(const RedisLink& from, RedisCall call,
                                const std::string& error,
                                const RedisRedirection& to) {
  is_changed_ = true;
  ++(to.is_ask ? asked_ : moved_);
  Node& node = NodeAt(to.address);
  if (!to.is_ask) {
    node.has_slots = true;
    slots_[static_cast<size_t>(to.slot)] = &node;
    is_stale_ = true;
  }
  if (++call.redirections > kMostRedirections) {
    Answer(call, absl::AbortedError(absl::StrCat(
                     "Redis at ", from.url().Address(), ": ", error, ", after ",
                     kMostRedirections, " redirections")));
    return;
  }
  call.is_asking = to.is_ask;
  call.sends_text = false;
  call.deadline = Deadline();
  Send(node, std::move(call));
}

MonotonicTime RedisClusterLoop::Deadline() const {
  return SaturatingAdd(clock().MonotonicNow(),
                       absl::ToChronoNanoseconds(options_.call_timeout));
}

bool RedisClusterLoop::WantsSlots() const {
  if (is_asking_) return false;
  return is_stale_ ||
         std::any_of(nodes_.begin(), nodes_.end(), [](const auto& entry) {
           const Node& node = entry.second;
           return node.has_slots && !node.link.error().ok();
         });
}

void RedisClusterLoop::AskSlots(MonotonicTime now) {
  if (now - last_ask_ > kCalm) progress_ = {};
  last_ask_ = now;
  is_asking_ = true;
  is_stale_ = false;
  Send(NodeAt(PickAsked(now)),
       {.arguments = {"CLUSTER", "SLOTS"}, .deadline = Deadline()});
}

RedisAddress RedisClusterLoop::PickAsked(MonotonicTime now) {
  const size_t first = next_known_;
  // A node with a connection answers soonest.
  for (size_t i = 0; i < known_.size() && failures_ == 0; ++i) {
    const RedisAddress& address = known_[(first + i) % known_.size()];
    const auto node = nodes_.find(UrlOf(address).Address());
    if (node != nodes_.end() && node->second.link.is_ready() &&
        now >= node->second.doubtful_end) {
      next_known_ = first + i + 1;
      return address;
    }
  }
  next_known_ = first + 1;
  return known_[first % known_.size()];
}

void RedisClusterLoop::OnSlots(const RedisLink& link,
                               const absl::StatusOr<RedisReply>& reply) {
  is_asking_ = false;
  is_changed_ = true;
  if (!reply.ok()) {
    OnNoSlots(reply.status());
    return;
  }
  if (reply->type == RedisReply::Type::kError) {
    OnNoSlots(
        absl::StrContains(reply->text, "cluster support disabled")
            ? absl::FailedPreconditionError(absl::StrCat(
                  "Redis at ", link.url().Address(), " is not in cluster mode"))
            : StatusOfError(reply->text, link.url().Address()));
    return;
  }
  const absl::StatusOr<std::vector<RedisSlotRange>> ranges =
      ParseClusterSlots(*reply, link.url().host);
  if (!ranges.ok()) {
    OnNoSlots(absl::Status(ranges.status().code(),
                           absl::StrCat("Redis at ", link.url().Address(), ": ",
                                        ranges.status().message())));
    return;
  }
  failures_ = 0;
  failure_ = absl::OkStatus();
  error_ = absl::OkStatus();
  ++refreshes_;
  next_ask_ =
      clock().MonotonicNow() +
      std::clamp(backoff_.NextDelay(progress_, gen_), kLeastReadGap, kMostGap);
  SetSlots(*ranges);
}

void RedisClusterLoop::SetSlots(const std::vector<RedisSlotRange>& ranges) {
  std::fill(slots_.begin(), slots_.end(), nullptr);
  const MonotonicTime end = clock().MonotonicNow() + kUnusedTime;
  for (auto& [address, node] : nodes_) {
    if (std::exchange(node.has_slots, false)) node.end = end;
  }
  std::vector<RedisAddress> known;
  for (const RedisSlotRange& range : ranges) {
    Node& node = NodeAt(range.primary);
    node.has_slots = true;
    std::fill(slots_.begin() + range.first, slots_.begin() + range.last + 1,
              &node);
    known.push_back(range.primary);
    known.insert(known.end(), range.replicas.begin(), range.replicas.end());
  }
  for (const RedisUrl& seed : seeds_) known.push_back({seed.host, seed.port});
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  known_ = std::move(known);

  has_slots_ = true;
  Publish();
  std::deque<RedisCall> calls;
  calls.swap(unrouted_);
  for (RedisCall& call : calls) Route(std::move(call));
}

void RedisClusterLoop::OnNoSlots(const absl::Status& status) {
  is_stale_ = true;
  // An error that says what to do is more useful than one about a node that
  // cannot be reached.
  if (failure_.ok() || absl::IsUnavailable(failure_)) failure_ = status;
  next_ask_ = clock().MonotonicNow();
  if (++failures_ % known_.size() != 0) return;
  error_ = std::exchange(failure_, absl::OkStatus());
  next_ask_ += std::max(backoff_.NextDelay(progress_, gen_), kLeastReadGap);
}

void RedisClusterLoop::DropNodes(MonotonicTime now) {
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    Node& node = it->second;
    if (node.has_slots || !node.link.is_idle() || now < node.end) {
      ++it;
      continue;
    }
    links_.erase(std::remove(links_.begin(), links_.end(), &node.link),
                 links_.end());
    it = nodes_.erase(it);
    is_changed_ = true;
  }
}

void RedisClusterLoop::EndUnrouted(MonotonicTime now) {
  while (!unrouted_.empty() &&
         (!error_.ok() || now >= unrouted_.front().deadline)) {
    RedisCall call = std::move(unrouted_.front());
    unrouted_.pop_front();
    Answer(call, !error_.ok() ? error_
                              : absl::UnavailableError(
                                    absl::StrCat(name(),
                                                 ": no node answered in time "
                                                 "which node has the key")));
  }
}

void RedisClusterLoop::Publish() {
  is_changed_ = false;
  RedisClusterState state;
  state.slots = kRedisSlots - std::count(slots_.begin(), slots_.end(), nullptr);
  state.error = error_;
  state.refreshes = refreshes_;
  state.moved = moved_;
  state.asked = asked_;
  for (const auto& [address, node] : nodes_) {
    if (node.is_used) state.nodes.emplace(address, node.link.State());
  }
  const MutexLock lock(mutex_);
  state_ = std::move(state);
}

}  // namespace waiter::internal
