// The first stage of Winograd's convolutions. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/winograd/roles.h"
#include "compiler_core/schedule/strategies/winograd/tile_writer.h"

namespace kiln::schedule {

// Transforms the window's numbers into the Winograd domain, a register of channels at a time. Returns them in
// scratch, [point][tile][channel], points a pitch apart. fuse: products and sums may be one operation.
mlir::Value emitInput(const TileWriter& writer, const LoopNest& nest, const WinogradRoles& roles, bool fuse);

}  // namespace kiln::schedule
