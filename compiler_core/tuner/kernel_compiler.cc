#include "compiler_core/tuner/kernel_compiler.h"

#include "compiler_core/codegen/cpu/codegen.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/codegen/vulkan/codegen.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/tuner/kernel_image.h"
#include "manifest/spec/target_device.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace kiln::tuner {

using namespace mlir;

namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 32;

tl::unexpected<Error> bad(const std::string& what) {
  return fail(Code::kInvalidArgument, "the planned kernel " + what +
                                          ", so it keeps its default; make the plan again with kiln-cc plan");
}

Result<KernelTensor> tensorOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) return bad("has an argument or result without a fixed shape");
  KernelTensor result;
  const Type element = tensor.getElementType();
  if (element.isF32())
    result.element = Element::kF32;
  else if (element.isF64())
    result.element = Element::kF64;
  else if (element.isInteger(1))
    result.element = Element::kI1;
  else if (element.isInteger(8))
    result.element = Element::kI8;
  else if (element.isInteger(16) || element.isF16() || element.isBF16())
    result.element = Element::kI16;
  else if (element.isInteger(32))
    result.element = Element::kI32;
  else if (element.isInteger(64))
    result.element = Element::kI64;
  else
    return bad("has elements of a type that programs do not store");
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.getShape())
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxElements)
      return bad("has a tensor that is too large");
  result.elements = static_cast<std::uint64_t>(elements);
  return result;
}

Result<KernelTensors> tensorsOf(ModuleOp module) {
  KernelTensors tensors;
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return bad("has no function @main of one block");
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    KILN_ASSIGN(KernelTensor tensor, tensorOf(main.getArgumentTypes()[i]));
    // Packed dot operands are no indices: they hold numbers.
    if (llvm::any_of(main.getArgument(i).getUsers(), [](Operation* user) { return ir::DotAttr::isOn(user); }))
      tensor.element = Element::kPackedDot;
    const bool isWeight = ir::WeightAttr::isOn(main, i);
    auto& list = isWeight ? tensors.weights : tensors.inputs;
    auto number = isWeight ? ir::WeightAttr::get(main, i) : ir::InputAttr::get(main, i);
    const auto source = isWeight ? ir::SourceAttr::get(main, i) : number;
    if (!number || number.getInt() != static_cast<std::int64_t>(list.size()) || source != number)
      return bad("does not number its arguments");
    list.push_back(tensor);
  }
  for (Type type : main.getResultTypes()) {
    KILN_ASSIGN(const KernelTensor tensor, tensorOf(type));
    tensors.outputs.push_back(tensor);
  }
  return tensors;
}

void loadDialects(MLIRContext& context) {
  context.loadDialect<affine::AffineDialect, arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                      ir::KilnDialect, linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
}

Result<OwningOpRef<ModuleOp>> parsed(const std::string& isolated, MLIRContext& context) {
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic& diagnostic) {
    messages += (messages.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(isolated, &context);
  if (!module) return bad("does not parse: " + messages);
  return module;
}

}  // namespace

struct KernelCompiler::State {
  Tools tools;
  Target target;
  bool contraction = true, tf32 = false;
  schedule::Reassociation order = schedule::Reassociation::kOff;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::string signature;
  schedule::Site site;
  Schedule standard;
  KernelTensors tensors;
  std::uint32_t outputDims = 0;
  unsigned kernels = 0;  // that kiln-tile found

  codegen::PipelineOptions options() {
    codegen::PipelineOptions options;
    options.from = "tiled";
    options.vectors = codegen::vectorsFor(target.features);
    options.vectors.contraction = contraction;
    options.schedules.environment = {target.name, target.features, contraction, tf32, order};
    if (target.device.empty()) return options;
    options.device = {target.device, contraction, tf32};
    if (isVulkan(target.name)) codegen::restrictToVulkan(*options.device);
    return options;
  }
  Status readTarget(schedule::Reassociation given);
  Status readMain();
  Status describe();
};

Status KernelCompiler::State::readTarget(schedule::Reassociation given) {
  const auto name = ir::TargetAttr::get(*module);
  const auto features = ir::FeaturesAttr::get(*module);
  const auto fused = ir::ContractionAttr::get(*module);
  if (!name || !features || !fused) return bad("does not say what it is for");
  KILN_ASSIGN(target, parseTarget(name.getValue()));
  if (!target.device.empty()) KILN_TRY(checkAssembler(target, tools));
  target.features.clear();
  for (Attribute feature : features)
    target.features.push_back(isa<StringAttr>(feature) ? cast<StringAttr>(feature).str() : "");
  contraction = fused.getValue();
  const auto reassociated = ir::ReassociationAttr::get(*module);
  if (reassociated && reassociated.getValue()) order = given;
  const auto coarse = ir::Tf32Attr::get(*module);
  tf32 = coarse && coarse.getValue();
  return {};
}

Status KernelCompiler::State::readMain() {
  KILN_ASSIGN(tensors, tensorsOf(*module));
  for (Type type : module->lookupSymbol<func::FuncOp>(ir::kMain).getResultTypes())
    outputDims += static_cast<std::uint32_t>(cast<RankedTensorType>(type).getRank());
  return {};
}

// The weights that @main has now, in order. Their sources are numbers of the isolated kernel's weights.
FailureOr<std::vector<KernelWeight>> weightsOf(func::FuncOp main, func::FuncOp isolated) {
  std::vector<KernelWeight> weights;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (!ir::WeightAttr::isOn(main, i)) continue;
    const auto source = ir::SourceAttr::require(main, i);
    if (failed(source)) return failure();
    KernelWeight& weight = weights.emplace_back(KernelWeight{source->getValue().getZExtValue()});
    const auto panels = ir::PanelsAttr::get(main, i);
    if (!panels) continue;
    weight.panelLanes = panels.getValue().getZExtValue();
    weight.transposed = ir::PermutationAttr::isOn(main, i) ? 1 : 0;
    if (const auto winograd = ir::WinogradAttr::get(main, i))
      weight.filterTransform = winograd.getValue().getZExtValue();
    for (unsigned j = 0; j < isolated.getNumArguments(); ++j)
      if (ir::WeightAttr::get(isolated, j) == *source) {
        const ArrayRef<std::int64_t> shape =
            cast<RankedTensorType>(isolated.getArgumentTypes()[j]).getShape();
        weight.columns = static_cast<std::uint64_t>(
            weight.transposed || weight.filterTransform ? shape.front() : shape.back());
      }
  }
  return weights;
}

// Tiles a copy, to see what kiln-tile makes of it.
Status KernelCompiler::State::describe() {
  OwningOpRef<ModuleOp> copy(module->clone());
  codegen::PipelineOptions wanted = options();
  wanted.last = "tiled";
  std::string again;
  wanted.schedules.onKernel = [&](const schedule::KernelFound& kernel) {
    ++kernels;
    again = kernel.signature;
    site = kernel.site;
    standard = kernel.standard;
  };
  KILN_TRY(codegen::lowerToLlvm(*copy, wanted));
  // A kernel of a program need not be one by itself: a fill may become part of what reads it. On a device all
  // do that can, and an entry of one would be of no kernel of the program: what reads nothing is not measured
  // there.
  auto isolated = module->lookupSymbol<func::FuncOp>("main");
  const bool isFill = !target.device.empty() && isolated && isolated.getNumArguments() == 0;
  if (kernels != 1 || again != signature || isFill)
    return fail(Code::kUnimplemented, "the planned kernel is not one kernel of the target " + target.name +
                                          " by itself, so it keeps its default");
  return {};
}

std::vector<std::uint64_t> weightBytesOf(const std::vector<std::string>& isolated) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::vector<std::uint64_t> all;
  for (const std::string& text : isolated) {
    all.push_back(0);
    const auto module = parsed(text, context);
    const auto tensors = module ? tensorsOf(**module) : tl::unexpected(module.error());
    if (!tensors) continue;
    for (const KernelTensor& weight : tensors->weights) all.back() += weight.bytes();
  }
  return all;
}

KernelCompiler::KernelCompiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelCompiler::KernelCompiler(KernelCompiler&& other) noexcept = default;
KernelCompiler::~KernelCompiler() = default;

Result<KernelCompiler> KernelCompiler::open(const std::string& isolated, const Tools& tools,
                                            schedule::Reassociation order) {
  auto state = std::make_unique<State>();
  state->tools = tools;
  loadDialects(state->context);
  KILN_ASSIGN(state->module, parsed(isolated, state->context));
  state->signature = schedule::signatureOf(isolated);
  KILN_TRY(state->readTarget(order));
  KILN_TRY(state->readMain());
  KILN_TRY(state->describe());
  return KernelCompiler(std::move(state));
}

const std::string& KernelCompiler::signature() const {
  return state_->signature;
}
const Target& KernelCompiler::target() const {
  return state_->target;
}
const schedule::Site& KernelCompiler::site() const {
  return state_->site;
}
const Schedule& KernelCompiler::standard() const {
  return state_->standard;
}
const KernelTensors& KernelCompiler::tensors() const {
  return state_->tensors;
}
double KernelCompiler::work() const {
  return schedule::workOf(state_->site.shape);
}

Result<KernelProgram> KernelCompiler::compile(const Schedule& schedule) const {
  KILN_TRY(schedule::check(schedule, state_->site));
  OwningOpRef<ModuleOp> copy(state_->module->clone());
  const schedule::ScheduleOverrides given = {
      {state_->signature,
       {std::string(schedule::templateOf(state_->site.shape.kind)), schedule, std::string()}}};
  codegen::ProgramTable table{.inputs = static_cast<std::uint32_t>(state_->tensors.inputs.size()),
                              .outputs = static_cast<std::uint32_t>(state_->tensors.outputs.size()),
                              .outputDims = state_->outputDims,
                              .profiles = {{"kiln_run_0", "kiln_shapes_0"}}};
  std::vector<KernelWeight> weights;
  codegen::PipelineOptions options = state_->options();
  options.schedules.given = &given;
  const bool onDevice = options.device.has_value();
  KernelImage image;
  if (onDevice) image.addTo(options);
  options.onIr = [&](std::string_view stage, ModuleOp module) {
    if (stage != "planned") return;
    auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
    const auto arena = ir::ArenaBytesAttr::require(main), scratch = ir::ScratchBytesAttr::require(main);
    auto found = weightsOf(main, state_->module->lookupSymbol<func::FuncOp>(ir::kMain));
    if (failed(arena) || failed(scratch) || failed(found)) return;  // and so does the stage
    table.profiles[0].arenaBytes = ir::unsignedOf(*arena);
    table.profiles[0].scratchBytes = ir::unsignedOf(*scratch);
    weights = *std::move(found);
    table.weights = static_cast<std::uint32_t>(weights.size());
  };
  KILN_TRY(codegen::lowerToLlvm(*copy, options));
  const std::string& lib = state_->tools.toolchainLib;
  const Target& target = state_->target;
  codegen::CpuOptions cpu;
  cpu.target = target;
  cpu.contraction = state_->contraction;
  cpu.bitcode = {lib + "/kmath.bc", lib + "/kkernels.bc"};
  cpu.builtinsArchive = lib + "/libkiln_builtins-" + target.triple.substr(0, target.triple.find('-')) + ".a";
  cpu.workDirectory = state_->tools.workDirectory;
  KILN_ASSIGN(codegen::CpuProgram program, codegen::generateCpuProgram(*copy, table, cpu));
  KernelProgram made{std::move(program.elf), table.profiles[0].arenaBytes, table.profiles[0].scratchBytes,
                     std::move(weights)};
  if (onDevice) KILN_TRY(image.generate(target, state_->contraction, state_->tools, made));
  return made;
}

}  // namespace kiln::tuner
