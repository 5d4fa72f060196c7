#include "compiler_core/partition/cost.h"

#include <algorithm>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/packed/packed_ops.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace kiln::partition {
namespace {

using namespace mlir;

// A processor's core: two fused multiply-adds of full registers at 3 GHz, and main memory shared by a few
// cores. A GPU: all of an A100, H100 or B200, by NVIDIA's data sheets, without tensor cores. A
// device of Vulkan may be anything: a card of a workstation.
struct Row {
  std::string_view prefix;
  Rates rates;
};
constexpr std::uint64_t kMemoryBytes = 10;
constexpr Row kRates[] = {{"cpu:x86-64-v4", {192, kMemoryBytes}},
                          {"cpu:x86-64-v3", {96, kMemoryBytes}},
                          {"cpu:aarch64", {48, kMemoryBytes}},
                          {"cpu:riscv64", {16, kMemoryBytes}},
                          {"cpu:cortex-m", {1, 1}},
                          {"cuda:sm_80", {19500, 1550}},
                          {"cuda:sm_90a", {67000, 3350}},
                          {"cuda:sm_100a", {75000, 7700}},
                          {"vulkan:1.3", {10000, 500}}};

// Sums and products stay at the largest number rather than wrap: a bound of 2^62 elements is no plan.
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return llvm::SaturatingMultiply(a, b);
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return llvm::SaturatingAdd(a, b);
}

using Symbols = ArrayRef<ir::SymbolRange>;

std::uint64_t extent(const ir::Dim& dim, Symbols symbols) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ir::optOf(dim, symbols).value_or(1), 0));
}

std::uint64_t elements(Type type, Symbols symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) return 0;
  std::uint64_t count = 1;
  for (const ir::Dim& dim : ir::shapeOf(tensor)) count = times(count, extent(dim, symbols));
  return count;
}
std::uint64_t elements(Value value, Symbols symbols) {
  return elements(value.getType(), symbols);
}

std::uint64_t bytes(Type type, Symbols symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) return 0;
  return times(elements(type, symbols),
               dtypeBytes(ir::dtypeOf(tensor.getElementType()).value_or(DType::kI8)));
}

// A transcendental function takes about as many operations as its polynomial, and a root or a quotient as
// long.
std::uint64_t flopsOf(ir::UnaryKind kind) {
  const bool isSlow = kind == ir::UnaryKind::Sqrt || kind == ir::UnaryKind::Reciprocal;
  return isSlow || isTranscendental(kind) ? 16 : 1;
}

std::uint64_t flopsOf(Operation* op, Symbols symbols) {
  const std::uint64_t out = op->getNumResults() ? elements(op->getResult(0), symbols) : 0;
  return llvm::TypeSwitch<Operation*, std::uint64_t>(op)
      .Case([&](ir::UnaryOp unary) { return times(out, flopsOf(unary.getKind())); })
      .Case<ir::BinaryOp, ir::CompareOp, ir::SelectOp, ir::CastOp>([&](auto) { return out; })
      .Case([&](ir::DequantiseOp) { return times(3, out); })
      .Case([&](ir::MatmulOp matmul) {
        return times(2 * extent(ir::shapeOf(ir::tensorType(matmul.getLhs())).back(), symbols), out);
      })
      .Case([&](ir::ConvOp conv) {
        const ir::Shape filter = ir::shapeOf(ir::tensorType(conv.getFilter()));
        std::uint64_t each = 2;
        for (const ir::Dim& dim : llvm::drop_begin(filter)) each = times(each, extent(dim, symbols));
        return times(each, out);
      })
      .Case([&](ir::PoolOp pool) {
        std::uint64_t each = 1;
        for (const std::int64_t size : pool.getKernel()) each = times(each, static_cast<std::uint64_t>(size));
        return times(each, out);
      })
      .Case([&](ir::AttentionOp attention) {
        const ir::Shape key = ir::shapeOf(ir::tensorType(attention.getKey()));
        const std::uint64_t scores = extent(key[2], symbols);
        return plus(times(2 * scores, elements(attention.getQuery(), symbols)), times(2 * scores, out));
      })
      .Case<ir::SoftmaxOp, ir::BatchNormOp>([&](auto) { return times(20, out); })
      .Case<ir::ReduceOp, ir::ArgReduceOp, ir::SortOp, ir::CumulativeOp>(
          [&](auto) { return elements(op->getOperand(0), symbols); })
      .Default([](Operation*) { return std::uint64_t{0}; });
}

Work add(Operation* op, Symbols symbols) {
  Work work;
  work.flops = flopsOf(op, symbols);
  for (Region& region : op->getRegions())
    for (Block& block : region)
      for (Operation& inner : block) {
        const Work more = add(&inner, symbols);
        work.flops = plus(work.flops, more.flops);
        // What lies inside a group stays in registers; bodies of loops and branches are kernels of their own.
        if (!isa<ir::FusedOp>(op)) work.bytes = plus(work.bytes, more.bytes);
      }
  if (isa<ir::YieldOp>(op)) return work;
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes())))
    work.bytes = plus(work.bytes, bytes(type, symbols));
  return work;
}

}  // namespace

bool isTranscendental(ir::UnaryKind kind) {
  switch (kind) {
    case ir::UnaryKind::Neg:
    case ir::UnaryKind::Abs:
    case ir::UnaryKind::Sqrt:
    case ir::UnaryKind::Reciprocal:
    case ir::UnaryKind::Relu:
    case ir::UnaryKind::Ceil:
    case ir::UnaryKind::Floor:
    case ir::UnaryKind::Round:
    case ir::UnaryKind::Not:
    case ir::UnaryKind::Sign:
      return false;
    default:
      return true;
  }
}

Work workOf(Operation* op) {
  const auto profile = ir::profileOf(op->getParentOfType<func::FuncOp>());
  return add(op, profile);
}

std::uint64_t optBytes(Type type, Operation* main) {
  const auto profile = ir::profileOf(main);
  return bytes(type, profile);
}

std::uint64_t mostBytes(Type type, ArrayRef<ir::Range> limits) {
  auto tensor = ir::tensorType(type);
  std::uint64_t total = dtypeBytes(*ir::dtypeOf(tensor.getElementType()));
  for (const ir::Dim& dim : ir::shapeOf(tensor))
    total = times(total, static_cast<std::uint64_t>(ir::rangeOf(dim, limits).value_or(ir::Range{0, 0}).max));
  return total;
}

Rates ratesOf(std::string_view target) {
  const auto row = llvm::find_if(kRates, [&](const Row& r) { return target.starts_with(r.prefix); });
  return row == std::end(kRates) ? Rates{} : row->rates;
}

std::uint64_t timeOf(const Work& work, const Rates& rates, bool emulated) {
  const std::uint64_t calculate = times(work.flops, emulated ? 2000 : 1000) / rates.flops;
  const std::uint64_t move = times(work.bytes, 1000) / rates.bytes;
  return std::max<std::uint64_t>({calculate, move, 1});
}

std::uint64_t transferTime(std::uint64_t bytes) {
  return times(bytes, 2000) / kMemoryBytes;
}

}  // namespace kiln::partition
