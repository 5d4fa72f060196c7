#include "compiler_core/frontend/onnx/formula/sampling.h"

namespace kiln::onnx {

Pixels::Pixels(GraphBuilder& builder, const Term& image) : builder_(builder), rows_(image) {
  if (!image.ok()) return;
  shape_ = image.shape();
  llvm::SmallVector<std::int64_t> last{0};
  for (std::size_t i = 2; i < shape_.size(); ++i) last.push_back(static_cast<std::int64_t>(i));
  last.push_back(1);
  const Dim places = shape_[0] * ir::product(llvm::ArrayRef(shape_).drop_front(2));
  rows_ = image.transpose(last).reshape({places, shape_[1]});
}

Term Pixels::at(llvm::ArrayRef<Term> position) const {
  if (!rows_.ok()) return rows_;
  const auto i64 = mlir::IntegerType::get(builder_.context(), 64);
  return at(countAlong(builder_, i64, shape_[0], 0, 2), position);
}

Term Pixels::at(const Term& batch, llvm::ArrayRef<Term> position) const {
  if (!rows_.ok()) return rows_;
  const auto i64 = mlir::IntegerType::get(builder_.context(), 64);
  Term place = batch;
  for (std::size_t i = 0; i < position.size(); ++i)
    place = place * extentOf(builder_, i64, shape_[2 + i]) + position[i];
  return rows_.gather(place, 0);
}

}  // namespace kiln::onnx
