// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the minimum cost of a poll of a durable wait for a Redis server: the
// commands that the scripts run, in batches, without scripts. No code makes the
// decisions of a poll. With `--nothing`, measures scripts that do nothing but
// have as many keys and arguments. Prints a line of figures.

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"

ABSL_FLAG(int32_t, port, 0, "of the server on 127.0.0.1");
ABSL_FLAG(int64_t, count, 100'000, "waits");
ABSL_FLAG(int64_t, batch, 250, "waits of one command");
ABSL_FLAG(int64_t, partitions, 16, "sets into which the waits are divided");
ABSL_FLAG(int64_t, record, 100, "bytes of a record");
ABSL_FLAG(bool, reads, true, "do the same reads as the scripts");
ABSL_FLAG(bool, nothing, false, "call a script that does nothing instead");
ABSL_FLAG(absl::Duration, time, absl::Seconds(5), "how long it runs");

namespace waiter::bench {
namespace {

using Command = std::vector<std::string>;

constexpr int kInFlight = 8;

class Pipeline {
 public:
  explicit Pipeline(int port) : redis_(redisConnect("127.0.0.1", port)) {
    Check(redis_ != nullptr && redis_->err == 0, "no connection");
  }
  ~Pipeline() { redisFree(redis_); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Returns the text of the reply.
  std::string Ask(const Command& command) {
    Await(0);
    Send(command);
    void* reply = nullptr;
    Check(redisGetReply(redis_, &reply) == REDIS_OK, "no reply");
    --pending_;
    std::string text(static_cast<redisReply*>(reply)->str,
                     static_cast<redisReply*>(reply)->len);
    freeReplyObject(reply);
    return text;
  }

  void Send(const Command& command) {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& argument : command) {
      texts.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    redisAppendCommandArgv(redis_, static_cast<int>(texts.size()), texts.data(),
                           sizes.data());
    ++pending_;
  }

  void Await(int64_t most) {
    for (; pending_ > most; --pending_) {
      void* reply = nullptr;
      Check(redisGetReply(redis_, &reply) == REDIS_OK, "no reply");
      Check(static_cast<redisReply*>(reply)->type != REDIS_REPLY_ERROR,
            "an error came back");
      freeReplyObject(reply);
    }
  }

 private:
  redisContext* const redis_;
  int64_t pending_ = 0;
};

void Run() {
  Pipeline pipeline(absl::GetFlag(FLAGS_port));
  const int64_t count = absl::GetFlag(FLAGS_count);
  const int64_t batch = absl::GetFlag(FLAGS_batch);
  const int64_t partitions = absl::GetFlag(FLAGS_partitions);
  const bool reads = absl::GetFlag(FLAGS_reads);
  const std::string record(absl::GetFlag(FLAGS_record), 'r');
  const int64_t per_partition = count / partitions;
  int64_t polls = 0;
  // The order in which waits are due does not depend on their keys.
  std::vector<int64_t> order(static_cast<size_t>(per_partition));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const auto move = [&](const std::string& prefix, int64_t first, int64_t size,
                        bool writes_record) {
    const int64_t due = absl::ToUnixMicros(absl::Now());
    Command moves = {"ZADD", prefix + "due"};
    Command records = {"HSET", prefix + "rec"};
    for (int64_t i = first; i < first + size; ++i) {
      const std::string key = absl::StrFormat("i-%017d", order[i]);
      moves.push_back(absl::StrCat(due + i));
      moves.push_back(key);
      records.push_back(key);
      records.push_back(record);
    }
    pipeline.Send(moves);
    if (writes_record) pipeline.Send(records);
  };
  const auto read = [&](const std::string& prefix, const char* command,
                        const char* name, int64_t first, int64_t size) {
    Command keys = {command, prefix + name};
    for (int64_t i = first; i < first + size; ++i) {
      keys.push_back(absl::StrFormat("i-%017d", order[i]));
    }
    pipeline.Send(keys);
  };
  const auto prefix_of = [](int64_t partition) {
    return absl::StrCat("floor:{", partition, "}:");
  };
  const bool does_nothing = absl::GetFlag(FLAGS_nothing);
  const std::string script =
      does_nothing ? pipeline.Ask({"SCRIPT", "LOAD", "#!lua\nreturn {}"}) : "";
  // Sends the keys and arguments of a claim and a settle of `size` waits.
  const auto call = [&](const std::string& prefix, int64_t first,
                        int64_t size) {
    Command claim = {"EVALSHA", script, "10"};
    for (int i = 0; i < 10; ++i) claim.push_back(absl::StrCat(prefix, i));
    Command settle = claim;
    claim.insert(claim.end(), {"250", "15000000"});
    settle.insert(settle.end(), {"15000000", "86400000000", "250", "r",
                                 "1790000000000001", absl::StrCat(size)});
    for (int64_t i = first; i < first + size; ++i) {
      settle.push_back(absl::StrFormat("i-%017d", order[i]));
      settle.push_back(record);
      settle.push_back("5000000");
    }
    pipeline.Send(claim);
    pipeline.Send(settle);
  };
  for (int64_t p = 0; p < partitions && !does_nothing; ++p) {
    for (int64_t first = 0; first < per_partition; first += batch) {
      move(prefix_of(p), first, std::min(batch, per_partition - first), true);
      pipeline.Await(kInFlight);
    }
  }
  pipeline.Await(0);
  std::printf("ready=1\n");
  std::fflush(stdout);
  // The measuring program sends a line when the measurement begins.
  if (std::getchar() == EOF) return;
  const absl::Time start = absl::Now();
  const absl::Time end = start + absl::GetFlag(FLAGS_time);
  for (int64_t first = 0; absl::Now() < end;
       first = first + batch >= per_partition ? 0 : first + batch) {
    const int64_t size = std::min(batch, per_partition - first);
    for (int64_t p = 0; p < partitions; ++p) {
      const std::string prefix = prefix_of(p);
      if (does_nothing) {
        call(prefix, first, size);
        polls += size;
        pipeline.Await(kInFlight);
        continue;
      }
      if (reads) {
        pipeline.Send({"ZRANGE", prefix + "due", "-inf", "+inf", "BYSCORE",
                       "LIMIT", "0", absl::StrCat(size), "WITHSCORES"});
        read(prefix, "HMGET", "rec", first, size);
      }
      move(prefix, first, size, /*writes_record=*/false);
      if (reads) read(prefix, "ZMSCORE", "due", first, size);
      move(prefix, first, size, /*writes_record=*/true);
      polls += size;
      pipeline.Await(kInFlight);
    }
  }
  pipeline.Await(0);
  std::printf(
      "polls=%lld wall_us=%lld\n", static_cast<long long>(polls),
      static_cast<long long>(absl::ToInt64Microseconds(absl::Now() - start)));
  std::fflush(stdout);
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  waiter::bench::Run();
}
