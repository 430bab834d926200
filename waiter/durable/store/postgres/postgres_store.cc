// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/postgres_store.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/key_cursor.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/postgres/postgres_calls.h"
#include "waiter/durable/store/postgres/postgres_loop.h"
#include "waiter/durable/store/postgres/postgres_schema.h"
#include "waiter/durable/store/postgres/postgres_session.h"
#include "waiter/text.h"

namespace waiter::internal {
namespace {

// Pipelines.
constexpr int kMinLibrary = 140000;

absl::Status CheckUrl(const PostgresLibrary& library, const std::string& url) {
  char* error = nullptr;
  void* const parsed = library.conninfoParse(url.c_str(), &error);
  if (parsed != nullptr) {
    library.conninfoFree(parsed);
    return absl::OkStatus();
  }
  // The error may have a part of the password.
  if (error != nullptr) library.freemem(error);
  return absl::InvalidArgumentError(
      "the URL is not a libpq connection string; write it as "
      "postgres://USER@HOST:5432/DATABASE, and in a password % as %25, @ as "
      "%40, : as %3A and / as %2F");
}

absl::Status Validate(const PostgresLibrary& library, const std::string& url,
                      const PostgresStoreOptions& options) {
  if (library.libVersion() < kMinLibrary) {
    return absl::FailedPreconditionError(
        absl::StrCat("libpq is ", library.libVersion() / 10000,
                     "; the store needs 14 or newer"));
  }
  if (absl::Status status = CheckSchemaName(options.schema); !status.ok()) {
    return status;
  }
  if (!(options.call_timeout >= absl::Milliseconds(100) &&
        options.call_timeout <= absl::Minutes(10))) {
    return InvalidOption("call_timeout",
                         absl::FormatDuration(options.call_timeout),
                         "within [100ms, 10min]");
  }
  return CheckUrl(library, url);
}

// Thread-safe. Its last reference may be dropped in one of its callbacks.
class PostgresStore final : public WaitStore {
 public:
  PostgresStore(const PostgresLibrary& library, PostgresConfig config)
      : calls_(config.schema),
        loop_(std::make_shared<PostgresLoop>(library, std::move(config))) {
    loop_->Start();
  }
  ~PostgresStore() override { loop_->Stop(); }

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override {
    Add(calls_.Claim(request), std::move(callback));
  }
  void Settle(SettleRequest request, Callback<SettleReply> callback) override {
    Add(calls_.Settle(request), std::move(callback));
  }
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override {
    Add(calls_.Enqueue(request), std::move(callback));
  }
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override {
    Add(calls_.Signal(request), std::move(callback));
  }
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override {
    Add(calls_.Get(partition, keys), std::move(callback));
  }
  void Scan(WaitPartition partition, std::string cursor,
            Callback<ScanReply> callback) override {
    Add(calls_.Scan(partition, KeyOfCursor(cursor).value_or("")),
        std::move(callback));
  }
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override {
    Add(calls_.Stats(partition), std::move(callback));
  }
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override {
    Add(calls_.Mark(partition, key, begins), std::move(callback));
  }
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override {
    Add(calls_.Open(space, name, partitions), std::move(callback));
  }
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override {
    Add(calls_.Heartbeat(request), std::move(callback));
  }
  void Describe(std::string space, Callback<WaitSpace> callback) override {
    Add(calls_.Describe(space), std::move(callback));
  }
  void Check(WaitPartition partition, std::string cursor,
             Callback<CheckReply> callback) override {
    Add(calls_.Check(partition, KeyOfCursor(cursor).value_or("")),
        std::move(callback));
  }
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override {
    Add(calls_.Examine(request), std::move(callback));
  }
  void Inspect(WaitPartition /*partition*/,
               Callback<WaitServer> callback) override {
    Add(calls_.Inspect(), std::move(callback));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    loop_->RunAt(time, std::move(timer));
  }
  Clock& clock() override { return GetRealClock(); }

 private:
  template <typename T>
  void Add(PostgresRequest<T> request, Callback<T> callback) {
    loop_->Add(std::make_unique<TypedPostgresCall<T>>(std::move(request),
                                                      std::move(callback)));
  }

  const PostgresCalls calls_;
  const std::shared_ptr<PostgresLoop> loop_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<WaitStore>> MakePostgresWaitStore(
    const PostgresLibrary& library, const std::string& url,
    const PostgresStoreOptions& options) {
  if (absl::Status status = Validate(library, url, options); !status.ok()) {
    return status;
  }
  return std::make_shared<PostgresStore>(
      library, PostgresConfig{.url = url,
                              .schema = options.schema,
                              .syncs = options.syncs,
                              .call_timeout_ms = absl::ToInt64Milliseconds(
                                  options.call_timeout)});
}

}  // namespace waiter::internal
