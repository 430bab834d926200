// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/worker_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/durable/durable_history.h"
#include "tests/durable/history_log.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter::chaos {
namespace {

// Returns a word without spaces that is not empty, even if `text` is.
std::string ToWord(const std::string& text) {
  return "=" + absl::WebSafeBase64Escape(text);
}

std::string FromWord(const std::string& word) {
  std::string text;
  if (!absl::WebSafeBase64Unescape(word.substr(1), &text)) std::abort();
  return text;
}

// Takes the next word. Aborts if the line has no more.
template <typename T>
T Next(std::istringstream& line) {
  T value = {};
  if (!(line >> value)) std::abort();
  return value;
}

DurableResult NextResult(std::istringstream& line) {
  DurableResult result;
  result.name = "job";
  result.key = Next<std::string>(line);
  result.idempotency_key = Next<std::string>(line);
  result.reason = static_cast<StopReason>(Next<int>(line));
  result.attempts = Next<int64_t>(line);
  result.elapsed = absl::Microseconds(Next<int64_t>(line));
  const auto code = static_cast<absl::StatusCode>(Next<int>(line));
  const std::string text = FromWord(Next<std::string>(line));
  if (code == absl::StatusCode::kOk) {
    result.value = text;
  } else {
    result.value = absl::Status(code, text);
  }
  return result;
}

}  // namespace

WorkerLog::WorkerLog(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (fd_ < 0) std::abort();
}

WorkerLog::~WorkerLog() { close(fd_); }

void WorkerLog::Write(char kind, const std::string& rest) const {
  const std::string line =
      absl::StrCat(std::string(1, kind), " ",
                   std::chrono::duration_cast<std::chrono::microseconds>(
                       GetRealClock().MonotonicNow().time_since_epoch())
                       .count(),
                   rest, "\n");
  if (write(fd_, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    std::abort();
  }
}

void WorkerLog::Claimed(const ClaimReply& reply) {
  std::string text = absl::StrCat(" ", reply.now_us, " ", reply.fence);
  for (const ClaimedWait& wait : reply.waits) {
    absl::StrAppend(&text, " ", wait.key);
  }
  Write('C', text);
}

void WorkerLog::Sends(int64_t call, const SettleRequest& request) {
  std::string text = absl::StrCat(" ", call);
  for (const SettleItem& item : request.items) {
    absl::StrAppend(&text, " ", item.key, " ", item.fence, " ",
                    std::string(1, static_cast<char>(item.action)), " ",
                    item.delay_us);
  }
  Write('S', text);
}

void WorkerLog::Settled(int64_t call, const SettleReply& reply) {
  std::string text =
      absl::StrCat(" ", call, " ", reply.now_us, " ", reply.fence);
  for (const std::string& key : reply.lost) absl::StrAppend(&text, " ", key);
  Write('R', text);
}

void WorkerLog::Marks(const std::string& key) {
  Write('M', absl::StrCat(" ", key));
}

void WorkerLog::Delivered(const DurableResult& result, bool is_accepted) {
  const absl::Status& status = result.value.status();
  Write('D',
        absl::StrCat(
            " ", is_accepted ? 1 : 0, " ", result.key, " ",
            result.idempotency_key, " ", static_cast<int>(result.reason), " ",
            result.attempts, " ", absl::ToInt64Microseconds(result.elapsed),
            " ", static_cast<int>(status.code()), " ",
            ToWord(result.value.ok() ? *result.value
                                     : std::string(status.message()))));
}

void ReadWorkerLog(const std::string& path, int worker, MonotonicTime start,
                   DurableHistory& history) {
  const absl::Duration zero = absl::FromChrono(start.time_since_epoch());
  absl::Duration now;
  HistoryLog log(history, worker, [&now] { return now; });
  std::ifstream file(path);
  std::string text;
  while (std::getline(file, text)) {
    if (file.eof()) return;
    std::istringstream line(text);
    const char kind = Next<char>(line);
    now = absl::Microseconds(Next<int64_t>(line)) - zero;
    if (kind == 'C') {
      ClaimReply reply;
      reply.now_us = Next<int64_t>(line);
      reply.fence = Next<int64_t>(line);
      std::string key;
      while (line >> key) reply.waits.push_back({.key = key});
      log.Claimed(reply);
    } else if (kind == 'S') {
      const auto call = Next<int64_t>(line);
      SettleRequest request;
      std::string key;
      while (line >> key) {
        SettleItem& item = request.items.emplace_back();
        item.key = key;
        item.fence = Next<int64_t>(line);
        item.action = static_cast<SettleAction>(Next<char>(line));
        item.delay_us = Next<int64_t>(line);
      }
      log.Sends(call, request);
    } else if (kind == 'R') {
      const auto call = Next<int64_t>(line);
      SettleReply reply;
      reply.now_us = Next<int64_t>(line);
      reply.fence = Next<int64_t>(line);
      std::string key;
      while (line >> key) reply.lost.push_back(key);
      log.Settled(call, reply);
    } else if (kind == 'M') {
      log.Marks(Next<std::string>(line));
    } else {
      const bool is_accepted = Next<int>(line) == 1;
      history.deliveries.push_back({now, NextResult(line), is_accepted});
    }
  }
}

}  // namespace waiter::chaos
