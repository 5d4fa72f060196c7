#include "compiler_core/driver/module_evidence.h"

#include <algorithm>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/choice/schedule_override.h"

namespace kiln::driver {

using namespace mlir;

namespace {

FailureOr<package::WeightUse> useOf(func::FuncOp main, unsigned argument) {
  const auto source = ir::SourceAttr::require(main, argument);
  if (failed(source)) return failure();
  package::WeightUse use{source->getInt(), {}, {}};
  if (auto permutation = ir::PermutationAttr::get(main, argument))
    use.permutation.assign(permutation.asArrayRef().begin(), permutation.asArrayRef().end());
  if (auto dotPacking = ir::DotLayoutAttr::get(main, argument))
    use.dotPacking = package::DotPacking{dotPacking[0], dotPacking[1]};
  if (auto panels = ir::PanelsAttr::get(main, argument)) use.panelLanes = panels.getInt();
  if (auto winograd = ir::WinogradAttr::get(main, argument)) use.filterTransform = winograd.getInt();
  return use;
}

// Rewrites make weights for each profile anew; the bytes tell which are the same.
bool sameWeight(const package::WeightUse& a, const package::WeightUse& b, const ir::WeightTable& weights) {
  if (a.permutation != b.permutation || a.dotPacking != b.dotPacking || a.space != b.space ||
      a.panelLanes != b.panelLanes || a.filterTransform != b.filterTransform)
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
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (!ir::WeightAttr::isOn(main, i)) continue;
    FailureOr<package::WeightUse> use = useOf(main, i);
    if (failed(use)) return;
    use->space = space;
    // Within one profile each layout of each weight is one argument already.
    auto slot =
        std::find_if(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(before),
                     [&](const package::WeightUse& other) { return sameWeight(*use, other, weights); });
    std::size_t number = static_cast<std::size_t>(slot - uses.begin());
    if (number == before) {
      number = uses.size();
      uses.push_back(*use);
    }
    NamedAttrList attributes(all[i]);
    ir::WeightAttr::set(attributes, ir::toAttribute(module.getContext(), number));
    all[i] = attributes.getDictionary(module.getContext());
  }
  if (!all.empty()) main.setAllArgAttrs(all);
}

void readPlan(ModuleOp module, MemoryPlan& plan, std::vector<package::WeightUse>& uses) {
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  const auto arena = ir::arenaOf(main);
  const auto scratch = ir::ScratchBytesAttr::require(main);
  const auto alive = ir::ArenaAliveAttr::require(main);
  if (failed(arena) || failed(scratch) || failed(alive)) return;
  plan.arenaBytes = arena->bytes;
  plan.unsharedBytes = arena->totalBytes;
  plan.lowerBoundBytes = arena->liveBytes;
  plan.buffers = arena->buffers;
  plan.scratchBytes = ir::unsignedOf(*scratch);
  plan.aliveBytes.assign(alive->asArrayRef().begin(), alive->asArrayRef().end());
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (!ir::WeightAttr::isOn(main, i)) continue;
    const auto use = useOf(main, i);
    if (failed(use)) return;
    uses.push_back(*use);
  }
}

void readRegions(ModuleOp module, unsigned profile, PlanEvidence& plan) {
  auto run = module.lookupSymbol<func::FuncOp>("kiln_run_" + std::to_string(profile));
  const auto arena = ir::ArenaBytesAttr::require(run);
  const auto regions = ir::RegionsAttr::require(run);
  if (failed(arena) || failed(regions)) return;
  plan.arenaBytes = ir::unsignedOf(*arena);
  if (auto arenas = ir::DeviceArenaBytesAttr::get(run))
    plan.deviceArenaBytes.assign(arenas.asArrayRef().begin(), arenas.asArrayRef().end());
  for (auto region : regions->getAsRange<DictionaryAttr>()) {
    const auto target = ir::region::kTarget.require(region, run);
    const auto offset = ir::region::kOffset.require(region, run),
               bytes = ir::region::kBytes.require(region, run),
               live = ir::region::kLiveBytes.require(region, run),
               total = ir::region::kTotalBytes.require(region, run),
               buffers = ir::region::kBuffers.require(region, run);
    if (failed(target) || failed(offset) || failed(bytes) || failed(live) || failed(total) || failed(buffers))
      return;
    const auto space = ir::region::kSpace.in(region);
    plan.regions.push_back({target->str(), ir::unsignedOf(*offset), ir::unsignedOf(*bytes),
                            space ? static_cast<std::uint32_t>(space.getInt()) : 0});
    plan.lowerBoundBytes += ir::unsignedOf(*live);
    plan.unsharedBytes += ir::unsignedOf(*total);
    plan.buffers += buffers->getInt();
  }
}

namespace {

// `info` stands on `op`.
FailureOr<KernelEvidence> kernelOf(DictionaryAttr info, Operation* op) {
  const auto nodes = ir::kernel::kNodes.require(info, op);
  const auto rule = ir::kernel::kRule.require(info, op);
  const auto loops = ir::kernel::kLoops.require(info, op);
  const auto moved = ir::kernel::kMovedBytes.require(info, op);
  if (failed(nodes) || failed(rule) || failed(loops) || failed(moved)) return failure();
  KernelEvidence kernel;
  for (auto node : nodes->getAsRange<StringAttr>()) kernel.nodes.push_back(node.str());
  kernel.rule = rule->str();
  if (auto signature = ir::kernel::kSignature.in(info)) kernel.signature = signature.str();
  if (auto entry = ir::kernel::kTuned.in(info))
    (kernel.rule == schedule::kCatalogueRule ? kernel.catalogued : kernel.tuned) = entry.str();
  kernel.loops = loops->asArrayRef().vec();
  kernel.schedule = schedule::scheduleOf(info);
  if (auto tasks = ir::kernel::kTasks.in(info)) kernel.tasks = tasks.getInt();
  kernel.movedBytes = ir::unsignedOf(*moved);
  return kernel;
}

// A loop that became a kernel of a device, or the launch of an equal one.
FailureOr<KernelEvidence> launchOf(DictionaryAttr info, func::FuncOp run) {
  FailureOr<KernelEvidence> kernel = kernelOf(info, run);
  const auto symbol = ir::kernel::kSymbol.require(info, run);
  const auto shared = ir::kernel::kSharedBytes.require(info, run);
  if (failed(kernel) || failed(symbol) || failed(shared)) return failure();
  kernel->symbol = symbol->str();
  if (auto first = ir::kernel::kCodeOf.in(info)) kernel->codeOf = first.str();
  kernel->device =
      DeviceKernelEvidence{.threads = schedule::numberOf(kernel->schedule, schedule::kThreadsKnob, 0),
                           .sharedBytes = ir::unsignedOf(*shared)};
  return kernel;
}

}  // namespace

void readKernels(ModuleOp module, std::vector<KernelEvidence>& kernels) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto launches = ir::LaunchesAttr::get(function))
      for (auto launch : launches.getAsRange<DictionaryAttr>()) {
        const auto kernel = launchOf(launch, function);
        if (failed(kernel)) return;
        kernels.push_back(*kernel);
      }
    auto info = ir::KernelAttr::get(function);
    if (!info) continue;
    FailureOr<KernelEvidence> kernel = kernelOf(info, function);
    if (failed(kernel)) return;
    kernel->symbol = function.getName().str();
    if (auto first = ir::CodeOfAttr::get(function)) kernel->codeOf = first.str();
    kernels.push_back(*std::move(kernel));
  }
}

}  // namespace kiln::driver
