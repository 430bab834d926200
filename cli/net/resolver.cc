// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/resolver.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cli/loop/blocking_calls.h"
#include "cli/net/name_lookup.h"

namespace waiter::cli {

Resolver::Resolver(BlockingCalls& calls, LookUp look_up)
    : calls_(calls), look_up_(std::move(look_up)) {}

Resolver::Request Resolver::Ask(const NameQuestion& question, Done done) {
  const uint64_t id = next_id_++;
  asking_.emplace(id, std::pair(question, std::move(done)));
  if (under_way_.insert(question).second) {
    calls_.Start(
        [look_up = look_up_, question,
         weak = std::weak_ptr<Resolver*>(self_)]() -> std::function<void()> {
          return [weak, question, answer = look_up(question)] {
            if (const auto self = weak.lock()) {
              (*self)->Deliver(question, answer);
            }
          };
        });
  }
  return {this, id};
}

void Resolver::Deliver(const NameQuestion& question, const NameAnswer& answer) {
  // A question that `done` asks again gets a new answer.
  under_way_.erase(question);
  std::vector<uint64_t> ids;
  for (const auto& [id, asked] : asking_) {
    if (asked.first == question) ids.push_back(id);
  }
  for (const uint64_t id : ids) {
    const auto node = asking_.extract(id);
    if (!node.empty()) node.mapped().second(answer);
  }
}

}  // namespace waiter::cli
