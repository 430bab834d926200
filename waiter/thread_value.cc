// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/thread_value.h"

#ifdef __MINGW32__

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

namespace waiter::internal {

unsigned long MakePlaceOfThreads(AtThreadEnd at_end) {
  // Keeps the library in memory, as threads may end at any time.
  HMODULE library;
  GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
      reinterpret_cast<const wchar_t*>(at_end), &library);
  return FlsAlloc(at_end);
}

bool SetAtPlace(unsigned long place, void* value) {
  return FlsSetValue(place, value) != 0;
}

}  // namespace waiter::internal

#endif  // __MINGW32__
