#include "api/diff/kernels.h"

#include <set>

#include "compiler_core/runtime/spirv/spirv_text.h"

namespace kiln::diff {

void compareKernels(std::string_view first, std::string_view second,
                    const std::map<std::string, std::string>& nodes, FileDifference& out) {
  const auto a = spirv::functionsOf(first), b = spirv::functionsOf(second);
  if (!a || !b) return;
  std::map<std::string, const spirv::FunctionText*> others;
  for (const spirv::FunctionText& function : *b) others.emplace(function.name, &function);
  const auto add = [&](const std::string& name, std::uint64_t firstSize, std::uint64_t secondSize) {
    if (out.symbols.size() >= kMaxSymbols) return;
    const auto named = nodes.find(name);
    out.symbols.push_back(
        {name, named == nodes.end() ? std::string() : named->second, true, firstSize, secondSize});
  };
  std::set<std::string> known;
  for (const spirv::FunctionText& function : *a) {
    if (!known.insert(function.name).second) continue;
    const auto other = others.find(function.name);
    if (other == others.end())
      add(function.name, function.bytes, 0);
    else if (function.digest != other->second->digest)
      add(function.name, function.bytes, other->second->bytes);
  }
  for (const spirv::FunctionText& function : *b)
    if (known.insert(function.name).second) add(function.name, 0, function.bytes);
}

}  // namespace kiln::diff
