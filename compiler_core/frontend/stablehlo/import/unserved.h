// What of a program is not served, found before anything is made of it.
#pragma once

#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"
#include "compiler_core/ir/evidence.h"

namespace kiln::stablehlo {

// "stablehlo.add", "chlo.top_k", "func.call".
std::string fullName(const Operation& operation);
// "function main: operation 12".
std::string placeOf(const Function& function, std::size_t index);

struct Survey {
  std::int64_t operations = 0;                   // of all functions that a run reaches, regions included
  std::int64_t functions = 0;                    // those functions
  std::map<std::string, std::int64_t> byName;    // operations by their full names
  std::vector<ir::UnsupportedNode> unsupported;  // in the order of the program
  std::vector<const Function*> reached;          // each once, the entry function first
};

// Looks at `entry` and what it calls. kInvalidArgument: a function is not there or calls itself, a value has
// no type; kUnimplemented: nested too deeply.
Result<Survey> survey(const Program& program, const Function& entry);

}  // namespace kiln::stablehlo
