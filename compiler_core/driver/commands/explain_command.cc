// kiln-cc explain: a dry run, and what is known after it, as text or JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/evidence_json.h"
#include "compiler_core/driver/commands/print.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "compiler_core/driver/commands/tuning_catalogue.h"
#include "compiler_core/ir/evidence_json.h"
#include "manifest/spec/profile_option.h"

namespace kiln::driver {
namespace {

std::string tensorText(const ir::Signature& tensor) {
  std::string shape;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) shape += ", ";
    const std::string& name = tensor.dimNames[i];
    if (name.empty())
      shape += std::to_string(tensor.shape[i]);
    else
      shape += tensor.shape[i] == analysis::kSymbolic ? name : fmt::format("{}={}", name, tensor.shape[i]);
  }
  return fmt::format("{} {}[{}]", tensor.name, tensor.isText ? "text" : dtypeName(tensor.dtype), shape);
}

void printPartition(const partition::PartitionEvidence& evidence) {
  for (const auto& part : evidence.partitions)
    printLine(stdout, "partition {}: {} operations, {} nodes, {} emulated, {} flops: {}", part.target,
              part.operations, part.nodes.size(), part.emulated, part.flops, fmt::join(part.nodes, ", "));
  for (const auto& transfer : evidence.transfers)
    printLine(stdout, "transfer  {} from {} to {}: {} bytes", transfer.node, transfer.from, transfer.to,
              transfer.bytes);
  for (const auto& one : evidence.fallback)
    printLine(stdout, "fallback  {} ({}) from {} to {}: {}", one.node.node, one.node.op, one.from, one.to,
              one.node.reason);
  if (!evidence.fallback.empty())
    printLine(stdout, "fallback  {} of {} nodes, {} permille", evidence.fallback.size(), evidence.nodes,
              evidence.fallbackPermille);
}

// A run calculates the number from the shapes where these vary.
std::string tasksText(const KernelEvidence& kernel) {
  return kernel.tasks > 0 ? fmt::format("{} tasks", kernel.tasks) : "tasks as the shapes of a run give";
}

void printText(const CompileResult& result, const std::string& target) {
  const auto& capture = result.capture;
  std::string origin = capture.producer.empty() ? "(no producer)" : capture.producer;
  if (!capture.producerVersion.empty()) origin += " " + capture.producerVersion;
  if (capture.irVersion > 0) origin += fmt::format(", IR version {}", capture.irVersion);
  printLine(stdout, "format    {}", result.form);
  printLine(stdout, "model     {}, {} nodes, {} served", origin, capture.nodes, capture.served);
  for (const auto& [domain, version] : capture.opsets) printLine(stdout, "opset     {} {}", domain, version);
  for (const auto& tensor : result.inputs) printLine(stdout, "input     {}", tensorText(tensor));
  for (const auto& tensor : result.outputs) printLine(stdout, "output    {}", tensorText(tensor));
  printLine(stdout, "target    {}", target);
  if (result.partition.targets.size() > 1 || !result.partition.transfers.empty())
    printPartition(result.partition);
  for (const auto& [name, shape] : result.analyse.shapes) printLine(stdout, "value     {} {}", name, shape);
  for (const PlanEvidence& plan : result.plans)
    printLine(
        stdout,
        "memory    profile {}: arena {} bytes ({} without reuse), scratch {} bytes per thread, weights {} "
        "bytes",
        plan.profile, plan.arenaBytes, plan.unsharedBytes, plan.scratchBytes, plan.weightBytes);
  for (const PlanEvidence& plan : result.plans)
    for (const std::uint64_t bytes : plan.deviceArenaBytes)
      printLine(stdout, "memory    profile {}: arena {} bytes on the device", plan.profile, bytes);
  for (const KernelEvidence& kernel : result.schedule.kernels)
    printLine(stdout, "kernel    {} [{}] loops {}, {}: {}{}", fmt::join(kernel.nodes, ", "), kernel.rule,
              fmt::join(kernel.loops, "x"), text(kernel.schedule), tasksText(kernel),
              kernel.device
                  ? fmt::format(" of {} threads, {} bytes shared, at most {} bytes moved",
                                kernel.device->threads, kernel.device->sharedBytes, kernel.movedBytes)
                  : "");
}

Json json(const CompileResult& result, const std::string& target) {
  Json document = evidenceJson(result)["stages"];
  document.erase(std::string(stageName(Stage::kCodegen)));
  document.erase(std::string(stageName(Stage::kPackage)));
  document["target"] = target;
  document["inputs"] = evidenceJson(result)["program"]["inputs"];
  document["outputs"] = evidenceJson(result)["program"]["outputs"];
  return document;
}

}  // namespace

CommandResult explainCommand(const ExplainArguments& arguments) {
  const auto spec = optionsOf(arguments);
  if (!spec) return tl::make_unexpected(spec.error());
  const auto model = locate(arguments.model);
  if (!model) return tl::make_unexpected(model.error());
  if (auto served = checkServed(*spec); !served) return stop(served.error());
  CompileRequest request = requestOf(*spec, *parseTarget(arguments.target));
  request.model = model->model;
  request.parameters = model->parameters;
  // Without a toolchain nothing is compiled, so that there is nothing to be the same as.
  if (const auto lib = findToolchainLib("")) {
    request.toolchainLib = *lib;
    if (auto taken = takeCatalogue(request); !taken) return taken;
  }
  auto result = compile(request);
  if (!result) return stop(result.error());
  if (!arguments.json) {
    printText(*result, arguments.target);
    return {};
  }
  auto text = toCanonicalJson(json(*result, arguments.target));
  if (!text) return stop(kExitInternal, text.error());
  fmt::print("{}\n", *text);
  return {};
}

}  // namespace kiln::driver
