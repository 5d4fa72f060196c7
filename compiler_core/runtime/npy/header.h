// The header of a .npy file: a Python dictionary literal with three known keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/dtype.h"

namespace kiln::npy {

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
