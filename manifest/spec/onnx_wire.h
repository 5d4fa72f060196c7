// Reader of protobuf's wire format, which ONNX files have, over bytes that stay where they are: nothing is
// copied, no length is believed. Source: the encoding description of protobuf. Groups (long deprecated,
// unused by ONNX) are refused.
#pragma once

#include <cstdint>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::onnx {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  // of varint, fixed64 and fixed32
  Bytes bytes;              // of length-delimited fields
};

// Reads the fields of one message in order. `origin` is the first byte of the file, so that errors name
// offsets in it.
class WireReader {
 public:
  WireReader(Bytes message, const std::uint8_t* origin)
      : next_(message.data()), end_(message.data() + message.size()), origin_(origin) {}

  bool atEnd() const { return next_ == end_; }
  // kInvalidArgument "byte N: ..." when the bytes are no protobuf field.
  Result<WireField> field();
  // One bare varint, as in packed fields.
  Result<std::uint64_t> varint();
  const std::uint8_t* origin() const { return origin_; }

 private:
  Result<Bytes> take(std::uint64_t count);
  tl::unexpected<Error> error(std::string_view what) const;

  const std::uint8_t* next_;
  const std::uint8_t* end_;
  const std::uint8_t* origin_;
};

}  // namespace kiln::onnx
