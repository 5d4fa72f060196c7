// Element types of tensors, shared by the manifest, the compiler and the runtime. Kept apart from manifest.h
// so that MLIR units, which are compiled without exceptions, need not include the JSON library.
#pragma once

#include <cstddef>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

enum class DType { kF32, kF64, kF16, kBF16, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kBool };
std::string_view dtypeName(DType type);  // "f32", "i64", "bool"
Result<DType> parseDType(std::string_view name);
std::size_t dtypeBytes(DType type);

}  // namespace kiln
