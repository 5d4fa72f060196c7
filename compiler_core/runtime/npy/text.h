// Arrays of texts in .npy files, as NumPy writes those of type str ("<U12", UCS-4) and bytes ("|S12", taken
// as UTF-8). Input is hostile, as that of npy.h is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::npy {

struct TextArray {
  std::vector<std::int64_t> shape;
  std::vector<std::string> texts;  // UTF-8, in row-major order: as many as the product of the shape
  bool operator==(const TextArray&) const = default;
};

// Whether the file's elements are texts; false for what is no .npy file at all.
bool holdsTexts(Bytes file);

// Zeros at the end of an element are its padding. kInvalidArgument for a malformed file and for elements that
// are no Unicode text or have a zero inside; kUnimplemented for big-endian ones and other element types.
Result<TextArray> parseTexts(Bytes file);

// As str, as wide as the longest text.
std::vector<std::uint8_t> serialise(const TextArray& array);

}  // namespace kiln::npy
