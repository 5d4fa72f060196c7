#include "compiler_core/analysis/diagnostic_text.h"

#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/ir/profile.h"

namespace kiln::analysis {

std::string diagnosticText(mlir::Diagnostic& diagnostic, mlir::Operation* place) {
  std::vector<std::string> names;
  auto module = llvm::dyn_cast_or_null<mlir::ModuleOp>(place);
  if (place && !module) module = place->getParentOfType<mlir::ModuleOp>();
  if (module)
    for (const ir::Symbol& symbol : ir::symbolsOf(module)) names.push_back(symbol.name);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (mlir::DiagnosticArgument& argument : diagnostic.getArguments()) {
    using Kind = mlir::DiagnosticArgument::DiagnosticArgumentKind;
    if (argument.getKind() == Kind::Type) {
      stream << typeText(argument.getAsType(), names);
      continue;
    }
    auto map = argument.getKind() == Kind::Attribute
                   ? llvm::dyn_cast<mlir::AffineMapAttr>(argument.getAsAttribute())
                   : mlir::AffineMapAttr();
    if (!map) {
      argument.print(stream);
      continue;
    }
    for (auto [i, extent] : llvm::enumerate(map.getValue().getResults()))
      stream << (i ? "," : "[") << ir::Dim(extent).text(names);
    stream << "]";
  }
  return text;
}

}  // namespace kiln::analysis
