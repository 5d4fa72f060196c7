#include "compiler_core/frontend/stablehlo/import/names.h"

#include "compiler_core/frontend/stablehlo/import/unserved.h"
#include "compiler_core/frontend/stablehlo/program/name.h"

namespace kiln::stablehlo {

std::string FreeNames::take(std::string wanted) {
  constexpr std::size_t kMaxName = 4096;
  wanted.resize(cutName(wanted, kMaxName).size());
  std::string name = wanted;
  for (int next = 2; !taken_.insert(name).second; ++next) name = wanted + "." + std::to_string(next);
  return name;
}

std::string nodeName(const Operation& operation, std::size_t index) {
  return operation.location.empty() ? operation.name + "/" + std::to_string(index) : operation.location;
}

namespace {

void addInner(const Region& region, frontend::ModelNames& names) {
  // The reader bounds how deep regions are nested.
  for (std::size_t i = 0; i < region.operations.size(); ++i) {
    const Operation& operation = region.operations[i];
    if (operation.name == "return") continue;
    names.operators.insert(fullName(operation));
    names.inner.push_back(nodeName(operation, i));
    for (const Region& inside : operation.regions) addInner(inside, names);
  }
}

}  // namespace

frontend::ModelNames modelNames(const Program& program) {
  frontend::ModelNames names;
  const Function* entry = program.entry();
  for (const Function& function : program.functions)
    if (&function != entry) addInner(function.body, names);
  if (!entry) return names;
  for (std::size_t i = 0; i < entry->body.operations.size(); ++i) {
    const Operation& operation = entry->body.operations[i];
    if (operation.name == "return") continue;
    const std::string name = nodeName(operation, i);
    names.operators.insert(fullName(operation));
    names.nodes.push_back(name);
    if (operation.name == "call" || operation.name == "composite" || !operation.regions.empty())
      names.outer.push_back(name);
    for (const Region& inside : operation.regions) addInner(inside, names);
  }
  return names;
}

}  // namespace kiln::stablehlo
