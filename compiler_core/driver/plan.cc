// The stage plan: gives every buffer of a unit its place in the arena or in scratch memory.
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/driver/unit_pipeline.h"

namespace kiln::driver {

Result<Planned> planUnit(Compilation& compilation, Scheduled scheduled, ProgramParts& parts) {
  compilation.begin(Stage::kPlan);
  Planned planned{std::move(scheduled.unit), {}};
  codegen::PipelineOptions options = pipelineOf(compilation, planned.unit, parts);
  options.from = options.last = "planned";
  options.onIr = [&](std::string_view step, mlir::ModuleOp module) {
    std::vector<package::WeightUse> own;  // numbered by shareWeights
    readPlan(module, planned.memory, own);
    show(compilation, planned.unit, step, module);
  };
  KILN_TRY(codegen::lowerToLlvm(*planned.unit.module, options));
  return planned;
}

}  // namespace kiln::driver
