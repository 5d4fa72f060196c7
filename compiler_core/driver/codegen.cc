// The stage codegen: each unit becomes functions of the LLVM dialect; of all of them together machine code is
// made, for the processors and for a device.
#include "compiler_core/codegen/cpu/codegen.h"

#include <fmt/format.h>

#include "compiler_core/codegen/cpu/bare_metal.h"

#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/driver/stages.h"
#include "compiler_core/driver/unit_pipeline.h"
#include "compiler_core/package/files.h"
#include "manifest/spec/bare_metal.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace kiln::driver {
namespace {

// A kernel that spills more than this of each thread is worth a warning.
constexpr std::uint32_t kSpillWarningBytes = 64;

// Says on each function which of several targets it is for.
void nameTarget(mlir::ModuleOp module, const Target& target) {
  mlir::Builder b(module.getContext());
  module.walk([&](mlir::LLVM::LLVMFuncOp op) {
    if (op.isExternal()) return;
    llvm::SmallVector<mlir::Attribute> attributes;
    if (auto given = op.getPassthroughAttr()) attributes.append(given.begin(), given.end());
    attributes.push_back(b.getStrArrayAttr({codegen::kTargetFunctionAttr, llvm::StringRef(target.name)}));
    op.setPassthroughAttr(b.getArrayAttr(attributes));
  });
}

codegen::ProgramTable tableOf(const Analysed& analysed, const Joined& joined, const ProgramParts& parts) {
  const frontend::Captured& common = analysed.common();
  codegen::ProgramTable table{.inputs = static_cast<std::uint32_t>(common.inputs.size()),
                              .outputs = static_cast<std::uint32_t>(common.outputs.size()),
                              .weights = static_cast<std::uint32_t>(parts.weights.size()),
                              .symbols = static_cast<std::uint32_t>(analysed.symbols.size())};
  for (const ir::Signature& output : common.outputs)
    table.outputDims += static_cast<std::uint32_t>(output.shape.size());
  if (!analysed.indexChecks.empty()) {
    ++table.outputs;
    ++table.outputDims;
  }
  for (std::size_t i = 0; i < joined.plans.size(); ++i)
    table.profiles.push_back({fmt::format("kiln_run_{}", i), fmt::format("kiln_shapes_{}", i),
                              joined.plans[i].arenaBytes, joined.plans[i].scratchBytes,
                              joined.plans[i].deviceArenaBytes});
  table.devices = joined.usesDevice ? DeviceProgram::kSpace : 0;
  return table;
}

codegen::CpuOptions optionsOf(const Compilation& compilation) {
  const CompileRequest& request = compilation.request;
  const std::string architecture = request.target.triple.substr(0, request.target.triple.find('-'));
  codegen::CpuOptions options;
  options.target = compilation.targets.primary();
  if (compilation.targets.all.size() > 1) options.partitions = compilation.targets.all;
  options.contraction = request.contraction;
  options.bitcode = {request.toolchainLib + "/kmath.bc", request.toolchainLib + "/kkernels.bc"};
  options.builtinsArchive = fmt::format("{}/libkiln_builtins-{}.a", request.toolchainLib, architecture);
  options.workDirectory = request.out;
  options.keepIr = !compilation.observer.irDirectory.empty() || compilation.observer.onLlvmIr;
  options.threads = compilation.observer.jobs;
  options.onStep = compilation.observer.onPass;
  return options;
}

// Why a kernel for Vulkan may not have the bits of a processor's program for the same request. A device never
// joins a product and its sum, and keeps the model's order but for attention; a processor joins them under
// `contraction` wherever both are, so a sum alone may be the half of one, and names orders in its schedules.
std::vector<std::string> whyBitsMayDiffer(const codegen::FloatUse& floats, const CompileRequest& request,
                                          const KernelEvidence& kernel) {
  std::vector<std::string> out;
  if (request.contraction && floats.sums) out.emplace_back("contraction");
  const bool isOrdered = floats.ownSums || floats.productsOfProducts;
  if (isOrdered && (request.reassociation != schedule::Reassociation::kOff ||
                    kernel.rule.find("attention") != std::string::npos))
    out.emplace_back("order");
  if (floats.onDoubles) out.emplace_back("f64");
  return out;
}

Status generateDevice(Compilation& compilation, ProgramParts& parts, Program& program) {
  KILN_TRY(compilation.ir.write("device", parts.device->module()));
  KILN_ASSIGN(DeviceProgram::Generated generated,
              parts.device->generate(compilation.request, compilation.observer));
  KILN_TRY(compilation.ir.write("device", generated.ptx, "ptx"));
  std::map<std::string, const codegen::DeviceKernel*> byName;
  for (const codegen::DeviceKernel& kernel : generated.kernels) byName[kernel.name] = &kernel;
  for (KernelEvidence& kernel : parts.schedule.kernels) {
    if (!kernel.device) continue;
    const codegen::DeviceKernel& code = *byName.at(kernel.codeOf.empty() ? kernel.symbol : kernel.codeOf);
    kernel.device->registers = code.registers;
    kernel.device->spillBytes = code.spillBytes;
    kernel.device->sharedBytes = code.sharedBytes;
    kernel.device->occupancyPermille = code.occupancyPermille;
    if (const auto floats = generated.floats.find(code.name); floats != generated.floats.end())
      kernel.device->mayDiffer = whyBitsMayDiffer(floats->second, compilation.request, kernel);
    if (!kernel.codeOf.empty()) continue;
    kernel.codeBytes = code.codeBytes;
    if (code.spillBytes > kSpillWarningBytes)
      program.evidence.warnings.push_back(
          fmt::format("kernel {} spills {} bytes of registers per thread to memory (more than {})",
                      kernel.symbol, code.spillBytes, kSpillWarningBytes));
  }
  program.devices.push_back(std::move(generated.evidence));
  return {};
}

}  // namespace

Result<Lowered> lowerUnit(Compilation& compilation, Planned planned, ProgramParts& parts) {
  compilation.begin(Stage::kCodegen);
  Lowered lowered{std::move(planned.unit), std::move(planned.memory)};
  Unit& unit = lowered.unit;
  const bool hasSeveral = compilation.targets.all.size() > 1;
  codegen::PipelineOptions options = pipelineOf(compilation, unit, parts);
  options.from = "kernels";
  options.onIr = [&](std::string_view step, mlir::ModuleOp module) {
    if (step == "kernels") {
      std::vector<KernelEvidence>& kernels = parts.schedule.kernels;
      const std::size_t before = kernels.size();
      readKernels(module, kernels);
      if (hasSeveral || unit.isOnDevice())
        for (std::size_t i = before; i < kernels.size(); ++i) kernels[i].target = unit.target->name;
    }
    show(compilation, unit, step, module);
  };
  KILN_TRY(codegen::lowerToLlvm(*unit.module, options));
  if (hasSeveral) nameTarget(*unit.module, *unit.target);
  KILN_TRY(unit.written);
  return lowered;
}

namespace {

Result<codegen::CpuProgram> generateCode(Compilation& compilation, const Analysed& analysed,
                                         const Joined& joined, const ProgramParts& parts) {
  const codegen::ProgramTable table = tableOf(analysed, joined, parts);
  const codegen::CpuOptions options = optionsOf(compilation);
  const CompileRequest& request = compilation.request;
  if (!isBareMetal(request.target.triple)) return codegen::generateCpuProgram(*joined.module, table, options);
  KILN_ASSIGN(const auto weights, package::laidOutWeights(analysed.common().weights, parts.weights));
  return codegen::generateBareMetalProgram(
      *joined.module, {request.entry, table.outputDims, table.profiles.front()}, weights, options);
}

}  // namespace

Result<Program> generateProgram(Compilation& compilation, const Analysed& analysed, const Joined& joined,
                                ProgramParts& parts) {
  const CompileRequest& request = compilation.request;
  KILN_ASSIGN(const codegen::CpuProgram code, generateCode(compilation, analysed, joined, parts));
  if (compilation.observer.onLlvmIr) compilation.observer.onLlvmIr(code.llvmIr);
  KILN_TRY(compilation.ir.write("program", code.llvmIr, "ll"));
  Program program;
  program.path = isBareMetal(request.target.triple) ? "program.o" : "program.so";
  KILN_ASSIGN(program.file, package::writeFile(request.out + "/" + program.path, asBytes(code.elf)));
  program.evidence = {request.target.triple, request.target.cpu, request.target.features, code.codeBytes,
                      code.elf.size()};
  std::map<std::string, std::uint64_t> bytes;
  for (const codegen::CodeSymbol& function : code.functions) bytes[function.name] = function.bytes;
  for (KernelEvidence& kernel : parts.schedule.kernels)
    kernel.codeBytes = bytes[kernel.symbol] + bytes[kernel.symbol + "_code"];
  if (joined.usesDevice) KILN_TRY(generateDevice(compilation, parts, program));
  return program;
}

}  // namespace kiln::driver
