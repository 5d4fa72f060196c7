#include "compiler_core/analysis/diagnostic_text.h"

#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/ir/profile.h"

namespace kiln::analysis {
namespace {

// One extent by itself, several as a shape.
std::string extentsText(mlir::AffineMap map, llvm::ArrayRef<std::string> names) {
  if (map.getNumResults() == 1) return ir::wordsOf(ir::Dim(map.getResult(0)), names);
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(map.getResults()))
    text += (i ? "," : "") + ir::wordsOf(ir::Dim(extent), names);
  return text + "]";
}

// Without "'kiln.reshape' op " at the front: a user knows the node and its operator, not what they became.
std::string withoutOperation(const std::string& text) {
  constexpr std::string_view kFront = "'kiln.", kBack = "' op ";
  const std::size_t end = text.find(kBack);
  return text.starts_with(kFront) && end != text.npos ? text.substr(end + kBack.size()) : text;
}

}  // namespace

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
    stream << extentsText(map.getValue(), names);
  }
  return withoutOperation(text);
}

}  // namespace kiln::analysis
