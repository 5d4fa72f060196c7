// Graphs of a program from its JSON.
#pragma once

#include "compiler_core/frontend/torch/program/program.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::torch {

inline constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
// Graphs within graphs (the branches of cond and the like).
inline constexpr int kMaxGraphDepth = 8;

// Errors are kInvalidArgument and name the node. `depth`: how many graphs stand around this one.
Result<Graph> readGraph(const Json& json, int depth = 0);
Result<Argument> readArgument(const Json& json, int depth = 0);

}  // namespace kiln::torch
