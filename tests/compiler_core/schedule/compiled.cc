#include "tests/compiler_core/schedule/compiled.h"

#include <fmt/format.h>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/package/weights.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/reference/inputs.h"
#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/transforms/rewrite.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/host/device_run.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/compiler_core/schedule/timed.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

HostTensor seeded(const std::string& name, mlir::Type type) {
  auto tensor = ir::tensorType(type);
  return reference::makeInput(name, *ir::dtypeOf(tensor.getElementType()), tensor.getShape().vec(), 1);
}

ir::WeightTable seededWeights(mlir::ModuleOp module) {
  std::vector<HostTensor> values;
  module.walk([&](ir::WeightOp op) {
    values.resize(std::max<std::size_t>(values.size(), op.getIndex() + 1));
    values[op.getIndex()] = seeded(fmt::format("weight {}", op.getIndex()), op.getType());
  });
  ir::WeightTable table;
  for (HostTensor& value : values) table.addOwned("weight", value.dtype, value.shape, std::move(value.bytes));
  return table;
}

Buffer bufferOf(const std::vector<std::uint8_t>& bytes) {
  return Buffer::of<std::uint8_t>(bytes);
}

struct Built {
  ProgramHost host;
  std::vector<package::WeightUse> uses;
  std::unique_ptr<DeviceRun> device;  // null: runs on the CPU
};

Result<Built> build(mlir::ModuleOp module, const CheckOptions& check, Checked& checked) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  codegen::ProgramTable table{.inputs = main.getNumArguments(),
                              .outputs = main.getNumResults(),
                              .profiles = {{"kiln_run_0", "kiln_shapes_0"}}};
  for (mlir::Type type : main.getResultTypes()) table.outputDims += ir::tensorType(type).getRank();
  KILN_ASSIGN(const Target target, parseTarget(check.target));
  std::vector<package::WeightUse> uses;
  codegen::PipelineOptions options;
  options.vectors = codegen::vectorsFor(target.features);
  options.vectors.contraction = check.contraction;
  if (!check.device) options.dots = codegen::dotsFor(target.features);
  options.onIr = [&](std::string_view name, mlir::ModuleOp op) {
    if (name == check.stage) llvm::raw_string_ostream(checked.ir) << op;
    if (name != "planned") return;
    driver::PlanEvidence plan;
    driver::readPlan(op, plan, uses);
    checked.arenaBytes = table.profiles[0].arenaBytes = plan.arenaBytes;
    checked.scratchBytes = table.profiles[0].scratchBytes = plan.scratchBytes;
    table.weights = static_cast<std::uint32_t>(uses.size());
  };
  auto device = check.device ? std::make_unique<DeviceRun>() : nullptr;
  if (device) {
    device->prepare(options, {.contraction = check.contraction, .tf32 = check.tf32});
    KILN_ASSIGN(const Target gpu, parseTarget("cuda:sm_90a"));
    options.schedules.environment = {gpu.name, gpu.features, check.contraction, check.tf32};
  } else if (check.given || check.onKernel) {
    options.schedules.environment = {target.name, target.features, check.contraction, false,
                                     check.reassociation};
  }
  options.schedules.given = check.given;
  options.schedules.onKernel = check.onKernel;
  KILN_TRY(codegen::lowerToLlvm(module, options));
  const testing_support::TempDirectory directory;
  codegen::CpuOptions cpu;
  cpu.target = target;
  cpu.contraction = check.contraction;
  cpu.bitcode = {KILN_TOOLCHAIN_LIB "/kmath.bc", KILN_TOOLCHAIN_LIB "/kkernels.bc"};
  cpu.builtinsArchive = KILN_TOOLCHAIN_LIB "/libkiln_builtins-x86_64.a";
  cpu.workDirectory = directory.path();
  auto program = codegen::generateCpuProgram(module, table, cpu);
  if (!program) return fail(program.error());
  KILN_ASSIGN(auto host, ProgramHost::load(program->elf));
  Built built{std::move(host), std::move(uses), std::move(device)};
  if (built.device) KILN_TRY(built.device->attach(built.host, cpu));
  return built;
}

bool isReal(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}

Status compareAll(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected,
                  const CheckOptions& options) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool exact = !isReal(got[i].dtype);
    const runtime::Tolerance tolerance =
        exact ? runtime::Tolerance{0, 0} : runtime::Tolerance{options.relative, options.absolute};
    KILN_ASSIGN(const auto comparison,
                runtime::compare(got[i].dtype, got[i].bytes, expected[i].bytes, tolerance));
    if (!comparison.passed())
      return fail(Code::kDataLoss, fmt::format("output {}: {}", i, comparison.text()));
  }
  return {};
}

// A text with everything it needs to run.
struct Prepared {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::WeightTable weights;
  std::vector<HostTensor> inputs;
};

Result<Prepared> prepare(const std::string& text, const CheckOptions& options) {
  Prepared prepared{
      std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED), {}, {}, options.inputs};
  prepared.context->loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  prepared.module = mlir::parseSourceString<mlir::ModuleOp>(text, prepared.context.get());
  if (!prepared.module) return fail(Code::kInvalidArgument, "the test's text does not parse");
  prepared.weights = seededWeights(*prepared.module);
  auto main = prepared.module->lookupSymbol<mlir::func::FuncOp>("main");
  for (unsigned i = prepared.inputs.size(); i < main.getNumArguments(); ++i)
    prepared.inputs.push_back(seeded(fmt::format("input {}", i), main.getArgumentTypes()[i]));
  return prepared;
}

Result<std::vector<Buffer>> layOut(const ir::WeightTable& weights,
                                   const std::vector<package::WeightUse>& uses) {
  std::vector<Buffer> buffers;
  for (const package::WeightUse& use : uses) {
    const ir::Weight& weight = *weights.find(use.source);
    KILN_ASSIGN(const auto bytes, package::laidOut(weight, use));
    buffers.push_back(bufferOf(bytes));
  }
  return buffers;
}

std::vector<Buffer> buffersOf(const std::vector<HostTensor>& tensors) {
  std::vector<Buffer> buffers;
  for (const HostTensor& tensor : tensors) buffers.push_back(bufferOf(tensor.bytes));
  return buffers;
}

}  // namespace

Result<Checked> checkText(const std::string& text, const CheckOptions& options) {
  KILN_ASSIGN(Prepared prepared, prepare(text, options));
  auto& [context, module, weights, inputs] = prepared;
  KILN_ASSIGN(const auto expected, reference::evaluate(*module, weights, inputs));
  if (options.rewrite) {
    KILN_ASSIGN(const Target target, parseTarget(options.target));
    transforms::RewriteOptions rewrite;
    rewrite.quantised = options.quantised;
    rewrite.byteDots = !options.device && codegen::dotsFor(target.features).bytes;
    KILN_TRY(transforms::rewrite(*module, weights, rewrite));
  }

  Checked checked;
  KILN_ASSIGN(Built built, build(*module, options, checked));
  KILN_ASSIGN(const auto weightBuffers, layOut(weights, built.uses));
  const auto inputBuffers = buffersOf(inputs);
  for (int threads : {1, 2, 7}) {
    if (built.device) built.device->setOrder(threads);
    std::vector<Buffer> outputs;
    for (const HostTensor& tensor : expected) outputs.emplace_back(tensor.bytes.size());
    const Status ran = built.host.run(weightBuffers, inputBuffers, outputs, options.device ? 1 : threads);
    if (built.device && !built.device->failure().empty())
      return fail(Code::kInternal, built.device->failure());
    KILN_TRY(ran);
    std::vector<HostTensor> values;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto bytes = outputs[i].as<std::uint8_t>();
      values.push_back({expected[i].dtype, expected[i].shape, {bytes.begin(), bytes.end()}});
    }
    if (threads == 1)
      checked.outputs = std::move(values);
    else if (values != checked.outputs)
      return fail(Code::kDataLoss, options.device ? "other bits in another order of threads"
                                                  : fmt::format("other bits with {} threads", threads));
  }
  KILN_TRY(compareAll(checked.outputs, expected, options));
  return checked;
}

Result<double> timeText(const std::string& text, int threads) {
  KILN_ASSIGN(Prepared prepared, prepare(text, {}));
  std::vector<std::size_t> outputBytes;
  for (mlir::Type type : prepared.module->lookupSymbol<mlir::func::FuncOp>("main").getResultTypes())
    outputBytes.push_back(static_cast<std::size_t>(*ir::checkedBytes(ir::tensorType(type))));
  Checked unused;
  KILN_ASSIGN(const Built built, build(*prepared.module, {}, unused));
  KILN_ASSIGN(const auto weights, layOut(prepared.weights, built.uses));
  const auto inputs = buffersOf(prepared.inputs);
  std::vector<Buffer> outputs;
  for (std::size_t bytes : outputBytes) outputs.emplace_back(bytes);
  double best = 1e9, total = 0;
  for (int i = 0; i < 5 || (total < 0.3 && i < 1000); ++i) {
    double seconds = 0;
    KILN_TRY(built.host.run(weights, inputs, outputs, threads, &seconds));
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace kiln::testing
