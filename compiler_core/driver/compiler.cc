#include "compiler_core/driver/compiler.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <set>

#include "compiler_core/analysis/diagnostic_text.h"
#include "compiler_core/analysis/padding.h"
#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/device_program.h"
#include "compiler_core/driver/import_profiles.h"
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/driver/probe.h"
#include "compiler_core/frontend/onnx/import/import.h"
#include "compiler_core/frontend/onnx/import/unsupported.h"
#include "compiler_core/frontend/onnx/reader/rule_names.h"
#include "compiler_core/ir/index_checks.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/package/files.h"
#include "compiler_core/partition/cost.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/transforms/rewrite.h"
#include "compiler_core/transforms/specialise.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace kiln::driver {
namespace {

// Writes the IR after each stage as numbered text files.
class IrWriter {
 public:
  explicit IrWriter(std::string directory) : directory_(std::move(directory)) {}

  Status write(std::string_view stage, std::string_view text, std::string_view extension) {
    if (directory_.empty()) return {};
    KILN_TRY(package::writeFile(fmt::format("{}/{:02}-{}.{}", directory_, ++count_, stage, extension),
                                asBytes(text)));
    return {};
  }
  Status write(std::string_view stage, mlir::ModuleOp module) {
    if (directory_.empty()) return {};
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    return write(stage, text, "mlir");
  }

 private:
  std::string directory_;
  int count_ = 0;
};

// kUnimplemented names the first dimension that `mustPad` asks for in vain. Nothing shows for profiles that
// are captured apart.
Result<std::vector<SymbolEvidence>> symbolsOf(const onnx::Captured& captured, bool mustPad, bool isApart) {
  std::vector<SymbolEvidence> symbols;
  const auto reasons =
      analysis::whyNotPadded(*captured.module, static_cast<unsigned>(captured.symbols.size()));
  for (auto [i, symbol] : llvm::enumerate(captured.symbols)) {
    SymbolEvidence& evidence = symbols.emplace_back(SymbolEvidence{
        .name = symbol.name, .input = symbol.input, .index = symbol.index, .element = symbol.element});
    // A number in the graph says no longer where it came from.
    if (symbol.element || isApart || (symbol.range.min == symbol.range.max && !mustPad)) continue;
    const std::optional<std::string>& reason = reasons[i];
    if (reason && mustPad)
      return fail(Code::kUnimplemented,
                  fmt::format("outOfProfile \"pad\": dimension '{}' cannot be padded, {}; give \"fail\"",
                              symbol.name, *reason));
    evidence.pad = !reason;
  }
  return symbols;
}

// The range of each symbol that the caller gives in one profile.
std::vector<ir::SymbolRange> rangesOf(const onnx::Captured& captured, const analysis::Profile& profile) {
  std::vector<ir::SymbolRange> ranges;
  for (const ir::Symbol& symbol : captured.symbols) {
    const analysis::ProfileDim* dim = profile.find(symbol.name);
    ranges.push_back(dim ? ir::SymbolRange{dim->min, dim->opt, dim->max}
                         : ir::SymbolRange{symbol.range.min, symbol.range.min, symbol.range.max});
  }
  return ranges;
}

// What tensors of these types take at most.
std::uint64_t bytesOf(mlir::TypeRange types, llvm::ArrayRef<ir::Range> limits) {
  std::uint64_t total = 0;
  for (mlir::Type type : types) total += partition::mostBytes(type, limits);
  return total;
}

// Moves what `from` defines into `into`; names that both have are changed in `from`.
void append(mlir::ModuleOp from, mlir::ModuleOp into) {
  mlir::SymbolTable target(into), source(from);
  for (mlir::Operation& op : llvm::make_early_inc_range(from.getBody()->getOperations())) {
    auto symbol = llvm::dyn_cast<mlir::SymbolOpInterface>(op);
    if (symbol && target.lookup(symbol.getName())) {
      auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(op);
      if (function && function.isExternal()) continue;  // of a library
      (void)source.renameToUnique(&op, {&target});
    }
    op.remove();
    if (symbol)
      target.insert(&op);
    else
      into.push_back(&op);
  }
}

constexpr char kPartitionPass[] = "kiln-partition";
constexpr char kSharePass[] = "kiln-share-kernels";

// A kernel that spills more than this of each thread is worth a warning.
constexpr std::uint32_t kSpillWarningBytes = 64;

// One target with the features of the spec, or the parts of "a,b".
Result<std::vector<Target>> targetsOf(const Target& target) {
  if (target.name.find(',') == std::string::npos) return std::vector<Target>{target};
  return parseTargets(target.name);
}

class Compile {
 public:
  Compile(const CompileRequest& request, const CompileObserver& observer)
      : request_(request),
        observer_(observer),
        context_(mlir::MLIRContext::Threading::DISABLED),
        ir_(observer.irDirectory) {}

  Result<CompileResult> run() {
    onnx::prepareContext(context_);
    if (observer_.afterPass)
      context_.registerActionHandler(
          [this](llvm::function_ref<void()> transform, const mlir::tracing::Action& action) {
            transform();
            const auto* pass = llvm::dyn_cast<mlir::PassExecutionAction>(&action);
            // Adaptors, which only run other passes, have no argument.
            if (pass && !pass->getPass().getArgument().empty())
              observer_.afterPass(std::string_view(pass->getPass().getArgument()), *pass->getOp());
          });
    KILN_ASSIGN(targets_, targetsOf(request_.target));
    KILN_TRY(checkRules(request_.partition, targetNames(request_.target.name)));
    KILN_TRY(prepareTargets());
    progress(Stage::kCapture);
    KILN_ASSIGN(const onnx::LoadedModel loaded, onnx::loadModel(request_.model));
    if (const auto unknown = onnx::unknownNames(loaded.model, request_.partition); !unknown.empty())
      return fail(Code::kFailedPrecondition, "the rules do not fit the model: " + llvm::join(unknown, "; "));
    progress(Stage::kAnalyse);
    KILN_ASSIGN(ImportedProfiles profiles, importProfiles(context_, loaded, request_));
    onnx::Captured& captured = profiles.common;
    KILN_TRY(ir_.write("capture", *captured.module));
    result_.inputs = captured.inputs;
    result_.outputs = captured.outputs;
    result_.indexChecks = ir::indexChecksOf(captured.module->lookupSymbol<mlir::func::FuncOp>(ir::kMain));
    result_.capture = captured.capture;
    result_.analyse = captured.analyse;
    KILN_ASSIGN(result_.symbols, symbolsOf(captured, request_.pad, !profiles.own.empty()));
    if (request_.probe && request_.probe->point == ProbeRequest::Point::kCaptured)
      KILN_TRY(probe(*captured.module, captured));

    // Each profile is a module of its own until all are one program.
    std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
    for (std::size_t i = 0; i < request_.profiles.size(); ++i) {
      modules.push_back(profiles.moduleOf(i).clone());
      if (const Status lowered = lowerProfile(modules.back(), i, captured); !lowered)
        return fail(blamedOnSizes(context_, loaded, request_, request_.profiles[i], lowered.error()));
    }
    mlir::ModuleOp program = *modules.front();
    for (auto& module : llvm::drop_begin(modules)) append(*module, program);
    for (const auto& [signature, schedule] : request_.schedules)
      if (!tuned_.contains(signature))
        return fail(Code::kFailedPrecondition, "the schedule of kernel " + signature +
                                                   ": the program has no such kernel; kiln-cc plan lists "
                                                   "those it has");
    settleDevices();
    std::uint64_t weightBytes = 0;
    for (const package::WeightUse& use : uses_)
      if (const ir::Weight* weight = captured.weights.find(use.source))
        weightBytes += package::bytesOf(*weight, use);
    for (PlanEvidence& plan : result_.plans) plan.weightBytes = weightBytes;
    if (request_.out.empty()) return std::move(result_);
    KILN_TRY(generate(program));
    progress(Stage::kPackage);
    KILN_ASSIGN(result_.weights, package::writeWeights(captured.weights, uses_, request_.out));
    return std::move(result_);
  }

 private:
  // A device's program has a processor beside it, which what the device cannot serve falls back to.
  Status prepareTargets() {
    for (const Target& target : targets_) {
      if (target.device.empty()) continue;
      device_.emplace(context_, target, !llvm::is_contained(request_.disabledPasses, kSharePass));
      break;
    }
    const bool hasProcessor = llvm::any_of(targets_, [](const Target& t) { return t.device.empty(); });
    KILN_ASSIGN(host_, parseTarget(kHostTarget));
    if (request_.fallback && !hasProcessor) {
      targets_.push_back(host_);
      fallsBackToHost_ = true;
    }
    return {};
  }

  // Whether any profile uses the device decides what the program is; then all have an arena there.
  void settleDevices() {
    usesDevice_ =
        llvm::any_of(result_.plans, [](const PlanEvidence& plan) { return !plan.deviceArenaBytes.empty(); });
    if (usesDevice_)
      for (PlanEvidence& plan : result_.plans) plan.deviceArenaBytes.resize(DeviceProgram::kSpace);
  }

  // From the captured graph to the LLVM dialect, for profile number `index`.
  Status lowerProfile(mlir::OwningOpRef<mlir::ModuleOp>& program, std::size_t index,
                      onnx::Captured& captured) {
    mlir::ModuleOp module = *program;
    const analysis::Profile& profile = request_.profiles[index];
    const std::vector<ir::SymbolRange> ranges = rangesOf(captured, profile);
    transforms::specialise(module, ranges);
    PlanEvidence& plan = result_.plans.emplace_back();
    plan.profile = profile.name;
    auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
    plan.inputBytes = bytesOf(main.getArgumentTypes(), ir::limitsOf(main));
    plan.outputBytes = bytesOf(main.getResultTypes(), ir::limitsOf(main));

    progress(Stage::kRewrite);
    KILN_ASSIGN(ir::RewriteEvidence rewritten,
                transforms::rewrite(module, captured.weights, rewriteOptions()));
    KILN_TRY(ir_.write("rewrite", module));
    if (request_.probe && request_.probe->point == ProbeRequest::Point::kRewritten)
      KILN_TRY(probe(module, captured));
    progress(Stage::kPartition);
    KILN_ASSIGN(partition::PartitionEvidence parts, cut(module, captured));
    plan.transferBytes = parts.transferBytes;
    const bool isCut =
        !module.lookupSymbol<mlir::func::FuncOp>(ir::kMain).getOps<mlir::func::CallOp>().empty();
    const Target& first = targetNamed(parts.partitions.front().target);
    // A model without operations has nothing for a device to do.
    const Target& target = !isCut && !first.device.empty() ? host_ : first;
    // Rewriting takes the same way in all profiles, and each is partitioned by its own sizes; the first
    // speaks for all.
    if (index == 0) {
      result_.rewrite = std::move(rewritten);
      result_.partition = std::move(parts);
    }
    const auto number = static_cast<unsigned>(index);
    if (!isCut) return lower(module, {number, {}}, target, plan, captured.weights);
    KILN_ASSIGN(program, lowerPartitions(module, number, plan, captured.weights));
    return {};
  }

  // The partition stage: what goes where, and @main cut accordingly.
  Result<partition::PartitionEvidence> cut(mlir::ModuleOp module, const onnx::Captured& captured) {
    const bool isDisabled = llvm::is_contained(request_.disabledPasses, kPartitionPass);
    partition::PartitionOptions options;
    for (const Target& target : targets_) options.targets.push_back(target.name);
    options.fallback = request_.fallback;
    options.onlyFallback = fallsBackToHost_;
    options.rules = request_.partition;
    if (isDisabled && !targets_.front().device.empty())
      return fail(Code::kUnimplemented, std::string(kPartitionPass) + " cannot be left out for " +
                                            targets_.front().name + ": what a device reads is transferred");
    if (isDisabled) {  // all to the primary, or not at all
      options.targets.resize(1);
      options.rules.affinities.clear();
    }
    options.operators = captured.operators;
    KILN_ASSIGN(partition::PartitionResult parts, partition::partition(module, options));
    if (!parts.unsupported.empty())
      return fail(onnx::unsupportedError(parts.unsupported, captured.capture.nodes));
    if (isDisabled) return std::move(parts.evidence);
    const auto start = std::chrono::steady_clock::now();
    std::string complaint;
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
      complaint += (complaint.empty() ? "" : "; ") + analysis::diagnosticText(diagnostic, module);
      return mlir::success();
    });
    mlir::PassManager passes(&context_);
    passes.addPass(partition::createPartitionPass());
    if (failed(passes.run(module))) return fail(Code::kUnimplemented, "partition: " + complaint);
    if (observer_.onPass)
      observer_.onPass(kPartitionPass,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    partition::describe(module, parts.evidence);
    return std::move(parts.evidence);
  }

  const Target& targetNamed(const std::string& name) const {
    return *std::ranges::find(targets_, name, &Target::name);
  }

  // A @main of several partitions: each goes its own way to the LLVM dialect, as a module of its own, and all
  // become one function of the profile.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> lowerPartitions(mlir::ModuleOp module, unsigned profile,
                                                            PlanEvidence& plan,
                                                            const ir::WeightTable& weights) {
    mlir::OwningOpRef<mlir::ModuleOp> program;
    auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
    mlir::Builder b(&context_);
    for (auto [number, call] : llvm::enumerate(main.getOps<mlir::func::CallOp>())) {
      auto function = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
      const Target& target = targetNamed(function->getAttrOfType<mlir::StringAttr>(ir::kTargetAttr).str());
      mlir::OwningOpRef<mlir::ModuleOp> unit = mlir::ModuleOp::create(module.getLoc());
      (*unit)->setAttrs(module->getAttrDictionary());
      mlir::func::FuncOp own = function.clone();
      unit->push_back(own);
      own.setName(ir::kMain);
      own.setPublic();
      function.eraseBody();
      PlanEvidence memory;
      KILN_TRY(lower(*unit, {profile, static_cast<unsigned>(number)}, target, memory, weights));
      if (target.device.empty()) plan.scratchBytes = std::max(plan.scratchBytes, memory.scratchBytes);
      const auto set = [&](llvm::StringRef name, std::uint64_t value) {
        function->setAttr(name, b.getI64IntegerAttr(static_cast<std::int64_t>(value)));
      };
      set("kiln.arena_bytes", memory.arenaBytes);
      set("kiln.arena_total_bytes", memory.unsharedBytes);
      set("kiln.arena_live_bytes", memory.lowerBoundBytes);
      set("kiln.arena_buffers", static_cast<std::uint64_t>(memory.buffers));
      if (program)
        append(*unit, *program);
      else
        program = std::move(unit);
    }
    KILN_TRY(codegen::joinToLlvm(module, profile,
                                 [&](mlir::ModuleOp joined) { readRegions(joined, profile, plan); }));
    KILN_TRY(ir_.write("joined", module));
    append(module, *program);
    return program;
  }

  static bool isOptionalLowering(const std::string& pass) {
    return llvm::is_contained(codegen::kOptionalPasses, pass);
  }
  transforms::RewriteOptions rewriteOptions() const {
    transforms::RewriteOptions options;
    for (const std::string& pass : request_.disabledPasses)
      if (pass != kPartitionPass && !isOptionalLowering(pass)) options.disabled.push_back(pass);
    options.otherPasses.assign(std::begin(codegen::kOptionalPasses), std::end(codegen::kOptionalPasses));
    options.otherPasses.push_back(kPartitionPass);
    options.onPass = observer_.onPass;
    options.quantised = request_.quantised;
    options.byteDots = targets_.front().device.empty() && codegen::dotsFor(targets_.front().features).bytes;
    return options;
  }

  // Makes the module's values outputs and notes what they should be.
  Status probe(mlir::ModuleOp module, const onnx::Captured& captured) {
    result_.probes = expose(module, result_.outputs);
    std::vector<ir::SymbolRange> numbers;
    for (const ir::Symbol& symbol : captured.symbols) {
      auto found = request_.probe->dims.find(symbol.name);
      const std::int64_t value = found == request_.probe->dims.end() ? symbol.range.min : found->second;
      numbers.push_back({value, value, value});
    }
    mlir::OwningOpRef<mlir::ModuleOp> one(module.clone());
    transforms::specialise(*one, numbers);
    KILN_ASSIGN(auto expected, reference::evaluate(*one, captured.weights, request_.probe->inputs));
    for (Probe& probe : result_.probes) probe.expected = std::move(expected[probe.output]);
    return {};
  }

  void progress(Stage stage) {
    if (observer_.progress) observer_.progress(stage);
  }

  // One @main, of a profile or of a partition, for one target.
  Status lower(mlir::ModuleOp module, codegen::Unit unit, const Target& target, PlanEvidence& plan,
               const ir::WeightTable& weights) {
    codegen::PipelineOptions options;
    options.unit = unit;
    const bool onDevice = !target.device.empty();
    if (onDevice) device_->addTo(options, request_);
    options.vectors = codegen::vectorsFor(target.features);
    options.vectors.contraction = request_.contraction;
    if (!onDevice) options.dots = codegen::dotsFor(target.features);
    options.schedules.environment = {target.name, target.features, request_.contraction,
                                     onDevice && request_.tf32, !onDevice && request_.reassociation};
    options.schedules.given = &request_.schedules;
    options.schedules.onKernel = [&](const schedule::KernelFound& kernel) {
      tuned_.insert(kernel.signature);
      if (observer_.onKernel) observer_.onKernel(kernel);
    };
    std::optional<Error> refused;
    options.schedules.onRefused = [&](const Error& error) { refused = error; };
    if (unit.partition.value_or(0) == 0) {
      result_.schedule.registerBits = options.vectors.registerBits;
      result_.schedule.accumulators = options.vectors.accumulators;
    }
    result_.schedule.contraction = request_.contraction;
    llvm::copy_if(request_.disabledPasses, std::back_inserter(options.disabled), isOptionalLowering);
    options.onPass = [&](const ir::PassEvidence& pass, double seconds) {
      if (observer_.onPass) observer_.onPass(pass.name, seconds);
      if (unit.profile == 0 && unit.partition.value_or(0) == 0) result_.schedule.passes.push_back(pass);
    };
    Status written;
    options.onStage = [&](std::string_view stage) {
      if (stage == "linalg") progress(Stage::kSchedule);
      if (stage == "planned") progress(Stage::kPlan);
      if (stage == "kernels") progress(Stage::kCodegen);
    };
    options.onIr = [&](std::string_view stage, mlir::ModuleOp op) {
      if (stage == "vectors") shareWeights(op, weights, onDevice ? DeviceProgram::kSpace : 0, uses_);
      std::vector<package::WeightUse> own;  // numbered by shareWeights
      if (stage == "planned") readPlan(op, plan, own);
      if (stage == "kernels") {
        const std::size_t before = result_.schedule.kernels.size();
        readKernels(op, result_.schedule.kernels);
        if (targets_.size() > 1 || onDevice)
          for (std::size_t i = before; i < result_.schedule.kernels.size(); ++i)
            result_.schedule.kernels[i].target = target.name;
      }
      if (observer_.afterPass) observer_.afterPass(fmt::format("stage:{}", stage), *op.getOperation());
      if (Status status = ir_.write(stage, op); !status && written) written = status;
    };
    const Status lowered = codegen::lowerToLlvm(module, options);
    // What was given is no fault of the model.
    if (refused && refused->code == Code::kInvalidArgument) refused->code = Code::kFailedPrecondition;
    if (refused) return fail(*refused);
    KILN_TRY(lowered);
    if (targets_.size() > 1) {
      mlir::Builder b(&context_);
      module.walk([&](mlir::LLVM::LLVMFuncOp op) {
        if (op.isExternal()) return;
        llvm::SmallVector<mlir::Attribute> attributes;
        if (auto given = op.getPassthroughAttr()) attributes.append(given.begin(), given.end());
        attributes.push_back(b.getStrArrayAttr({codegen::kTargetFunctionAttr, llvm::StringRef(target.name)}));
        op.setPassthroughAttr(b.getArrayAttr(attributes));
      });
    }
    return written;
  }

  Status generate(mlir::ModuleOp module) {
    codegen::ProgramTable table{.inputs = static_cast<std::uint32_t>(result_.inputs.size()),
                                .outputs = static_cast<std::uint32_t>(result_.outputs.size()),
                                .weights = static_cast<std::uint32_t>(uses_.size()),
                                .symbols = static_cast<std::uint32_t>(result_.symbols.size())};
    for (const ir::Signature& output : result_.outputs)
      table.outputDims += static_cast<std::uint32_t>(output.shape.size());
    if (!result_.indexChecks.empty()) {
      ++table.outputs;
      ++table.outputDims;
    }
    for (std::size_t i = 0; i < result_.plans.size(); ++i)
      table.profiles.push_back({fmt::format("kiln_run_{}", i), fmt::format("kiln_shapes_{}", i),
                                result_.plans[i].arenaBytes, result_.plans[i].scratchBytes,
                                result_.plans[i].deviceArenaBytes});
    table.devices = usesDevice_ ? DeviceProgram::kSpace : 0;
    const std::string architecture = request_.target.triple.substr(0, request_.target.triple.find('-'));
    codegen::CpuOptions options;
    options.target = targets_.front();
    if (targets_.size() > 1) options.partitions = targets_;
    options.contraction = request_.contraction;
    options.bitcode = {request_.toolchainLib + "/kmath.bc", request_.toolchainLib + "/kkernels.bc"};
    options.builtinsArchive = fmt::format("{}/libkiln_builtins-{}.a", request_.toolchainLib, architecture);
    options.workDirectory = request_.out;
    options.keepIr = !observer_.irDirectory.empty() || observer_.onLlvmIr;
    KILN_ASSIGN(const codegen::CpuProgram program, codegen::generateCpuProgram(module, table, options));
    if (observer_.onLlvmIr) observer_.onLlvmIr(program.llvmIr);
    KILN_TRY(ir_.write("program", program.llvmIr, "ll"));
    KILN_ASSIGN(result_.program, package::writeFile(request_.out + "/program.so", asBytes(program.elf)));
    result_.codegen = {request_.target.triple, request_.target.cpu, request_.target.features,
                       program.codeBytes, program.elf.size()};
    std::map<std::string, std::uint64_t> bytes;
    for (const codegen::CodeSymbol& function : program.functions) bytes[function.name] = function.bytes;
    for (KernelEvidence& kernel : result_.schedule.kernels)
      kernel.codeBytes = bytes[kernel.symbol] + bytes[kernel.symbol + "_code"];
    return usesDevice_ ? generateDevice() : Status();
  }

  Status generateDevice() {
    KILN_TRY(ir_.write("device", device_->module()));
    KILN_ASSIGN(DeviceProgram::Generated generated, device_->generate(request_, observer_));
    KILN_TRY(ir_.write("device", generated.ptx, "ptx"));
    std::map<std::string, const codegen::DeviceKernel*> byName;
    for (const codegen::DeviceKernel& kernel : generated.kernels) byName[kernel.name] = &kernel;
    for (KernelEvidence& kernel : result_.schedule.kernels) {
      if (!kernel.device) continue;
      const codegen::DeviceKernel& code = *byName.at(kernel.codeOf.empty() ? kernel.symbol : kernel.codeOf);
      kernel.device->registers = code.registers;
      kernel.device->spillBytes = code.spillBytes;
      kernel.device->sharedBytes = code.sharedBytes;
      kernel.device->occupancyPermille = code.occupancyPermille;
      if (!kernel.codeOf.empty()) continue;
      kernel.codeBytes = code.codeBytes;
      if (code.spillBytes > kSpillWarningBytes)
        result_.codegen.warnings.push_back(
            fmt::format("kernel {} spills {} bytes of registers per thread to memory (more than {})",
                        kernel.symbol, code.spillBytes, kSpillWarningBytes));
    }
    result_.devices.push_back(std::move(generated.evidence));
    return {};
  }

  const CompileRequest& request_;
  const CompileObserver& observer_;
  std::vector<Target> targets_;   // the primary first
  Target host_;                   // kHostTarget
  bool fallsBackToHost_ = false;  // which nobody named: it is the last of targets_
  bool usesDevice_ = false;
  mlir::MLIRContext context_;
  std::optional<DeviceProgram> device_;
  IrWriter ir_;
  CompileResult result_;
  std::vector<package::WeightUse> uses_;
  std::set<std::string, std::less<>> tuned_;  // signatures of the kernels so far
};

}  // namespace

Result<CompileResult> compile(const CompileRequest& request, const CompileObserver& observer) {
  return Compile(request, observer).run();
}

}  // namespace kiln::driver
