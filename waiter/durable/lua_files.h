// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The files of store/redis/. The build makes the source, by tools/embed:
//
//   std::string_view text = LuaFile("claim.lua");

#ifndef WAITER_DURABLE_LUA_FILES_H_
#define WAITER_DURABLE_LUA_FILES_H_

#include <string_view>

namespace waiter::internal {

// Returns the text of a file; empty if there is no such file.
std::string_view LuaFile(std::string_view name);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_LUA_FILES_H_
