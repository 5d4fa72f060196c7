// How the stages schedule, plan and codegen run their parts of codegen/lower/pipeline.h on a unit. Private to
// this folder.
#pragma once

#include <string_view>

#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/stages.h"

namespace kiln::driver {

// Whether a pass of the lowering can be left out.
bool isOptionalLowering(std::string_view pass);

// What all three have in common; `onIr` and the steps to run are the caller's. Evidence of passes is added to
// `parts`, which must outlive the options, as must `compilation`.
codegen::PipelineOptions pipelineOf(const Compilation& compilation, const Unit& unit, ProgramParts& parts);

// After a step of the pipeline: shows the IR to the observer, and writes it.
void show(Compilation& compilation, Unit& unit, std::string_view step, mlir::ModuleOp module);

}  // namespace kiln::driver
