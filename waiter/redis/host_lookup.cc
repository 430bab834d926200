// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/host_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/internal/mutex.h"
#include "waiter/redis/internal/redis_connection.h"

namespace waiter::internal {
namespace {

// Calls `function` on a thread that is never joined. Returns false if the
// thread cannot be created.
bool RunDetached(std::function<void()> function) {
  auto call = std::make_unique<std::function<void()>>(std::move(function));
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* data) -> void* {
        const std::unique_ptr<std::function<void()>> run(
            static_cast<std::function<void()>*>(data));
        (*run)();
        return nullptr;
      },
      call.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  static_cast<void>(call.release());  // The thread frees it.
  return true;
}

}  // namespace

class HostLookup::State {
 public:
  void Set(Addresses result) {
    const MutexLock lock(mutex_);
    result_ = std::move(result);
  }
  std::optional<Addresses> Get() const {
    const MutexLock lock(mutex_);
    return result_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<Addresses> result_ ABSL_GUARDED_BY(mutex_);
};

HostLookup::HostLookup(
    std::function<Addresses(const std::string& host)> resolve, std::string host,
    std::function<void()> wake)
    : state_(std::make_shared<State>()) {
  const bool runs =
      RunDetached([state = state_, resolve = std::move(resolve),
                   host = std::move(host), wake = std::move(wake)] {
        state->Set(resolve(host));
        wake();
      });
  if (!runs) {
    state_->Set(absl::UnavailableError("cannot start a thread for the lookup"));
  }
}

std::optional<HostLookup::Addresses> HostLookup::Result() const {
  return state_->Get();
}

bool IsHostAddress(const std::string& host) {
  in6_addr address = {};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

absl::StatusOr<std::vector<std::string>> LookUpHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
      error != 0) {
    return absl::UnavailableError(gai_strerror(error));
  }
  std::vector<std::string> addresses;
  // IPv4 first: a server that listens to only one protocol listens to IPv4.
  for (const bool is_ipv4 : {true, false}) {
    for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
      if ((info->ai_family == AF_INET) != is_ipv4) continue;
      std::array<char, NI_MAXHOST> text = {};
      if (getnameinfo(info->ai_addr, info->ai_addrlen, text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) == 0) {
        addresses.emplace_back(text.data());
      }
    }
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace waiter::internal
