#include "compiler_core/driver/evidence_json.h"

#include <fmt/format.h>

#include "compiler_core/ir/evidence_json.h"
#include "compiler_core/runtime/program_abi.h"
#include "manifest/artifact/media_types.h"

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
  return {{"triple", evidence.triple},
          {"cpu", evidence.cpu},
          {"features", evidence.features},
          {"codeBytes", std::to_string(evidence.codeBytes)},
          {"programBytes", std::to_string(evidence.programBytes)},
          {"kernels", kernels}};
}

}  // namespace

Json toJson(const partition::PartitionEvidence& evidence) {
  // What one target leaves nothing to say about is left out.
  const bool isCut = evidence.targets.size() > 1;
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

Json toJson(const ScheduleEvidence& evidence) {
  Json kernels = Json::array();
  for (const KernelEvidence& kernel : evidence.kernels) {
    Json& entry = kernels.emplace_back(Json{{"symbol", kernel.symbol},
                                            {"nodes", kernel.nodes},
                                            {"rule", kernel.rule},
                                            {"loops", kernel.loops},
                                            {"tile", kernel.tile},
                                            {"tasks", kernel.tasks},
                                            {"codeBytes", std::to_string(kernel.codeBytes)}});
    if (!kernel.target.empty()) entry["target"] = kernel.target;
  }
  return {{"registerBits", evidence.registerBits},
          {"accumulators", evidence.accumulators},
          {"contraction", evidence.contraction},
          {"source", "heuristic"},
          {"kernels", kernels}};
}

Json toJson(const PlanEvidence& evidence) {
  const std::uint64_t hundredths =
      evidence.arenaBytes == 0 ? 100 : evidence.unsharedBytes * 100 / evidence.arenaBytes;
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
  for (const RegionEvidence& region : evidence.regions)
    out["regions"].push_back({{"target", region.target},
                              {"offset", std::to_string(region.offset)},
                              {"bytes", std::to_string(region.bytes)}});
  return out;
}

Json evidenceJson(const CompileResult& result) {
  Json weights = Json::array(), layout = Json::array(), symbols = Json::array(), profiles = Json::array(),
       plans = Json::array();
  for (const SymbolEvidence& symbol : result.symbols) symbols.push_back(toJson(symbol));
  for (const PlanEvidence& plan : result.plans) {
    profiles.push_back({{"name", plan.profile},
                        {"arenaBytes", std::to_string(plan.arenaBytes)},
                        {"scratchBytes", std::to_string(plan.scratchBytes)}});
    if (plan.transferBytes > 0) profiles.back()["transferBytes"] = std::to_string(plan.transferBytes);
    plans.push_back(toJson(plan));
  }
  for (const package::WeightFile& weight : result.weights) {
    weights.push_back(fileJson(weight.path, kWeightsMediaType, weight.digest));
    layout.push_back({{"path", weight.path}, {"weight", weight.name}});
  }
  return {{"program",
           {{"abi", KILN_PROGRAM_ABI},
            {"symbols", symbols},
            {"inputs", tensors(result.inputs)},
            {"outputs", tensors(result.outputs)},
            {"profiles", profiles},
            {"file", fileJson("program.so", kProgramMediaType, result.program)},
            {"weights", weights}}},
          {"stages",
           {{"capture", ir::toJson(result.capture)},
            {"analyse", ir::toJson(result.analyse)},
            {"rewrite", ir::toJson(result.rewrite)},
            {"partition", toJson(result.partition)},
            {"schedule", toJson(result.schedule)},
            {"codegen", toJson(result.codegen, result.schedule.kernels.size())},
            {"plan", {{"profiles", plans}}},
            {"package", {{"abi", KILN_PROGRAM_ABI}, {"weights", layout}}}}}};
}

}  // namespace kiln::driver
