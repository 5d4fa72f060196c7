#include "compiler_core/frontend/graph/bound_parameters.h"

#include "compiler_core/frontend/graph/tensors.h"

namespace kiln::frontend {

Result<BoundParameters> BoundParameters::bind(const std::vector<parameters::Argument>& arguments,
                                              const std::vector<parameters::ParameterFile>& files) {
  auto bindings = parameters::bind(arguments, files);
  if (bindings) return BoundParameters(std::move(*bindings));
  Error error = bindings.error();
  if (error.code == Code::kInvalidArgument) error.code = Code::kFailedPrecondition;
  return fail(std::move(error));
}

mlir::Value BoundParameters::value(std::size_t argument, ir::WeightTable& table, mlir::OpBuilder& builder,
                                   mlir::Location location) {
  const std::size_t weight = *bindings_.ofArgument[argument];
  if (!made_[weight]) made_[weight] = addTensor(table, builder, location, bindings_.weights[weight]);
  return made_[weight];
}

}  // namespace kiln::frontend
