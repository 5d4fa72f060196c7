// What of a program is not served, and which of its inputs are written, found before anything is made of it.
#pragma once

#include <set>
#include <vector>

#include "compiler_core/frontend/rules/model_names.h"
#include "compiler_core/frontend/torch/program/program.h"
#include "compiler_core/ir/evidence.h"

namespace kiln::torch {

struct Survey {
  std::int64_t nodes = 0;                        // of the program's graph
  std::map<std::string, std::int64_t> byName;    // nodes by target, those of inner graphs too
  std::vector<ir::UnsupportedNode> unsupported;  // in the order of the program
  // Inputs of the graph, by name, that a node writes in place or the signature says are written.
  std::set<std::string, std::less<>> written;
};
Survey survey(const Program& program);

frontend::ModelNames modelNames(const Program& program);

}  // namespace kiln::torch
