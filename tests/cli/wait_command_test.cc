// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program as a shell does. The cases are mistakes of other
// waiters, and their users' requests.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "cli/loop/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/scripted_server.h"

namespace waiter::cli::wait_command_test {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int kKilledBy = 1000;

// A socket that listens on loopback and answers nothing.
class Listener {
 public:
  explicit Listener(const std::string& host = "127.0.0.1", uint16_t port = 0)
      : host_(host), socket_(BindTcp(host, port)) {
    EXPECT_EQ(listen(socket_.get(), 64), 0);
  }

  std::string url() const {
    return absl::StrCat("tcp://", host_ == "::1" ? "[::1]" : host_, ":",
                        port());
  }
  uint16_t port() const { return PortOf(socket_); }

 private:
  const std::string host_;
  const UniqueFd socket_;
};

std::string DeadUrl() {
  return absl::StrCat("tcp://127.0.0.1:", FreePort(AF_INET));
}

// A socket at which the test answers like Docker's engine.
class Engine {
 public:
  explicit Engine(std::string path)
      : path_(std::move(path)), socket_(BindUnix(path_)) {
    EXPECT_EQ(listen(socket_.get(), 64), 0) << path_;
  }
  ~Engine() { unlink(path_.c_str()); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::string docker_host() const {
    return absl::StrCat("DOCKER_HOST=unix://", path_);
  }

  // Awaits the next request and answers it. Returns the request.
  std::string Answer(int status, std::string_view body) const {
    constexpr int kHangs = 30'000;  // Milliseconds.
    pollfd comes = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    std::string request;
    EXPECT_EQ(poll(&comes, 1, kHangs), 1) << "no request";
    if (comes.revents == 0) return request;
    const int client = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    std::array<char, 1024> buffer;
    while (!absl::StrContains(request, "\r\n\r\n")) {
      const ssize_t size = read(client, buffer.data(), buffer.size());
      if (size <= 0) break;
      request.append(buffer.data(), static_cast<size_t>(size));
    }
    const std::string answer = absl::StrCat(
        "HTTP/1.1 ", status, " Reason\r\nContent-Length: ", body.size(),
        "\r\n\r\n", body);
    EXPECT_EQ(send(client, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    close(client);
    return request;
  }

 private:
  const std::string path_;
  const UniqueFd socket_;
};

// Returns a path for an engine, short enough for an address.
std::string EnginePath() {
  return absl::StrCat("/tmp/waiter.engine.", getpid());
}

using WaitCommandTest = FolderFixture;

// A command line, and how it ends.
struct RunRow {
  std::string_view claim;
  std::vector<std::string> arguments;
  int code;
  std::vector<std::string> messages = {};  // Texts on standard error.
  std::string_view out = {};
  std::vector<std::string> variables = {};
};

// Returns runs for a target that is ready, and for one that is not.
std::vector<RunRow> Runs(const std::string& ready, const std::string& dead) {
  return {
      {"a ready target ends a wait with the default limit",
       {ready},
       0,
       {"at most 5m"}},
      {"all targets are needed by default",
       {"one=" + dead, ready, "--timeout=0"},
       124,
       {"one", dead}},
      {"--any needs only one target", {dead, ready, "--any"}, 0},
      {"the program does not run if the wait failed",
       {dead, "--timeout=0", "--", "echo", "RAN"},
       124,
       {"refused by 127.0.0.1:"}},
      {"--run-anyway runs the program after a failure",
       {dead, "--timeout=0", "--run-anyway", "--", "echo", "RAN"},
       0,
       {},
       "RAN\n"},
      {"a program that is missing is reported",
       {ready, "--", "no-such-command"},
       127,
       {"no-such-command"}},
      {"a folder is no program", {ready, "--", "/"}, 126},
      {"an error does not count as gone",
       {"tcp://no-such-host.invalid:80", "--gone", "--timeout=0"},
       124},
      {"the message names the last finding",
       {"db=" + dead, "--timeout=300ms", "--every=100ms", "--progress=plain"},
       124,
       {"db", "300ms", "refused by 127.0.0.1:", "NOT_READY"}},
      {"the exit code of a timeout can be chosen",
       {dead, "--timeout=0", "--timeout-code=1"},
       1},
      {"the exit code of a failure can be chosen",
       {"exec:exit 64", "--failure-code=9"},
       9},
      {"a probe that cannot run fails immediately",
       {"exec:no-such-command-here"},
       1,
       {"no-such-command-here"}},
      {"--max-attempts ends the wait before the limit",
       {dead, "--max-attempts=2", "--every=10ms", "--timeout=1m"},
       3},
      {"--fail-if ends the wait", {dead, "--fail-if=true"}, 1, {"--fail-if"}},
      {"--map refuses a piece without a meaning",
       {"exec", "--map=2,3=success", "--", "sh", "-c", "exit 3"},
       2},
      {"--map gives a range of exit codes its meaning",
       {"exec", "--map=2-3=success", "--", "sh", "-c", "exit 3"},
       0},
      {"--map=@strict makes an exit code a failure",
       {"exec", "--map=@strict", "--", "false"},
       1},
      {"a flag is a variable", {dead}, 124, {}, "", {"WAITER_TIMEOUT=0"}},
      {"an unknown variable is named",
       {dead},
       124,
       {"WAITER_BOGUS"},
       "",
       {"WAITER_TIMEOUT=0", "WAITER_BOGUS=1"}},
  };
}

TEST_F(WaitCommandTest, ArgumentsAndVariablesDecideHowARunEnds) {
  const Listener listener;
  // A port without a listener, which other programs cannot take.
  const UniqueFd bound = BindTcp("127.0.0.1");
  const std::string dead = absl::StrCat("tcp://127.0.0.1:", PortOf(bound));
  for (const RunRow& run : Runs(listener.url(), dead)) {
    SCOPED_TRACE(run.claim);
    const Ended ended = Call(run.arguments, {.environment = run.variables});
    EXPECT_EQ(ended.code, run.code) << ended.err;
    EXPECT_EQ(ended.out, run.out);
    for (const std::string& text : run.messages) {
      EXPECT_THAT(ended.err, HasSubstr(text));
    }
  }
}

// The probe counts its runs in a file; the third one finds the target ready.
TEST_F(WaitCommandTest, StateLetsAKilledRunGoOn) {
  const std::string state = Path("state");
  const std::vector<std::string> arguments = {
      absl::StrCat("--state=", state),
      "--timeout=30s",
      "--every=300ms",
      "--jitter=none",
      "--progress=json",
      absl::Substitute("exec:echo x >>$0; test $$(wc -l <$0) -ge 5",
                       Path("count"))};
  {
    // The state is written after the line of a poll, and before the next poll.
    WaiterProcess first(arguments);
    ASSERT_TRUE(first.ReadUntil("\"attempt\":2"));
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(), kKilledBy + SIGKILL);
    EXPECT_THAT(first.out(), Not(HasSubstr("\"attempt\":3")));
  }
  ASSERT_TRUE(std::filesystem::exists(state));
  std::vector<std::string> others = arguments;
  others.back() = "exec:true";
  EXPECT_THAT(Call(others), Ends(2, HasSubstr("its target 1 is exec:echo x")));

  EXPECT_THAT(Call(arguments), Ends(0, _,
                                    AllOf(Not(HasSubstr("\"attempt\":1,")),
                                          HasSubstr("\"attempt\":3"),
                                          HasSubstr("\"attempt\":4"))));
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST_F(WaitCommandTest, SliceSaysWhatIsMissingAndTheNextCallResumes) {
  const std::string ready = Path("ready");
  std::vector<std::string> arguments = {absl::StrCat("--state=", Path("state")),
                                        "--slice=200ms",
                                        "--timeout=30s",
                                        "--every=5s",
                                        "--jitter=none",
                                        "--run-anyway",
                                        absl::StrCat("late=file:", ready),
                                        "--",
                                        "echo",
                                        "RAN"};
  EXPECT_THAT(Call(arguments),
              Ends(75,
                   AllOf(HasSubstr("waiter: late was not ready after 2"),
                         HasSubstr("of 30s; NOT_READY: no such file; to "
                                   "continue, run this command again in 4.")),
                   IsEmpty()));
  arguments[1] = "--slice=10s";
  arguments[2] = "--timeout=2s";
  Write("ready", "x");
  EXPECT_THAT(
      Call(arguments),
      Ends(0,
           AllOf(HasSubstr("resumed after "),
                 HasSubstr("of 30s; the limit of 2s is ignored, because the "
                           "first call's limit applies"),
                 HasSubstr("ready after 2 polls")),
           "RAN\n"));
}

TEST_F(WaitCommandTest, ProcessBecomesTheProgram) {
  const Listener listener;
  WaiterProcess waiter(
      {listener.url(), "--", "sh", "-c", "echo $$; cat; exit 7"},
      {.input = "text on stdin\n"});
  EXPECT_EQ(waiter.Wait(), 7);
  EXPECT_EQ(waiter.out(), absl::StrCat(waiter.pid(), "\ntext on stdin\n"));
}

TEST_F(WaitCommandTest, ProgramHasTheSignalsAndFilesOfItsCaller) {
  const Listener listener;
  const std::vector<std::string> command = {
      "sh", "-c", "grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd"};
  std::vector<std::string> arguments = {listener.url(), "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  WaiterProcess waiter(arguments, {.ignored_signals = {SIGHUP}});
  WaiterProcess without({command.begin() + 1, command.end()},
                        {.program = "/bin/sh", .ignored_signals = {SIGHUP}});
  EXPECT_EQ(waiter.Wait(), 0);
  EXPECT_EQ(without.Wait(), 0);
  EXPECT_EQ(waiter.out(), without.out());
  EXPECT_THAT(waiter.out(), HasSubstr("SigIgn:"));
}

TEST_F(WaitCommandTest, TargetIsFoundInEitherFamily) {
  const Listener v4;
  const Listener v6("::1");
  EXPECT_THAT(Call({v6.url()}), Ends(0)) << "IPv6 addresses have brackets";
  EXPECT_THAT(Call({absl::StrCat("tcp://localhost:", v4.port()),
                    absl::StrCat("tcp://localhost:", v6.port())}),
              Ends(0));
}

TEST_F(WaitCommandTest, TargetsOfEveryKindMix) {
  const Listener listener;
  Write("there");
  WaiterProcess waiter({listener.url(), absl::StrCat("file:", Path("there")),
                        absl::StrCat("pid:", getpid()), "exec:test 1 = 1",
                        "dns:localhost"});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
}

TEST_F(WaitCommandTest, LateTargetIsFound) {
  const int port = FreePort(AF_INET);
  WaiterProcess waiter({absl::StrCat("tcp://127.0.0.1:", port), "--every=50ms",
                        "--progress=plain"});
  ASSERT_TRUE(waiter.ReadUntil("refused"));
  const Listener listener("127.0.0.1", static_cast<uint16_t>(port));
  EXPECT_EQ(waiter.Wait(), 0);
}

TEST_F(WaitCommandTest, GoneWaitsForRemoval) {
  Write("lock");
  WaiterProcess waiter({absl::StrCat("file:", Path("lock")), "--gone",
                        "--every=50ms", "--progress=plain"});
  ASSERT_TRUE(waiter.ReadUntil("still there"));
  std::filesystem::remove(Path("lock"));
  EXPECT_EQ(waiter.Wait(), 0);
}

TEST_F(WaitCommandTest, MessageSaysWhyTheLimitEndedAPoll) {
  const Listener listener;
  EXPECT_THAT(Call({absl::StrCat("redis://127.0.0.1:", listener.port()),
                    "--timeout=100ms"}),
              Ends(124, HasSubstr("no answer to PING within 1s (1 poll")));
}

TEST_F(WaitCommandTest, HintBeyondTheLimitCountsUpToIt) {
  // The second poll finds it ready, but the first one asks to wait an hour.
  const std::string probe = absl::Substitute(
      "exec:test -e $0 && exit; touch $0; "
      R"(echo '{"waiter":"throttled","retry_after":"1h"}')",
      Path("asked"));
  WaiterProcess waiter({probe, "--timeout=1s"});
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();

  EXPECT_THAT(
      Call({R"(exec:echo '{"waiter":"throttled","retry_after":"1h"}')",
            "--timeout=1s"}),
      Ends(124, AllOf(HasSubstr("2 polls"), HasSubstr("it asked to wait 1h"),
                      HasSubstr("--retry-after=ignore"))));
}

TEST_F(WaitCommandTest, ProbeLearnsItsPollFromVariables) {
  const std::string program =
      "echo $WAITER_ATTEMPT $WAITER_DEADLINE_MS; test $WAITER_ATTEMPT = 3";
  EXPECT_THAT(Call({"exec", "--every=10ms", "--timeout=1m", "--print-last",
                    "--", "sh", "-c", program}),
              Ends(0, _, MatchesRegex("3 (60000|5[0-9][0-9][0-9][0-9])\n")));
}

TEST_F(WaitCommandTest, ProcessDiesOfTheSignalThatInterruptsIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    WaiterProcess waiter({DeadUrl(), "--progress=plain"});
    ASSERT_TRUE(waiter.ReadUntil("refused"));
    waiter.Signal(signal);
    EXPECT_EQ(waiter.Wait(), kKilledBy + signal) << waiter.err();
  }
}

// The kernel keeps signals from process 1 that it does not handle.
TEST_F(WaitCommandTest, FirstProcessEndsBySignals) {
  constexpr std::string_view kUnshare = "/usr/bin/unshare";
  WaiterProcess possible({"-Urpf", "true"}, {.program = std::string(kUnshare)});
  if (possible.Wait() != 0) GTEST_SKIP() << "no new PID namespace is allowed";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    WaiterProcess waiter(
        {"-Urpf", WaiterPath(), "--timeout=1m",
         absl::Substitute("exec:kill -$0 1; sleep 60", signal)},
        {.program = std::string(kUnshare)});
    EXPECT_EQ(waiter.Wait(), 128 + signal) << waiter.err();
  }
}

TEST_F(WaitCommandTest, ProbesEndWithTheProcess) {
  const std::string pid_file = Path("pid");
  // The probe ignores SIGTERM, and creates "up" once it runs.
  WaiterProcess waiter(
      {absl::Substitute("exec:trap '' TERM; mkfifo $0/fifo; echo $$$$ > "
                        "$0/pid; echo up > $0/up; read never < $0/fifo",
                        folder()),
       absl::StrCat("up=file:", Path("up")), "--progress=plain", "--every=10ms",
       "--kill-after=50ms"});
  ASSERT_TRUE(waiter.ReadUntil("up: ready"));
  waiter.Signal(SIGINT);
  EXPECT_EQ(waiter.Wait(), kKilledBy + SIGINT);
  std::ifstream file(pid_file);
  pid_t pid = 0;
  file >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(kill(pid, 0), -1) << "the probe still runs";
}

TEST_F(WaitCommandTest, ProbesEndWithAKilledProcess) {
  const std::string fifo = Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  WaiterProcess waiter(
      {absl::Substitute("exec:exec 3>$0; echo up >&3; exec sleep 1000", fifo)});
  // The FIFO ends once no process has it open for writing.
  const int reading = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 16> bytes = {};
  ASSERT_EQ(read(reading, bytes.data(), bytes.size()), 3);
  waiter.Signal(SIGKILL);
  EXPECT_EQ(waiter.Wait(), kKilledBy + SIGKILL);
  pollfd closed = {.fd = reading, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&closed, 1, /*timeout=*/10'000), 1) << "the probe still runs";
  close(reading);
}

TEST_F(WaitCommandTest, ZombieOfAProbeDoesNotDelayTheEnd) {
  // As in a container whose process 1 reaps no orphans: the child of the
  // probe's shell becomes a child of the test.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  WaiterProcess waiter(
      {absl::Substitute("exec:: > $0; sleep 1000; exit 1", Path("up")),
       absl::StrCat("up=file:", Path("up")), "--progress=plain", "--every=10ms",
       "--kill-after=1h"});
  ASSERT_TRUE(waiter.ReadUntil("up: ready"));
  waiter.Signal(SIGINT);
  EXPECT_EQ(waiter.Wait(), kKilledBy + SIGINT);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

TEST_F(WaitCommandTest, WaitGoesOnWithoutAReaderOfItsMessages) {
  // The loop ends once the other end of the pipe is closed.
  EXPECT_THAT(Call({"-c",
                    R"({ (trap "" PIPE; while printf x; do :; done) 2>/dev/null
            "$0" exec:true -- touch "$1" 2>&1; } | :)",
                    WaiterPath(), Path("ran")},
                   {.program = "/bin/sh"}),
              Ends(0));
  EXPECT_TRUE(std::filesystem::exists(Path("ran")));
}

TEST_F(WaitCommandTest, WaitEndsWhenTheGuardedProcessIsGone) {
  WaiterProcess guarded({"-c", "read never"}, {.program = "/bin/sh"});
  EXPECT_EQ(guarded.Wait(), 1) << "an empty stdin must end it";
  EXPECT_THAT(Call({DeadUrl(), absl::StrCat("--while-pid=", guarded.pid())}),
              Ends(1, HasSubstr(absl::StrCat(guarded.pid()))));
}

TEST_F(WaitCommandTest, SignalPrintsASnapshot) {
  WaiterProcess waiter({DeadUrl(), "--progress=plain", "--every=1h"});
  ASSERT_TRUE(waiter.ReadUntil("refused"));
  const size_t before = waiter.err().size();
  waiter.Signal(SIGUSR1);
  ASSERT_TRUE(waiter.ReadUntil("next"));
  EXPECT_GT(waiter.err().size(), before);
  waiter.Signal(SIGTERM);
  EXPECT_EQ(waiter.Wait(), kKilledBy + SIGTERM);
}

TEST_F(WaitCommandTest, OutputOfAProbeIsHarmless) {
  WaiterProcess waiter(
      {"exec:head -c 3000000 /dev/urandom; printf "
       "'\\033[2J\\007evil' >&2; exit 1",
       "--timeout=0", "--progress=plain"});
  EXPECT_EQ(waiter.Wait(), 124);
  EXPECT_THAT(waiter.err(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(waiter.err(), Not(HasSubstr("\a")));
  EXPECT_THAT(waiter.err(), AllOf(HasSubstr("evil"), SizeIs(Lt(10000))));
}

TEST_F(WaitCommandTest, ReportReadsALog) {
  const Listener listener;
  const std::string log = Path("run.jsonl");
  EXPECT_THAT(Call({absl::StrCat("web=", listener.url()),
                    absl::StrCat("--log-json=", log)}),
              Ends(0));
  EXPECT_THAT(Call({"report", log}),
              Ends(0, _, AllOf(HasSubstr("web"), HasSubstr("ready"))));
}

TEST_F(WaitCommandTest, LogThatCannotBeWrittenIsOneWarning) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  WaiterProcess waiter(
      {"exec:true", "--log-json=/dev/full", "--quiet", "--", "echo", "RAN"});
  EXPECT_EQ(waiter.Wait(), 0);
  EXPECT_EQ(waiter.out(), "RAN\n");
  EXPECT_EQ(waiter.err(),
            "waiter: --log-json=/dev/full: No space left on device\n");
  EXPECT_THAT(Call({"exec:exit 64", "--log-json=/dev/full"}), Ends(1));
  EXPECT_THAT(Call({"-c", "exec \"$0\" exec:true --progress=json >/dev/full",
                    WaiterPath()},
                   {.program = "/bin/sh"}),
              Ends(0, HasSubstr("cannot write to standard output")));
}

TEST_F(WaitCommandTest, LogHoldsNoMessagesIfStandardErrorIsClosed) {
  WaiterProcess waiter(
      {"-c", R"(exec "$0" exec:true --log-json="$1" -- ls /proc/self/fd 2>&-)",
       WaiterPath(), Path("log")},
      {.program = "/bin/sh"});
  WaiterProcess without({"-c", "exec ls /proc/self/fd 2>&-"},
                        {.program = "/bin/sh"});
  EXPECT_EQ(waiter.Wait(), 0);
  EXPECT_EQ(without.Wait(), 0);
  EXPECT_EQ(waiter.out(), without.out());
  WaiterProcess report({"report", Path("log")});
  EXPECT_EQ(report.Wait(), 0) << report.err();
}

TEST_F(WaitCommandTest, TooFewFilesAreAFailureOfItsOwn) {
  EXPECT_THAT(Call({"-c", R"(ulimit -n 8; exec "$0" exec:true)", WaiterPath()},
                   {.program = "/bin/sh"}),
              Ends(125, HasSubstr("Too many open files")));
}

TEST_F(WaitCommandTest, ShortFormsStandForLongOnes) {
  for (const std::vector<std::string>& forms :
       std::vector<std::vector<std::string>>{{"-q", "-t", "0.01"},
                                             {"-qt0.01"},
                                             {"-qt=0.01"},
                                             {"-qt", "10ms"},
                                             {"--quiet", "--timeout=0.01"}}) {
    std::vector<std::string> arguments = {"file:/no/such/file"};
    arguments.insert(arguments.end(), forms.begin(), forms.end());
    WaiterProcess waiter(arguments);
    EXPECT_EQ(waiter.Wait(), 124) << forms[0];
    EXPECT_THAT(waiter.err(),
                AllOf(StartsWith("waiter: "), HasSubstr("limit of 10ms")));
    EXPECT_EQ(waiter.err().find('\n'), waiter.err().size() - 1) << waiter.err();
  }
}

TEST_F(WaitCommandTest, TargetsComeFromFiles) {
  Write("ready");
  Write("targets",
        absl::StrCat(
            "\xef\xbb\xbf# with a byte order mark\n\n  a=file:", Path("ready"),
            "  \r\nb=exec:test -e '", Path("ready"), "'\n"));
  Write("more", absl::StrCat("c=file:", Path("absent")));
  EXPECT_THAT(Call({"--targets", Path("targets")}),
              Ends(0, HasSubstr("2 of 2 targets ready")));
  EXPECT_THAT(Call({absl::StrCat("d=file:", Path("ready")), "--timeout=0",
                    absl::StrCat("--targets=", Path("targets")),
                    absl::StrCat("--targets=", Path("more"))}),
              Ends(124, HasSubstr("1 of 4 targets was not ready")));
  Write("wrong", "\ntcp://localhost\n");
  EXPECT_THAT(
      Call({absl::StrCat("--targets=", Path("wrong"))}),
      Ends(2, HasSubstr(absl::StrCat(Path("wrong"), ":2: tcp://localhost: "))));
}

TEST_F(WaitCommandTest, VariableHasTheTargetsIfNoneAreGiven) {
  Write("ready");
  const std::string ready = absl::StrCat("file:", Path("ready"));
  const std::string both =
      absl::StrCat("WAITER_TARGETS=", ready, "\n  b=file:", Path("absent"));
  EXPECT_THAT(
      Call({"--timeout=0", "--", "echo", "RAN"}, {.environment = {both}}),
      Ends(124, AllOf(HasSubstr("1 of 2 targets was not ready"),
                      Not(HasSubstr("ignored")))));
  // Lines in a file of variables on Windows end like this.
  WaiterProcess lines({ready}, {.environment = {"WAITER_TIMEOUT=0\r"}});
  EXPECT_EQ(lines.Wait(), 0) << lines.err();
  WaiterProcess given({ready, "--timeout=0"}, {.environment = {both}});
  EXPECT_EQ(given.Wait(), 0) << given.err();
  EXPECT_THAT(Call({}, {.environment = {"WAITER_TARGETS=localhost"}}),
              Ends(2, HasSubstr("WAITER_TARGETS: localhost: no scheme")));
  EXPECT_THAT(Call({}, {.environment = {"WAITER_TARGETS= \n"}}),
              Ends(2, HasSubstr("nothing to wait for")));
}

TEST_F(WaitCommandTest, TargetThatIsGivenTwiceIsWaitedForOnce) {
  Write("ready");
  const std::string ready = absl::StrCat("file:", Path("ready"));
  EXPECT_THAT(Call({ready, absl::StrCat("a=", ready), ready,
                    absl::StrCat("a=", ready)}),
              Ends(0, HasSubstr("2 of 2 targets ready")));
  EXPECT_THAT(Call({ready, ready, "--at-least=2"}),
              Ends(2, HasSubstr("there is only 1 target")));
}

constexpr std::string_view kExited =
    R"({"State":{"Status":"exited","ExitCode":3},)"
    R"("HostConfig":{"RestartPolicy":{"Name":"no"}}})";

TEST_F(WaitCommandTest, ContainerIsAskedForAtDockerHost) {
  if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
  const Engine engine(EnginePath());
  WaiterProcess waiter(
      {"docker:my_app-1", "--every=10ms", "--timeout=1m"},
      {.environment = {engine.docker_host(), "http_proxy=http://127.0.0.1:1"}});
  std::vector<std::string> requests;
  requests.push_back(engine.Answer(404, R"({"message":"No such container"})"));
  requests.push_back(engine.Answer(200, R"({"State":{"Status":"created"}})"));
  requests.push_back(engine.Answer(
      200, R"({"State":{"Status":"running","Health":{"Status":"starting"}}})"));
  requests.push_back(engine.Answer(
      200, R"({"State":{"Status":"running","Health":{"Status":"healthy"}}})"));
  EXPECT_EQ(waiter.Wait(), 0) << waiter.err();
  EXPECT_THAT(requests,
              Each(AllOf(StartsWith("GET /containers/my_app-1/json HTTP/1.1"),
                         HasSubstr("\r\nHost: localhost\r\n"))));
}

TEST_F(WaitCommandTest, ExitedContainerIsFailedAndGone) {
  if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
  const Engine engine(EnginePath());
  const WaiterProcess::Options options = {
      .environment = {engine.docker_host()}};
  WaiterProcess ready({"docker:web", "--timeout=1m"}, options);
  engine.Answer(200, kExited);
  EXPECT_EQ(ready.Wait(), 1);
  EXPECT_THAT(ready.err(), AllOf(HasSubstr("exited with code 3"),
                                 HasSubstr("docker logs web")));

  WaiterProcess gone({"docker:web", "--gone", "--every=10ms"}, options);
  engine.Answer(200, R"({"State":{"Status":"running"}})");
  engine.Answer(200, kExited);
  EXPECT_EQ(gone.Wait(), 0) << gone.err();
}

TEST_F(WaitCommandTest, ContainerOfNoEngineIsNotGone) {
  if (!HasHttp()) GTEST_SKIP() << "no libcurl here";
  EXPECT_THAT(
      Call({"docker:web", "--gone", "--timeout=0"},
           {.environment = {"DOCKER_HOST=unix:///no/such/socket"}}),
      Ends(124, AllOf(HasSubstr("/no/such/socket: No such file or directory"),
                      HasSubstr("is Docker started? DOCKER_HOST names"))));

  EXPECT_THAT(
      Call({"docker:web"}, {.environment = {"DOCKER_HOST=ssh://me@h"}}),
      Ends(2, StartsWith("waiter: docker:web: DOCKER_HOST: only unix://")));
}

TEST_F(WaitCommandTest, UsageErrorIsOneLineThatNamesTheArgument) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"gopher://example.com"}, "gopher"},
      {{"tcp://localhost"}, "tcp://localhost"},
      {{"tcp://localhost:http"}, "http"},
      {{"--timeout=5s"}, "nothing to wait for"},
      {{"pid:1", "--timeout=1sec"}, "--timeout=1sec"},
      {{"redis://h", "--login"}, "--login: no target is redis://USER:"},
      {{"pid:1", "-t5x"}, "--timeout=5x: not a duration"},
      {{"pid:1", "-tiemout=5s"}, "--tiemout: no such flag; did you mean"},
      {{"pid:1", "-qx"}, "--qx: no such flag"},
      {{"pid:1", "-t5s", "--timeout=6s"}, "--timeout=6s: given twice"},
      {{"--targets=/no/such/file"}, "--targets=/no/such/file: "},
      {{"--targets=/dev/null"}, "--targets=/dev/null: the file has no targets"},
      {{"pid:1", "--slice=25s"},
       "--slice: it needs --state=FILE, to resume from there"},
      {{"pid:1", "--slice=10ms", "--state=s"},
       "--slice: it must be at least 100ms"},
      {{"pid:1", "--slice=5s", "--state=s", "--probe-timeout=5s"},
       "--slice=5s: it must be longer than --probe-timeout=5s"},
      {{"x=pid:1", "--slice=5s", "--state=s", "--probe-timeout@x=6s"},
       "a poll of x may take 6s, longer than --slice=5s; raise --slice"},
      {{"pid:1", "--any", "--all"}, "--any"},
      {{"pid:1", "--at-least=2"}, "--at-least=2: there is only 1 target"},
      {{"pid:1", "--every=1s", "--backoff=1s,2,3s"}, "--backoff"},
      {{"pid:1", "--expect=1m", "--every=1s"}, "--e"},
      {{"a=pid:1", "a=pid:2"}, "a: two targets have this label"},
      {{"pid:1", "--"}, "--"},
      {{"exec"}, "waiter exec"},
      {{"exec", "true"}, "true"},
      {{"operation", "pid:1"}, "an operation has one URL"},
      {{"pid:1", "--bogus"}, "--bogus: no such flag"},
      {{"pid:1", "-v"}, "waiter: -v: no such flag"},
      {{"pid:1", "--while-pid=x"}, "--while-pid=x"},
      {{"pid:1", "--progress=loud"}, "--progress=loud"},
      {{"pid:1", "--log-json=/no/such/folder/log"}, "/no/such/folder/log"},
      {{"pid:1", "--status=200"}, "--status: no target is http://"},
      {{"exec", "--map=0=great", "--", "true"}, "great"},
  };
  for (const auto& [arguments, named] : cases) {
    WaiterProcess waiter(arguments);
    EXPECT_EQ(waiter.Wait(), 2) << named;
    EXPECT_THAT(waiter.err(), AllOf(StartsWith("waiter"), HasSubstr(named)));
    EXPECT_EQ(waiter.err().find('\n'), waiter.err().size() - 1) << waiter.err();
    EXPECT_THAT(waiter.out(), IsEmpty());
  }
}

TEST_F(WaitCommandTest, HelpFitsOneScreen) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"--help=when"},
                                             {"--help=http"},
                                             {"--help=output"},
                                             {"exec", "--help"},
                                             {"plan", "--help"},
                                             {"report", "--help"},
                                             {"simulate", "--help"}}) {
    WaiterProcess waiter(arguments);
    EXPECT_EQ(waiter.Wait(), 0) << arguments[0];
    const std::vector<std::string> lines = absl::StrSplit(waiter.out(), '\n');
    EXPECT_LE(lines.size(), 25U) << waiter.out();
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), 80U) << line;
    }
  }
}

}  // namespace
}  // namespace waiter::cli::wait_command_test
