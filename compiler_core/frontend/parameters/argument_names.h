// Finds arguments by the names of tensors.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/frontend/parameters/binding.h"

namespace kiln::parameters {

class ArgumentNames {
 public:
  explicit ArgumentNames(const std::vector<Argument>& arguments);

  // Whether an argument has exactly this name.
  bool isArgument(std::string_view name) const { return whole_.contains(name); }
  // The argument of this name, else the one of the same path, else the one whose path behind its root it is,
  // else the one that has the same path behind its root. Nothing where none is, or more than one.
  std::optional<std::size_t> find(std::string_view name) const;
  // Which arguments' names come near to this one, as kiln::orNearest() says it; "" where none does.
  std::string orNearest(std::string_view name) const;

 private:
  // A name that several have leads to none of them.
  using Index = std::map<std::string, std::optional<std::size_t>, std::less<>>;
  Index whole_, paths_, behind_;
  // "params.Dense_0.kernel" and "Dense_0.kernel", as nearestNames() takes names apart, and the argument's own
  // name: of the first arguments, since each is held against a name in full.
  std::vector<std::string> dotted_, own_;
};

}  // namespace kiln::parameters
