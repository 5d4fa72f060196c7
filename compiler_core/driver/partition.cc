// The stage partition: decides what each target runs of a profile, and cuts @main accordingly.
#include "compiler_core/partition/partition.h"

#include "compiler_core/analysis/diagnostic_text.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "compiler_core/ir/processor_time.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace kiln::driver {
namespace {

// kiln-partition on the marks that the decision has left.
Status runPass(Compilation& compilation, mlir::ModuleOp module) {
  const double start = ir::threadSeconds();
  std::string complaint;
  mlir::ScopedDiagnosticHandler handler(&compilation.context, [&](mlir::Diagnostic& diagnostic) {
    complaint += (complaint.empty() ? "" : "; ") + analysis::diagnosticText(diagnostic, module);
    return mlir::success();
  });
  mlir::PassManager passes(&compilation.context);
  passes.addPass(partition::createPartitionPass());
  if (failed(passes.run(module))) return fail(Code::kUnimplemented, "partition: " + complaint);
  if (compilation.observer.onPass) compilation.observer.onPass(kPartitionPass, ir::threadSeconds() - start);
  return {};
}

Result<partition::PartitionEvidence> cut(Compilation& compilation, const frontend::Captured& common,
                                         mlir::ModuleOp module) {
  const Targets& targets = compilation.targets;
  const bool isDisabled = compilation.isDisabled(kPartitionPass);
  partition::PartitionOptions options;
  for (const Target& target : targets.all) options.targets.push_back(target.name);
  options.fallback = compilation.request.fallback;
  options.onlyFallback = targets.fallsBackToHost;
  options.rules = compilation.request.partition;
  if (isDisabled && !targets.primary().device.empty())
    return fail(Code::kUnimplemented, std::string(kPartitionPass) + " cannot be left out for " +
                                          targets.primary().name + ": what a device reads is transferred");
  if (isDisabled) {  // all to the primary, or not at all
    options.targets.resize(1);
    options.rules.affinities.clear();
  }
  options.operators = common.operators;
  KILN_ASSIGN(partition::PartitionResult parts, partition::partition(module, options));
  if (!parts.unsupported.empty())
    return fail(frontend::unsupportedError(parts.unsupported, common.capture.nodes));
  if (isDisabled) return std::move(parts.evidence);
  KILN_TRY(runPass(compilation, module));
  KILN_TRY(partition::describe(module, parts.evidence));
  return std::move(parts.evidence);
}

// The partition that `call` calls, as a unit; a declaration stays in its place.
Result<Unit> takeUnit(mlir::ModuleOp module, mlir::func::CallOp call, codegen::Unit number,
                      const Targets& targets) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
  KILN_ASSIGN(const mlir::StringAttr name, ir::TargetAttr::expect(function));
  const Target& target = targets.named(name.str());
  Unit unit{mlir::ModuleOp::create(module.getLoc()), number, &target};
  (*unit.module)->setAttrs(module->getAttrDictionary());
  mlir::func::FuncOp own = function.clone();
  unit.module->push_back(own);
  own.setName(ir::kMain);
  own.setPublic();
  function.eraseBody();
  return unit;
}

}  // namespace

Result<Partitioned> partitionProfile(Compilation& compilation, const Analysed& analysed,
                                     Rewritten rewritten) {
  compilation.begin(Stage::kPartition);
  const Targets& targets = compilation.targets;
  mlir::ModuleOp module = *rewritten.module;
  Partitioned partitioned;
  partitioned.evidence = std::move(rewritten.evidence);
  partition::PartitionEvidence& evidence = partitioned.evidence.partition;
  KILN_ASSIGN(evidence, cut(compilation, analysed.common(), module));
  partitioned.evidence.plan.transferBytes = evidence.transferBytes;
  auto calls = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain).getOps<mlir::func::CallOp>();
  if (calls.empty()) {
    const Target& first = targets.named(evidence.partitions.front().target);
    // A model without operations has nothing for a device to do.
    const Target& target = first.device.empty() ? first : targets.host;
    partitioned.units.push_back({std::move(rewritten.module), {rewritten.profile, {}}, &target});
    return partitioned;
  }
  for (auto [number, call] : llvm::enumerate(calls)) {
    KILN_ASSIGN(Unit unit,
                takeUnit(module, call, {rewritten.profile, static_cast<unsigned>(number)}, targets));
    partitioned.units.push_back(std::move(unit));
  }
  partitioned.calls = std::move(rewritten.module);
  return partitioned;
}

}  // namespace kiln::driver
