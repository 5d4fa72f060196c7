// Types and attributes of MLIR as those of a Program.
#pragma once

#include <memory>

#include "compiler_core/frontend/stablehlo/program/program.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kiln::stablehlo {

// Not thread safe. Literals view the context's memory where that has their layout, and keep the context
// alive.
class AttributeConverter {
 public:
  // `budget` bounds what it converts (program/read_budget.h).
  AttributeConverter(std::shared_ptr<mlir::MLIRContext> context, std::size_t budget)
      : context_(std::move(context)), budget_(budget) {}

  Result<Type> type(mlir::Type type);
  // A struct of StableHLO's is a dictionary here.
  Result<Attribute> attribute(mlir::Attribute attribute);
  Result<Attributes> dictionary(mlir::DictionaryAttr dictionary);

 private:
  Result<Type> convertType(mlir::Type type, int depth);
  Result<Attribute> convert(mlir::Attribute attribute, int depth);
  Result<Attribute> list(mlir::ArrayAttr array, int depth);
  Result<Attributes> fields(mlir::DictionaryAttr dictionary, int depth);
  Result<Attribute> literal(mlir::DenseElementsAttr elements);
  // Aliases may say much with few words: one program converts so many attributes and members of tuples at
  // most.
  Status count();

  std::shared_ptr<mlir::MLIRContext> context_;
  llvm::DenseMap<mlir::Type, Type> types_;
  std::size_t budget_;  // what may still be converted
};

}  // namespace kiln::stablehlo
