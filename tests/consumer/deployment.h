// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a deployment, in a program that depends on Waiter.

#ifndef DEPLOYMENT_H_
#define DEPLOYMENT_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "waiter/options.h"
#include "waiter/result.h"

// Waits until the state that `ask` returns is "READY", and returns it.
waiter::WaitResult<std::string> AwaitReady(
    const std::function<absl::StatusOr<std::string>()>& ask,
    waiter::WaitOptions options = {});

#endif  // DEPLOYMENT_H_
