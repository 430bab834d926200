// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/near_misses.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/text.h"

namespace waiter {
namespace {

double ShareOf(const NearMiss& pass) {
  return absl::FDivDuration(pass.used, pass.limit * pass.scale);
}

// Returns twice the time that was used, rounded up to two digits.
absl::Duration SafeLimit(const NearMiss& pass) {
  const absl::Duration twice = pass.used * 2 / pass.scale;
  absl::Duration unit = absl::Nanoseconds(1);
  while (twice > unit * 100) unit *= 10;
  return absl::Ceil(twice, unit);
}

struct ProgramList {
  std::mutex mutex;
  NearMissList list;
};

// Never destroyed, as assertions may run until the program ends.
ProgramList& GetProgramList() {
  static auto* const list = [] {
    // NOLINTNEXTLINE(cert-err33-c): without it, only the lines are missing
    std::atexit([] {
      const std::lock_guard lock(GetProgramList().mutex);
      const std::string text = GetProgramList().list.Text();
      std::fwrite(text.data(), 1, text.size(), stderr);
    });
    return new ProgramList();
  }();
  return *list;
}

}  // namespace

void NearMissList::Add(const NearMiss& pass) {
  if (ShareOf(pass) <= kShare) return;
  Entry& entry = entries_[pass.where];
  if (++entry.count == 1 || ShareOf(pass) > ShareOf(entry.worst)) {
    entry.worst = pass;
  }
}

std::string NearMissList::Text() const {
  std::string text;
  for (const auto& [where, entry] : entries_) {
    const NearMiss& pass = entry.worst;
    absl::StrAppend(&text, "[NEAR MISS ] ", where, ": ", pass.expression,
                    " passed after ", internal::TimeText(pass.used), ", ",
                    std::lround(ShareOf(pass) * 100), " % of its limit of ",
                    absl::FormatDuration(pass.limit));
    if (pass.scale != 1) {
      absl::StrAppend(&text, " scaled by ", pass.scale, " on this machine");
    }
    if (entry.count > 1) {
      absl::StrAppend(&text, ", the slowest of ", entry.count, " passes");
    }
    absl::StrAppend(&text, "; a limit of ",
                    absl::FormatDuration(SafeLimit(pass)),
                    " would have been safe\n");
  }
  return text;
}

void RecordPass(const NearMiss& pass) {
  if (ShareOf(pass) <= NearMissList::kShare) return;
  ProgramList& program = GetProgramList();
  const std::lock_guard lock(program.mutex);
  program.list.Add(pass);
}

}  // namespace waiter
