#include "compiler_core/frontend/graph/main_function.h"

#include "compiler_core/ir/attributes.h"

namespace kiln::frontend {
namespace {

// All at once: each attribute that is set by itself makes the whole list anew.
llvm::SmallVector<mlir::DictionaryAttr> namesOf(mlir::Builder builder,
                                                llvm::ArrayRef<ir::Signature> tensors) {
  llvm::SmallVector<mlir::DictionaryAttr> names;
  for (const ir::Signature& tensor : tensors)
    names.push_back(builder.getDictionaryAttr(ir::NameAttr::named(builder.getStringAttr(tensor.name))));
  return names;
}

}  // namespace

void nameArguments(mlir::func::FuncOp main, llvm::ArrayRef<ir::Signature> inputs) {
  main.setAllArgAttrs(namesOf(mlir::Builder(main.getContext()), inputs));
}

void returnResults(mlir::OpBuilder& builder, mlir::func::FuncOp main, const Values& results,
                   llvm::ArrayRef<ir::Signature> outputs) {
  mlir::func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  main.setFunctionType(
      builder.getFunctionType(main.getArgumentTypes(), mlir::TypeRange(mlir::ValueRange(results))));
  main.setAllResultAttrs(namesOf(builder, outputs));
}

}  // namespace kiln::frontend
