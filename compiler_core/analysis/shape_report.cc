#include "compiler_core/analysis/shape_report.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"

namespace kiln::analysis {

namespace {

std::string typeText(mlir::Type type, llvm::function_ref<std::string(const ir::Dim&)> dimText) {
  if (auto element = ir::dtypeOf(type)) return std::string(dtypeName(*element));
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  auto dtype = tensor ? ir::dtypeOf(tensor.getElementType()) : std::nullopt;
  if (!dtype) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  if (tensor.hasStaticShape()) return ir::typeText(*dtype, tensor.getShape());
  std::string text(dtypeName(*dtype));
  for (auto [i, dim] : llvm::enumerate(ir::shapeOf(tensor))) text += (i ? "," : "[") + dimText(dim);
  return text + "]";
}

}  // namespace

std::string typeText(mlir::Type type, const ir::SizeTexts& sizes) {
  return typeText(type, [&](const ir::Dim& dim) { return sizes.words(dim); });
}

std::map<std::string, std::string> shapeReport(mlir::ModuleOp module) {
  std::map<std::string, std::string> report;
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  if (!main) return report;
  const ir::SizeTexts sizes(module);
  // Manifests have expressions as they always had them.
  const auto recorded = [&](mlir::Type type) {
    return typeText(type, [&](const ir::Dim& dim) { return sizes.text(dim); });
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = ir::NameAttr::get(main, i)) report[name.str()] = recorded(main.getArgument(i).getType());
  main.walk([&](mlir::Operation* operation) {
    if (operation->getNumResults() == 0 || llvm::isa<ir::WeightOp, ir::ConstantOp>(operation)) return;
    if (std::string name = ir::nodeName(operation->getLoc()); !name.empty())
      report[name] = recorded(operation->getResult(0).getType());
  });
  return report;
}

}  // namespace kiln::analysis
