#include "compiler_core/driver/compiler.h"

#include <fmt/format.h>

#include <set>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/frontend/onnx/import.h"
#include "compiler_core/frontend/onnx/unsupported.h"
#include "compiler_core/package/files.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/reference/inputs.h"
#include "compiler_core/transforms/rewrite.h"

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

std::uint64_t bytesOf(const std::vector<ir::Signature>& tensors) {
  std::uint64_t total = 0;
  for (const ir::Signature& tensor : tensors) {
    std::uint64_t bytes = dtypeBytes(tensor.dtype);
    for (const std::int64_t dim : tensor.shape) bytes *= static_cast<std::uint64_t>(dim);
    total += bytes;
  }
  return total;
}

// Each symbolic dimension where it stands first.
std::vector<SymbolEvidence> symbolsOf(const std::vector<ir::Signature>& inputs) {
  std::vector<SymbolEvidence> symbols;
  std::set<std::string> seen;
  for (const ir::Signature& input : inputs)
    for (std::size_t i = 0; i < input.dimNames.size(); ++i)
      if (!input.dimNames[i].empty() && seen.insert(input.dimNames[i]).second)
        symbols.push_back(
            {.name = input.dimNames[i], .input = input.name, .index = static_cast<std::int64_t>(i)});
  return symbols;
}

class Compile {
 public:
  explicit Compile(const CompileRequest& request)
      : request_(request), context_(mlir::MLIRContext::Threading::DISABLED), ir_(request.irDirectory) {}

  Result<CompileResult> run() {
    onnx::prepareContext(context_);
    progress("capture");
    KILN_ASSIGN(const onnx::LoadedModel loaded, onnx::loadModel(request_.model));
    progress("analyse");
    KILN_ASSIGN(onnx::Captured captured,
                onnx::importModel(context_, loaded, {request_.dims, request_.pins, request_.sequences}));
    mlir::ModuleOp module = *captured.module;
    KILN_TRY(ir_.write("capture", module));
    result_.inputs = captured.inputs;
    result_.outputs = captured.outputs;
    result_.capture = captured.capture;
    result_.analyse = captured.analyse;
    result_.symbols = symbolsOf(captured.inputs);
    PlanEvidence& plan = result_.plans.emplace_back();
    plan.profile = request_.profile;
    plan.inputBytes = bytesOf(captured.inputs);
    plan.outputBytes = bytesOf(captured.outputs);

    progress("rewrite");
    KILN_ASSIGN(result_.rewrite, transforms::rewrite(module, captured.weights));
    KILN_TRY(ir_.write("rewrite", module));

    progress("partition");
    auto parts = partition::partition(module, request_.target.name);
    if (!parts.unsupported.empty())
      return fail(onnx::unsupportedError(parts.unsupported, captured.capture.nodes));
    result_.partition = std::move(parts.evidence);

    KILN_TRY(lower(module));
    for (const package::WeightUse& use : uses_)
      if (const ir::Weight* weight = captured.weights.find(use.source))
        plan.weightBytes += weight->bytes.size();
    if (request_.out.empty()) return std::move(result_);
    KILN_TRY(generate(module));
    progress("package");
    KILN_ASSIGN(result_.weights, package::writeWeights(captured.weights, uses_, request_.out));
    return std::move(result_);
  }

 private:
  void progress(std::string_view stage) {
    if (request_.progress) request_.progress(stage);
  }

  Status lower(mlir::ModuleOp module) {
    codegen::PipelineOptions options;
    options.vectors = codegen::vectorsFor(request_.target.features);
    options.vectors.contraction = request_.contraction;
    result_.schedule.registerBits = options.vectors.registerBits;
    result_.schedule.accumulators = options.vectors.accumulators;
    result_.schedule.contraction = request_.contraction;
    Status written;
    options.onStage = [&](std::string_view stage) {
      if (stage == "linalg") progress("schedule");
      if (stage == "planned") progress("plan");
      if (stage == "kernels") progress("codegen");
    };
    options.onIr = [&](std::string_view stage, mlir::ModuleOp op) {
      if (stage == "planned") readPlan(op, result_.plans[0], uses_);
      if (stage == "kernels") readKernels(op, result_.schedule.kernels);
      if (Status status = ir_.write(stage, op); !status && written) written = status;
    };
    KILN_TRY(codegen::lowerToLlvm(module, options));
    return written;
  }

  Status generate(mlir::ModuleOp module) {
    codegen::ProgramTable table{.inputs = static_cast<std::uint32_t>(result_.inputs.size()),
                                .outputs = static_cast<std::uint32_t>(result_.outputs.size()),
                                .weights = static_cast<std::uint32_t>(uses_.size()),
                                .symbols = static_cast<std::uint32_t>(result_.symbols.size())};
    for (const ir::Signature& output : result_.outputs)
      table.outputDims += static_cast<std::uint32_t>(output.shape.size());
    for (std::size_t i = 0; i < result_.plans.size(); ++i)
      table.profiles.push_back({fmt::format("kiln_run_{}", i), fmt::format("kiln_shapes_{}", i),
                                result_.plans[i].arenaBytes, result_.plans[i].scratchBytes});
    const std::string architecture = request_.target.triple.substr(0, request_.target.triple.find('-'));
    codegen::CpuOptions options;
    options.target = request_.target;
    options.contraction = request_.contraction;
    options.bitcode = {request_.toolchainLib + "/kmath.bc", request_.toolchainLib + "/kkernels.bc"};
    options.builtinsArchive = fmt::format("{}/libkiln_builtins-{}.a", request_.toolchainLib, architecture);
    options.workDirectory = request_.out;
    options.keepIr = !request_.irDirectory.empty();
    KILN_ASSIGN(const codegen::CpuProgram program, codegen::generateCpuProgram(module, table, options));
    KILN_TRY(ir_.write("program", program.llvmIr, "ll"));
    KILN_ASSIGN(result_.program, package::writeFile(request_.out + "/program.so", asBytes(program.elf)));
    result_.codegen = {request_.target.triple, request_.target.cpu, request_.target.features,
                       program.codeBytes, program.elf.size()};
    for (KernelEvidence& kernel : result_.schedule.kernels)
      for (const codegen::CodeSymbol& function : program.functions)
        if (function.name == kernel.symbol) kernel.codeBytes = function.bytes;
    return {};
  }

  const CompileRequest& request_;
  mlir::MLIRContext context_;
  IrWriter ir_;
  CompileResult result_;
  std::vector<package::WeightUse> uses_;
};

}  // namespace

Result<CompileResult> compile(const CompileRequest& request) {
  return Compile(request).run();
}

Result<ReferenceResult> evaluateReference(const std::string& model,
                                          const std::map<std::string, std::int64_t>& dims, const Pins& pins,
                                          const Composites& sequences, std::uint64_t seed) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  onnx::prepareContext(context);
  KILN_ASSIGN(const onnx::LoadedModel loaded, onnx::loadModel(model));
  KILN_ASSIGN(onnx::Captured captured, onnx::importModel(context, loaded, {dims, pins, sequences}));
  ReferenceResult result{captured.inputs, captured.outputs, {}, {}};
  for (const ir::Signature& input : captured.inputs) {
    result.inputValues.push_back(reference::makeInput(input.name, input.dtype, input.shape, seed));
    if (auto pin = pins.find(input.name); pin != pins.end()) {
      KILN_ASSIGN(result.inputValues.back().bytes, pinBytes(input.dtype, pin->second));
    }
  }
  KILN_ASSIGN(result.outputValues,
              reference::evaluate(*captured.module, captured.weights, result.inputValues));
  return result;
}

}  // namespace kiln::driver
