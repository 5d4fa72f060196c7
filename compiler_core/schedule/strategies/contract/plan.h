// An operation on buffers with others that are written together with it. Private to compiler_core/schedule.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Made for all operations of a function or a block before anything of it is written.
class Plan {
 public:
  virtual ~Plan() = default;
  // The others.
  virtual llvm::SmallVector<mlir::Operation*> parts() const = 0;
  // Writes the code where it has to stand, and erases the operation and its parts.
  virtual void emit(mlir::RewriterBase& rewriter) = 0;
};

}  // namespace kiln::schedule
