#include "compiler_core/frontend/onnx/graph/initializers.h"

namespace kiln::onnx {

Result<mlir::Value> Initializers::import(mlir::OpBuilder& builder, mlir::Location location,
                                         const Tensor& tensor, std::string name) {
  KILN_ASSIGN(ir::Weight weight, tensorData(tensor, file_, external_));
  weight.name = std::move(name);
  return add(builder, location, std::move(weight));
}

}  // namespace kiln::onnx
