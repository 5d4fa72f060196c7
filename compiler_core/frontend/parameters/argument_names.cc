#include "compiler_core/frontend/parameters/argument_names.h"

#include "compiler_core/frontend/parameters/names.h"

namespace kiln::parameters {

ArgumentNames::ArgumentNames(const std::vector<Argument>& arguments) {
  const auto put = [](Index& index, std::string name, std::size_t at) {
    if (name.empty()) return;
    const auto [entry, isNew] = index.emplace(std::move(name), at);
    if (!isNew) entry->second.reset();
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string path = pathOf(arguments[i].name);
    put(whole_, arguments[i].name, i);
    put(paths_, path, i);
    put(behind_, std::string(behindRoot(path)), i);
  }
}

std::optional<std::size_t> ArgumentNames::find(std::string_view name) const {
  if (const auto found = whole_.find(name); found != whole_.end()) return found->second;
  const std::string path = pathOf(name);
  if (const auto found = paths_.find(path); found != paths_.end()) return found->second;
  if (const auto found = behind_.find(path); found != behind_.end()) return found->second;
  // What the file calls its root and what the function calls its argument need not be the same.
  const auto found = behind_.find(behindRoot(path));
  return found == behind_.end() ? std::nullopt : found->second;
}

}  // namespace kiln::parameters
