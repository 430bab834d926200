// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// CRC-32C bit by bit, as the standard defines it: for tests of checksums that
// the library computes with tables.

#ifndef WAITER_TESTS_SUPPORT_CRC32C_H_
#define WAITER_TESTS_SUPPORT_CRC32C_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace waiter {

// Returns `bytes` with their checksum after them, the low byte first.
inline std::string WithChecksum(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
    }
  }
  std::string result(bytes);
  for (int shift = 0; shift < 32; shift += 8) {
    result.push_back(static_cast<char>(~crc >> shift));
  }
  return result;
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_CRC32C_H_
