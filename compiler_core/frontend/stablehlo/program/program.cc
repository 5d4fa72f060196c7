#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

const Function* Program::entry() const {
  if (const Function* main = find("main"); main && main->isPublic) return main;
  const Function* only = nullptr;
  for (const Function& function : functions) {
    if (!function.isPublic) continue;
    if (only) return nullptr;
    only = &function;
  }
  return only;
}

const Function* Program::find(std::string_view name) const {
  for (const Function& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace kiln::stablehlo
