// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs `waiter durable` with its waits in a file, and workers that are killed.

#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/folder_fixture.h"
#include "waiter/testing/gtest.h"

namespace waiter::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DurableFileTest : public FolderFixture {
 protected:
  void SetUp() override {
    WaiterProcess probe({"durable", "status", Store()});
    if (probe.Wait() == 0) return;
    EXPECT_THAT(probe.err(), HasSubstr("install the package libsqlite3-0"));
    GTEST_SKIP() << probe.err();
  }

  std::string Store() const { return "--store=" + Path("jobs.db"); }

  // Runs `waiter durable ACTION --store=... jobs ARGUMENT...` to its end.
  std::string Durable(const std::string& action,
                      const std::vector<std::string>& arguments = {},
                      int code = 0) const {
    std::vector<std::string> words = {"durable", action, Store(), "jobs"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    WaiterProcess process(std::move(words));
    EXPECT_EQ(process.Wait(), code) << process.err();
    return process.out();
  }

  // A worker that writes a line for each end.
  std::unique_ptr<WaiterProcess> Work(const std::string& name) const {
    return std::make_unique<WaiterProcess>(std::vector<std::string>{
        "durable", "work", Store(), "jobs", "--every=50ms", "--jitter=none",
        "--timeout=5m", "--lease=2s", "--", "sh", "-c",
        absl::StrCat("echo ", name, " $WAITER_KEY >>", Path("log"))});
  }

  std::set<std::string> Keys() const {
    std::set<std::string> keys;
    std::ifstream log(Path("log"));
    for (std::string worker, key; log >> worker >> key;) keys.insert(key);
    return keys;
  }

 private:
  // A busy machine may take long.
  const ScopedEventuallyDefaults patience_{{.timeout = absl::Minutes(2)}};
};

TEST_F(DurableFileTest, WaitsOutliveAWorkerThatIsKilled) {
  std::vector<std::string> targets;
  for (int i = 0; i < 20; ++i) {
    targets.push_back(
        absl::StrCat("f", i, "=file:", Path(absl::StrCat("file", i))));
  }
  const auto create = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      std::ofstream(Path(absl::StrCat("file", i))) << "x";
    }
  };
  EXPECT_EQ(Durable("add", targets), "20 added\n");
  EXPECT_EQ(Durable("add", targets), "0 added, 20 already known\n");
  const auto first = Work("first");
  create(0, 5);
  ASSERT_EVENTUALLY(Keys().size() == 5) << first->err();
  first->Signal(SIGKILL);
  EXPECT_EQ(first->Wait(), 1000 + SIGKILL);
  create(5, 20);
  const auto second = Work("second");
  ASSERT_EVENTUALLY(Keys().size() == 20) << Durable("status") << second->err();
  ASSERT_EVENTUALLY(Durable("status", {"--json"}), HasSubstr("\"kept\":20"));
  EXPECT_THAT(Durable("show", {"f7"}), HasSubstr("success"));
  EXPECT_THAT(Durable("check"), HasSubstr("SQLite 3."));
  second->Signal(SIGTERM);
  EXPECT_EQ(second->Wait(), 0) << second->err();
}

TEST_F(DurableFileTest, StoreMayBeAVariable) {
  WaiterProcess add({"durable", "add", "jobs", "a=pid:1"},
                    {.environment = {"WAITER_STORE=" + Path("jobs.db")}});
  EXPECT_EQ(add.Wait(), 0) << add.err();
  EXPECT_THAT(Durable("list"), HasSubstr("pending"));
  EXPECT_THAT(Durable("notify", {"a"}), HasSubstr("a"));
  EXPECT_THAT(Durable("cancel", {"a"}), HasSubstr("a"));
  Durable("show", {"none"}, 1);
}

TEST_F(DurableFileTest, KnownKeyWithAnotherTargetIsAnErrorOrReplaced) {
  const auto add = [&](const std::string& target, bool replaces) {
    std::vector<std::string> words = {"durable", "add", Store(), "jobs",
                                      target};
    if (replaces) words.push_back("--replace");
    WaiterProcess process(std::move(words));
    process.Wait();
    return process.out() + process.err();
  };
  EXPECT_EQ(add("db=pid:1", false), "1 added\n");
  EXPECT_EQ(add("db=pid:1", false), "0 added, 1 already known\n");
  EXPECT_EQ(add("db=pid:2", false),
            "waiter durable add: db: there is already a wait with this key, "
            "for db=pid:1; choose another key, or replace that wait with "
            "--replace (the other targets were added)\n");
  const auto worker = Work("worker");
  EXPECT_EQ(add("db=file:" + Path("none"), true), "1 added\n");
  EXPECT_THAT(Durable("show", {"db"}), HasSubstr("db=file:"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

TEST_F(DurableFileTest, ForgottenResultCanBeAddedAgain) {
  Durable("add", {"a=pid:1", "b=file:" + Path("none")});
  const auto worker = Work("worker");
  ASSERT_EVENTUALLY(Durable("show", {"a"}), HasSubstr("delivered"));
  EXPECT_EQ(Durable("add", {"a=pid:1"}), "0 added, 1 already known\n");
  EXPECT_EQ(Durable("forget", {"a"}), "forgotten  a\n");
  EXPECT_EQ(Durable("forget", {"a"}, 1), "unknown    a\n");
  EXPECT_EQ(Durable("add", {"a=pid:1"}), "1 added\n");
  WaiterProcess pending({"durable", "forget", Store(), "jobs", "b"});
  EXPECT_NE(pending.Wait(), 0);
  EXPECT_THAT(pending.err(), HasSubstr("b: pending; only delivered results"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
}

TEST_F(DurableFileTest, WaitsMoveToAnotherFile) {
  Durable("add", {"a=pid:1", "b=file:" + Path("none")});
  const auto move = [&](const std::string& from, const std::string& to) {
    WaiterProcess process(
        {"durable", "move", "--from=" + from, "--to=" + to, "jobs"});
    process.Wait();
    return process.out() + process.err();
  };
  const std::string other = Path("other.db");
  EXPECT_EQ(move(Path("jobs.db"), other), "moved            2\n");
  EXPECT_EQ(Durable("list"), "");
  WaiterProcess list({"durable", "list", "--store=" + other, "jobs"});
  list.Wait();
  EXPECT_THAT(list.out(), AllOf(HasSubstr("pending    a  0 polls"),
                                HasSubstr("pending    b  0 polls")));
  EXPECT_THAT(move(other, other),
              HasSubstr("both stores are the same; name two"));
  WaiterProcess incomplete({"durable", "move", "--from=" + other, "jobs"});
  EXPECT_NE(incomplete.Wait(), 0);
  EXPECT_THAT(incomplete.err(),
              HasSubstr("--to is missing; name the store to move to, such as "
                        "--to=redis://HOST"));
}

TEST_F(DurableFileTest, UnknownNameIsAnErrorOfStatusAndAWarningOfWork) {
  Durable("add", {"a=pid:1"});
  WaiterProcess status({"durable", "status", Store(), "jbos"});
  EXPECT_NE(status.Wait(), 0);
  EXPECT_THAT(status.err(),
              HasSubstr("jbos: no client or worker has used this name; the "
                        "space also has jobs"));
  WaiterProcess work({"durable", "work", Store(), "jbos"});
  EXPECT_TRUE(
      work.ReadUntil("serves jbos, to which no wait was ever added; the space "
                     "also has jobs"));
  EXPECT_EVENTUALLY(Durable("status"), HasSubstr("workers          1"));
  work.Signal(SIGTERM);
  EXPECT_EQ(work.Wait(), 0);
  EXPECT_THAT(Durable("status"), HasSubstr("workers          0"));
}

TEST_F(DurableFileTest, WorkSaysAndLogsWhatItDoes) {
  Durable("add", {"a=pid:1"});
  WaiterProcess work({"durable", "work", Store(), "jobs", "--verbose",
                      "--log-json=" + Path("log")});
  ASSERT_EVENTUALLY(Durable("show", {"a"}), HasSubstr("delivered"));
  work.Signal(SIGTERM);
  EXPECT_EQ(work.Wait(), 0);
  EXPECT_THAT(
      work.err(),
      AllOf(HasSubstr("serves jobs with 16 threads: 1 pending"),
            HasSubstr("jobs a: claimed\n"), HasSubstr("jobs a: poll 1: "),
            HasSubstr("jobs a: success after 1 poll in ")));
  std::ifstream log(Path("log"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(line);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0],
              HasSubstr(R"("event":"claim","name":"jobs","key":"a")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("attempt":1,"class":"SUCCESS")"));
  EXPECT_THAT(lines[2], HasSubstr(R"("reason":"success","attempts":1)"));
}

TEST_F(DurableFileTest, FileThatIsNoStoreIsAnErrorThatNamesIt) {
  std::ofstream(Path("jobs.txt")) << std::string(2000, 'x');
  WaiterProcess add(
      {"durable", "add", "--store=" + Path("jobs.txt"), "jobs", "a=pid:1"});
  EXPECT_NE(add.Wait(), 0);
  EXPECT_THAT(add.err(), AllOf(HasSubstr("jobs.txt is not an SQLite file"),
                               HasSubstr("name another file")));
}

}  // namespace
}  // namespace waiter::cli
