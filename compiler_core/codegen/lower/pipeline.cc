#include "compiler_core/codegen/lower/pipeline.h"

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/memory/passes.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace kiln::codegen {
namespace {

using namespace mlir;

struct Stage {
  std::string_view name;
  void (*add)(OpPassManager& passes, const PipelineOptions& options);
};

// The order matters: tiles are cut on tensors, where fusing is a matter of use and definition; buffers are
// assigned to whole tiles, so that the analysis sees few and simple operations; vectors come last, where
// addresses are known.
constexpr Stage kStages[] = {
    {"linalg",
     [](OpPassManager& passes, const PipelineOptions&) {
       // Once more, for what did not come through the rewrite stage.
       passes.addNestedPass<func::FuncOp>(transforms::createWidenPass());
       passes.addPass(schedule::createLowerToLinalgPass());
       passes.addNestedPass<func::FuncOp>(schedule::createFuseElementwisePass());
       passes.addPass(createCSEPass());
     }},
    {"tiled", [](OpPassManager& passes,
                 const PipelineOptions&) { passes.addNestedPass<func::FuncOp>(schedule::createTilePass()); }},
    {"buffers",
     [](OpPassManager& passes, const PipelineOptions&) { passes.addPass(memory::createBufferizePass()); }},
    {"vectors",
     [](OpPassManager& passes, const PipelineOptions& options) {
       passes.addNestedPass<func::FuncOp>(schedule::createVectorizePass(options.vectors));
       passes.addPass(createCSEPass());
     }},
    {"planned",
     [](OpPassManager& passes, const PipelineOptions&) {
       passes.addNestedPass<func::FuncOp>(memory::createPlanMemoryPass());
     }},
    {"kernels",
     [](OpPassManager& passes, const PipelineOptions& options) {
       passes.addPass(createOutlineKernelsPass(options.unit));
     }},
    {"llvm", [](OpPassManager& passes, const PipelineOptions&) { addLowerToLlvm(passes); }},
};

}  // namespace

Status lowerToLlvm(ModuleOp module, const PipelineOptions& options) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& diagnostic) {
    llvm::raw_string_ostream(messages) << diagnostic.getLocation() << ": " << diagnostic << "; ";
    return success();
  });
  for (const Stage& stage : kStages) {
    if (options.onStage) options.onStage(stage.name);
    PassManager passes(module.getContext());
    stage.add(passes, options);
    if (failed(passes.run(module))) return fail(Code::kInternal, std::string(stage.name) + ": " + messages);
    if (options.onIr) options.onIr(stage.name, module);
  }
  return {};
}

Status joinToLlvm(ModuleOp module, unsigned profile, const std::function<void(ModuleOp module)>& onJoined) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& diagnostic) {
    llvm::raw_string_ostream(messages) << diagnostic.getLocation() << ": " << diagnostic << "; ";
    return success();
  });
  PassManager join(module.getContext()), lower(module.getContext());
  join.addPass(createJoinPartitionsPass(profile));
  addLowerToLlvm(lower);
  if (failed(join.run(module))) return fail(Code::kInternal, "joining partitions: " + messages);
  onJoined(module);
  if (failed(lower.run(module))) return fail(Code::kInternal, "joined partitions: " + messages);
  return {};
}

schedule::VectorizeOptions vectorsFor(const std::vector<std::string>& features) {
  const auto has = [&](const char* name) { return llvm::is_contained(features, name); };
  // AVX-512 and AArch64 have 32 registers, AVX has 16.
  if (has("+avx512f")) return {512, 24, true};
  if (has("+avx")) return {256, 12, true};
  if (has("+neon")) return {128, 24, true};
  return {128, 12, true};
}

}  // namespace kiln::codegen
