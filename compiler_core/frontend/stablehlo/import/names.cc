#include "compiler_core/frontend/stablehlo/import/names.h"

namespace kiln::stablehlo {

std::string FreeNames::take(std::string wanted) {
  constexpr std::size_t kMaxName = 4096;
  if (wanted.size() > kMaxName) wanted.resize(kMaxName);
  std::string name = wanted;
  for (int next = 2; !taken_.insert(name).second; ++next) name = wanted + "." + std::to_string(next);
  return name;
}

std::vector<std::string> argumentNames(const Function& function) {
  FreeNames free;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < function.body.arguments.size(); ++i) {
    const std::string own = i < function.arguments.size() ? function.arguments[i].name : std::string();
    names.push_back(free.take(own.empty() ? "arg" + std::to_string(i) : own));
  }
  return names;
}

}  // namespace kiln::stablehlo
