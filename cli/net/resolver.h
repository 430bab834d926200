// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Looks up addresses and records without blocking an `EventLoop`:
//
//   waiter::cli::Resolver resolver(calls);
//   waiter::cli::Resolver::Request request = resolver.Ask(
//       {.name = "localhost"}, [&](const waiter::cli::NameAnswer& answer) {
//         Connect(answer.addresses);
//       });

#ifndef WAITER_CLI_NET_RESOLVER_H_
#define WAITER_CLI_NET_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "cli/loop/blocking_calls.h"
#include "cli/net/name_lookup.h"

namespace waiter::cli {

// Thread-compatible; use it on the loop's thread. Equal questions share one
// look-up while it is in progress: a name whose look-up hangs occupies one
// thread, regardless of the number of requests.
class Resolver {
 public:
  // Must be safe to call on any thread, at any time.
  using LookUp = std::function<NameAnswer(const NameQuestion&)>;
  using Done = std::function<void(const NameAnswer&)>;

  // A pending question. The destructor drops it, and `done` is no longer
  // called. Movable; must not outlive the resolver.
  class [[nodiscard]] Request {
   public:
    Request() = default;
    Request(Request&& other) noexcept
        : resolver_(std::exchange(other.resolver_, nullptr)), id_(other.id_) {}
    Request& operator=(Request&& other) noexcept {
      Request taken(std::move(other));
      std::swap(resolver_, taken.resolver_);
      std::swap(id_, taken.id_);
      return *this;
    }
    ~Request() {
      if (resolver_ != nullptr) resolver_->asking_.erase(id_);
    }

   private:
    friend class Resolver;
    Request(Resolver* resolver, uint64_t id) : resolver_(resolver), id_(id) {}

    Resolver* resolver_ = nullptr;
    uint64_t id_ = 0;
  };

  // `calls` must outlive this.
  explicit Resolver(BlockingCalls& calls, LookUp look_up = LookUpName);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Calls `done` with the answer, later, from the loop. `done` may ask again
  // and destroy requests, but must not destroy the resolver.
  Request Ask(const NameQuestion& question, Done done);

 private:
  void Deliver(const NameQuestion& question, const NameAnswer& answer);

  BlockingCalls& calls_;
  const LookUp look_up_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::pair<NameQuestion, Done>> asking_;
  std::set<NameQuestion> under_way_;

  // Answers hold it weakly, to find this resolver while it exists.
  std::shared_ptr<Resolver*> self_ = std::make_shared<Resolver*>(this);
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_RESOLVER_H_
