// What the outside calls a program's inputs and outputs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Names that are free of each other: the wanted one, or one with a number behind it.
class FreeNames {
 public:
  std::string take(std::string wanted);

 private:
  std::set<std::string> taken_;
};

// By argument: as the program names it, else "arg0"...
std::vector<std::string> argumentNames(const Function& function);

}  // namespace kiln::stablehlo
