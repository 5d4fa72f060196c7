#include "tests/compiler_core/schedule/compiled.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/ir/ir.h"
#include "mlir/Parser/Parser.h"

namespace kiln::testing {

Result<Compiled> compileText(const std::string& text, const std::string& stage,
                             const std::string& targetName) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return fail(Code::kInvalidArgument, "the test's text does not parse");
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  codegen::ProgramTable table{.run = "kiln_run"};
  table.inputs = main.getNumArguments();
  table.outputs = main.getNumResults();
  std::vector<std::size_t> outputBytes;
  for (mlir::Type type : main.getResultTypes()) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    outputBytes.push_back(tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8));
  }
  KILN_ASSIGN(const Target target, parseTarget(targetName));
  std::string ir;
  codegen::PipelineOptions options;
  options.vectors = codegen::vectorsFor(target.features);
  options.onIr = [&](std::string_view name, mlir::ModuleOp op) {
    if (name == stage) llvm::raw_string_ostream(ir) << op;
    if (name != "planned") return;
    auto function = op.lookupSymbol<mlir::func::FuncOp>("main");
    auto get = [&](const char* attribute) {
      return function->getAttrOfType<mlir::IntegerAttr>(attribute).getInt();
    };
    table.arenaBytes = get("kiln.arena_bytes");
    table.scratchBytes = get("kiln.scratch_bytes");
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, "kiln.weight")) ++table.weights;
  };
  KILN_TRY(codegen::lowerToLlvm(*module, options));
  char directory[] = "/tmp/kiln-schedule-XXXXXX";
  if (!::mkdtemp(directory)) return fail(errnoError(errno, directory));
  codegen::CpuOptions cpu;
  cpu.target = target;
  cpu.mathBitcode = KILN_TOOLCHAIN_LIB "/kmath.bc";
  cpu.builtinsArchive = KILN_TOOLCHAIN_LIB "/libkiln_builtins-x86_64.a";
  cpu.workDirectory = directory;
  auto program = codegen::generateCpuProgram(*module, table, cpu);
  std::filesystem::remove_all(directory);
  if (!program) return fail(program.error());
  KILN_ASSIGN(auto host, ProgramHost::load(program->elf));
  return Compiled{std::move(host), std::move(ir), std::move(outputBytes)};
}

Result<std::vector<std::vector<float>>> Compiled::run(const std::vector<std::vector<float>>& weights,
                                                      const std::vector<std::vector<float>>& inputs) const {
  std::vector<Buffer> w, in;
  for (const auto& values : weights) w.push_back(Buffer::of<float>(values));
  for (const auto& values : inputs) in.push_back(Buffer::of<float>(values));
  std::vector<std::vector<float>> first;
  for (int threads : {1, 2, 7}) {
    std::vector<Buffer> out;
    for (std::size_t bytes : outputBytes) out.emplace_back(bytes);
    KILN_TRY(host.run(w, in, out, threads));
    std::vector<std::vector<float>> values;
    for (const Buffer& buffer : out) {
      auto span = buffer.as<float>();
      values.emplace_back(span.begin(), span.end());
    }
    if (threads == 1) {
      first = std::move(values);
      continue;
    }
    for (std::size_t i = 0; i < first.size(); ++i)
      if (std::memcmp(first[i].data(), values[i].data(), first[i].size() * sizeof(float)) != 0)
        return fail(Code::kDataLoss, "other bits with " + std::to_string(threads) + " threads");
  }
  return first;
}

std::vector<float> randomValues(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state) / 2147483648.0);
  }
  return values;
}

}  // namespace kiln::testing
