// The stage schedule: from operations on tensors to vector code on buffers, kernel by kernel.
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/driver/unit_pipeline.h"
#include "manifest/spec/bare_metal.h"

namespace kiln::driver {
namespace {

constexpr char kSharePass[] = "kiln-share-kernels";

std::optional<DeviceProgram> deviceProgramOf(Compilation& compilation) {
  for (const Target& target : compilation.targets.all)
    if (!target.device.empty())
      return DeviceProgram(compilation.context, target, !compilation.isDisabled(kSharePass));
  return std::nullopt;
}

}  // namespace

ProgramParts::ProgramParts(Compilation& compilation) : device(deviceProgramOf(compilation)) {}

Result<Scheduled> scheduleUnit(Compilation& compilation, Unit unit, const ir::WeightTable& weights,
                               ProgramParts& parts) {
  compilation.begin(Stage::kSchedule);
  const CompileRequest& request = compilation.request;
  const bool onDevice = unit.isOnDevice();
  // Other orders than the model's take transformed weights and buffers, which a microcontroller lacks room
  // for.
  const bool inModelsOrder = onDevice || isBareMetal(unit.target->triple);
  codegen::PipelineOptions options = pipelineOf(compilation, unit, parts);
  options.last = "vectors";
  options.schedules.environment = {unit.target->name, unit.target->features, request.contraction,
                                   onDevice && request.tf32,
                                   inModelsOrder ? schedule::Reassociation::kOff : request.reassociation};
  options.schedules.given = &request.schedules;
  options.schedules.onKernel = [&](const schedule::KernelFound& kernel) {
    parts.signatures.insert(kernel.signature);
    if (compilation.observer.onKernel) compilation.observer.onKernel(kernel);
  };
  std::optional<Error> refused;
  options.schedules.onRefused = [&](const Error& error) { refused = error; };
  if (unit.isFirst()) {
    parts.schedule.registerBits = options.vectors.registerBits;
    parts.schedule.accumulators = options.vectors.accumulators;
  }
  parts.schedule.contraction = request.contraction;
  options.onIr = [&](std::string_view step, mlir::ModuleOp module) {
    if (step == "vectors") shareWeights(module, weights, onDevice ? DeviceProgram::kSpace : 0, parts.weights);
    show(compilation, unit, step, module);
  };
  const Status lowered = codegen::lowerToLlvm(*unit.module, options);
  // What was given is no fault of the model.
  if (refused && refused->code == Code::kInvalidArgument) refused->code = Code::kFailedPrecondition;
  if (refused) return fail(*refused);
  KILN_TRY(lowered);
  return Scheduled{std::move(unit)};
}

}  // namespace kiln::driver
