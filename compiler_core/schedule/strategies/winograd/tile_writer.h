// What the stages of Winograd's convolutions are written with. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/winograd/tiles.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

inline constexpr std::int64_t kFloatBits = 32;

// Emits where the builder stands. A stage is a class of its own that has this one.
class TileWriter {
 public:
  // `width`: lanes of a register.
  TileWriter(mlir::RewriterBase& builder, mlir::Location loc, const WinogradTiles& tiles, std::int64_t width)
      : b_(builder),
        loc_(loc),
        tiles_(tiles),
        width_(width),
        vector_(mlir::VectorType::get({width}, builder.getF32Type())) {}

 protected:
  mlir::Value scratch(std::int64_t elements);
  mlir::Value number(std::int64_t value);
  mlir::AffineExpr d(unsigned i) { return b_.getAffineDimExpr(i); }
  mlir::OpFoldResult apply(mlir::AffineExpr expression, llvm::ArrayRef<mlir::OpFoldResult> values);
  mlir::Value index(mlir::AffineExpr expression, llvm::ArrayRef<mlir::OpFoldResult> values);
  // body(iv) for iv from 0 to `to`, by `by`.
  void loop(std::int64_t to, std::int64_t by, llvm::function_ref<void(mlir::OpFoldResult)> body);
  // body(tile, row, column) for each tile, with the position of its first result.
  void overTiles(llvm::function_ref<void(mlir::OpFoldResult, mlir::OpFoldResult, mlir::OpFoldResult)> body);
  // A register.
  mlir::Value load(mlir::Value buffer, mlir::Value at);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value at);

  mlir::RewriterBase& b_;
  mlir::Location loc_;
  WinogradTiles tiles_;
  std::int64_t width_;
  mlir::VectorType vector_;
};

}  // namespace kiln::schedule
