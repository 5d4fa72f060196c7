// Checks of indices outside their dimension: ONNX calls it an error, a program goes on (in bounds of memory)
// and counts. The counts are a result of @main behind the model's outputs, an i64 per node; kiln.index_checks
// on it has the nodes' names. It is there only if there are any.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/ir/ir.h"

namespace kiln::ir {

// At most so many nodes count for themselves.
inline constexpr std::size_t kMaxIndexChecks = 4096;

// The nodes that count, in the order of the counts; empty where nothing is counted.
std::vector<std::string> indexChecksOf(mlir::func::FuncOp main);
// Adds `counts`, an i64 tensor of one element per node, to the results of @main. It has no such result yet.
void addIndexChecks(mlir::func::FuncOp main, mlir::Value counts, llvm::ArrayRef<std::string> nodes);
// Makes modules that are to be profiles of one program count the same nodes in the same order: those that one
// of them has shown to be in range stay 0 in it.
void alignIndexChecks(llvm::ArrayRef<mlir::ModuleOp> modules);
// The operations that the counts alone need, nothing inside of bodies among them.
llvm::SmallPtrSet<mlir::Operation*, 8> countersOf(mlir::func::FuncOp main);

}  // namespace kiln::ir
