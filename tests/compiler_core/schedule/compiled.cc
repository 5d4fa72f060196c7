#include "tests/compiler_core/schedule/compiled.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/package/weights.h"
#include "compiler_core/reference/evaluator.h"
#include "compiler_core/reference/inputs.h"
#include "compiler_core/runtime/compare/compare.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/host/program_host.h"

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
};

Result<Built> build(mlir::ModuleOp module, const CheckOptions& check, Checked& checked) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  codegen::ProgramTable table{
      .run = "kiln_run", .inputs = main.getNumArguments(), .outputs = main.getNumResults()};
  KILN_ASSIGN(const Target target, parseTarget("cpu:x86-64-v3"));
  std::vector<package::WeightUse> uses;
  codegen::PipelineOptions options;
  options.vectors = codegen::vectorsFor(target.features);
  options.vectors.contraction = check.contraction;
  options.onIr = [&](std::string_view name, mlir::ModuleOp op) {
    if (name == check.stage) llvm::raw_string_ostream(checked.ir) << op;
    if (name != "planned") return;
    driver::PlanEvidence plan;
    driver::readPlan(op, plan, uses);
    checked.arenaBytes = table.arenaBytes = plan.arenaBytes;
    checked.scratchBytes = table.scratchBytes = plan.scratchBytes;
    table.weights = static_cast<std::uint32_t>(uses.size());
  };
  KILN_TRY(codegen::lowerToLlvm(module, options));
  char directory[] = "/tmp/kiln-schedule-XXXXXX";
  if (!::mkdtemp(directory)) return fail(errnoError(errno, directory));
  codegen::CpuOptions cpu;
  cpu.target = target;
  cpu.contraction = check.contraction;
  cpu.mathBitcode = KILN_TOOLCHAIN_LIB "/kmath.bc";
  cpu.builtinsArchive = KILN_TOOLCHAIN_LIB "/libkiln_builtins-x86_64.a";
  cpu.workDirectory = directory;
  auto program = codegen::generateCpuProgram(module, table, cpu);
  std::filesystem::remove_all(directory);
  if (!program) return fail(program.error());
  KILN_ASSIGN(auto host, ProgramHost::load(program->elf));
  return Built{std::move(host), std::move(uses)};
}

Status compareAll(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected,
                  const CheckOptions& options) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool exact = got[i].dtype != DType::kF32 && got[i].dtype != DType::kF64;
    const runtime::Tolerance tolerance =
        exact ? runtime::Tolerance{0, 0} : runtime::Tolerance{options.relative, options.absolute};
    KILN_ASSIGN(const auto comparison,
                runtime::compare(got[i].dtype, got[i].bytes, expected[i].bytes, tolerance));
    if (!comparison.passed())
      return fail(Code::kDataLoss, fmt::format("output {}: {}", i, comparison.text()));
  }
  return {};
}

}  // namespace

Result<Checked> checkText(const std::string& text, const CheckOptions& options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return fail(Code::kInvalidArgument, "the test's text does not parse");
  const ir::WeightTable weights = seededWeights(*module);
  std::vector<HostTensor> inputs = options.inputs;
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  for (unsigned i = inputs.size(); i < main.getNumArguments(); ++i)
    inputs.push_back(seeded(fmt::format("input {}", i), main.getArgumentTypes()[i]));
  KILN_ASSIGN(const auto expected, reference::evaluate(*module, weights, inputs));

  Checked checked;
  KILN_ASSIGN(const Built built, build(*module, options, checked));
  std::vector<Buffer> weightBuffers, inputBuffers;
  for (const package::WeightUse& use : built.uses) {
    const ir::Weight& weight = *weights.find(use.source);
    std::vector<std::uint8_t> bytes(weight.bytes.begin(), weight.bytes.end());
    if (!use.permutation.empty()) {
      KILN_ASSIGN(bytes, package::permuted(weight, use.permutation));
    }
    weightBuffers.push_back(bufferOf(bytes));
  }
  for (const HostTensor& input : inputs) inputBuffers.push_back(bufferOf(input.bytes));
  for (int threads : {1, 2, 7}) {
    std::vector<Buffer> outputs;
    for (const HostTensor& tensor : expected) outputs.emplace_back(tensor.bytes.size());
    KILN_TRY(built.host.run(weightBuffers, inputBuffers, outputs, threads));
    std::vector<HostTensor> values;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto bytes = outputs[i].as<std::uint8_t>();
      values.push_back({expected[i].dtype, expected[i].shape, {bytes.begin(), bytes.end()}});
    }
    if (threads == 1)
      checked.outputs = std::move(values);
    else if (values != checked.outputs)
      return fail(Code::kDataLoss, fmt::format("other bits with {} threads", threads));
  }
  KILN_TRY(compareAll(checked.outputs, expected, options));
  return checked;
}

}  // namespace kiln::testing
