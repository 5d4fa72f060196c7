// What the outside calls a program's inputs and outputs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler_core/frontend/rules/model_names.h"
#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Names that are free of each other: the wanted one, or one with a number behind it.
class FreeNames {
 public:
  std::string take(std::string wanted);

 private:
  std::set<std::string> taken_;
};

// What the operation number `index` of a region is called within its function.
std::string nodeName(const Operation& operation, std::size_t index);

// Of the entry function, with what it calls and what regions hold inside.
frontend::ModelNames modelNames(const Program& program);

}  // namespace kiln::stablehlo
