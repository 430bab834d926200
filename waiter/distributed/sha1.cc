// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/distributed/sha1.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace waiter::internal {
namespace {

constexpr size_t kBlock = 64;
using Digest = std::array<uint32_t, 5>;

void Mix(std::string_view block, Digest& digest) {
  std::array<uint32_t, 80> words{};
  for (size_t i = 0; i < kBlock; ++i) {
    words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(block[i]);
  }
  for (size_t i = 16; i < words.size(); ++i) {
    words[i] = std::rotl(
        words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  auto [a, b, c, d, e] = digest;
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t mixed;
    if (i < 20) {
      mixed = ((b & c) | (~b & d)) + 0x5a827999;
    } else if (i < 40) {
      mixed = (b ^ c ^ d) + 0x6ed9eba1;
    } else if (i < 60) {
      mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    } else {
      mixed = (b ^ c ^ d) + 0xca62c1d6;
    }
    mixed += std::rotl(a, 5) + e + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = mixed;
  }
  digest = {digest[0] + a, digest[1] + b, digest[2] + c, digest[3] + d,
            digest[4] + e};
}

}  // namespace

std::string Sha1(std::string_view text) {
  std::string padded(text);
  padded.push_back('\x80');
  while (padded.size() % kBlock != kBlock - sizeof(uint64_t)) {
    padded.push_back('\0');
  }
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<char>(bits >> shift & 0xff));
  }
  Digest digest = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::string_view all = padded;
  for (size_t i = 0; i < all.size(); i += kBlock) {
    Mix(all.substr(i, kBlock), digest);
  }
  std::string hex;
  for (const uint32_t word : digest) {
    absl::StrAppend(&hex, absl::Hex(word, absl::kZeroPad8));
  }
  return hex;
}

}  // namespace waiter::internal
