#include "compiler_core/analysis/shape_report.h"

#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"

namespace kiln::analysis {

std::string typeText(mlir::Type type, llvm::ArrayRef<std::string> names) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  auto dtype = tensor ? ir::dtypeOf(tensor.getElementType()) : std::nullopt;
  if (!dtype) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  if (tensor.hasStaticShape()) return ir::typeText(*dtype, tensor.getShape());
  std::string text(dtypeName(*dtype));
  for (auto [i, dim] : llvm::enumerate(ir::shapeOf(tensor))) text += (i ? "," : "[") + dim.text(names);
  return text + "]";
}

std::map<std::string, std::string> shapeReport(mlir::ModuleOp module) {
  std::map<std::string, std::string> report;
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  if (!main) return report;
  std::vector<std::string> names;
  for (const ir::Symbol& symbol : ir::symbolsOf(module)) names.push_back(symbol.name);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<mlir::StringAttr>(i, ir::kNameAttr))
      report[name.str()] = typeText(main.getArgument(i).getType(), names);
  main.walk([&](mlir::Operation* operation) {
    if (operation->getNumResults() == 0 || llvm::isa<ir::WeightOp, ir::ConstantOp>(operation)) return;
    if (std::string name = ir::nodeName(operation->getLoc()); !name.empty())
      report[name] = typeText(operation->getResult(0).getType(), names);
  });
  return report;
}

}  // namespace kiln::analysis
