// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_values.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waiter/durable/internal/postgres_library.h"

namespace waiter::internal {
namespace {

// Types of parameters, as in the server's table pg_type.
constexpr unsigned int kBool = 16;
constexpr unsigned int kBytea = 17;
constexpr unsigned int kInt8 = 20;
constexpr unsigned int kInt4 = 23;
constexpr unsigned int kText = 25;

constexpr int kBinary = 1;

// Before the values of an array: dimensions, whether there are NULLs, type,
// size, and the index of the first.
constexpr size_t kArrayHeader = 20;

// Appends the last `size` bytes of the number, the highest first.
void AppendNumber(uint64_t number, int size, std::string& to) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    to.push_back(static_cast<char>(number >> shift & 0xFF));
  }
}

std::string EncodeNumber(uint64_t number, int size) {
  std::string bytes;
  AppendNumber(number, size, bytes);
  return bytes;
}

unsigned int ArrayTypeOf(PostgresArray::Type type) {
  switch (type) {
    case PostgresArray::Type::kBytes:
      return 1001;
    case PostgresArray::Type::kLetter:
      return 1002;
    case PostgresArray::Type::kText:
      return 1009;
    case PostgresArray::Type::kNumber:
      break;
  }
  return 1016;
}

}  // namespace

PostgresArray::PostgresArray(Type type, size_t size) : type_(type) {
  constexpr size_t kTypicalValue = 16;
  bytes_.reserve(kArrayHeader + size * kTypicalValue);
  bytes_.append(kArrayHeader, '\0');
}

void PostgresArray::Add(std::string_view bytes) {
  ++size_;
  AppendNumber(bytes.size(), 4, bytes_);
  bytes_.append(bytes);
}

void PostgresArray::Add(int64_t number) {
  ++size_;
  AppendNumber(8, 4, bytes_);
  AppendNumber(static_cast<uint64_t>(number), 8, bytes_);
}

std::string PostgresArray::Take() && {
  std::string header;
  AppendNumber(size_ == 0 ? 0 : 1, 4, header);
  AppendNumber(0, 4, header);
  AppendNumber(static_cast<uint64_t>(type_), 4, header);
  if (size_ == 0) return header;
  AppendNumber(static_cast<uint64_t>(size_), 4, header);
  AppendNumber(1, 4, header);
  bytes_.replace(0, kArrayHeader, header);
  return std::move(bytes_);
}

void PostgresStatement::Add(unsigned int type, std::string bytes) {
  types_.push_back(type);
  values_.push_back(std::move(bytes));
}
void PostgresStatement::AddNumber(int64_t number) {
  Add(kInt8, EncodeNumber(static_cast<uint64_t>(number), 8));
}
void PostgresStatement::AddInteger(int32_t number) {
  Add(kInt4, EncodeNumber(static_cast<uint32_t>(number), 4));
}
void PostgresStatement::AddFlag(bool flag) {
  Add(kBool, EncodeNumber(flag ? 1 : 0, 1));
}
void PostgresStatement::AddText(std::string_view text) {
  Add(kText, std::string(text));
}
void PostgresStatement::AddBytes(std::string_view bytes) {
  Add(kBytea, std::string(bytes));
}
void PostgresStatement::AddArray(PostgresArray array) {
  const unsigned int type = ArrayTypeOf(array.type());
  Add(type, std::move(array).Take());
}

bool PostgresStatement::Send(const PostgresLibrary& library,
                             pg_conn* connection) const {
  std::vector<const char*> values;
  std::vector<int> lengths;
  values.reserve(values_.size());
  lengths.reserve(values_.size());
  for (const std::string& value : values_) {
    values.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values_.size(), kBinary);
  return library.sendQueryParams(connection, sql_.c_str(),
                                 static_cast<int>(values_.size()),
                                 types_.data(), values.data(), lengths.data(),
                                 formats.data(), kBinary) == 1;
}

PostgresRows::PostgresRows(const PostgresLibrary& library, pg_result* result)
    : library_(&library),
      result_(result, library.clear),
      count_(library.ntuples(result)) {}

bool PostgresRows::IsNull(int column) const {
  return library_->getisnull(result_.get(), row_, column) == 1;
}

std::string_view PostgresRows::View(int column) const {
  return {
      library_->getvalue(result_.get(), row_, column),
      static_cast<size_t>(library_->getlength(result_.get(), row_, column))};
}

int64_t PostgresRows::Number(int column) const {
  const std::string_view bytes = View(column);
  if (bytes.empty()) return 0;
  // The first byte has the sign.
  uint64_t number =
      (bytes[0] & 0x80) != 0 && bytes.size() > 1 ? ~uint64_t{0} : 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return static_cast<int64_t>(number);
}

std::optional<int64_t> PostgresRows::OptionalNumber(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Number(column);
}

}  // namespace waiter::internal
