#include "compiler_core/driver/module_evidence.h"

#include "compiler_core/ir/ir.h"

namespace kiln::driver {

using namespace mlir;

void readPlan(ModuleOp module, PlanEvidence& plan, std::vector<package::WeightUse>& uses) {
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  auto number = [&](const char* name) -> std::uint64_t {
    auto attribute = main->getAttrOfType<IntegerAttr>(name);
    return attribute ? static_cast<std::uint64_t>(attribute.getInt()) : 0;
  };
  plan.arenaBytes = number("kiln.arena_bytes");
  plan.unsharedBytes = number("kiln.arena_total_bytes");
  plan.lowerBoundBytes = number("kiln.arena_live_bytes");
  plan.buffers = static_cast<std::int64_t>(number("kiln.arena_buffers"));
  plan.scratchBytes = number("kiln.scratch_bytes");
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto slot = main.getArgAttrOfType<IntegerAttr>(i, "kiln.weight");
    if (!slot) continue;
    package::WeightUse use{main.getArgAttrOfType<IntegerAttr>(i, "kiln.source").getInt(), {}};
    if (auto permutation = main.getArgAttrOfType<DenseI64ArrayAttr>(i, "kiln.permutation"))
      use.permutation.assign(permutation.asArrayRef().begin(), permutation.asArrayRef().end());
    uses.push_back(std::move(use));
  }
}

void readKernels(ModuleOp module, std::vector<KernelEvidence>& kernels) {
  auto numbers = [](DictionaryAttr from, const char* name) {
    auto array = from.getAs<DenseI64ArrayAttr>(name);
    return array ? std::vector<std::int64_t>(array.asArrayRef()) : std::vector<std::int64_t>();
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    auto info = function->getAttrOfType<DictionaryAttr>("kiln.kernel");
    if (!info) continue;
    KernelEvidence kernel;
    kernel.symbol = function.getName().str();
    if (auto nodes = info.getAs<ArrayAttr>("nodes"))
      for (Attribute node : nodes) kernel.nodes.push_back(cast<StringAttr>(node).getValue().str());
    if (auto rule = info.getAs<StringAttr>("rule")) kernel.rule = rule.getValue().str();
    kernel.loops = numbers(info, "loops");
    kernel.tile = numbers(info, "tile");
    if (auto tasks = info.getAs<IntegerAttr>("tasks")) kernel.tasks = tasks.getInt();
    kernels.push_back(std::move(kernel));
  }
}

}  // namespace kiln::driver
