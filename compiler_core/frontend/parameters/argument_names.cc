#include "compiler_core/frontend/parameters/argument_names.h"

#include <algorithm>

#include "compiler_core/frontend/parameters/names.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"

namespace kiln::parameters {
namespace {

constexpr std::size_t kMaxNear = 1024;  // arguments that a wrong name is held against

std::string dotted(std::string path) {
  std::ranges::replace(path, '\0', '.');
  return path;
}

}  // namespace

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
    if (i >= kMaxNear) continue;
    for (const std::string_view form : {std::string_view(path), behindRoot(path)}) {
      dotted_.push_back(dotted(std::string(form)));
      own_.push_back(arguments[i].name);
    }
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

std::string ArgumentNames::orNearest(std::string_view name) const {
  std::vector<std::string> names;
  for (const std::string& near : nearestNames(dotted(pathOf(name)), dotted_)) {
    const auto at = std::ranges::find(dotted_, near) - dotted_.begin();
    const std::string& own = own_[static_cast<std::size_t>(at)];
    if (std::ranges::find(names, own) == names.end()) names.push_back(own);
  }
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? "; did you mean " : " or ") + inQuotes(each);
  return out.empty() ? out : out + "?";
}

}  // namespace kiln::parameters
