#include "compiler_core/frontend/stablehlo/text/read_text.h"

#include <memory>
#include <optional>

#include "compiler_core/frontend/stablehlo/program/read_budget.h"
#include "compiler_core/frontend/stablehlo/text/open_dialect.h"
#include "compiler_core/frontend/stablehlo/text/packed_booleans.h"
#include "compiler_core/frontend/stablehlo/text/to_program.h"
#include "compiler_core/frontend/text/text_bounds.h"
#include "manifest/base/printable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace kiln::stablehlo {
namespace {

// Where a diagnostic is: "12:7: ", or nothing.
std::string placeOf(mlir::Location location) {
  if (const auto place = location->findInstanceOf<mlir::FileLineColLoc>())
    return std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
  return {};
}

}  // namespace

Result<Program> readText(std::string_view text, const std::string& name) {
  if (Status bounded = frontend::checkTextBounds(text, frontend::AffineMaps::kRefused); !bounded)
    return fail(Error{bounded.error().code, name + ":" + bounded.error().message, {}});
  auto context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  loadTextDialects(*context);
  std::optional<Error> first;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic& diagnostic) {
    if (!first && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      first = Error{Code::kInvalidArgument,
                    name + ":" + placeOf(diagnostic.getLocation()) + printable(diagnostic.str()),
                    {}};
    return mlir::success();
  });
  std::string terminated(text);  // the parser wants a NUL behind the text
  packBooleans(terminated);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      terminated, mlir::ParserConfig(context.get(), /*verifyAfterParse=*/true), name);
  if (!module) {
    if (first) return fail(std::move(*first));
    return fail(Code::kInvalidArgument, name + ": no module of StableHLO");
  }
  auto program = toProgram(*module, context, readBudget(text.size()));
  if (!program) return fail(program.error().in(name));
  program->form = "StableHLO text";
  return program;
}

}  // namespace kiln::stablehlo
