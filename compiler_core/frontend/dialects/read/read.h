// Programs of MLIR's own dialects (TOSA, linalg and what stands beside them): from bytes to a module.
#pragma once

#include <memory>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace kiln::dialects {

// A verified module in a context of its own, without threads. Immutable, but MLIR's contexts intern what they
// are asked for: one thread at a time.
struct Program {
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string form;      // "TOSA 1.0 text", "linalg bytecode"
  std::string producer;  // of bytecode: "MLIR22.1.8"; "" for text
};

// `name`: of the file, for errors. kInvalidArgument: what MLIR's parser or verifiers object to, with line and
// column, or bytes on which they crash; kUnimplemented: what is beyond the bounds of text_bounds.h, and
// bytecode of another MLIR than 22, since these dialects have no versions there and would be read wrong.
Result<Program> readProgram(Bytes bytes, const std::string& name);

}  // namespace kiln::dialects
