#include "compiler_core/driver/bare_metal.h"

#include <fmt/format.h>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/ir/profile.h"

namespace kiln::driver {
namespace {

template <typename... Arguments>
tl::unexpected<Error> refused(const CompileRequest& request, fmt::format_string<Arguments...> why,
                              Arguments&&... arguments) {
  return fail(Code::kUnimplemented, "target " + request.target.name + " has no operating system: " +
                                        fmt::format(why, std::forward<Arguments>(arguments)...));
}

void nameNumbersOnly(std::vector<ir::Signature>& tensors) {
  for (ir::Signature& tensor : tensors)
    for (auto [extent, name] : llvm::zip_equal(tensor.shape, tensor.dimNames))
      if (extent != analysis::kSymbolic) name.clear();
}

}  // namespace

Status fixShapes(const CompileRequest& request, frontend::Captured& captured) {
  if (request.fallback || request.target.name.find(',') != std::string::npos)
    return refused(request, "its program has no partitions for other targets");
  if (request.profiles.size() > 1)
    return refused(request, "its program has one profile, and {} are given; build one artifact for each",
                   request.profiles.size());
  for (const ir::Symbol& symbol : ir::symbolsOf(*captured.module)) {
    if (!symbol.isGiven())
      return refused(request,
                     "'{}', a dimension that the program finds out from values, asks for memory by need",
                     symbol.name);
    if (symbol.range.min == symbol.range.max && !request.pad) continue;
    return refused(request,
                   "its shapes are fixed, and '{}' is symbolic; give it one number, as in --profile {}=8",
                   symbol.name, symbol.name);
  }
  if (!captured.strings.empty()) return refused(request, "it has no texts, which the model's tensors hold");
  nameNumbersOnly(captured.inputs);
  nameNumbersOnly(captured.outputs);
  captured.symbols.clear();
  return {};
}

}  // namespace kiln::driver
