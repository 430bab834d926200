// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/benchmark.h"

WAITER_COUNT_ALLOCATIONS();
