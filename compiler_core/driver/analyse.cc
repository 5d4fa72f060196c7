// The stage analyse: the importer makes the graph in the kiln dialect and infers shapes in one go, for all
// profiles together where that can be; then it is known which dimensions may be padded.
#include <fmt/format.h>

#include "compiler_core/analysis/padding.h"
#include "compiler_core/driver/bare_metal.h"
#include "compiler_core/driver/probe.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/ir/index_checks.h"
#include "manifest/spec/bare_metal.h"

namespace kiln::driver {
namespace {

// kUnimplemented names the first dimension that `mustPad` asks for in vain. Nothing shows for profiles that
// are captured apart.
Result<std::vector<SymbolEvidence>> symbolsOf(const frontend::Captured& captured, bool mustPad,
                                              bool isApart) {
  std::vector<SymbolEvidence> symbols;
  const auto reasons =
      analysis::whyNotPadded(*captured.module, static_cast<unsigned>(captured.symbols.size()));
  for (auto [i, symbol] : llvm::enumerate(captured.symbols)) {
    SymbolEvidence& evidence = symbols.emplace_back(SymbolEvidence{
        .name = symbol.name, .input = symbol.input, .index = symbol.index, .element = symbol.element});
    // A number in the graph says no longer where it came from.
    if (symbol.element || isApart || (symbol.range.min == symbol.range.max && !mustPad)) continue;
    const std::optional<std::string>& reason = reasons[i];
    if (reason && mustPad)
      return fail(Code::kUnimplemented,
                  fmt::format("outOfProfile \"pad\": dimension '{}' cannot be padded, {}; give \"fail\"",
                              symbol.name, *reason));
    evidence.pad = !reason;
  }
  return symbols;
}

}  // namespace

Result<Analysed> analyseModel(Compilation& compilation, const Captured& captured) {
  compilation.begin(Stage::kAnalyse);
  const CompileRequest& request = compilation.request;
  Analysed analysed;
  KILN_ASSIGN(analysed.profiles, importProfiles(compilation.context, *captured.model, request));
  frontend::Captured& common = analysed.common();
  KILN_TRY(compilation.ir.write("capture", *common.module));
  analysed.indexChecks = ir::indexChecksOf(common.module->lookupSymbol<mlir::func::FuncOp>(ir::kMain));
  if (isBareMetal(request.target.triple)) KILN_TRY(fixShapes(request, common));
  KILN_ASSIGN(analysed.symbols, symbolsOf(common, request.pad, !analysed.profiles.own.empty()));
  if (request.probe && request.probe->point == ProbeRequest::Point::kCaptured) {
    KILN_ASSIGN(analysed.probes, probeGraph(*request.probe, *common.module, common));
  }
  return analysed;
}

}  // namespace kiln::driver
