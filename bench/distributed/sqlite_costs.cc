// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures durable waits in an SQLite file, in one process:
//
//   sqlite_costs --folder=/var/tmp --waits=100000
//
// README.md describes the measurement.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/check.h"
#include "bench/distributed/store_costs.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store.h"

ABSL_FLAG(std::string, folder, "/var/tmp", "folder of the file");
ABSL_FLAG(bool, syncs, false, "whether commits wait for the disk");

namespace waiter::bench {
namespace {

// A file that is deleted at the end.
class File {
 public:
  File() : path_(absl::StrCat(absl::GetFlag(FLAGS_folder), "/costs.db")) {
    Remove();
  }
  ~File() { Remove(); }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::shared_ptr<WaitStore> Open(bool syncs) const {
    auto store = MakeSqliteWaitStore(path_, {.syncs = syncs});
    if (!store.ok()) Fail(store.status().ToString());
    return *std::move(store);
  }
  double Size() const {
    return static_cast<double>(std::filesystem::file_size(path_));
  }

 private:
  void Remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path_ + suffix);
    }
  }

  const std::string path_;
};

void Run() {
  std::printf("| | per second | CPU of the process |\n| --- | ---: | ---: |\n");
  const bool syncs = absl::GetFlag(FLAGS_syncs);
  const std::string mode =
      syncs ? ", synchronous=FULL" : ", synchronous=NORMAL";
  if (Wanted("polls")) {
    Report("polls" + mode, [&] {
      const File file;
      return MeasurePolls(file.Open(syncs), CpuMicros);
    });
  }
  if (Wanted("calls")) {
    Report("claims and settles without a worker" + mode, [&] {
      const File file;
      return MeasureCalls(file.Open(syncs), CpuMicros);
    });
  }
  if (!Wanted("enqueue")) return;
  for (const int64_t batch : {1, 250, 4000}) {
    Report(absl::StrCat("enqueues, batches of ", batch, mode), [&] {
      const File file;
      Figures figures = MeasureEnqueue(file.Open(syncs), batch, CpuMicros);
      figures.bytes =
          file.Size() / static_cast<double>(absl::GetFlag(FLAGS_waits));
      return figures;
    });
  }
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  waiter::bench::Run();
}
