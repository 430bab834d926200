// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads and writes the integers and texts of binary protocols.
//
//   ByteReader reader(received);
//   const auto length = reader.Big<uint32_t>();
//   const std::string_view body = reader.Take(length);
//   if (!reader.ok()) return {};  // Not all has arrived.

#ifndef WAITER_CLI_PROBES_WIRE_BYTE_READER_H_
#define WAITER_CLI_PROBES_WIRE_BYTE_READER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace waiter::cli {

// Reads from the front of `bytes`, which must outlive this and its results.
// Past the end everything is zero or empty, and `ok()` stays false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  // Return the next integer, with its high or its low byte first.
  template <typename Integer>
  Integer Big() {
    std::make_unsigned_t<Integer> value = 0;
    for (const char byte : TakeOrZeros(sizeof(Integer))) {
      value = static_cast<decltype(value)>(value << 4 << 4 |
                                           static_cast<unsigned char>(byte));
    }
    return static_cast<Integer>(value);
  }
  template <typename Integer>
  Integer Little() {
    std::make_unsigned_t<Integer> value = 0;
    int shift = 0;
    for (const char byte : TakeOrZeros(sizeof(Integer))) {
      value = static_cast<decltype(value)>(
          value | static_cast<decltype(value)>(static_cast<unsigned char>(byte))
                      << shift);
      shift += 8;
    }
    return static_cast<Integer>(value);
  }

  // Returns the next `size` bytes.
  std::string_view Take(size_t size);

  // Returns the bytes before the next zero, and skips the zero.
  std::string_view TakeUntilZero();

  // Returns the bytes that are left.
  std::string_view left() const { return left_; }
  bool ok() const { return ok_; }

 private:
  std::string_view TakeOrZeros(size_t size);

  std::string_view left_;
  bool ok_ = true;
};

// Append an integer, with its high or its low byte first.
template <typename Integer>
void AppendBig(Integer value, std::string& bytes) {
  for (size_t i = sizeof(Integer); i-- > 0;) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}
template <typename Integer>
void AppendLittle(Integer value, std::string& bytes) {
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_WIRE_BYTE_READER_H_
