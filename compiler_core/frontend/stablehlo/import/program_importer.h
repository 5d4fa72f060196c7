// Imports the operations of a program: of its entry function, of the regions in them, and of the functions
// that they call, which are inlined.
#pragma once

#include <map>

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {

// Notes what is not served in `captured` and goes on, so that one import names all of it.
class ProgramImporter : public Bodies {
 public:
  ProgramImporter(const Program& program, mlir::OpBuilder& builder, frontend::Captured& captured)
      : program_(program), builder_(builder), captured_(captured) {}

  // What the function returns for `arguments`; null for what could not be made. Its operations are made where
  // the builder stands.
  Result<Values> function(const Function& function, const Values& arguments);

  Result<Values> run(const Region& region, const Values& arguments, bool pointwise) override;
  bool isPointwise(const Region& region) const override;
  Result<Value> literal(const Literal& literal, mlir::Location location) override;
  const Region* functionBody(std::string_view name) const override {
    const Function* found = program_.find(name);
    return found ? &found->body : nullptr;
  }

 private:
  // A function while it is imported.
  struct Frame {
    const Function& function;
    std::string path;            // before the names of its operations: "call/"
    std::vector<Value> values;   // by number; null: not made yet
    std::vector<bool> poisoned;  // by number: could not be made, which has been noted
  };

  bool isPointwise(const Function& function, const Region& region, int depth) const;
  // The function that an attribute names; null if there is none.
  const Function* calleeOf(const Operation& operation, std::string_view attribute) const;
  Status operations(Frame& frame, const Region& region);
  Status operation(Frame& frame, const Operation& operation, std::size_t index);
  Status checkShapes(OperationContext& context, const Frame& frame, const Operation& operation,
                     const Values& operands) const;
  Result<Values> made(Frame& frame, const Operation& operation, const Values& operands, std::string label);
  Result<Values> call(const Operation& operation, std::string_view attribute, const Values& operands,
                      const std::string& label);
  Result<Values> composite(Frame& frame, const Operation& operation, const Values& operands,
                           const std::string& label);
  // What the terminator of the region returns.
  Result<Values> returned(Frame& frame, const Region& region) const;
  // Types must be those that the program declares; not in regions that are run pointwise.
  Status check(const Frame& frame, ValueId value, Value made) const;
  std::string labelOf(const Frame& frame, const Operation& operation, std::size_t index);

  const Program& program_;
  mlir::OpBuilder& builder_;
  frontend::Captured& captured_;
  std::vector<Frame*> frames_;  // innermost last
  bool isPointwise_ = false;    // inside of a region that is run pointwise
  int regions_ = 0;             // around the operation
  std::int64_t made_ = 0;       // operations, each as often as it was inlined
  std::int64_t literals_ = 0;
};

}  // namespace kiln::stablehlo
