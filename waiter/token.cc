// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/token.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/crc32c.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/text.h"

namespace waiter::internal {
namespace {

using std::chrono::nanoseconds;

// Version 1. Numbers are varints of 7 bits to a byte, the low ones first; those
// marked ± are mapped to 0, -1, 1, -2, ... Times are in nanoseconds, and, if
// marked ~, relative to `written`.
//
//   0xD7 'W', version
//   flags, ±written since 1970
//   ~start, ~deadline, ~wake_up, ~step_started, slept, longest_poll
//   attempts, five counts
//   streak_length, streak_status, ~streak_started
//   three growths, quota_token
//   length of the name, name
//   last_poll, first_error, last_error
//   additions of later builds of this version
//   CRC-32C of the preceding bytes, 4 bytes, the low one first
//
// A poll is a byte, which may say that it equals an earlier one, and otherwise
// status, code, retry_after, length of the text, text.
constexpr std::string_view kMagic = "\xD7W";
constexpr uint8_t kTokenVersion = 1;
constexpr size_t kHeaderSize = 3;
constexpr size_t kChecksumSize = 4;
constexpr size_t kMaxName = 128;
constexpr size_t kMaxText = 200;

// No time in a token is farther from `written` than this, which keeps sums of
// two of them from overflowing. Longer ones are cut.
constexpr int64_t kCentury = int64_t{36525} * 24 * 3600 * 1'000'000'000;

// Decodes times relative to `written`.
constexpr ClockReading kAsWritten = {MonotonicTime(), absl::InfinitePast()};

// Bits of `flags`.
enum TokenFlag : uint8_t {
  kAsleep,
  kPollIsBooked,
  kRefused,
  kFinalPoll,
  kSleepIsFixed,
  kHoldIsOpen,
  kHasNoDeadline,
  kSleepIsEndless,
};

constexpr uint32_t FlagIf(bool set, TokenFlag flag) {
  return set ? 1U << flag : 0U;
}

// How a poll is written.
enum PollForm : uint8_t { kNoPoll, kOwnPoll, kAsLastPoll, kAsFirstError };

class Writer {
 public:
  void Byte(uint8_t byte) { bytes_[size_++] = static_cast<char>(byte); }

  void Unsigned(uint64_t number) {
    while (number >= 0x80) {
      Byte(static_cast<uint8_t>(number) | 0x80);
      number >>= 7;
    }
    Byte(static_cast<uint8_t>(number));
  }

  // Numbers that are not negative, except by a clock that stepped back.
  void Count(int64_t number) {
    Unsigned(static_cast<uint64_t>(std::max<int64_t>(number, 0)));
  }

  void Signed(int64_t number) {
    Unsigned(static_cast<uint64_t>(number) << 1 ^
             static_cast<uint64_t>(number >> 63));
  }

  void Text(std::string_view text) {
    Unsigned(text.size());
    Raw(text);
  }

  void Raw(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.data() + size_);
    size_ += text.size();
  }

  std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  // A token of a later build may be as long as any, and grow when it is
  // shifted.
  std::array<char, WaitToken::kMaxSize + 16> bytes_;
  size_t size_ = 0;
};

// Once something cannot be read, everything reads as zero.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  bool failed() const { return failed_; }
  void Fail() {
    failed_ = true;
    left_ = {};
  }

  std::string_view left() const { return left_; }

  uint8_t Byte() {
    if (left_.empty()) {
      Fail();
      return 0;
    }
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }

  uint64_t Unsigned() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      const uint64_t bits = byte & 0x7F;
      if (shift == 63 && bits > 1) break;
      number |= bits << shift;
      if ((byte & 0x80) == 0) return number;
    }
    Fail();
    return 0;
  }

  int64_t Count(int64_t most) {
    const uint64_t number = Unsigned();
    if (number <= static_cast<uint64_t>(most)) {
      return static_cast<int64_t>(number);
    }
    Fail();
    return 0;
  }

  int64_t Signed() {
    const uint64_t number = Unsigned();
    return static_cast<int64_t>(number >> 1) ^
           -static_cast<int64_t>(number & 1);
  }

  // A time that is relative to `written`.
  nanoseconds Offset() {
    const int64_t offset = Signed();
    if (offset < -kCentury || offset > kCentury) Fail();
    return nanoseconds(failed_ ? 0 : offset);
  }

  std::string_view Text(size_t most) {
    const auto size = static_cast<size_t>(Count(static_cast<int64_t>(most)));
    if (size > left_.size()) Fail();
    if (failed_) return {};
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view left_;
  bool failed_ = false;
};

uint32_t ReadChecksum(std::string_view bytes) {
  uint32_t checksum = 0;
  for (size_t i = 0; i < kChecksumSize; ++i) {
    checksum |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return checksum;
}

void WriteChecksum(Writer& to) {
  const uint32_t checksum = Crc32c(to.bytes());
  for (size_t i = 0; i < kChecksumSize; ++i) {
    to.Byte(static_cast<uint8_t>(checksum >> (8 * i)));
  }
}

void WritePoll(const Poll<>& poll, Writer& to) {
  to.Byte(kOwnPoll);
  to.Byte(static_cast<uint8_t>(poll.status()));
  to.Byte(static_cast<uint8_t>(poll.error().code()));
  const absl::Duration retry_after = poll.retry_after();
  const bool is_given = retry_after > absl::ZeroDuration() &&
                        retry_after < absl::InfiniteDuration();
  to.Count(is_given ? std::min<int64_t>(absl::ToInt64Nanoseconds(retry_after),
                                        kCentury)
                    : 0);
  to.Text(
      CutText(poll.error().ok() ? poll.detail() : ToStd(poll.error().message()),
              kMaxText));
}

// Returns whether both are written in the same way.
bool AreAlike(const Poll<>& a, const Poll<>& b) {
  return a.status() == b.status() && a.retry_after() == b.retry_after() &&
         a.error().code() == b.error().code() &&
         a.error().message() == b.error().message() &&
         (!a.error().ok() || a.detail() == b.detail());
}

Poll<> ReadOwnPoll(Reader& from) {
  const uint8_t status = from.Byte();
  const uint8_t code = from.Byte();
  const absl::Duration retry_after = absl::Nanoseconds(from.Count(kCentury));
  const std::string_view text = from.Text(kMaxText);
  // A success has no error.
  if (status > static_cast<uint8_t>(PollStatus::kFailed) ||
      code > static_cast<uint8_t>(absl::StatusCode::kUnauthenticated) ||
      (status == static_cast<uint8_t>(PollStatus::kSuccess) && code != 0)) {
    from.Fail();
  }
  if (from.failed()) return {};
  if (code == 0) return {static_cast<PollStatus>(status), text, retry_after};
  return {static_cast<PollStatus>(status),
          absl::Status(static_cast<absl::StatusCode>(code), ToAbsl(text)),
          retry_after};
}

}  // namespace

std::string_view NameInToken(std::string_view name) {
  return CutText(name, kMaxName);
}

class TokenCodec {
 public:
  static WaitToken Shift(std::string_view bytes, nanoseconds shift);
  static WaitToken Encode(const WaitState& state, const WaitReport& report,
                          std::string_view name, MonotonicTime wake_up,
                          const ClockReading& now);

  // Returns nullopt unless the bytes are a token of this version, whose magic
  // and checksum are not checked. `written` gets the token's time.
  static std::optional<SavedWait> Decode(std::string_view bytes,
                                         const ClockReading& now,
                                         absl::Time& written);

  static WaitToken Make(std::string_view bytes) {
    return WaitToken(std::string(bytes));
  }
};

WaitToken TokenCodec::Encode(const WaitState& state, const WaitReport& report,
                             std::string_view name, MonotonicTime wake_up,
                             const ClockReading& now) {
  const auto offset = [&now](MonotonicTime time) {
    return std::clamp<int64_t>((time - now.monotonic).count(), -kCentury,
                               kCentury);
  };
  const bool has_deadline = state.deadline != MonotonicTime::max();
  const bool sleep_ends = wake_up != MonotonicTime::max();
  const uint32_t flags = FlagIf(state.asleep, kAsleep) |
                         FlagIf(state.poll_is_booked, kPollIsBooked) |
                         FlagIf(state.refused, kRefused) |
                         FlagIf(state.final_poll, kFinalPoll) |
                         FlagIf(state.sleep_is_fixed, kSleepIsFixed) |
                         FlagIf(state.hold_is_open, kHoldIsOpen) |
                         FlagIf(!has_deadline, kHasNoDeadline) |
                         FlagIf(!sleep_ends, kSleepIsEndless);
  Writer to;
  to.Raw(kMagic);
  to.Byte(kTokenVersion);
  to.Unsigned(flags);
  to.Signed(absl::ToUnixNanos(now.wall));
  to.Signed(offset(state.start));
  to.Signed(has_deadline ? offset(state.deadline) : 0);
  to.Signed(sleep_ends ? offset(wake_up) : 0);
  to.Signed(offset(state.step_started));
  to.Count(std::min<int64_t>(state.slept.count(), kCentury));
  to.Count(std::min<int64_t>(state.longest_poll.count(), kCentury));
  to.Count(report.attempts);
  for (const int64_t count : report.counts) to.Count(count);
  to.Count(state.streak_length);
  to.Byte(static_cast<uint8_t>(state.streak_status));
  to.Signed(offset(state.streak_started));
  to.Count(state.growth.not_ready.ToInt64());
  to.Count(state.growth.server_error.ToInt64());
  to.Count(state.growth.throttled.ToInt64());
  to.Byte(state.quota_token.ToByte());
  to.Text(NameInToken(name));
  const Poll<>& last = report.last_poll;
  if (report.attempts > 0) {
    WritePoll(last, to);
  } else {
    to.Byte(kNoPoll);
  }
  if (!report.first_error.has_value()) {
    to.Byte(kNoPoll);
  } else if (AreAlike(*report.first_error, last)) {
    to.Byte(kAsLastPoll);
  } else {
    WritePoll(*report.first_error, to);
  }
  if (!report.last_error.has_value()) {
    to.Byte(kNoPoll);
  } else if (AreAlike(*report.last_error, last)) {
    to.Byte(kAsLastPoll);
  } else if (report.first_error.has_value() &&
             AreAlike(*report.last_error, *report.first_error)) {
    to.Byte(kAsFirstError);
  } else {
    WritePoll(*report.last_error, to);
  }
  WriteChecksum(to);
  return Make(to.bytes());
}

WaitToken TokenCodec::Shift(std::string_view bytes, nanoseconds shift) {
  bytes.remove_suffix(kChecksumSize);
  Reader from(bytes.substr(kHeaderSize));
  Writer to;
  to.Raw(bytes.substr(0, kHeaderSize));
  to.Unsigned(from.Unsigned());
  to.Signed(from.Signed() + shift.count());
  to.Raw(from.left());
  WriteChecksum(to);
  return Make(to.bytes());
}

std::optional<SavedWait> TokenCodec::Decode(std::string_view bytes,
                                            const ClockReading& now,
                                            absl::Time& written) {
  if (bytes.size() < kHeaderSize + kChecksumSize) return std::nullopt;
  bytes.remove_suffix(kChecksumSize);
  Reader from(bytes.substr(kHeaderSize));
  const auto flags = static_cast<uint32_t>(from.Count(UINT32_MAX));
  const auto has = [flags](TokenFlag flag) {
    return (flags & FlagIf(true, flag)) != 0;
  };
  written = absl::FromUnixNanos(from.Signed());
  // A step back of the wall clock is ignored.
  const nanoseconds away =
      std::clamp(absl::ToChronoNanoseconds(now.wall - written),
                 nanoseconds::zero(), nanoseconds(kCentury));
  const MonotonicTime written_at = now.monotonic - away;
  SavedWait saved;
  WaitState& state = saved.state;
  WaitReport& report = saved.report;
  state.asleep = has(kAsleep);
  state.poll_is_booked = has(kPollIsBooked);
  state.refused = has(kRefused);
  state.final_poll = has(kFinalPoll);
  state.sleep_is_fixed = has(kSleepIsFixed);
  state.hold_is_open = has(kHoldIsOpen);
  state.start = written_at + from.Offset();
  state.deadline = written_at + from.Offset();
  saved.wake_up = written_at + from.Offset();
  state.step_started = written_at + from.Offset();
  if (state.deadline < state.start && !has(kHasNoDeadline)) from.Fail();
  if (has(kHasNoDeadline)) state.deadline = MonotonicTime::max();
  if (has(kSleepIsEndless)) saved.wake_up = MonotonicTime::max();
  saved.wake_up = std::min(saved.wake_up, state.deadline);
  state.slept = nanoseconds(from.Count(kCentury));
  state.longest_poll = nanoseconds(from.Count(kCentury));
  // Small enough that further counting does not overflow.
  report.attempts = from.Count(INT64_MAX / 2);
  for (int64_t& count : report.counts) count = from.Count(report.attempts);
  // The counts add up to less if the wait once had a brief report, which has
  // none.
  int64_t uncounted = report.attempts;
  for (const int64_t count : report.counts) {
    if (count > uncounted) from.Fail();
    uncounted -= from.failed() ? 0 : count;
  }
  state.streak_length = from.Count(report.attempts);
  const uint8_t streak_status = from.Byte();
  if (streak_status > static_cast<uint8_t>(PollStatus::kFailed)) from.Fail();
  state.streak_status = static_cast<PollStatus>(streak_status);
  state.streak_started = written_at + from.Offset();
  for (BackoffProgress* const progress :
       {&state.growth.not_ready, &state.growth.server_error,
        &state.growth.throttled}) {
    // Counts and delays; neither comes near this limit.
    *progress = BackoffProgress::FromInt64(from.Count(INT64_MAX / 2));
  }
  const std::optional<QuotaToken> token = QuotaToken::FromByte(from.Byte());
  if (token.has_value()) {
    state.quota_token = *token;
  } else {
    from.Fail();
  }
  saved.name = std::string(from.Text(kMaxName));
  switch (from.Byte()) {
    case kNoPoll:
      if (report.attempts > 0) from.Fail();
      break;
    case kOwnPoll:
      report.last_poll = ReadOwnPoll(from);
      break;
    default:
      from.Fail();
  }
  const auto read_error = [&](std::optional<Poll<>>& error) {
    switch (from.Byte()) {
      case kNoPoll:
        return;
      case kOwnPoll:
        error = ReadOwnPoll(from);
        return;
      case kAsLastPoll:
        error = report.last_poll;
        return;
      case kAsFirstError:
        if (report.first_error.has_value()) {
          error = report.first_error;
          return;
        }
    }
    from.Fail();
  };
  read_error(report.first_error);
  read_error(report.last_error);
  if (from.failed()) return std::nullopt;
  return saved;
}

WaitToken ShiftWallClock(const WaitToken& token, nanoseconds shift) {
  return TokenCodec::Shift(token.bytes(), shift);
}

}  // namespace waiter::internal

namespace waiter {

using internal::TokenCodec;

absl::StatusOr<WaitToken> WaitToken::Parse(std::string_view bytes) {
  using internal::kChecksumSize;
  if (bytes.empty()) return WaitToken();
  const auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", bytes.size(), " bytes of a saved wait ", what));
  };
  if (bytes.substr(0, internal::kMagic.size()) != internal::kMagic) {
    return invalid("do not begin like a saved wait");
  }
  if (bytes.size() < internal::kHeaderSize + kChecksumSize) {
    return invalid("are truncated");
  }
  const size_t size = bytes.size() - kChecksumSize;
  if (internal::ReadChecksum(bytes.substr(size)) !=
      internal::Crc32c(bytes.substr(0, size))) {
    return invalid(
        "do not match their checksum; they were truncated or changed");
  }
  const auto version = static_cast<uint8_t>(bytes[internal::kMagic.size()]);
  if (version > internal::kTokenVersion) {
    return absl::UnimplementedError(
        absl::StrCat("the saved wait has version ", static_cast<int>(version),
                     "; this build reads versions up to ",
                     static_cast<int>(internal::kTokenVersion)));
  }
  absl::Time written;
  if (version == 0 || bytes.size() > kMaxSize ||
      !TokenCodec::Decode(bytes, internal::kAsWritten, written).has_value()) {
    return invalid("match their checksum, but have invalid contents");
  }
  return TokenCodec::Make(bytes);
}

namespace {

// Returns what `get` returns for the decoded token.
template <typename T, typename Get>
T Decoded(const WaitToken& token, T if_empty, Get get) {
  absl::Time written;
  const std::optional<SavedWait> saved =
      TokenCodec::Decode(token.bytes(), internal::kAsWritten, written);
  return saved.has_value() ? get(*saved, written) : if_empty;
}

absl::Time AtWall(MonotonicTime time, absl::Time written) {
  return time == MonotonicTime::max()
             ? absl::InfiniteFuture()
             : written + absl::FromChrono(time.time_since_epoch());
}

}  // namespace

std::string WaitToken::name() const {
  return Decoded(*this, std::string(),
                 [](const SavedWait& saved, absl::Time) { return saved.name; });
}

absl::Time WaitToken::written() const {
  return Decoded(*this, absl::InfinitePast(),
                 [](const SavedWait&, absl::Time written) { return written; });
}

absl::Time WaitToken::wake_up() const {
  return Decoded(*this, absl::InfinitePast(),
                 [](const SavedWait& saved, absl::Time written) {
                   return AtWall(saved.wake_up, written);
                 });
}

absl::Time WaitToken::deadline() const {
  return Decoded(*this, absl::InfiniteFuture(),
                 [](const SavedWait& saved, absl::Time written) {
                   return AtWall(saved.state.deadline, written);
                 });
}

int64_t WaitToken::attempts() const {
  return Decoded(*this, int64_t{0}, [](const SavedWait& saved, absl::Time) {
    return saved.report.attempts;
  });
}

WaitToken SaveWait(const WaitState& state, const WaitReport& report,
                   std::string_view name, MonotonicTime wake_up,
                   const ClockReading& now) {
  return TokenCodec::Encode(state, report, name, wake_up, now);
}

SavedWait RestoreWait(const WaitToken& token, const ClockReading& now) {
  absl::Time written;
  return *TokenCodec::Decode(token.bytes(), now, written);
}

}  // namespace waiter
