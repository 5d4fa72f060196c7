#include "compiler_core/ir/weight_table.h"

namespace kiln::ir {

std::int64_t WeightTable::add(Weight weight) {
  weights_.push_back(std::move(weight));
  return size() - 1;
}

std::int64_t WeightTable::addOwned(std::string name, DType dtype, std::vector<std::int64_t> shape,
                                   std::vector<std::uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  Bytes view(*owner);
  return add({std::move(name), dtype, std::move(shape), view, std::move(owner)});
}

const Weight* WeightTable::find(std::int64_t index) const {
  return index >= 0 && index < size() ? &weights_[static_cast<std::size_t>(index)] : nullptr;
}

}  // namespace kiln::ir
