// Which convolutions Winograd's tiles compute, and what each of their loops and operands is. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/fused_product.h"
#include "compiler_core/schedule/knobs/schedule.h"
#include "compiler_core/schedule/strategies/winograd/tiles.h"

namespace kiln::schedule {

inline constexpr std::int64_t kWindowElements = kWinogradWindow * kWinogradWindow;

// The input channels of a convolution on tensors; 0: no schedule may write it so. It has a window of 3x3 with
// unit strides and dilations, no groups, whole registers of channels, and a weight [K, C, 3, 3] that is an
// argument of @main.
std::int64_t mayTakeWinograd(mlir::linalg::LinalgOp product, const VectorShape& registers);

struct WinogradRoles {
  unsigned window = 0, weight = 0, result = 0;              // operand numbers
  unsigned channels = 0, steps = 0, rows = 0, columns = 0;  // loops: of the results, of the input, positions
  llvm::SmallVector<unsigned> outer;                        // batch
  std::int64_t lanes = 0;                                   // of a panel
  mlir::BlockArgument argument;                             // the weight
};

// Those of a convolution on buffers with its nest; null where it has no such form.
std::optional<WinogradRoles> findWinogradRoles(const FusedProduct& product, const LoopNest& nest,
                                               const VectorShape& registers);

}  // namespace kiln::schedule
