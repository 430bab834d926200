// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs `waiter durable` with its waits on a PostgreSQL server.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/postgres_server.h"

namespace waiter::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Runs `waiter durable ACTION --store=URL jobs ARGUMENT...` to its end.
std::string Durable(const std::string& url, const std::string& action,
                    const std::vector<std::string>& arguments = {},
                    int code = 0) {
  std::vector<std::string> words = {"durable", action, "--store=" + url,
                                    "jobs"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  WaiterProcess process(std::move(words));
  EXPECT_EQ(process.Wait(), code) << process.err();
  return process.out();
}

TEST(DurablePostgresTest, WaitsAreAddedPolledAndShown) {
  if (!PostgresServer::IsInstalled()) {
    GTEST_SKIP() << "the server is not installed";
  }
  const PostgresServer server;
  const std::string url = server.Url();
  const std::string file = testing::TempDir() + "/durable_postgres";
  std::filesystem::remove(file);
  EXPECT_EQ(Durable(url, "add", {"a=file:" + file, "b=file:" + file}),
            "2 added\n");
  EXPECT_EQ(Durable(url, "add", {"a=file:" + file}),
            "0 added, 1 already known\n");
  Durable(url, "cancel", {"b"});
  WaiterProcess worker({"durable", "work", "--store=" + url, "jobs",
                        "--every=50ms", "--timeout=5m", "--lease=2s"});
  std::ofstream(file) << "x";
  for (int i = 0; i < 400; ++i) {
    if (absl::StrContains(Durable(url, "status", {"--json"}), "\"kept\":2")) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(Durable(url, "show", {"a"}), HasSubstr("success"));
  EXPECT_THAT(Durable(url, "list"), HasSubstr("cancelled"));
  // The server of tests does not sync.
  EXPECT_THAT(
      Durable(url, "check", {}, 1),
      testing::AllOf(HasSubstr("PostgreSQL "), HasSubstr("fsync is off")));
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(), 0) << worker.err();
}

TEST(DurablePostgresTest, ServerThatIsNotThereIsAnErrorWithoutThePassword) {
  WaiterProcess add({"durable", "add",
                     "--store=postgres://me:secret@127.0.0.1:1/app", "jobs",
                     "a=pid:1"});
  EXPECT_NE(add.Wait(), 0);
  EXPECT_THAT(add.err(), Not(HasSubstr("secret")));
  EXPECT_THAT(add.err(), testing::AnyOf(HasSubstr("Connection refused"),
                                        HasSubstr("libpq5")));
}

}  // namespace
}  // namespace waiter::cli
