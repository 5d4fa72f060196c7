#include "compiler_core/driver/commands/evidence_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler_core/ir/evidence_json.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/media_types.h"
#include "manifest/spec/target_device.h"
#include "manifest/tuning/schedule_json.h"

namespace kiln::driver {
namespace {

Json fileJson(const std::string& path, const char* mediaType, const Digest& digest) {
  return {{"path", path},
          {"mediaType", mediaType},
          {"digest", digest.text()},
          {"size", std::to_string(digest.size)}};
}

Json tensors(const std::vector<ir::Signature>& signatures) {
  Json list = Json::array();
  for (const ir::Signature& tensor : signatures) {
    Json shape = Json::array();
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      shape.push_back(tensor.dimNames[i].empty() ? Json(tensor.shape[i]) : Json(tensor.dimNames[i]));
    list.push_back({{"name", tensor.name}, {"dtype", dtypeName(tensor.dtype)}, {"shape", std::move(shape)}});
    if (tensor.isText) list.back()["text"] = true;
  }
  return list;
}

Json toJson(const SymbolEvidence& symbol) {
  return {{"name", symbol.name},
          {"input", symbol.input},
          {symbol.element ? "element" : "dim", symbol.index},
          {"pad", symbol.pad}};
}

Json toJson(const CodegenEvidence& evidence, std::size_t kernels) {
  Json out{{"triple", evidence.triple},
           {"cpu", evidence.cpu},
           {"features", evidence.features},
           {"codeBytes", std::to_string(evidence.codeBytes)},
           {"programBytes", std::to_string(evidence.programBytes)},
           {"kernels", kernels}};
  if (!evidence.warnings.empty()) out["warnings"] = evidence.warnings;
  return out;
}

Json toJson(const DeviceKernelEvidence& evidence, std::uint64_t movedBytes) {
  Json out{{"threads", evidence.threads},
           {"registers", evidence.registers},
           {"spillBytes", evidence.spillBytes},
           {"sharedBytes", std::to_string(evidence.sharedBytes)},
           {"occupancyPermille", evidence.occupancyPermille},
           {"movedBytes", std::to_string(movedBytes)}};
  if (evidence.mayDiffer) {
    out["cpuBits"] = evidence.mayDiffer->empty();
    if (!evidence.mayDiffer->empty()) out["mayDiffer"] = *evidence.mayDiffer;
  }
  return out;
}

Json toJson(const DeviceEvidence& device) {
  return {{"target", device.target},
          {"arch", device.arch},
          {"image",
           fileJson(device.path, isVulkan(device.target) ? kSpirvMediaType : kCubinMediaType, device.image)},
          {"kernels", device.kernels},
          {"driver", device.driver},
          {"computeCapability", device.computeCapability},
          {"exact", device.exact}};
}

}  // namespace

Json toJson(const partition::PartitionEvidence& evidence) {
  // What one target leaves nothing to say about is left out.
  const bool isCut = evidence.targets.size() > 1 || !evidence.transfers.empty();
  Json partitions = Json::array(), fallback = Json::array(), transfers = Json::array();
  for (const auto& part : evidence.partitions) {
    Json& entry = partitions.emplace_back(
        Json{{"target", part.target}, {"operations", part.operations}, {"nodes", part.nodes}});
    if (!isCut) continue;
    entry["emulated"] = part.emulated;
    entry["flops"] = std::to_string(part.flops);
    entry["bytes"] = std::to_string(part.bytes);
  }
  for (const auto& one : evidence.fallback)
    fallback.push_back({{"node", one.node.node},
                        {"op", one.node.op},
                        {"reason", one.node.reason},
                        {"from", one.from},
                        {"to", one.to}});
  for (const auto& transfer : evidence.transfers)
    transfers.push_back({{"node", transfer.node},
                         {"from", transfer.from},
                         {"to", transfer.to},
                         {"bytes", std::to_string(transfer.bytes)}});
  Json out = {{"partitions", partitions},
              {"transferBytes", std::to_string(evidence.transferBytes)},
              {"fallback", fallback}};
  if (!isCut) return out;
  out["targets"] = evidence.targets;
  out["transfers"] = transfers;
  out["nodes"] = evidence.nodes;
  out["fallbackPermille"] = evidence.fallbackPermille;
  return out;
}

namespace {

// Where the schedules come from. With tuning entries nothing does from the catalogue.
const char* sourceOf(const ScheduleEvidence& evidence) {
  if (std::ranges::any_of(evidence.kernels, [](const auto& kernel) { return !kernel.tuned.empty(); }))
    return "heuristic and tuning entries";
  if (std::ranges::any_of(evidence.kernels, [](const auto& kernel) { return !kernel.catalogued.empty(); }))
    return "heuristic and catalogue";
  return "heuristic";
}

}  // namespace

Json toJson(const ScheduleEvidence& evidence) {
  Json kernels = Json::array();
  for (const KernelEvidence& kernel : evidence.kernels) {
    Json& entry = kernels.emplace_back(Json{{"symbol", kernel.symbol},
                                            {"nodes", kernel.nodes},
                                            {"rule", kernel.rule},
                                            {"loops", kernel.loops},
                                            {"schedule", scheduleJson(kernel.schedule)},
                                            {"tasks", kernel.tasks},
                                            {"codeBytes", std::to_string(kernel.codeBytes)}});
    if (!kernel.signature.empty()) entry["signature"] = kernel.signature;
    if (!kernel.tuned.empty()) entry["tuned"] = kernel.tuned;
    if (!kernel.catalogued.empty()) entry["catalogue"] = kernel.catalogued;
    if (!kernel.target.empty()) entry["target"] = kernel.target;
    if (!kernel.codeOf.empty()) entry["codeOf"] = kernel.codeOf;
    if (kernel.device)
      entry["device"] = toJson(*kernel.device, kernel.movedBytes);
    else
      entry["movedBytes"] = std::to_string(kernel.movedBytes);
  }
  Json passes = Json::array();
  for (const ir::PassEvidence& pass : evidence.passes) passes.push_back(ir::toJson(pass));
  return {{"registerBits", evidence.registerBits},
          {"accumulators", evidence.accumulators},
          {"contraction", evidence.contraction},
          {"source", sourceOf(evidence)},
          {"passes", passes},
          {"kernels", kernels}};
}

Json toJson(const PlanEvidence& evidence) {
  std::uint64_t planned = evidence.arenaBytes;
  for (const std::uint64_t bytes : evidence.deviceArenaBytes) planned += bytes;
  const std::uint64_t hundredths = planned == 0 ? 100 : evidence.unsharedBytes * 100 / planned;
  Json out = {{"profile", evidence.profile},
              {"peakBytes", std::to_string(evidence.arenaBytes)},
              {"lowerBoundBytes", std::to_string(evidence.lowerBoundBytes)},
              {"unsharedBytes", std::to_string(evidence.unsharedBytes)},
              {"reuseRatio", fmt::format("{}.{:02}", hundredths / 100, hundredths % 100)},
              {"buffers", evidence.buffers},
              {"scratchBytesPerSlot", std::to_string(evidence.scratchBytes)},
              {"inputBytes", std::to_string(evidence.inputBytes)},
              {"outputBytes", std::to_string(evidence.outputBytes)},
              {"weightBytes", std::to_string(evidence.weightBytes)}};
  for (const std::uint64_t bytes : evidence.aliveBytes) out["aliveBytes"].push_back(std::to_string(bytes));
  for (const RegionEvidence& region : evidence.regions) {
    out["regions"].push_back({{"target", region.target},
                              {"offset", std::to_string(region.offset)},
                              {"bytes", std::to_string(region.bytes)}});
    if (region.space != 0) out["regions"].back()["space"] = region.space;
  }
  for (const std::uint64_t bytes : evidence.deviceArenaBytes)
    out["devicePeakBytes"].push_back(std::to_string(bytes));
  return out;
}

namespace {

// States the rewrites for the first profile, and says so.
Json rewriteJson(const CompileResult& result) {
  Json rewrite = ir::toJson(result.rewrite);
  if (!result.plans.empty()) rewrite["profile"] = result.plans.front().profile;
  return rewrite;
}

}  // namespace

Json evidenceJson(const CompileResult& result) {
  Json weights = Json::array(), layout = Json::array(), symbols = Json::array(), profiles = Json::array(),
       plans = Json::array();
  for (const SymbolEvidence& symbol : result.symbols) symbols.push_back(toJson(symbol));
  for (const PlanEvidence& plan : result.plans) {
    profiles.push_back({{"name", plan.profile},
                        {"arenaBytes", std::to_string(plan.arenaBytes)},
                        {"scratchBytes", std::to_string(plan.scratchBytes)}});
    if (plan.transferBytes > 0) profiles.back()["transferBytes"] = std::to_string(plan.transferBytes);
    if (!result.devices.empty())
      for (const std::uint64_t bytes : plan.deviceArenaBytes)
        profiles.back()["deviceArenaBytes"].push_back(std::to_string(bytes));
    plans.push_back(toJson(plan));
  }
  for (const package::WeightFile& weight : result.weights) {
    weights.push_back(fileJson(weight.path, kWeightsMediaType, weight.digest));
    if (!result.devices.empty()) weights.back()["space"] = weight.space;
    layout.push_back({{"path", weight.path}, {"weight", weight.name}});
  }
  const auto abi = result.devices.empty() ? KILN_PROGRAM_ABI : KILN_PROGRAM_ABI_DEVICES;
  Json out{{"program",
            {{"abi", abi},
             {"symbols", symbols},
             {"inputs", tensors(result.inputs)},
             {"outputs", tensors(result.outputs)},
             {"profiles", profiles},
             {"file", fileJson(result.programPath, kProgramMediaType, result.program)},
             {"weights", weights}}},
           {"stages",
            {{stageName(Stage::kCapture), ir::toJson(result.capture)},
             {stageName(Stage::kAnalyse), ir::toJson(result.analyse)},
             {stageName(Stage::kRewrite), rewriteJson(result)},
             {stageName(Stage::kPartition), toJson(result.partition)},
             {stageName(Stage::kSchedule), toJson(result.schedule)},
             {stageName(Stage::kCodegen), toJson(result.codegen, result.schedule.kernels.size())},
             {stageName(Stage::kPlan), {{"profiles", plans}}},
             {stageName(Stage::kPackage), {{"abi", abi}, {"weights", layout}}}}}};
  if (!result.strings.empty()) out["program"]["strings"] = result.strings;
  if (!result.indexChecks.empty()) out["program"]["indexChecks"] = result.indexChecks;
  for (const DeviceEvidence& device : result.devices) out["program"]["devices"].push_back(toJson(device));
  return out;
}

}  // namespace kiln::driver
