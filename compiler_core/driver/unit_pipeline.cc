#include "compiler_core/driver/unit_pipeline.h"

#include <fmt/format.h>

#include "manifest/spec/bare_metal.h"

namespace kiln::driver {

bool isOptionalLowering(std::string_view pass) {
  return llvm::is_contained(codegen::kOptionalPasses, pass);
}

codegen::PipelineOptions pipelineOf(const Compilation& compilation, const Unit& unit, ProgramParts& parts) {
  const CompileRequest& request = compilation.request;
  codegen::PipelineOptions options;
  options.unit = unit.number;
  if (unit.isOnDevice()) parts.device->addTo(options, request);
  options.vectors = codegen::vectorsFor(unit.target->features);
  if (isBareMetal(unit.target->triple)) {
    options.indexBits = 32;
    options.scalarMath = true;
  }
  options.vectors.contraction = request.contraction;
  if (!unit.isOnDevice()) options.dots = codegen::dotsFor(unit.target->features);
  llvm::copy_if(request.disabledPasses, std::back_inserter(options.disabled), isOptionalLowering);
  const bool speaksForAll = unit.number.profile == 0 && unit.isFirst();
  options.onPass = [&compilation, &parts, speaksForAll](const ir::PassEvidence& pass, double seconds) {
    if (compilation.observer.onPass) compilation.observer.onPass(pass.name, seconds);
    if (speaksForAll) parts.schedule.passes.push_back(pass);
  };
  return options;
}

void show(Compilation& compilation, Unit& unit, std::string_view step, mlir::ModuleOp module) {
  if (compilation.observer.afterPass)
    compilation.observer.afterPass(fmt::format("stage:{}", step), *module.getOperation());
  if (Status status = compilation.ir.write(step, module); !status && unit.written) unit.written = status;
}

}  // namespace kiln::driver
