// Imports the operations of a program: of its entry function, of the regions in them, and of the functions
// that they call, which are inlined.
#pragma once

#include "compiler_core/frontend/dialects/import/operation_table.h"
#include "compiler_core/frontend/graph/captured.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::dialects {

// Notes what is not served in `captured` and goes on, so that one import names all of it. The program has
// been surveyed (survey.h), which bounds how deep it is nested.
class ProgramImporter : public Regions {
 public:
  // `owner` keeps the program's attributes alive, for the weights that are made of them.
  ProgramImporter(mlir::OpBuilder& builder, frontend::Captured& captured, std::shared_ptr<const void> owner)
      : builder_(builder), captured_(captured), owner_(std::move(owner)) {}

  // What the function returns for `arguments`; null for what could not be made. Its operations are made where
  // the builder stands.
  Result<Values> function(mlir::func::FuncOp function, const Values& arguments);

  Result<Values> run(mlir::Region& region, const Values& arguments, const Shape* space) override;
  const Shape* space() const override { return space_; }
  Value find(mlir::Value value) const override { return values_.lookup(value); }
  Result<Value> literal(mlir::ElementsAttr elements, mlir::Location location) override;

 private:
  // A function while it is imported.
  struct Frame {
    mlir::func::FuncOp function;
    std::string name, path;  // before the names of its operations: "call/3/"
    std::int64_t index = 0;  // of the next operation
  };

  Status bind(mlir::Block& block, const Values& arguments);
  // Everything but the terminator, whose operands are the result.
  Result<Values> block(mlir::Block& block);
  Status operation(mlir::Operation& operation, std::int64_t index);
  Result<Values> made(mlir::Operation& operation, const Values& operands, const std::string& label);
  Result<Values> call(mlir::Operation& operation, const Values& operands, const std::string& label);
  // Types must be those that the program declares, as far as it does; not where scalars are tensors.
  Status check(mlir::Value declared, Value made) const;

  mlir::OpBuilder& builder_;
  frontend::Captured& captured_;
  std::shared_ptr<const void> owner_;
  llvm::DenseMap<mlir::Value, Value> values_;  // null: could not be made, which has been noted
  std::vector<Frame*> frames_;                 // innermost last
  const Shape* space_ = nullptr;
  int regions_ = 0;        // around the operation
  std::int64_t made_ = 0;  // operations, each as often as it was inlined
  std::int64_t literals_ = 0;
};

}  // namespace kiln::dialects
