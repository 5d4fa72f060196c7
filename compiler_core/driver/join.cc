// Between the lowering of units and the making of machine code: units become profiles, and profiles become
// one program.
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/driver/unit_pipeline.h"
#include "compiler_core/ir/attributes.h"

namespace kiln::driver {
namespace {

// Moves what `from` defines into `into`; names that both have are changed in `from`.
void append(mlir::ModuleOp from, mlir::ModuleOp into) {
  mlir::SymbolTable target(into), source(from);
  for (mlir::Operation& op : llvm::make_early_inc_range(from.getBody()->getOperations())) {
    auto symbol = llvm::dyn_cast<mlir::SymbolOpInterface>(op);
    if (symbol && target.lookup(symbol.getName())) {
      auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(op);
      if (function && function.isExternal()) continue;  // of a library
      (void)source.renameToUnique(&op, {&target});
    }
    op.remove();
    if (symbol)
      target.insert(&op);
    else
      into.push_back(&op);
  }
}

}  // namespace

Result<LoweredProfile> joinUnits(Compilation& compilation, Partitioned partitioned,
                                 std::vector<Lowered> units) {
  LoweredProfile profile{std::move(units.front().unit.module), std::move(partitioned.evidence)};
  PlanEvidence& plan = profile.evidence.plan;
  if (!partitioned.calls) {
    static_cast<MemoryPlan&>(plan) = std::move(units.front().memory);
    return profile;
  }
  mlir::ModuleOp calls = *partitioned.calls;
  auto main = calls.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  for (auto [number, call] : llvm::enumerate(main.getOps<mlir::func::CallOp>())) {
    Lowered& lowered = units[number];
    if (!lowered.unit.isOnDevice())
      plan.scratchBytes = std::max(plan.scratchBytes, lowered.memory.scratchBytes);
    const MemoryPlan& memory = lowered.memory;
    ir::setArena(calls.lookupSymbol<mlir::func::FuncOp>(call.getCallee()),
                 {memory.arenaBytes, memory.unsharedBytes, memory.lowerBoundBytes, memory.buffers});
    if (number > 0) append(*lowered.unit.module, *profile.module);
  }
  const unsigned number = units.front().unit.number.profile;
  KILN_TRY(
      codegen::joinToLlvm(calls, number, [&](mlir::ModuleOp joined) { readRegions(joined, number, plan); }));
  KILN_TRY(compilation.ir.write("joined", calls));
  append(calls, *profile.module);
  return profile;
}

Result<Joined> joinProfiles(const Compilation& compilation, const Analysed& analysed,
                            std::vector<LoweredProfile> profiles, const ProgramParts& parts) {
  LoweredProfile& first = profiles.front();
  Joined joined{std::move(first.module), std::move(first.evidence.rewrite),
                std::move(first.evidence.partition)};
  for (LoweredProfile& profile : llvm::drop_begin(profiles)) append(*profile.module, *joined.module);
  for (LoweredProfile& profile : profiles) joined.plans.push_back(std::move(profile.evidence.plan));
  for (const auto& [signature, schedule] : compilation.request.schedules)
    if (!schedule.isFromCatalogue() && !parts.signatures.contains(signature))
      return fail(Code::kFailedPrecondition, "the schedule of kernel " + signature +
                                                 ": the program has no such kernel; kiln-cc plan lists "
                                                 "those it has");
  // Whether any profile uses the device decides what the program is; then all have an arena there.
  joined.usesDevice =
      llvm::any_of(joined.plans, [](const PlanEvidence& plan) { return !plan.deviceArenaBytes.empty(); });
  std::uint64_t weightBytes = 0;
  for (const package::WeightUse& use : parts.weights)
    if (const ir::Weight* weight = analysed.common().weights.find(use.source))
      weightBytes += package::bytesOf(*weight, use);
  for (PlanEvidence& plan : joined.plans) {
    if (joined.usesDevice) plan.deviceArenaBytes.resize(DeviceProgram::kSpace);
    plan.weightBytes = weightBytes;
  }
  return joined;
}

}  // namespace kiln::driver
