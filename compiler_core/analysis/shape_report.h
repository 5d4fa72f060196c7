// Inferred shapes as evidence.
#pragma once

#include <map>
#include <string>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/profile.h"

namespace kiln::analysis {

// For messages: "f32[1,8,4,4]", "f32[N,floor(N / 2)]" with the symbols' names, "bool" of an element type;
// the type as MLIR prints it where the dialect has no such element.
std::string typeText(mlir::Type type, const ir::SizeTexts& sizes);

// By argument name or node name: the type of the value it leaves. A node that became several operations is
// listed by its last one.
std::map<std::string, std::string> shapeReport(mlir::ModuleOp module);

}  // namespace kiln::analysis
