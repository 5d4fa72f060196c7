#include "tests/compiler_core/dynamic/symbolic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/driver/module_evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/package/weights.h"
#include "compiler_core/reference/inputs.h"
#include "compiler_core/runtime/compare/compare.h"
#include "compiler_core/runtime/element/element.h"
#include "compiler_core/transforms/rewrite.h"
#include "compiler_core/transforms/specialise.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/host/device_run.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::testing {
namespace {

using reference::HostTensor;

// tensor<[N]x8xf32> -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
std::string expand(const SymbolicCheck& check) {
  std::string result;
  const std::string& text = check.text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("tensor<", at);
    result += text.substr(at, begin - at);
    if (begin == std::string::npos) break;
    const std::size_t end = text.find('>', begin);
    std::string inside = text.substr(begin + 7, end - begin - 7), shape, map;
    bool symbolic = false;
    for (std::size_t i = 0; i < inside.size();) {
      if (inside[i] == '[') {
        const std::size_t close = inside.find(']', i);
        std::string expression = inside.substr(i + 1, close - i - 1);
        for (std::size_t s = 0; s < check.symbols.size(); ++s)
          for (std::size_t p; (p = expression.find(check.symbols[s].first)) != std::string::npos;)
            expression.replace(p, check.symbols[s].first.size(), fmt::format("s{}", s));
        map += (map.empty() ? "" : ", ") + expression;
        shape += "?x";
        symbolic = true;
        i = close + 2;
      } else if (std::isdigit(static_cast<unsigned char>(inside[i]))) {
        const std::size_t x = inside.find('x', i);
        map += (map.empty() ? "" : ", ") + inside.substr(i, x - i);
        shape += inside.substr(i, x + 1 - i);
        i = x + 1;
      } else {
        shape += inside.substr(i);
        break;
      }
    }
    std::vector<std::string> names;
    for (std::size_t s = 0; s < check.symbols.size(); ++s) names.push_back(fmt::format("s{}", s));
    // A type's map names no symbols beyond the last that it uses.
    while (!names.empty() && map.find(names.back()) == std::string::npos) names.pop_back();
    result += symbolic
                  ? fmt::format("tensor<{}, affine_map<()[{}] -> ({})>>", shape, fmt::join(names, ", "), map)
                  : "tensor<" + inside + ">";
    at = end + 1;
  }
  return result;
}

struct Graph {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::WeightTable weights;
};

struct Program {
  std::unique_ptr<DeviceRun> device;  // null: runs on the CPU
  std::optional<ProgramHost> host;
  std::vector<package::WeightUse> uses;
};

Status build(Graph& graph, llvm::ArrayRef<ir::SymbolRange> ranges, Program& program,
             const std::string& targetName, bool tf32 = false) {
  auto module = graph.module->clone();
  const mlir::OwningOpRef<mlir::ModuleOp> owner(module);
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  codegen::ProgramTable table{.inputs = main.getNumArguments(), .outputs = main.getNumResults()};
  table.symbols = static_cast<std::uint32_t>(ranges.size());
  for (mlir::Type type : main.getResultTypes())
    table.outputDims += static_cast<std::uint32_t>(ir::tensorType(type).getRank());
  transforms::specialise(module, ranges);
  if (failed(mlir::verify(module))) return fail(Code::kInternal, "the specialised module does not verify");
  if (auto rewritten = transforms::rewrite(module, graph.weights); !rewritten) return fail(rewritten.error());
  KILN_ASSIGN(const Target target, parseTarget(targetName));
  codegen::PipelineOptions options;
  options.vectors = codegen::vectorsFor(target.features);
  options.onIr = [&](std::string_view name, mlir::ModuleOp op) {
    if (const char* dump = std::getenv("KILN_TEST_DUMP"); dump && name == dump) llvm::errs() << op;
    if (name != "planned") return;
    driver::PlanEvidence plan;
    driver::readPlan(op, plan, program.uses);
    table.profiles = {{"kiln_run_0", "kiln_shapes_0", plan.arenaBytes, plan.scratchBytes}};
    table.weights = static_cast<std::uint32_t>(program.uses.size());
  };
  if (program.device) program.device->prepare(options, {.tf32 = tf32});
  KILN_TRY(codegen::lowerToLlvm(module, options));
  const testing_support::TempDirectory directory;
  codegen::CpuOptions cpu;
  cpu.target = target;
  cpu.bitcode = {KILN_TOOLCHAIN_LIB "/kmath.bc", KILN_TOOLCHAIN_LIB "/kkernels.bc"};
  cpu.builtinsArchive = KILN_TOOLCHAIN_LIB "/libkiln_builtins-x86_64.a";
  cpu.workDirectory = directory.path();
  KILN_ASSIGN(const auto made, codegen::generateCpuProgram(module, table, cpu));
  KILN_ASSIGN(auto host, ProgramHost::load(made.elf));
  program.host.emplace(std::move(host));
  if (program.device) return program.device->attach(*program.host, cpu);
  return {};
}

std::int64_t valueOf(const ir::Dim& dim, const std::vector<std::int64_t>& symbols) {
  llvm::SmallVector<std::optional<std::int64_t>> values(symbols.begin(), symbols.end());
  return ir::substitute(dim, values).value();
}

std::vector<std::int64_t> shapeAt(mlir::Type type, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> shape;
  for (const ir::Dim& dim : ir::shapeOf(ir::tensorType(type))) shape.push_back(valueOf(dim, symbols));
  return shape;
}

struct Ran {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::uint8_t>> outputs;
  bool operator==(const Ran&) const = default;
};

Result<Ran> run(const Graph& graph, const Program& program, const std::vector<std::int64_t>& symbols,
                int threads) {
  auto main = graph.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<Buffer> weights, inputs, outputs;
  for (const package::WeightUse& use : program.uses) {
    const ir::Weight& weight = *graph.weights.find(use.source);
    KILN_ASSIGN(const auto bytes, package::laidOut(weight, use));
    weights.push_back(Buffer::of<std::uint8_t>(bytes));
  }
  for (auto [i, type] : llvm::enumerate(main.getArgumentTypes()))
    inputs.push_back(Buffer::of<std::uint8_t>(
        reference::makeInput(fmt::format("input {}", i), *ir::dtypeOf(ir::tensorType(type).getElementType()),
                             shapeAt(type, symbols), 1)
            .bytes));
  for (mlir::Type type : main.getResultTypes()) {
    HostTensor tensor =
        HostTensor::zeros(*ir::dtypeOf(ir::tensorType(type).getElementType()), shapeAt(type, symbols));
    outputs.push_back(Buffer::of<std::uint8_t>(tensor.bytes));
  }
  Ran ran;
  if (program.device) program.device->setOrder(threads);
  auto dims = program.host->run(0, symbols, weights, inputs, outputs, program.device ? 1 : threads);
  if (program.device && !program.device->failure().empty())
    return fail(Code::kInternal, program.device->failure());
  KILN_ASSIGN(ran.dims, std::move(dims));
  if (ran.dims != program.host->shapes(0, symbols))
    return fail(Code::kDataLoss, "the program ran in other shapes than it states");
  for (const Buffer& output : outputs) {
    const auto bytes = output.as<std::uint8_t>();
    ran.outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return ran;
}

Status compareRuns(const Graph& graph, const Ran& got, const Ran& expected, const SymbolicCheck& check) {
  if (got.dims != expected.dims) return fail(Code::kDataLoss, "other shapes");
  auto main = graph.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
    if (got.outputs[i] == expected.outputs[i]) continue;
    const DType dtype = *ir::dtypeOf(ir::tensorType(type).getElementType());
    runtime::Tolerance tolerance{0, 0};
    if (!runtime::holdsIntegers(dtype)) tolerance = {check.relative, check.absolute};
    KILN_ASSIGN(const auto compared, runtime::compare(dtype, got.outputs[i], expected.outputs[i], tolerance));
    if (!compared.passed() || (check.relative == 0 && check.absolute == 0))
      return fail(Code::kDataLoss, fmt::format("output {}: {}", i, compared.text()));
  }
  return {};
}

}  // namespace

Status checkSymbolic(const SymbolicCheck& check) {
  Graph graph;
  graph.context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  graph.module = mlir::parseSourceString<mlir::ModuleOp>(expand(check), &graph.context);
  if (!graph.module) return fail(Code::kInvalidArgument, "the test's text does not parse");
  std::vector<HostTensor> values;
  graph.module->walk([&](ir::WeightOp op) {
    values.resize(std::max<std::size_t>(values.size(), op.getIndex() + 1));
    auto type = ir::tensorType(op.getType());
    values[op.getIndex()] =
        reference::makeInput(fmt::format("weight {}", op.getIndex()), *ir::dtypeOf(type.getElementType()),
                             type.getShape().vec(), 1);
  });
  for (HostTensor& value : values)
    graph.weights.addOwned("weight", value.dtype, value.shape, std::move(value.bytes));
  llvm::SmallVector<ir::SymbolRange> ranges;
  for (const auto& [name, span] : check.symbols) {
    ir::addSymbol(*graph.module, {name, "input", 0, false, {}, {span.min, span.max}});
    ranges.push_back({span.min, span.opt, span.max});
  }
  std::vector<std::vector<std::int64_t>> runs = check.runs;
  if (runs.empty()) {
    runs.resize(4);
    for (const auto& [name, span] : check.symbols) {
      runs[0].push_back(span.min);
      runs[1].push_back(span.opt);
      runs[2].push_back(span.max);
      runs[3].push_back((span.min + span.max) / 2);
    }
  }
  Program dynamic;
  if (check.device) dynamic.device = std::make_unique<DeviceRun>();
  KILN_TRY(build(graph, ranges, dynamic, check.target, check.tf32));
  for (const auto& symbols : runs) {
    const std::string place = fmt::format("at {}", fmt::join(symbols, ", "));
    llvm::SmallVector<ir::SymbolRange> numbers;
    for (const std::int64_t value : symbols) numbers.push_back({value, value, value});
    Program fixed;
    if (auto built = build(graph, numbers, fixed, check.target); !built)
      return fail(built.error().in("static " + place));
    auto expected = run(graph, fixed, symbols, 1);
    if (!expected) return fail(expected.error().in("static " + place));
    auto first = run(graph, dynamic, symbols, 1);
    if (!first) return fail(first.error().in(place));
    if (auto same = compareRuns(graph, *first, *expected, check); !same)
      return fail(same.error().in(place + ", beside the static compile"));
    for (int threads : {2, 7}) {
      auto got = run(graph, dynamic, symbols, threads);
      if (!got) return fail(got.error().in(place));
      if (*got != *first)
        return fail(Code::kDataLoss, fmt::format("{}: other {} with {} threads than with one", place,
                                                 got->dims != first->dims ? "shapes" : "bits", threads));
    }
  }
  return {};
}

}  // namespace kiln::testing
