// Passes from the kiln dialect to vector code on buffers. In the order of use:
//   kiln-lower-to-linalg, kiln-fuse-elementwise, kiln-tile, (memory: kiln-bufferize), kiln-vectorize.
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace kiln::schedule {

// kiln-lower-to-linalg: @main on kiln operations becomes @main on linalg. Its arguments are marked kiln.input
// = i; each weight in use becomes a further argument marked kiln.weight = slot and kiln.source = index in the
// weight table, with kiln.permutation where a transposed copy is wanted. Bodies of kiln.fused are inlined and
// keep one `kiln.group`.
std::unique_ptr<mlir::Pass> createLowerToLinalgPass();

// kiln-fuse-elementwise: within a group, elementwise operations become one; results reuse their operand's
// buffer.
std::unique_ptr<mlir::Pass> createFuseElementwisePass();

// kiln-tile: each group becomes an scf.forall over tiles, with the schedule in its `kiln.kernel` attribute.
// Tiles are chosen by shape alone, never by thread count.
std::unique_ptr<mlir::Pass> createTilePass();

struct VectorizeOptions {
  std::int64_t registerBits = 256;
  std::int64_t accumulators = 12;  // registers that hold results in flight
  bool contraction = true;         // a * b + c in reductions is one fused operation
};

// kiln-vectorize: linalg on buffers becomes loops around blocks of vector registers, or plain loops where the
// access pattern allows no vectors.
std::unique_ptr<mlir::Pass> createVectorizePass(const VectorizeOptions& options = {});

// Makes all of them known to kiln-opt.
void registerPasses();

}  // namespace kiln::schedule
