// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::interop.

#include "waiter/interop/internal/http_message.h"

int main() {
  const waiter::HttpResponse response = {.headers = {{"ETag", "7"}}};
  return response.header("etag") == "7" ? 0 : 1;
}
