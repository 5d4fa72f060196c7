// A protobuf message as a tree that can be changed and written again, with lengths that fit. For mutators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::fuzz {

// Which message a length-delimited field holds; kBytes: none that is known.
enum class Message : std::uint8_t {
  kBytes,
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kDim,
  kOpset,
  kFunction
};

struct Field {
  std::uint32_t number = 0;
  std::uint8_t wire = 0;    // 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  std::uint64_t value = 0;  // of numbers
  std::string bytes;        // of fields without children
  Message kind = Message::kBytes;
  std::vector<Field> children;  // when kind is known
};

// The fields of a ModelProto as far as they can be read; a field whose bytes are no message keeps them.
std::vector<Field> readModel(const std::uint8_t* data, std::size_t size);
std::string write(const std::vector<Field>& fields);

}  // namespace kiln::fuzz
