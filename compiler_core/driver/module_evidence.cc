#include "compiler_core/driver/module_evidence.h"

#include <algorithm>

#include "compiler_core/ir/ir.h"

namespace kiln::driver {

using namespace mlir;

namespace {

package::WeightUse useOf(func::FuncOp main, unsigned argument) {
  package::WeightUse use{main.getArgAttrOfType<IntegerAttr>(argument, "kiln.source").getInt(), {}};
  if (auto permutation = main.getArgAttrOfType<DenseI64ArrayAttr>(argument, "kiln.permutation"))
    use.permutation.assign(permutation.asArrayRef().begin(), permutation.asArrayRef().end());
  return use;
}

// Rewrites make weights for each profile anew; the bytes tell which are the same.
bool sameWeight(const package::WeightUse& a, const package::WeightUse& b, const ir::WeightTable& weights) {
  if (a.permutation != b.permutation) return false;
  if (a.source == b.source) return true;
  const ir::Weight *first = weights.find(a.source), *second = weights.find(b.source);
  return first && second && first->dtype == second->dtype && first->shape == second->shape &&
         std::ranges::equal(first->bytes, second->bytes);
}

}  // namespace

void shareWeights(ModuleOp module, const ir::WeightTable& weights, std::vector<package::WeightUse>& uses) {
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  const std::size_t before = uses.size();
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (!main.getArgAttr(i, "kiln.weight")) continue;
    const package::WeightUse use = useOf(main, i);
    // Within one profile each layout of each weight is one argument already.
    auto slot =
        std::find_if(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(before),
                     [&](const package::WeightUse& other) { return sameWeight(use, other, weights); });
    std::size_t number = static_cast<std::size_t>(slot - uses.begin());
    if (number == before) {
      number = uses.size();
      uses.push_back(use);
    }
    main.setArgAttr(
        i, "kiln.weight",
        IntegerAttr::get(IntegerType::get(module.getContext(), 64), static_cast<std::int64_t>(number)));
  }
}

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
    if (main.getArgAttr(i, "kiln.weight")) uses.push_back(useOf(main, i));
  }
}

void readRegions(ModuleOp module, unsigned profile, PlanEvidence& plan) {
  auto run = module.lookupSymbol<func::FuncOp>("kiln_run_" + std::to_string(profile));
  plan.arenaBytes = static_cast<std::uint64_t>(run->getAttrOfType<IntegerAttr>("kiln.arena_bytes").getInt());
  for (Attribute attribute : run->getAttrOfType<ArrayAttr>("kiln.regions")) {
    auto region = cast<DictionaryAttr>(attribute);
    const auto number = [&](const char* name) {
      return static_cast<std::uint64_t>(region.getAs<IntegerAttr>(name).getInt());
    };
    plan.regions.push_back(
        {region.getAs<StringAttr>("target").getValue().str(), number("offset"), number("bytes")});
    plan.lowerBoundBytes += number("live_bytes");
    plan.unsharedBytes += number("total_bytes");
    plan.buffers += static_cast<std::int64_t>(number("buffers"));
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
