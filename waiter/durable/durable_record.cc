// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/durable_record.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/crc32c.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/budget_member.h"
#include "waiter/result.h"
#include "waiter/text.h"
#include "waiter/token.h"

namespace waiter::internal {
namespace {

constexpr int64_t kRecordVersion = 1;
constexpr size_t kMaxKey = 128;
constexpr size_t kMaxArgs = 16384;
constexpr size_t kMaxMessage = 1000;

// Takes words, which end with a space, from the front. Once one is not as
// expected, it and all later ones are zero.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}

  int64_t Number() {
    const size_t end = left_.find(' ');
    int64_t number = 0;
    if (end == std::string_view::npos ||
        !absl::SimpleAtoi(ToAbsl(left_.substr(0, end)), &number)) {
      failed_ = true;
      left_ = {};
      return 0;
    }
    left_.remove_prefix(end + 1);
    return number;
  }
  int64_t Number(int64_t least, int64_t most) {
    const int64_t number = Number();
    if (number < least || number > most) failed_ = true;
    return failed_ ? 0 : number;
  }

  std::string_view left() const { return left_; }
  bool failed() const { return failed_; }

 private:
  std::string_view left_;
  bool failed_ = false;
};

absl::Status CheckDelay(std::string_view field, absl::Duration delay) {
  if (delay >= absl::ZeroDuration() && delay <= absl::Hours(876'000)) {
    return absl::OkStatus();
  }
  return InvalidOption(field, absl::FormatDuration(delay),
                       "within [0, 100 years]");
}

}  // namespace

std::string CutMessage(std::string_view message) {
  return std::string(CutText(message, kMaxMessage));
}

std::string DurableRecord::EncodeRest() const {
  if (phase == WaitPhase::kPending) {
    return absl::StrCat(kRecordVersion, " ", timeout_us.value_or(-1), " ",
                        token.bytes());
  }
  return absl::StrCat(kRecordVersion, " ", static_cast<int>(code), " ",
                      static_cast<int>(reason), " ", attempts, " ", elapsed_us,
                      " ", deliveries, " ", message);
}

std::string DurableRecord::Encode() const {
  return absl::StrCat(std::string(1, static_cast<char>(phase)), born_us, " ",
                      EncodeRest());
}

absl::StatusOr<DurableRecord> ParseRecord(std::string_view bytes) {
  const absl::Status damaged =
      absl::InvalidArgumentError("the record of the wait is damaged");
  if (bytes.empty() || bytes[0] < '0' || bytes[0] > '2') return damaged;
  DurableRecord record;
  record.phase = static_cast<WaitPhase>(bytes[0]);
  Words from(bytes.substr(1));
  record.born_us = from.Number();
  const int64_t version = from.Number();
  if (from.failed()) return damaged;
  if (version > kRecordVersion) {
    return absl::UnimplementedError(
        absl::StrCat("version ", version,
                     " of the record of the wait is newer "
                     "than this build"));
  }
  if (record.phase == WaitPhase::kPending) {
    const int64_t timeout_us = from.Number(-1, INT64_MAX);
    if (timeout_us >= 0) record.timeout_us = timeout_us;
    if (from.failed()) return damaged;
    absl::StatusOr<WaitToken> token = WaitToken::Parse(from.left());
    if (!token.ok()) return token.status();
    record.token = *std::move(token);
    return record;
  }
  record.code = static_cast<absl::StatusCode>(
      from.Number(0, static_cast<int>(absl::StatusCode::kUnauthenticated)));
  record.reason = static_cast<StopReason>(
      from.Number(0, static_cast<int>(StopReason::kInvalidOptions)));
  record.attempts = from.Number(0, INT64_MAX);
  record.elapsed_us = from.Number(INT64_MIN, INT64_MAX);
  record.deliveries = from.Number(0, INT64_MAX);
  if (from.failed() || (record.code == absl::StatusCode::kOk) !=
                           (record.reason == StopReason::kSuccess)) {
    return damaged;
  }
  record.message = std::string(from.left());
  return record;
}

DurableResult ToResult(std::string_view space, std::string_view name,
                       std::string_view key, const DurableRecord& record,
                       std::string_view value) {
  DurableResult result = {
      .name = std::string(name),
      .key = std::string(key),
      .reason = record.reason,
      .attempts = record.attempts,
      .elapsed = absl::Microseconds(record.elapsed_us),
      .idempotency_key = absl::StrCat(ToAbsl(space), "/", ToAbsl(name), "/",
                                      ToAbsl(key), "/", record.born_us),
      .delivery = record.deliveries + 1};
  if (record.reason == StopReason::kSuccess) {
    result.value = std::string(value);
  } else {
    result.value = absl::Status(record.code, record.message);
  }
  return result;
}

int PartitionOf(std::string_view key, int64_t partitions) {
  return static_cast<int>(Crc32c(key) % static_cast<uint64_t>(partitions));
}

absl::Status CheckKey(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxKey) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("key is ", key.size(), " bytes; it must be 1 to ", kMaxKey));
}

absl::Status CheckRequest(const DurableRequest& request) {
  if (absl::Status status = CheckKey(request.key); !status.ok()) return status;
  if (request.args.size() > kMaxArgs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "args is ", request.args.size(), " bytes; the limit is ", kMaxArgs));
  }
  if (request.timeout.has_value()) {
    if (absl::Status status = CheckDelay("timeout", *request.timeout);
        !status.ok()) {
      return status;
    }
  }
  return CheckDelay("first_delay", request.first_delay);
}

absl::Status CheckSpace(std::string_view space, int64_t partitions) {
  if (absl::Status status = CheckName(space, "space"); !status.ok()) {
    return status;
  }
  if (partitions >= 1 && partitions <= 4096) return absl::OkStatus();
  return InvalidOption("partitions", partitions, "within [1, 4096]");
}

}  // namespace waiter::internal
