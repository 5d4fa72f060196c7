// Loads and stores of one register of a block. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_address.h"
#include "compiler_core/schedule/emit/cpu/block_lanes.h"

namespace kiln::schedule {

mlir::Value loadVector(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value source, mlir::ValueRange at,
                       const Piece& piece);

// Non-temporal where the kernel's stores are and the register is a whole one.
void storeVector(mlir::OpBuilder& builder, const BlockKernel& kernel, mlir::Value values, mlir::Value to,
                 mlir::ValueRange at, const Piece& piece);

// Every second element from `from` on of elements in a row: two vectors that overlap in one element reach no
// further than the elements wanted.
mlir::Value loadEverySecond(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value view,
                            mlir::OpFoldResult from, const Piece& piece);

}  // namespace kiln::schedule
