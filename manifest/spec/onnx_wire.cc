#include "manifest/spec/onnx_wire.h"

#include <string>

namespace kiln::onnx {
namespace {

std::uint64_t littleEndian(Bytes bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

tl::unexpected<Error> WireReader::error(std::string_view what) const {
  return fail(Code::kInvalidArgument, "byte " + std::to_string(next_ - origin_) + ": " + std::string(what));
}

Result<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (next_ == end_) return error("the data end inside a number");
    std::uint8_t byte = *next_++;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return error("a number of more than 10 bytes");
}

Result<Bytes> WireReader::take(std::uint64_t count) {
  auto left = static_cast<std::uint64_t>(end_ - next_);
  if (count > left)
    return error("a field claims " + std::to_string(count) + " bytes where " + std::to_string(left) +
                 " are left; the file is truncated or no ONNX model");
  Bytes bytes(next_, static_cast<std::size_t>(count));
  next_ += count;
  return bytes;
}

Result<WireField> WireReader::field() {
  WireField field;
  KILN_ASSIGN(std::uint64_t tag, varint());
  if (tag >> 32 || tag >> 3 == 0) return error("field number out of range");
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint: {
      KILN_ASSIGN(field.value, varint());
      return field;
    }
    case WireType::kFixed64: {
      KILN_ASSIGN(field.bytes, take(8));
      field.value = littleEndian(field.bytes);
      return field;
    }
    case WireType::kBytes: {
      KILN_ASSIGN(std::uint64_t length, varint());
      KILN_ASSIGN(field.bytes, take(length));
      return field;
    }
    case WireType::kFixed32: {
      KILN_ASSIGN(field.bytes, take(4));
      field.value = littleEndian(field.bytes);
      return field;
    }
  }
  return error("wire type " + std::to_string(tag & 7) + " is not used by ONNX");
}

}  // namespace kiln::onnx
