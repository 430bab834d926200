// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads any bytes as durations, and plans polls from the durations that were
// accepted. Reading the text of a model gives the same model.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/check_that.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto model = std::make_shared<waiter::DurationModel>();
  (void)model->Merge(bytes);
  CHECK_THAT(model->Merge("waiter durations 1\n" + std::string(bytes)).ok());
  waiter::DurationModel copy;
  CHECK_THAT(copy.Merge(model->ToText()).ok());
  CHECK_THAT(copy.ToText() == model->ToText());
  const auto learned = waiter::LearnedDelays::Make(model);
  for (const std::string& operation : model->Operations()) {
    const waiter::LearnedSchedule schedule = (*learned)->Schedule(operation);
    CHECK_THAT(schedule.weight >= 0 && schedule.weight <= 1);
    absl::Duration last = absl::ZeroDuration();
    for (const absl::Duration poll : schedule.polls) {
      CHECK_THAT(poll > last && poll < absl::InfiniteDuration());
      last = poll;
    }
  }
  return 0;
}
