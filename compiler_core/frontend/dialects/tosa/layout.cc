#include "compiler_core/frontend/dialects/tosa/layout.h"

namespace kiln::dialects::tosa {

Result<Value> channelsSecond(OperationContext& op, Value value) {
  Dims order = allDims(rankOf(value));
  order.insert(order.begin() + 1, order.pop_back_val());
  return op.transpose(value, order);
}

Result<Value> channelsLast(OperationContext& op, Value value) {
  Dims order = allDims(rankOf(value));
  order.erase(order.begin() + 1);
  order.push_back(1);
  return op.transpose(value, order);
}

Dims padsOf(llvm::ArrayRef<std::int64_t> pairs) {
  Dims pads;
  for (std::size_t i = 0; i < pairs.size(); i += 2) pads.push_back(pairs[i]);
  for (std::size_t i = 1; i < pairs.size(); i += 2) pads.push_back(pairs[i]);
  return pads;
}

}  // namespace kiln::dialects::tosa
