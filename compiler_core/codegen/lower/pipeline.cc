#include "compiler_core/codegen/lower/pipeline.h"

#include <algorithm>
#include <optional>
#include <span>

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/processor_time.h"
#include "compiler_core/memory/passes.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace kiln::codegen {
namespace {

using namespace mlir;

struct Stage {
  std::string_view name;
  void (*add)(OpPassManager& passes, const PipelineOptions& options);
};

// An optional pass, unless it is disabled.
void addOptional(OpPassManager& passes, const PipelineOptions& options, std::unique_ptr<Pass> pass) {
  if (!llvm::is_contained(options.disabled, pass->getArgument()))
    passes.addPass(std::move(pass));
  else if (options.onPass)
    options.onPass({pass->getArgument().str(), {{"disabled", "true"}}, 0, 0}, 0);
}

// The order matters: tiles are cut on tensors, where fusing is a matter of use and definition; buffers are
// assigned to whole tiles, so that the analysis sees few and simple operations; vectors come last, where
// addresses are known.
constexpr Stage kStages[] = {
    {"linalg",
     [](OpPassManager& passes, const PipelineOptions& options) {
       // Once more, for what did not come through the rewrite stage.
       passes.addNestedPass<func::FuncOp>(transforms::createWidenPass());
       passes.addPass(schedule::createLowerToLinalgPass(
           {options.device.has_value(), options.dots.bytes, options.dots.bf16}));
       addOptional(passes.nest<func::FuncOp>(), options, schedule::createFuseElementwisePass());
       passes.addPass(createCSEPass());
     }},
    {"tiled",
     [](OpPassManager& passes, const PipelineOptions& options) {
       schedule::TileOptions tile = options.schedules;
       tile.forDevice = options.device.has_value();
       tile.registers = {options.vectors.registerBits, options.vectors.accumulators, options.vectors.across,
                         options.vectors.masks};
       passes.addNestedPass<func::FuncOp>(schedule::createTilePass(tile));
     }},
    {"buffers",
     [](OpPassManager& passes, const PipelineOptions&) { passes.addPass(memory::createBufferizePass()); }},
    {"vectors",
     [](OpPassManager& passes, const PipelineOptions& options) {
       passes.addNestedPass<func::FuncOp>(options.device ? schedule::createMapToGpuPass(*options.device)
                                                         : schedule::createVectorizePass(options.vectors));
       passes.addPass(createCSEPass());
     }},
    {"planned",
     [](OpPassManager& passes, const PipelineOptions& options) {
       passes.addNestedPass<func::FuncOp>(
           memory::createPlanMemoryPass({options.device ? options.device->sharedBytes : 0}));
     }},
    {"kernels",
     [](OpPassManager& passes, const PipelineOptions& options) {
       if (options.device) {
         passes.addPass(createOutlineDeviceKernelsPass(options.unit, options.space, options.deviceKernels));
         return;
       }
       passes.addPass(createOutlineKernelsPass(options.unit));
       // Before anything below costs time per instruction.
       addOptional(passes, options, createShareKernelsPass());
     }},
    {"llvm", [](OpPassManager& passes,
                const PipelineOptions& options) { addLowerToLlvm(passes, options.scalarMath); }},
};

std::int64_t countOperations(Operation* op) {
  while (Operation* parent = op->getParentOp()) op = parent;
  std::int64_t count = 0;
  op->walk([&](Operation*) { ++count; });
  return count;
}

// Tells of each pass of one pass manager what it did and how long that took. Nothing changes the module
// between two passes, so what one of them left is what the next one finds.
class PassRecorder : public PassInstrumentation {
 public:
  explicit PassRecorder(const PipelineOptions& options) : options_(options) {}
  void runBeforePass(Pass* pass, Operation* op) override {
    if (pass->getArgument().empty()) return;  // runs others on nested operations
    if (!operations_) operations_ = countOperations(op);
    start_ = ir::threadSeconds();
  }
  void runAfterPass(Pass* pass, Operation* op) override {
    if (pass->getArgument().empty()) return;
    const double taken = ir::threadSeconds() - start_;
    const std::int64_t before = *operations_;
    operations_ = countOperations(op);
    options_.onPass({pass->getArgument().str(), {}, before, *operations_}, taken);
  }

 private:
  const PipelineOptions& options_;
  std::optional<std::int64_t> operations_;  // of the module now, once counted
  double start_ = 0;
};

// MLIR's diagnostics about a module, as long as this lives.
class Messages {
 public:
  explicit Messages(ModuleOp module)
      : handler_(module.getContext(), [this](Diagnostic& diagnostic) {
          llvm::raw_string_ostream(text_) << diagnostic.getLocation() << ": " << diagnostic << "; ";
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error) ++errors_;
          return success();
        }) {}

  // False if `look`, which reads what a stage left, misses something there.
  bool withoutErrors(llvm::function_ref<void()> look) {
    const unsigned before = errors_;
    look();
    return errors_ == before;
  }
  tl::unexpected<Error> failure(std::string_view stage) const {
    return fail(Code::kInternal, std::string(stage) + ": " + text_);
  }

 private:
  std::string text_;
  unsigned errors_ = 0;
  ScopedDiagnosticHandler handler_;
};

// The kernels go a way of their own.
void takeDeviceModule(ModuleOp module, const PipelineOptions& options) {
  for (auto device : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    if (options.onDeviceModule) options.onDeviceModule(*device);
    device.erase();
  }
}

// Says on the module how wide an index is, where that is not MLIR's default. The conversions read it there.
void setIndexBits(ModuleOp module, unsigned bits) {
  if (bits == 64) return;
  MLIRContext* context = module.getContext();
  context->getOrLoadDialect<DLTIDialect>();
  Builder b(context);
  const auto width = DataLayoutEntryAttr::get(b.getIndexType(), b.getI32IntegerAttr(std::int32_t(bits)));
  module->setAttr(DLTIDialect::kDataLayoutAttrName, DataLayoutSpecAttr::get(context, {width}));
}

}  // namespace

Status lowerToLlvm(ModuleOp module, const PipelineOptions& options) {
  Messages messages(module);
  setIndexBits(module, options.indexBits);
  const Stage* first = std::begin(kStages);
  if (!options.from.empty()) first = std::ranges::find(kStages, options.from, &Stage::name);
  for (const Stage& stage : std::span(first, std::end(kStages))) {
    if (options.onStage) options.onStage(stage.name);
    PassManager passes(module.getContext());
    stage.add(passes, options);
    // What a stage leaves is verified, not what each pass of it does: on large networks the verifier took as
    // long as the passes.
    passes.enableVerifier(false);
    if (options.onPass) passes.addInstrumentation(std::make_unique<PassRecorder>(options));
    if (failed(passes.run(module)) || failed(verify(module))) return messages.failure(stage.name);
    if (options.onIr && !messages.withoutErrors([&] { options.onIr(stage.name, module); }))
      return messages.failure(stage.name);
    if (stage.name == "kernels" && options.device) takeDeviceModule(module, options);
    if (stage.name == options.last) break;
  }
  return {};
}

Status joinToLlvm(ModuleOp module, unsigned profile, const std::function<void(ModuleOp module)>& onJoined) {
  Messages messages(module);
  PassManager join(module.getContext()), lower(module.getContext());
  join.addPass(createJoinPartitionsPass(profile));
  addLowerToLlvm(lower);
  if (failed(join.run(module)) || !messages.withoutErrors([&] { onJoined(module); }))
    return messages.failure("joining partitions");
  lower.enableVerifier(false);
  if (failed(lower.run(module)) || failed(verify(module))) return messages.failure("joined partitions");
  return {};
}

schedule::VectorizeOptions vectorsFor(const std::vector<std::string>& features) {
  const auto has = [&](const char* name) { return llvm::is_contained(features, name); };
  // AVX-512, AArch64 and RISC-V have 32 registers, AVX has 16. Six rows leave the addresses of all of them in
  // registers.
  if (has("+avx512f")) return {.registerBits = 512, .accumulators = 24, .across = 4, .masks = true};
  if (has("+avx")) return {.registerBits = 256, .accumulators = 12};
  if (has("+neon")) return {.registerBits = 128, .accumulators = 24};
  // The scalar registers of Cortex-M, half of them for sums.
  if (has("+thumb2")) return {.registerBits = 128, .accumulators = 4};
  if (has("+v")) return {.registerBits = 128, .accumulators = 24, .masks = true};
  return {.registerBits = 128, .accumulators = 12};
}

schedule::DotProducts dotsFor(const std::vector<std::string>& features) {
  const auto has = [&](const char* name) { return llvm::is_contained(features, name); };
  return {.bytes = has("+avx512vnni"), .bf16 = has("+avx512bf16")};
}

}  // namespace kiln::codegen
