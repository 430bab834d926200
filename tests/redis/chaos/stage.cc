// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/stage.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/proxy.h"
#include "waiter/clock.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace waiter::chaos {
namespace {

double SecondsSince(MonotonicTime start) {
  return std::chrono::duration<double>(GetRealClock().MonotonicNow() - start)
      .count();
}

}  // namespace

uint64_t SeedOrRandom(uint64_t seed) {
  return seed == 0 ? std::random_device()() : seed;
}

std::optional<std::string> FindFaketime() {
  if (kIsSanitized) return std::nullopt;
  std::vector<std::string> folders = {"/usr/lib/faketime",
                                      "/usr/local/lib/faketime"};
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/usr/lib", error)) {
    folders.push_back(entry.path().string() + "/faketime");
  }
  for (const std::string& folder : folders) {
    std::string path = folder + "/libfaketimeMT.so.1";
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return std::nullopt;
}

void SkipWithoutFaketime() {
  if (FindFaketime().has_value()) return;
  GTEST_SKIP() << (kIsSanitized ? "sanitizers do not go with libfaketime"
                                : "libfaketime is not installed")
               << ": all clocks were right";
}

std::string ProgramBeside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe")
      .replace_filename(name)
      .string();
}

pid_t StartProgram(std::vector<std::string> words, const std::string& clock,
                   const std::optional<std::string>& faketime) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  if (faketime.has_value() && !clock.empty()) {
    variables.push_back("LD_PRELOAD=" + *faketime);
    variables.push_back("FAKETIME=" + clock);
    variables.emplace_back("FAKETIME_DONT_FAKE_MONOTONIC=1");
    variables.emplace_back("DONT_FAKE_MONOTONIC=1");
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  };
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const pid_t pid = fork();
  if (pid == 0) {
    execve(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  return pid;
}

Directory::Directory() : path_(testing::TempDir() + "/chaos.XXXXXX") {
  EXPECT_NE(mkdtemp(path_.data()), nullptr);
}

Directory::~Directory() { std::filesystem::remove_all(path_); }

MachineWatch::MachineWatch(MonotonicTime start, double least)
    : start_(start), least_(least), thread_([this] { Watch(); }) {}

std::vector<MachineWatch::Stall> MachineWatch::Stalls() {
  const std::lock_guard lock(mutex_);
  return stalls_;
}

void MachineWatch::Watch() {
  while (!ends_) {
    const double before = SecondsSince(start_);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double after = SecondsSince(start_);
    if (after - before < least_) continue;
    const std::lock_guard lock(mutex_);
    stalls_.push_back({before, after});
  }
}

double Dice::Uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(gen_);
}

int Dice::Index(int count) {
  return std::uniform_int_distribution<int>(0, count - 1)(gen_);
}

double Timeline::Now() const { return SecondsSince(start_); }

void Timeline::SleepUntil(double time) const {
  std::this_thread::sleep_for(std::chrono::duration<double>(time - Now()));
}

void Timeline::RunUntil(double time) {
  SleepUntil(steps_.empty() ? time : std::min(time, steps_.begin()->first));
  while (!steps_.empty() && steps_.begin()->first <= Now()) {
    const std::function<void()> step = std::move(steps_.begin()->second);
    steps_.erase(steps_.begin());
    step();
  }
}

double FaultLength(Dice& dice, double time, double end) {
  const double length =
      dice.Chance(0.8) ? dice.Uniform(0.2, 6) : dice.Uniform(6, 60);
  return std::min(length, std::max(0.2, end - time));
}

void PlanProxyFaults(Proxy& proxy, int doors, double all, double time,
                     double end, Dice& dice, const PlanFault& plan) {
  time += dice.Uniform(0, 2);
  while (time < end) {
    const int door = dice.Chance(all) ? Proxy::kAll : dice.Index(doors);
    const double until = time + FaultLength(dice, time, end);
    const auto nothing = [] {};
    switch (dice.Index(4)) {
      case 0:
        plan(
            FaultKind::kStalled, door, time, until,
            [&proxy, door] { proxy.SetStalled(door, true); },
            [&proxy, door] { proxy.SetStalled(door, false); });
        time = until;
        break;
      case 1:
        plan(
            FaultKind::kRefused, door, time, until,
            [&proxy, door] { proxy.SetRefused(door, true); },
            [&proxy, door] { proxy.SetRefused(door, false); });
        time = until;
        break;
      case 2:
        plan(
            FaultKind::kCut, door, time, time,
            [&proxy, door] { proxy.Cut(door); }, nothing);
        break;
      default:
        plan(
            FaultKind::kHalved, door, time, time,
            [&proxy, door] { proxy.Halve(door); }, nothing);
        break;
    }
    time += dice.Uniform(0.2, 3);
  }
}

}  // namespace waiter::chaos
