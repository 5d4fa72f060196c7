// The bufferisation of kiln.call: inits are written, those listed in `reads_init` read as well; results are
// the inits.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace kiln::memory {

void registerLibraryCallBufferization(mlir::DialectRegistry& registry);

}  // namespace kiln::memory
