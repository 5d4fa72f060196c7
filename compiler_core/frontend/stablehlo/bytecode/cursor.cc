#include "compiler_core/frontend/stablehlo/bytecode/cursor.h"

#include <algorithm>
#include <bit>

namespace kiln::stablehlo {

tl::unexpected<Error> Cursor::error(std::string message, Code code) const {
  return fail(code, "byte " + std::to_string(position()) + ": " + std::move(message));
}

Result<std::uint8_t> Cursor::byte() {
  if (atEnd()) return error("the file or a section ends too early");
  return bytes_[at_++];
}

Result<std::uint64_t> Cursor::varint() {
  if (atEnd()) return error("the file or a section ends too early");
  const std::uint8_t first = bytes_[at_];
  const std::size_t length = first ? static_cast<std::size_t>(std::countr_zero(first)) + 1 : 9;
  if (remaining() < length) return error("the file or a section ends too early");
  std::uint64_t value = 0;
  const std::size_t begin = length == 9 ? 1 : 0;
  for (std::size_t i = length; i-- > begin;) value = (value << 8) | bytes_[at_ + i];
  at_ += length;
  return length == 9 ? value : value >> length;
}

Result<std::int64_t> Cursor::signedVarint() {
  KILN_ASSIGN(const std::uint64_t value, varint());
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

Result<Cursor::Flagged> Cursor::flagged() {
  KILN_ASSIGN(const std::uint64_t value, varint());
  return Flagged{value >> 1, (value & 1) != 0};
}

Result<std::size_t> Cursor::count() {
  KILN_ASSIGN(const std::uint64_t value, varint());
  if (value > remaining())
    return error("a list of " + std::to_string(value) + " elements is longer than the file");
  return static_cast<std::size_t>(value);
}

Result<std::size_t> Cursor::index(std::size_t limit, const char* what) {
  KILN_ASSIGN(const std::uint64_t value, varint());
  if (value >= limit)
    return error("there is no " + std::string(what) + " " + std::to_string(value) + ", only " +
                 std::to_string(limit));
  return static_cast<std::size_t>(value);
}

Result<Cursor> Cursor::take(std::uint64_t length) {
  if (length > remaining()) return error("the file or a section ends too early");
  Cursor part(bytes_.subspan(at_, static_cast<std::size_t>(length)), position());
  at_ += static_cast<std::size_t>(length);
  return part;
}

Result<Bytes> Cursor::blob() {
  KILN_ASSIGN(const std::uint64_t length, varint());
  KILN_ASSIGN(const Cursor part, take(length));
  return part.rest();
}

Result<std::string_view> Cursor::text() {
  const Bytes bytes = rest();
  const auto end = std::find(bytes.begin(), bytes.end(), 0);
  if (end == bytes.end()) return error("a text has no end");
  const auto length = static_cast<std::size_t>(end - bytes.begin());
  at_ += length + 1;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), length);
}

}  // namespace kiln::stablehlo
