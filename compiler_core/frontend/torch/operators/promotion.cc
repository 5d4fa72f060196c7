#include "compiler_core/frontend/torch/operators/promotion.h"

namespace kiln::torch {
namespace {

// How much an operand has to say, least first.
enum class Rank { kNumber, kScalar, kTensor };

int categoryOf(mlir::Type type) {
  if (llvm::isa<mlir::FloatType>(type)) return 2;
  return type.isInteger(1) ? 0 : 1;
}

bool isUnsigned(mlir::Type type) {
  return type.isUnsignedInteger();
}

// The type that holds both, of one category.
mlir::Type wider(mlir::Type a, mlir::Type b) {
  if (a == b) return a;
  const unsigned wa = a.getIntOrFloatBitWidth(), wb = b.getIntOrFloatBitWidth();
  // f16 and bf16, u8 and i8: neither holds the other.
  if (wa == wb && categoryOf(a) == 2) return mlir::Float32Type::get(a.getContext());
  if (wa == wb || (isUnsigned(a) && !isUnsigned(b) && wa > wb) ||
      (isUnsigned(b) && !isUnsigned(a) && wb > wa))
    return mlir::IntegerType::get(a.getContext(), std::min(2 * std::max(wa, wb), 64u));
  return wa > wb ? a : b;
}

}  // namespace

Result<mlir::Type> promotedType(NodeContext& node, llvm::ArrayRef<std::string_view> names) {
  mlir::Type best;
  Rank rank = Rank::kNumber;
  for (std::string_view name : names) {
    mlir::Type type;
    Rank own = Rank::kNumber;
    if (node.isTensor(name)) {
      KILN_ASSIGN(const Value value, node.tensor(name));
      type = elementOf(value);
      own = rankOf(value) == 0 ? Rank::kScalar : Rank::kTensor;
    } else {
      type = node.isReal(name) ? node.f32() : node.isBoolean(name) ? node.i1() : node.i64();
    }
    if (!best || categoryOf(type) > categoryOf(best) ||
        (categoryOf(type) == categoryOf(best) && own > rank)) {
      // A number of a higher category than all tensors brings its default type; f64 tensors cannot be below.
      best = type;
      rank = own;
    } else if (categoryOf(type) == categoryOf(best) && own == rank) {
      best = wider(best, type);
    }
  }
  return best;
}

Result<mlir::Type> calculatedType(NodeContext& node) {
  KILN_ASSIGN(const mlir::Type type, node.outputType());
  return type.isF16() || type.isBF16() ? node.f32() : type;
}

}  // namespace kiln::torch
