// Tensors of the model file as values: small ones and splats as kiln.constant, others as kiln.weight.
#pragma once

#include "compiler_core/frontend/graph/tensors.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"

namespace kiln::onnx {

class Initializers {
 public:
  Initializers(ir::WeightTable& table, std::shared_ptr<const MappedFile> file, std::string directory)
      : table_(table), file_(std::move(file)), external_(std::move(directory)) {}

  // kInvalidArgument for a broken tensor, kUnimplemented for an element type not served, kNotFound for
  // external data.
  Result<mlir::Value> import(mlir::OpBuilder& builder, mlir::Location location, const Tensor& tensor,
                             std::string name);
  // The same for a tensor in memory.
  mlir::Value add(mlir::OpBuilder& builder, mlir::Location location, ir::Weight weight) {
    return frontend::addTensor(table_, builder, location, std::move(weight));
  }
  // The payload alone, for what becomes no tensor of the graph; errors as import() has them.
  Result<ir::Weight> data(const Tensor& tensor) { return tensorData(tensor, file_, external_); }

  // The weight that `value` is; null for any other value.
  const ir::Weight* find(mlir::Value value) const { return frontend::findWeight(table_, value); }

 private:
  ir::WeightTable& table_;
  std::shared_ptr<const MappedFile> file_;
  ExternalData external_;
};

}  // namespace kiln::onnx
