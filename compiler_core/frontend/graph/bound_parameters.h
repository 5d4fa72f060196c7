// The tensors of parameter files in the place of a program's arguments.
#pragma once

#include <vector>

#include "compiler_core/frontend/parameters/binding.h"
#include "compiler_core/ir/ir.h"

namespace kiln::frontend {

// Arguments that share a tensor (tied weights) share a value. Not thread safe.
class BoundParameters {
 public:
  // Errors as parameters::bind() has them, with code kFailedPrecondition: they are not the model's.
  static Result<BoundParameters> bind(const std::vector<parameters::Argument>& arguments,
                                      const std::vector<parameters::ParameterFile>& files);

  bool isBound(std::size_t argument) const { return bindings_.ofArgument[argument].has_value(); }
  // Of a bound argument: a constant or a weight of `table`, made where the builder stands when it is first
  // asked for. Later uses must be dominated by that place.
  mlir::Value value(std::size_t argument, ir::WeightTable& table, mlir::OpBuilder& builder,
                    mlir::Location location);

 private:
  explicit BoundParameters(parameters::Bindings bindings)
      : bindings_(std::move(bindings)), made_(bindings_.weights.size()) {}

  parameters::Bindings bindings_;
  std::vector<mlir::Value> made_;  // by weight; null: not yet
};

}  // namespace kiln::frontend
