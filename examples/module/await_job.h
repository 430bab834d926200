// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef AWAIT_JOB_H_
#define AWAIT_JOB_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "waiter/options.h"

// Waits until `state` returns "DONE"; fails immediately if it returns "FAILED".
// The default timeout is a minute.
absl::Status AwaitJob(const std::function<std::string()>& state,
                      waiter::WaitOptions options = {});

#endif  // AWAIT_JOB_H_
