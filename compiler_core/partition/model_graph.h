// A @main as the graph that partitioning works on. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/ir/ir.h"
#include "compiler_core/partition/assign.h"

namespace kiln::partition {

// A value without inputs, or a cheap view of one: each partition has its own copy.
bool isSource(mlir::Operation* op);

// Values from outside that an operation or its bodies use, each once, in order.
llvm::SmallVector<mlir::Value> inputsOf(mlir::Operation* op);

// The source nodes that an operation and its bodies come from, each once, in order.
std::vector<std::string> namesOf(mlir::Operation* op);

struct ModelGraph {
  llvm::SmallVector<mlir::Operation*> operations;  // the nodes, in order; sources are none
  Graph graph;                                     // without costs
};
ModelGraph graphOf(mlir::func::FuncOp main);

}  // namespace kiln::partition
