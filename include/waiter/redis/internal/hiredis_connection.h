// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Connections by hiredis 0.14 or newer. All of it is inline, so that the
// library itself needs no hiredis.

#ifndef WAITER_REDIS_INTERNAL_HIREDIS_CONNECTION_H_
#define WAITER_REDIS_INTERNAL_HIREDIS_CONNECTION_H_

#include <fcntl.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {

class HiredisConnection final : public RedisConnection {
 public:
  static absl::StatusOr<std::vector<std::string>> Resolve(
      const std::string& host) {
    return LookUpHost(host);
  }

  // hiredis would block while it looks up a name; `host` is an address.
  static absl::StatusOr<std::unique_ptr<RedisConnection>> Connect(
      const std::string& host, int port, Events events) {
    redisAsyncContext* const context = redisAsyncConnect(host.c_str(), port);
    if (context == nullptr) return absl::UnavailableError("out of memory");
    if (context->err != 0) {
      absl::Status status = absl::UnavailableError(context->errstr);
      redisAsyncFree(context);
      return status;
    }
    fcntl(context->c.fd, F_SETFD, FD_CLOEXEC);
    return std::make_unique<HiredisConnection>(context, std::move(events));
  }

  HiredisConnection(redisAsyncContext* context, Events events)
      : events_(std::move(events)), context_(context) {
    context->data = this;
    context->ev.data = this;
    context->ev.addRead = [](void* self) { Of(self).reads_ = true; };
    context->ev.delRead = [](void* self) { Of(self).reads_ = false; };
    context->ev.addWrite = [](void* self) { Of(self).writes_ = true; };
    context->ev.delWrite = [](void* self) { Of(self).writes_ = false; };
    // hiredis frees the context itself after errors, and says so here.
    context->ev.cleanup = [](void* self) { Of(self).OnFreed(); };
    redisAsyncSetConnectCallback(
        context, [](const redisAsyncContext* connected, int status) {
          HiredisConnection& self = Of(connected->data);
          if (status == REDIS_OK && self.is_open_) self.events_.on_connected();
        });
    writes_ = true;  // The end of connecting makes the socket writable.
  }

  HiredisConnection(const HiredisConnection&) = delete;
  HiredisConnection& operator=(const HiredisConnection&) = delete;

  ~HiredisConnection() override {
    is_open_ = false;
    if (context_ != nullptr) redisAsyncFree(context_);
  }

  int fd() const override { return context_ == nullptr ? -1 : context_->c.fd; }
  bool wants_to_read() const override { return reads_; }
  bool wants_to_write() const override { return writes_; }

  void OnReady(bool readable, bool writable) override {
    if (context_ != nullptr && readable) redisAsyncHandleRead(context_);
    if (context_ != nullptr && writable) redisAsyncHandleWrite(context_);
    if (context_ == nullptr && is_open_) {
      is_open_ = false;
      events_.on_closed(reason_.empty() ? "connection closed" : reason_);
    }
  }

  void Send(const std::vector<std::string_view>& command,
            uint64_t tag) override {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    texts.reserve(command.size());
    sizes.reserve(command.size());
    for (const std::string_view argument : command) {
      texts.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    auto call = std::make_unique<Call>(Call{tag});
    if (context_ != nullptr &&
        redisAsyncCommandArgv(context_, &OnReply, call.get(),
                              static_cast<int>(texts.size()), texts.data(),
                              sizes.data()) == REDIS_OK) {
      static_cast<void>(call.release());  // `OnReply` frees it.
    } else if (is_open_) {
      events_.on_reply(tag, nullptr);
    }
  }

 private:
  struct Call {
    uint64_t tag;
  };

  static HiredisConnection& Of(void* self) {
    return *static_cast<HiredisConnection*>(self);
  }

  static void OnReply(redisAsyncContext* context, void* reply, void* data) {
    const std::unique_ptr<Call> call(static_cast<Call*>(data));
    HiredisConnection& self = Of(context->data);
    if (!self.is_open_) return;
    if (reply == nullptr) {
      self.events_.on_reply(call->tag, nullptr);
      return;
    }
    RedisReply value = ToReply(*static_cast<const redisReply*>(reply));
    self.events_.on_reply(call->tag, &value);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as arrays are in each other
  static RedisReply ToReply(const redisReply& reply) {
    using Type = RedisReply::Type;
    RedisReply value;
    switch (reply.type) {
      case REDIS_REPLY_INTEGER:
        value.type = Type::kInteger;
        value.integer = reply.integer;
        break;
      case REDIS_REPLY_ERROR:
        value.type = Type::kError;
        value.text.assign(reply.str, reply.len);
        break;
      case REDIS_REPLY_STRING:
      case REDIS_REPLY_STATUS:
        value.type = Type::kText;
        value.text.assign(reply.str, reply.len);
        break;
      case REDIS_REPLY_ARRAY:
        value.type = Type::kArray;
        value.elements.reserve(reply.elements);
        for (size_t i = 0; i < reply.elements; ++i) {
          value.elements.push_back(ToReply(*reply.element[i]));
        }
        break;
      default:
        break;
    }
    return value;
  }

  void OnFreed() {
    reason_ = context_->c.errstr;
    context_ = nullptr;
    reads_ = false;
    writes_ = false;
  }

  const Events events_;
  redisAsyncContext* context_;
  std::string reason_;
  bool is_open_ = true;  // Callbacks may come.
  bool reads_ = false;
  bool writes_ = false;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_INTERNAL_HIREDIS_CONNECTION_H_
