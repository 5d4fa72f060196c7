// The stage rewrite: a copy of the graph becomes one profile's, and is rewritten for its sizes.
#include "compiler_core/transforms/rewrite.h"

#include "compiler_core/driver/probe.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/driver/unit_pipeline.h"
#include "compiler_core/partition/cost.h"
#include "compiler_core/transforms/specialise.h"

namespace kiln::driver {
namespace {

// The range of each symbol that the caller gives in one profile, whose graph `module` is.
std::vector<ir::SymbolRange> rangesOf(mlir::ModuleOp module, const analysis::Profile& profile) {
  std::vector<ir::SymbolRange> ranges;
  for (const ir::Symbol& symbol : ir::symbolsOf(module)) {
    if (!symbol.isGiven()) continue;
    const analysis::ProfileDim* dim = profile.find(symbol.name);
    const std::int64_t multiple = symbol.multiple;
    ranges.push_back(dim ? ir::SymbolRange{dim->min / multiple, dim->opt / multiple, dim->max / multiple}
                         : ir::SymbolRange{symbol.range.min, symbol.range.min, symbol.range.max});
  }
  return ranges;
}

// What tensors of these types take at most.
std::uint64_t bytesOf(mlir::TypeRange types, llvm::ArrayRef<ir::Range> limits) {
  std::uint64_t total = 0;
  for (mlir::Type type : types) total += partition::mostBytes(type, limits);
  return total;
}

transforms::RewriteOptions optionsOf(const Compilation& compilation) {
  const CompileRequest& request = compilation.request;
  const Target& primary = compilation.targets.primary();
  transforms::RewriteOptions options;
  for (const std::string& pass : request.disabledPasses)
    if (pass != kPartitionPass && !isOptionalLowering(pass)) options.disabled.push_back(pass);
  options.otherPasses.assign(std::begin(codegen::kOptionalPasses), std::end(codegen::kOptionalPasses));
  options.otherPasses.push_back(kPartitionPass);
  options.onPass = compilation.observer.onPass;
  options.spool = request.out;
  options.quantised = request.quantised;
  options.byteDots = primary.device.empty() && codegen::dotsFor(primary.features).bytes;
  return options;
}

}  // namespace

Result<Rewritten> rewriteProfile(Compilation& compilation, Analysed& analysed, std::size_t profile) {
  const CompileRequest& request = compilation.request;
  frontend::Captured& common = analysed.common();
  Rewritten rewritten{static_cast<unsigned>(profile), analysed.profiles.moduleOf(profile).clone(), {}};
  mlir::ModuleOp module = *rewritten.module;
  transforms::specialise(module, rangesOf(module, request.profiles[profile]));
  PlanEvidence& plan = rewritten.evidence.plan;
  plan.profile = request.profiles[profile].name;
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  plan.inputBytes = bytesOf(main.getArgumentTypes(), ir::limitsOf(main));
  plan.outputBytes = bytesOf(main.getResultTypes(), ir::limitsOf(main));

  compilation.begin(Stage::kRewrite);
  KILN_ASSIGN(rewritten.evidence.rewrite,
              transforms::rewrite(module, common.weights, optionsOf(compilation)));
  KILN_TRY(compilation.ir.write("rewrite", module));
  if (request.probe && request.probe->point == ProbeRequest::Point::kRewritten) {
    KILN_ASSIGN(analysed.probes, probeGraph(*request.probe, module, common));
  }
  return rewritten;
}

}  // namespace kiln::driver
