// Dense parts of buffers as buffers of their own. Private to compiler_core/codegen/lower.
#pragma once

#include <optional>

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::codegen {

struct DensePart {
  mlir::Value source;     // the whole buffer, dense itself
  mlir::MemRefType type;  // of the part as a buffer of its own
  std::int64_t bytes;     // where it begins in the source
};

// A part of a buffer whose elements lie side by side is a buffer of its own at another address: its type then
// no longer says where it lies and what is beside it, so that kernels that work on such parts are alike.
// nullopt where `op` makes no such part, or where something that uses it could not take the other type.
std::optional<DensePart> densePartOf(mlir::Operation* op);

// Gives the views of `part`, whose type has become that of DensePart::type, the types that follow from it.
void retypeViews(mlir::Value part);

}  // namespace kiln::codegen
