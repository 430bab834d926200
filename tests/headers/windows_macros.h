// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WAITER_TESTS_HEADERS_WINDOWS_MACROS_H_
#define WAITER_TESTS_HEADERS_WINDOWS_MACROS_H_

// Macros that <windows.h> defines for the files that include it before a header
// of the library. The standard library and Abseil come first, because not all
// of their headers compile with these macros.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>
#include <random>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define CONST const
#define DELETE 0x00010000L
#define ERROR 0
#define IN
#define NO_ERROR 0L
#define OPTIONAL
#define OUT
#define STRICT 1
#define WAIT_TIMEOUT 258L
#define far
#define interface struct
#define near
#define small char

#endif  // WAITER_TESTS_HEADERS_WINDOWS_MACROS_H_
