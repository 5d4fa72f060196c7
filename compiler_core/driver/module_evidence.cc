#include "compiler_core/driver/module_evidence.h"

#include <algorithm>

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/weight_arguments.h"

namespace kiln::driver {

using namespace mlir;

namespace {

package::WeightUse useOf(func::FuncOp main, unsigned argument) {
  package::WeightUse use{main.getArgAttrOfType<IntegerAttr>(argument, "kiln.source").getInt(), {}, {}};
  if (auto permutation = main.getArgAttrOfType<DenseI64ArrayAttr>(argument, "kiln.permutation"))
    use.permutation.assign(permutation.asArrayRef().begin(), permutation.asArrayRef().end());
  if (auto dotPacking = main.getArgAttrOfType<DenseI64ArrayAttr>(argument, "kiln.words"))
    use.dotPacking = package::DotPacking{dotPacking[0], dotPacking[1]};
  if (auto panels = main.getArgAttrOfType<IntegerAttr>(argument, schedule::kPanelsAttr))
    use.panelLanes = panels.getInt();
  if (auto winograd = main.getArgAttrOfType<IntegerAttr>(argument, schedule::kWinogradAttr))
    use.winogradResults = winograd.getInt();
  return use;
}

// Rewrites make weights for each profile anew; the bytes tell which are the same.
bool sameWeight(const package::WeightUse& a, const package::WeightUse& b, const ir::WeightTable& weights) {
  if (a.permutation != b.permutation || a.dotPacking != b.dotPacking || a.space != b.space ||
      a.panelLanes != b.panelLanes || a.winogradResults != b.winogradResults)
    return false;
  if (a.source == b.source) return true;
  const ir::Weight *first = weights.find(a.source), *second = weights.find(b.source);
  return first && second && first->dtype == second->dtype && first->shape == second->shape &&
         std::ranges::equal(first->bytes, second->bytes);
}

}  // namespace

void shareWeights(ModuleOp module, const ir::WeightTable& weights, std::uint32_t space,
                  std::vector<package::WeightUse>& uses) {
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  const std::size_t before = uses.size();
  SmallVector<DictionaryAttr> all;  // set at once: each by itself makes the whole list anew
  main.getAllArgAttrs(all);
  Builder b(module.getContext());
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (!main.getArgAttr(i, "kiln.weight")) continue;
    package::WeightUse use = useOf(main, i);
    use.space = space;
    // Within one profile each layout of each weight is one argument already.
    auto slot =
        std::find_if(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(before),
                     [&](const package::WeightUse& other) { return sameWeight(use, other, weights); });
    std::size_t number = static_cast<std::size_t>(slot - uses.begin());
    if (number == before) {
      number = uses.size();
      uses.push_back(use);
    }
    NamedAttrList attributes(all[i]);
    attributes.set("kiln.weight", b.getI64IntegerAttr(static_cast<std::int64_t>(number)));
    all[i] = attributes.getDictionary(module.getContext());
  }
  if (!all.empty()) main.setAllArgAttrs(all);
}

void readPlan(ModuleOp module, MemoryPlan& plan, std::vector<package::WeightUse>& uses) {
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
  if (auto alive = main->getAttrOfType<DenseI64ArrayAttr>("kiln.arena_alive"))
    plan.aliveBytes.assign(alive.asArrayRef().begin(), alive.asArrayRef().end());
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (main.getArgAttr(i, "kiln.weight")) uses.push_back(useOf(main, i));
  }
}

void readRegions(ModuleOp module, unsigned profile, PlanEvidence& plan) {
  auto run = module.lookupSymbol<func::FuncOp>("kiln_run_" + std::to_string(profile));
  plan.arenaBytes = static_cast<std::uint64_t>(run->getAttrOfType<IntegerAttr>("kiln.arena_bytes").getInt());
  if (auto arenas = run->getAttrOfType<DenseI64ArrayAttr>("kiln.device_arena_bytes"))
    plan.deviceArenaBytes.assign(arenas.asArrayRef().begin(), arenas.asArrayRef().end());
  for (Attribute attribute : run->getAttrOfType<ArrayAttr>("kiln.regions")) {
    auto region = cast<DictionaryAttr>(attribute);
    const auto number = [&](const char* name) {
      auto value = region.getAs<IntegerAttr>(name);  // `space` is left out for the processor's
      return value ? static_cast<std::uint64_t>(value.getInt()) : 0;
    };
    plan.regions.push_back({region.getAs<StringAttr>("target").getValue().str(), number("offset"),
                            number("bytes"), static_cast<std::uint32_t>(number("space"))});
    plan.lowerBoundBytes += number("live_bytes");
    plan.unsharedBytes += number("total_bytes");
    plan.buffers += static_cast<std::int64_t>(number("buffers"));
  }
}

namespace {

KernelEvidence kernelOf(DictionaryAttr info) {
  auto numbers = [&](const char* name) {
    auto array = info.getAs<DenseI64ArrayAttr>(name);
    return array ? std::vector<std::int64_t>(array.asArrayRef()) : std::vector<std::int64_t>();
  };
  KernelEvidence kernel;
  if (auto nodes = info.getAs<ArrayAttr>("nodes"))
    for (Attribute node : nodes) kernel.nodes.push_back(cast<StringAttr>(node).getValue().str());
  if (auto rule = info.getAs<StringAttr>("rule")) kernel.rule = rule.getValue().str();
  if (auto signature = info.getAs<StringAttr>(schedule::kSignatureAttr))
    kernel.signature = signature.getValue().str();
  if (auto entry = info.getAs<StringAttr>(schedule::kEntryAttr)) kernel.tuned = entry.getValue().str();
  kernel.loops = numbers("loops");
  kernel.schedule = schedule::scheduleOf(info);
  if (auto tasks = info.getAs<IntegerAttr>("tasks")) kernel.tasks = tasks.getInt();
  if (auto moved = info.getAs<IntegerAttr>(codegen::kMovedBytesAttr))
    kernel.movedBytes = static_cast<std::uint64_t>(moved.getInt());
  return kernel;
}

// A loop that became a kernel of a device, or the launch of an equal one.
KernelEvidence launchOf(DictionaryAttr info) {
  auto number = [&](const char* name) {
    auto value = info.getAs<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  KernelEvidence kernel = kernelOf(info);
  kernel.symbol = info.getAs<StringAttr>("symbol").getValue().str();
  if (auto first = info.getAs<StringAttr>("code_of")) kernel.codeOf = first.getValue().str();
  kernel.device =
      DeviceKernelEvidence{.threads = schedule::numberOf(kernel.schedule, schedule::kThreadsKnob, 0),
                           .sharedBytes = static_cast<std::uint64_t>(number("shared_bytes"))};
  return kernel;
}

}  // namespace

void readKernels(ModuleOp module, std::vector<KernelEvidence>& kernels) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto launches = function->getAttrOfType<ArrayAttr>(codegen::kLaunchesAttr))
      for (Attribute launch : launches) kernels.push_back(launchOf(cast<DictionaryAttr>(launch)));
    auto info = function->getAttrOfType<DictionaryAttr>("kiln.kernel");
    if (!info) continue;
    KernelEvidence& kernel = kernels.emplace_back(kernelOf(info));
    kernel.symbol = function.getName().str();
    if (auto first = function->getAttrOfType<StringAttr>(codegen::kCodeOfAttr))
      kernel.codeOf = first.getValue().str();
  }
}

}  // namespace kiln::driver
