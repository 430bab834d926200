// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: apt-get install libhiredis-dev

#include "waiter/redis/client.h"

bool CanConnect() {
  return waiter::RedisClient::Make("redis://10.0.0.5:6379").ok();
}
