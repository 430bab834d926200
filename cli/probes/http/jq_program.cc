// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/jq_program.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#ifdef WAITER_HAS_JQ

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/loop/unique_fd.h"
#include "cli/probes/http/jq_library.h"
#include "cli/text/files.h"
#include "waiter/clock.h"

namespace waiter::cli {
namespace {

// First byte of a line that the child writes.
constexpr char kValue = 'v';
constexpr char kError = 'e';
constexpr char kEnd = '.';

// Keeps the first message of libjq.
void KeepMessage(void* kept, jv message) {
  const JqLibrary& jq = **LoadJq();
  auto& text = *static_cast<std::string*>(kept);
  if (text.empty()) text = jq.string_value(message);
  jq.free(message);
}

// Returns "syntax error, unexpected ... (line 1)" of a message of libjq, whose
// second line repeats the expression.
std::string ErrorOf(std::string_view message) {
  std::string_view line = message.substr(0, message.find('\n'));
  for (const std::string_view prefix : {"jq: ", "error: "}) {
    absl::ConsumePrefix(&line, prefix);
  }
  absl::ConsumeSuffix(&line, ":");
  const size_t place = line.find(" at <top-level>, ");
  if (place == std::string_view::npos) return std::string(line);
  return absl::StrCat(
      line.substr(0, place), " (",
      line.substr(place + std::string_view(" at <top-level>, ").size()), ")");
}

// All signals are blocked during the lifetime.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_ = {};
};

void SetLimit(int resource, rlim_t limit) {
  const rlimit both = {.rlim_cur = limit, .rlim_max = limit};
  setrlimit(resource, &both);
}

// Limits the child, which does not share handlers of signals.
void LimitChild() {
  for (int signal = 1; signal < NSIG; ++signal) {
    std::signal(signal, SIG_DFL);  // NOLINT(concurrency-mt-unsafe)
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  SetLimit(RLIMIT_CORE, 0);
  SetLimit(RLIMIT_CPU,
           static_cast<rlim_t>(absl::ToInt64Seconds(JqProgram::kMaxTime)) + 1);
  // Sanitizers reserve more memory than there is.
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER) && \
    !defined(ABSL_HAVE_MEMORY_SANITIZER) &&  \
    !defined(ABSL_HAVE_THREAD_SANITIZER)
  unsigned long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  if (pages > 0) SetLimit(RLIMIT_AS, pages * page + JqProgram::kMaxMemory);
#endif
  // Messages of libjq, and of its abort.
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDERR_FILENO);
}

void WriteLine(int fd, char kind, std::string_view text) {
  if (!WriteAll(fd, absl::StrCat(std::string_view(&kind, 1), text, "\n"))) {
    _exit(1);
  }
}

// Runs the expression in the child, which ends without any destructor.
[[noreturn]] void RunInChild(const JqLibrary& jq, jq_state* state,
                             std::string_view json, int fd) {
  LimitChild();
  const auto write_error = [&](jv value) {
    const jv message = jq.invalid_get_msg(value);
    const bool has_text = jq.get_kind(message) == JV_KIND_STRING;
    if (has_text) {
      const std::string_view text = jq.string_value(message);
      WriteLine(fd, kError, text.substr(0, text.find('\n')));
    }
    return has_text;
  };
  const jv input = jq.parse_sized(json.data(), static_cast<int>(json.size()));
  if (jq.get_kind(input) == JV_KIND_INVALID) {
    if (!write_error(input)) WriteLine(fd, kError, "the body is empty");
    _exit(0);
  }
  jq.start(state, input, 0);
  while (true) {
    const jv value = jq.next(state);
    if (jq.get_kind(value) == JV_KIND_INVALID) {
      if (!write_error(value)) WriteLine(fd, kEnd, "");
      _exit(0);
    }
    const jv text = jq.dump_string(value, 0);
    WriteLine(fd, kValue, jq.string_value(text));
    jq.free(text);
  }
}

// Reads the child's output until it closes `fd`. Returns the limit that it
// exceeded, of time or output; empty if none.
std::string_view ReadAll(int fd, std::string& text) {
  Clock& clock = GetRealClock();
  const MonotonicTime end = clock.MonotonicNow() + JqProgram::kMaxTime;
  std::array<char, 4096> part = {};
  while (true) {
    const absl::Duration left = absl::FromChrono(end - clock.MonotonicNow());
    if (left <= absl::ZeroDuration()) return "takes longer than 1s";
    pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
    const auto limit = static_cast<int>(
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
    if (poll(&ready, 1, limit) <= 0) continue;
    const ssize_t size = read(fd, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return "";
    text.append(part.data(), static_cast<size_t>(size));
    if (text.size() > JqProgram::kMaxOutput) return "gives more than 64 KiB";
  }
}

JqProgram::Result ResultOf(std::string_view text) {
  JqProgram::Result result;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    if (line[0] == kEnd) return result;
    if (line[0] == kValue) {
      result.values.emplace_back(line.substr(1));
      continue;
    }
    result.status = absl::InvalidArgumentError(line.substr(1));
    return result;
  }
  result.status = absl::ResourceExhaustedError("needs more than 256 MiB");
  return result;
}

}  // namespace

struct JqProgram::Compiled {
  explicit Compiled(const JqLibrary& library)
      : jq(library), state(library.init()) {}
  ~Compiled() { jq.teardown(&state); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  const JqLibrary& jq;
  mutable jq_state* state;  // Only children change its contents.
};

JqProgram::JqProgram(std::shared_ptr<const Compiled> compiled)
    : compiled_(std::move(compiled)) {}

absl::StatusOr<JqProgram> JqProgram::Parse(std::string_view text) {
  const absl::StatusOr<const JqLibrary*> jq = LoadJq();
  if (!jq.ok()) return jq.status();
  if (absl::StrContains(text, '\0')) {
    return absl::InvalidArgumentError(
        "an expression must not contain a zero byte");
  }
  auto compiled = std::make_shared<const Compiled>(**jq);
  std::string message;
  (*jq)->set_error_cb(compiled->state, &KeepMessage, &message);
  const bool works =
      (*jq)->compile(compiled->state, std::string(text).c_str()) != 0;
  (*jq)->set_error_cb(compiled->state, nullptr, nullptr);
  if (!works) return absl::InvalidArgumentError(ErrorOf(message));
  return JqProgram(std::move(compiled));
}

JqProgram::Result JqProgram::Run(std::string_view json) const {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {.status = absl::ResourceExhaustedError("cannot make a pipe")};
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  pid_t child = -1;
  {
    const BlockedSignals blocked;
    child = fork();
    if (child == 0) {
      RunInChild(compiled_->jq, compiled_->state, json, write_end.get());
    }
  }
  write_end = UniqueFd();
  if (child < 0) {
    return {.status = absl::ResourceExhaustedError("cannot start a process")};
  }
  std::string text;
  const std::string_view excess = ReadAll(read_end.get(), text);
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!excess.empty()) {
    return {.status = absl::ResourceExhaustedError(absl::StrCat(excess))};
  }
  return ResultOf(text);
}

}  // namespace waiter::cli

#else

namespace waiter::cli {

struct JqProgram::Compiled {};

absl::StatusOr<JqProgram> JqProgram::Parse(std::string_view /*text*/) {
  return absl::InvalidArgumentError(
      "this waiter was built without expressions of jq: install the package "
      "libjq-dev and build it again, or write it as .PATH == VALUE");
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): as above
JqProgram::Result JqProgram::Run(std::string_view /*json*/) const {
  return {.status = absl::UnimplementedError("built without libjq")};
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_JQ
