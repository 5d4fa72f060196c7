// Sizes that only a run knows: binds the symbols of kiln.truncate and gives each operation its static types
// just before it is evaluated.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/reference/host_tensor.h"

namespace kiln::reference {

// A clone where the module has symbolic extents, so that types can be resolved in place; null where it has
// none.
mlir::OwningOpRef<mlir::ModuleOp> cloneIfSymbolic(mlir::ModuleOp module);

class SymbolValues {
 public:
  // For kiln.truncate: its symbol becomes `count`, clamped to the input's extent.
  void bind(ir::TruncateOp truncate, const HostTensor& input, const HostTensor& count);
  // Result types, and attributes over symbols, as far as symbols are bound.
  void resolve(mlir::Operation& operation) const;

 private:
  llvm::SmallVector<std::optional<std::int64_t>> values_;
};

}  // namespace kiln::reference
