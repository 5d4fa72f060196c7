#include "compiler_core/analysis/diagnostic_text.h"

#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/ir/profile.h"

namespace kiln::analysis {
namespace {

// One extent by itself, several as a shape.
std::string extentsText(mlir::AffineMap map, const ir::SizeTexts& sizes) {
  if (map.getNumResults() == 1) return sizes.words(ir::Dim(map.getResult(0)));
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(map.getResults()))
    text += (i ? "," : "") + sizes.words(ir::Dim(extent));
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
  auto module = llvm::dyn_cast_or_null<mlir::ModuleOp>(place);
  if (place && !module) module = place->getParentOfType<mlir::ModuleOp>();
  const ir::SizeTexts sizes = module ? ir::SizeTexts(module) : ir::SizeTexts(llvm::ArrayRef<ir::Symbol>());
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (mlir::DiagnosticArgument& argument : diagnostic.getArguments()) {
    using Kind = mlir::DiagnosticArgument::DiagnosticArgumentKind;
    if (argument.getKind() == Kind::Type) {
      stream << typeText(argument.getAsType(), sizes);
      continue;
    }
    auto map = argument.getKind() == Kind::Attribute
                   ? llvm::dyn_cast<mlir::AffineMapAttr>(argument.getAsAttribute())
                   : mlir::AffineMapAttr();
    if (!map) {
      argument.print(stream);
      continue;
    }
    stream << extentsText(map.getValue(), sizes);
  }
  return withoutOperation(text);
}

}  // namespace kiln::analysis
