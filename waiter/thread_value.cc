// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/thread_value.h"

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <pthread.h>
#endif

namespace waiter::internal {

#ifdef _WIN32

// Functions refuse a place that `FlsAlloc` could not make.
ThreadValue::ThreadValue(AtEnd at_end) : place_(FlsAlloc(at_end)) {}

bool ThreadValue::Set(void* value) { return FlsSetValue(place_, value) != 0; }

void* ThreadValue::Get() const { return FlsGetValue(place_); }

#else

ThreadValue::ThreadValue(AtEnd at_end)
    : has_place_(pthread_key_create(&place_, at_end) == 0) {}

bool ThreadValue::Set(void* value) {
  return has_place_ && pthread_setspecific(place_, value) == 0;
}

void* ThreadValue::Get() const {
  return has_place_ ? pthread_getspecific(place_) : nullptr;
}

#endif

}  // namespace waiter::internal
