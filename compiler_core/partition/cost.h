// The cost model: what an operation calculates and moves, and what a target makes of that. Only ratios
// matter. Constants, never measured: a compile must not depend on a machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "mlir/IR/Operation.h"

namespace kiln::partition {

// Whether a polynomial calculates it, rather than an instruction or two.
bool isTranscendental(ir::UnaryKind kind);

struct Work {
  std::uint64_t flops = 0, bytes = 0;
};

// The work of one operation of a @main, bodies included (a loop's once), with symbolic dimensions at the
// profile's opt.
Work workOf(mlir::Operation* op);
// Dense bytes of a tensor, likewise; and at the most that `limits` allow.
std::uint64_t optBytes(mlir::Type type, mlir::Operation* main);
std::uint64_t mostBytes(mlir::Type type, llvm::ArrayRef<ir::Range> limits);

// The rates of a processor's core or of a whole GPU, per nanosecond.
struct Rates {
  std::uint64_t flops = 1, bytes = 1;
};
Rates ratesOf(std::string_view target);

// In picoseconds, at least 1: calculating and moving overlap. What is emulated calculates twice as long.
std::uint64_t timeOf(const Work& work, const Rates& rates, bool emulated);
// The time for reading `bytes` in one target's memory and writing them in another's, as in main memory; to a
// GPU it is as long.
std::uint64_t transferTime(std::uint64_t bytes);

}  // namespace kiln::partition
