#include "compiler_core/schedule/analysis/dot.h"

#include <numeric>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {

using namespace mlir;

namespace {

constexpr std::int64_t kMaxLanes = 16;  // of the widest instruction

// `value` in a vector of `width`, whose other lanes count for nothing.
Value widened(OpBuilder& b, Location loc, Value value, std::int64_t lanes, std::int64_t width) {
  if (lanes == width) return value;
  if (lanes == 0)
    return vector::BroadcastOp::create(b, loc, VectorType::get({width}, value.getType()), value);
  SmallVector<std::int64_t> from(width, 0);
  std::iota(from.begin(), from.begin() + lanes, 0);
  return vector::ShuffleOp::create(b, loc, value, value, from);
}

Value narrowed(OpBuilder& b, Location loc, Value value, std::int64_t lanes, std::int64_t width) {
  if (lanes == width) return value;
  if (lanes == 0) return vector::ExtractOp::create(b, loc, value, 0);
  SmallVector<std::int64_t> from(lanes);
  std::iota(from.begin(), from.end(), 0);
  return vector::ShuffleOp::create(b, loc, value, value, from);
}

}  // namespace

Value emitDot(OpBuilder& b, Location loc, StringRef kind, ArrayRef<Value> arguments, std::int64_t lanes) {
  const std::int64_t width = lanes == 4 || lanes == 8 ? lanes : kMaxLanes;
  const bool isBf16 = kind == kBf16ByBf16;
  const auto codes = isBf16 ? VectorType::get({width * kBf16Steps}, b.getBF16Type())
                            : VectorType::get({width * kByteSteps}, b.getI8Type());
  SmallVector<Value> operands = {widened(b, loc, arguments[2], lanes, width)};
  // The unsigned factor first.
  for (const unsigned factor : {kind == kSignedByUnsigned ? 1U : 0U, kind == kSignedByUnsigned ? 0U : 1U})
    operands.push_back(
        vector::BitCastOp::create(b, loc, codes, widened(b, loc, arguments[factor], lanes, width)));
  const std::string name =
      (isBf16 ? "llvm.x86.avx512bf16.dpbf16ps." : "llvm.x86.avx512.vpdpbusd.") + std::to_string(width * 32);
  auto call = LLVM::CallIntrinsicOp::create(b, loc, operands[0].getType(), b.getStringAttr(name), operands);
  return narrowed(b, loc, call.getResult(0), lanes, width);
}

}  // namespace kiln::schedule
