// Buffers out of a run's pointers. Private to compiler_core/codegen/lower.
#pragma once

#include <array>

#include "compiler_core/ir/dims.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::codegen {

// The run's arguments, in the order of kiln_run. A kernel's environment holds those from kArena to kSymbols,
// then what the run function computed for it.
enum Pointer : unsigned {
  kCallbacks,
  kArena,
  kWeights,
  kInputs,
  kOutputs,
  kSymbols,
  kOutputDims,
  kPointers,
  kEnvironment = kOutputDims - kArena
};

// Expressions over symbols as i64 values: symbols that the caller gives are read from `symbols`, others count
// as the most that these allow.
mlir::Value extentValue(mlir::OpBuilder& b, mlir::Location loc, const ir::Dim& dim, mlir::func::FuncOp main,
                        mlir::Value symbols);

// A dense buffer of `type` at `pointer`; `sizes`: of its dynamic dimensions, in order, i64.
mlir::Value bufferAt(mlir::OpBuilder& b, mlir::Location loc, mlir::MemRefType type,
                     llvm::ArrayRef<mlir::Value> sizes, mlir::Value pointer,
                     const mlir::LLVMTypeConverter& converter);

// In the run function or in a kernel of `main`.
class Buffers {
 public:
  Buffers(mlir::func::FuncOp main, std::array<mlir::Value, kPointers> pointers, mlir::Value scratch);

  // What argument `index` of @main stands for: an input, weight, output or symbol; null for anything else.
  mlir::Value argument(mlir::OpBuilder& b, mlir::Location loc, unsigned index);
  // The piece of static type `type` that begins `bytes` behind the beginning of such an input, weight or
  // output.
  mlir::Value piece(mlir::OpBuilder& b, mlir::Location loc, unsigned index, mlir::MemRefType type,
                    std::int64_t bytes);
  // `sizes`: of the symbolic dimensions, in order.
  mlir::Value planned(mlir::OpBuilder& b, mlir::Location loc, mlir::MemRefType type, mlir::ValueRange sizes,
                      bool inScratch, std::int64_t offset);

 private:
  mlir::Value pointerTo(mlir::OpBuilder& b, mlir::Location loc, unsigned index);
  mlir::Value buffer(mlir::OpBuilder& b, mlir::Location loc, mlir::MemRefType type,
                     llvm::ArrayRef<mlir::Value> sizes, mlir::Value pointer);

  mlir::func::FuncOp main_;
  mlir::LowerToLLVMOptions options_;
  mlir::LLVMTypeConverter converter_;
  std::array<mlir::Value, kPointers> pointers_;
  mlir::Value scratch_;
};

}  // namespace kiln::codegen
