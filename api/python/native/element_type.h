// Element types as the buffer protocol (PEP 3118) and DLPack name them.
#pragma once

#include <optional>
#include <string_view>

#include "api/python/native/dlpack.h"
#include "manifest/artifact/dtype.h"

namespace kiln::python {

// The type's format in a buffer. Types without one (bf16 and those of 8 bits and less) are opaque bytes
// there, "2x" and "1x", as NumPy exports a view of them; i4, i2 are "b" and u4, u2 "B".
const char* formatOf(DType dtype);
// nullopt for a type that DLPack has no whole-byte form of.
std::optional<dlpack::DataType> dlpackOf(DType dtype);

// Whether elements of `format`, `bytes` each, in this machine's byte order can be those of `dtype`.
bool fits(std::string_view format, std::size_t bytes, DType dtype);
// The type that a buffer's format stands for, as Kiln names it; else the format itself: for messages.
std::string_view nameOf(std::string_view format);
std::string_view nameOf(const dlpack::DataType& type);
// Whether the elements are in another byte order than this machine's.
bool isSwapped(std::string_view format, std::size_t bytes);

}  // namespace kiln::python
