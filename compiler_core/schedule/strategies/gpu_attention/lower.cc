// Attention of the kiln dialect as the call that attention.cc writes out.
#include "compiler_core/schedule/lower/lowering.h"
#include "compiler_core/schedule/strategies/gpu_attention/device_attention.h"
#include "llvm/ADT/bit.h"

namespace kiln::schedule {

using namespace mlir;

Value lowerAttention(Lowering& lowering, Operation* op) {
  auto attention = dyn_cast<ir::AttentionOp>(op);
  if (!attention) return {};
  const ir::Shape shape = ir::shapeOf(cast<RankedTensorType>(attention.getType()));
  const Type element = Lowering::convert(attention.getType()).getElementType();
  if (!element.isF32() || !shape[3].isStatic() || shape[3].value() > kMaxAttentionValues) return {};
  SmallVector<Value> inputs;
  SmallVector<std::int64_t> parameters;
  for (Value operand : {attention.getQuery(), attention.getKey(), attention.getValue()}) {
    const Lowering::Factor given = lowering.factor(operand);
    inputs.push_back(given.value);
    const FactorStorage storage = given.element.isF16()    ? FactorStorage::kF16
                                  : given.element.isBF16() ? FactorStorage::kBF16
                                                           : FactorStorage::kF32;
    parameters.push_back(static_cast<std::int64_t>(storage));
  }
  if (attention.getMask()) inputs.push_back(lowering.get(attention.getMask()));
  parameters.push_back(llvm::bit_cast<std::int64_t>(attention.getScale().convertToDouble()));
  return lowering.call(kDeviceAttention, inputs, lowering.empty(shape, element), parameters)[0];
}

}  // namespace kiln::schedule
