// What the inputs and outputs of a program are, from its JSON.
#pragma once

#include "compiler_core/frontend/torch/program/program.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::torch {

// Fills inputs, outputs and ranges of `program`, whose graph has been read, from the schema's
// ExportedProgram. kInvalidArgument, which names the entry; also where the graph has another number of inputs
// or outputs.
Status readSignature(const Json& exported, Program& program);

}  // namespace kiln::torch
