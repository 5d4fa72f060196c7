// MLIR types, kiln::DType and sizes, converted both ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

namespace kiln::ir {

// The element type of the dialect for `type`: signless for signed integers, ui8... for unsigned ones.
mlir::Type elementType(mlir::MLIRContext* context, DType type);
// The inverse, for element types of the dialect.
std::optional<DType> dtypeOf(mlir::Type element);

// Elements, or bytes in dense row-major layout (i1 is one byte each); nullopt if that overflows 62 bits.
std::optional<std::int64_t> checkedElements(llvm::ArrayRef<std::int64_t> shape);
std::optional<std::int64_t> checkedBytes(mlir::RankedTensorType type);

// "f32[1,8,4,4]"
std::string typeText(DType dtype, llvm::ArrayRef<std::int64_t> shape);

inline mlir::RankedTensorType tensorType(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type);
}
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return tensorType(value.getType());
}

// The source node's name in a location: that of the first NameLoc found, "" if there is none.
std::string nodeName(mlir::Location location);
// Every node name of a (fused) location, in order, without repetition.
std::vector<std::string> nodeNames(mlir::Location location);

}  // namespace kiln::ir
