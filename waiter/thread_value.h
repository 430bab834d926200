// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A pointer or number of each thread, and a function that gets it when the
// thread ends:
//
//   void WAITER_AT_THREAD_END Close(void* file) { ... }
//
//   static ThreadValue files(Close);
//   if (files.Get() == nullptr) files.Set(OpenFile());
//
// Instead of the destructor of a thread_local object: in programs of MinGW, the
// memory of these objects is freed before their destructors run.

#ifndef WAITER_THREAD_VALUE_H_
#define WAITER_THREAD_VALUE_H_

#ifndef _WIN32
#include <pthread.h>
#endif

#ifdef _WIN32
#define WAITER_AT_THREAD_END __stdcall
#else
#define WAITER_AT_THREAD_END
#endif

namespace waiter::internal {

// Never destroyed: for static objects. Thread-safe.
class ThreadValue {
 public:
  using AtEnd = void(WAITER_AT_THREAD_END*)(void* value);

  // `at_end` runs after the destructors of the thread's objects, unless the
  // value is null then.
  explicit ThreadValue(AtEnd at_end);

  ThreadValue(const ThreadValue&) = delete;
  ThreadValue& operator=(const ThreadValue&) = delete;

  // Sets the value of this thread. Returns false if the system has no memory or
  // no more places for values.
  bool Set(void* value);
  // Returns the value of this thread; null before it is set.
  void* Get() const;

 private:
#ifdef _WIN32
  unsigned long place_;
#else
  pthread_key_t place_ = {};
  bool has_place_;
#endif
};

}  // namespace waiter::internal

#endif  // WAITER_THREAD_VALUE_H_
