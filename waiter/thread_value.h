// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A pointer or number of each thread, and a function that gets it when the
// thread ends:
//
//   void WAITER_AT_THREAD_END Close(void* file) { ... }
//
//   using File = ThreadValue<Close>;
//   if (File::Get() == nullptr) File::Set(OpenFile());
//
// Instead of the destructor of a thread_local object, for programs of MinGW:
// there, the memory of these objects is freed before their destructors run.

#ifndef WAITER_THREAD_VALUE_H_
#define WAITER_THREAD_VALUE_H_

#ifdef __MINGW32__
#define WAITER_AT_THREAD_END __stdcall
#else
#define WAITER_AT_THREAD_END
#endif

namespace waiter::internal {

using AtThreadEnd = void(WAITER_AT_THREAD_END*)(void* value);

#ifdef __MINGW32__
// Returns a place for values of threads, which is never freed.
unsigned long MakePlaceOfThreads(AtThreadEnd at_end);
// Returns false if there is no memory or no place.
bool SetAtPlace(unsigned long place, void* value);
#endif

// One value for each function. Thread-safe.
template <AtThreadEnd at_end>
class ThreadValue {
 public:
  // Sets the value of this thread. `at_end` gets the last one unless it is
  // null, before or after the destructors of the thread's objects. Returns
  // false if the system lacks memory or places: then nothing is called.
  static bool Set(void* value) {
#ifdef __MINGW32__
    static const unsigned long place = MakePlaceOfThreads(at_end);
    value_ = value;
    return SetAtPlace(place, value);
#else
    struct End {
      ~End() {
        if (value_ != nullptr) at_end(value_);
      }
    };
    thread_local End end;
    (void)end;
    value_ = value;
    return true;
#endif
  }

  // Returns the value of this thread; null before it is set.
  static void* Get() { return value_; }

 private:
  static inline thread_local void* value_ = nullptr;
};

}  // namespace waiter::internal

#endif  // WAITER_THREAD_VALUE_H_
