// The header of a .npy file: a Python dictionary literal with three known keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::npy {

// A file as its header's text and its data, both views of it. Errors as npy::parse.
struct Parts {
  std::string_view header;
  Bytes data;
};
Result<Parts> partsOf(Bytes file);

// What a header says: the element type as NumPy calls it, "<f4", and the shape, whose product may be too
// large.
struct Entries {
  std::string descr;
  std::vector<std::int64_t> shape;
};
Result<Entries> parseEntries(std::string_view text);

// The dictionary of a file with that element type and shape, with all that stands before the data.
std::string headerFor(std::string_view descr, const std::vector<std::int64_t>& shape);

struct Header {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::size_t dataBytes = 0;  // dtypeBytes times the product of the shape
};

// `text` is the dictionary with its padding. `wanted` and errors as npy::parse.
Result<Header> parseHeader(std::string_view text, std::optional<DType> wanted);

// The type's descr, "<f4".
std::string_view descrOf(DType type);

}  // namespace kiln::npy
