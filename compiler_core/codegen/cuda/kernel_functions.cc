#include "compiler_core/codegen/cuda/kernel_functions.h"

#include <fmt/format.h>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/cuda/passes.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace kiln::codegen {

using namespace mlir;

namespace {

constexpr std::int64_t kWarp = 32, kMaxThreads = 1024;

std::uint64_t roundUp(std::uint64_t bytes) {
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

std::uint64_t bytesOf(MemRefType type) {
  const unsigned bits = type.getElementTypeBitWidth();
  return static_cast<std::uint64_t>(type.getNumElements()) * ((bits + 7) / 8);
}

bool isDense(MemRefType type) {
  return type.hasStaticShape() && type.getLayout().isIdentity();
}

std::uint64_t sharedBytes(gpu::GPUFuncOp kernel) {
  std::uint64_t total = 0;
  for (BlockArgument buffer : kernel.getWorkgroupAttributions())
    total = roundUp(total) + bytesOf(cast<MemRefType>(buffer.getType()));
  return total;
}

// Which words of its arguments are addresses.
std::string parametersOf(gpu::GPUFuncOp kernel) {
  std::string letters;
  for (const Type type : kernel.getArgumentTypes())
    letters += isa<MemRefType, LLVM::LLVMPointerType>(type) ? KILN_EMULATED_POINTER : KILN_EMULATED_VALUE;
  return letters;
}

std::optional<std::uint32_t> threadsOf(gpu::GPUFuncOp kernel) {
  const auto threads = ir::ThreadsAttr::get(kernel);
  if (!threads || threads.getInt() <= 0 || threads.getInt() > kMaxThreads || threads.getInt() % kWarp != 0)
    return std::nullopt;
  return static_cast<std::uint32_t>(threads.getInt());
}

// The kinds whose operands are whole 32-bit registers and whose sums are f32.
std::optional<MmaKind> mmaKind(NVVM::MmaOp op) {
  const auto shape = op.getShape();
  if (shape.getM() != 16 || shape.getN() != 8 || op.getB1Op() || op.getIntOverflowBehavior() ||
      op.getLayoutA() != NVVM::MMALayout::row || op.getLayoutB() != NVVM::MMALayout::col ||
      op.getOperandA().size() != 4 || op.getOperandB().size() != 2 || op.getOperandC().size() != 4 ||
      op.accumPtxType() != NVVM::MMATypes::f32 || op.resultPtxType() != NVVM::MMATypes::f32 ||
      op.getMultiplicandAPtxType() != op.getMultiplicandBPtxType() || !op.getMultiplicandAPtxType())
    return std::nullopt;
  switch (*op.getMultiplicandAPtxType()) {
    case NVVM::MMATypes::f16:
      return shape.getK() == 16 ? std::optional(MmaKind::kF16) : std::nullopt;
    case NVVM::MMATypes::bf16:
      return shape.getK() == 16 ? std::optional(MmaKind::kBf16) : std::nullopt;
    case NVVM::MMATypes::tf32:
      return shape.getK() == 8 ? std::optional(MmaKind::kTf32) : std::nullopt;
    default:
      return std::nullopt;
  }
}

class Lowerer {
 public:
  Lowerer(KernelLowering& lowering, gpu::GPUFuncOp kernel, std::uint32_t threads)
      : lowering_(lowering),
        kernel_(kernel),
        threads_(threads),
        options_(kernel.getContext()),
        converter_(kernel.getContext(), options_) {
    converter_.addTypeAttributeConversion([this](BaseMemRefType, gpu::AddressSpaceAttr space) {
      return IntegerAttr::get(IntegerType::get(space.getContext(), 64), numberOf(space));
    });
  }

  LogicalResult run(OpBuilder& module) {
    if (kernel_.getNumPrivateAttributions() != 0)
      return kernel_.emitError(
          "a kernel's private buffers would be local memory, which devices are not given");
    func::FuncOp function = lowering_.declare(module, kernel_, threads_);
    module.insert(function);
    OpBuilder entry = OpBuilder::atBlockEnd(&function.front());
    IRMapping map;
    if (failed(mapArguments(entry, map))) return failure();
    if (!kernel_.getBody().hasOneBlock())
      return kernel_.emitError("expected structured control flow: one block");
    for (Operation& op : kernel_.getBody().front()) entry.clone(op, map);
    SmallVector<Operation*> ops;
    function.walk([&](Operation* op) {
      if (isa_and_nonnull<gpu::GPUDialect, NVVM::NVVMDialect>(op->getDialect())) ops.push_back(op);
    });
    for (Operation* op : ops)
      if (failed(lower(op))) return failure();
    setSpaces(function);
    return success();
  }

 private:
  std::int64_t numberOf(gpu::AddressSpaceAttr space) const {
    return space.getValue() == gpu::AddressSpace::Workgroup ? lowering_.sharedSpace() : 0;
  }

  // A dense buffer at `pointer`.
  Value buffer(OpBuilder& b, MemRefType type, Value pointer) {
    Value descriptor = MemRefDescriptor::fromStaticShape(b, kernel_.getLoc(), converter_, type, pointer);
    auto cast = UnrealizedConversionCastOp::create(b, kernel_.getLoc(), type, descriptor);
    return cast.getResult(0);
  }

  LogicalResult mapArguments(OpBuilder& b, IRMapping& map) {
    const Location loc = kernel_.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    for (unsigned i = 0; i < kernel_.getNumArguments(); ++i) {
      BlockArgument argument = kernel_.getArgument(i);
      const Type type = argument.getType();
      if (auto memref = dyn_cast<MemRefType>(type); memref && isDense(memref)) {
        map.map(argument, buffer(b, memref, lowering_.parameter(b, loc, i, pointer)));
      } else if (type.isIndex()) {
        Value word = lowering_.parameter(b, loc, i, b.getI64Type());
        map.map(argument, arith::IndexCastOp::create(b, loc, type, word).getResult());
      } else if (isa<LLVM::LLVMPointerType>(type) ||
                 (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64)) {
        map.map(argument, lowering_.parameter(b, loc, i, type));
      } else {
        return kernel_.emitError() << "parameter " << i << " of type " << type << " is not one word";
      }
    }
    const std::uint64_t bytes = sharedBytes(kernel_);
    if (bytes == 0) return success();
    Value base = lowering_.shared(b, loc, bytes);
    std::uint64_t at = 0;
    for (BlockArgument attribution : kernel_.getWorkgroupAttributions()) {
      auto type = cast<MemRefType>(attribution.getType());
      if (!isDense(type)) return kernel_.emitError("shared memory needs a static shape");
      at = roundUp(at);
      Value offset = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(static_cast<std::int64_t>(at)));
      Value place =
          LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
      map.map(attribution, buffer(b, type, place));
      at += bytesOf(type);
    }
    return success();
  }

  Value index(OpBuilder& b, Location loc, Value number) {
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number);
  }

  Value constant(OpBuilder& b, Location loc, std::int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }

  void replace(Operation* op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  LogicalResult lower(Operation* op) {
    OpBuilder b(op);
    const Location loc = op->getLoc();
    auto thread = [&] { return index(b, loc, lowering_.threadId(b, loc)); };
    if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
      replace(op, id.getDimension() == gpu::Dimension::x ? thread() : constant(b, loc, 0));
    } else if (auto id = dyn_cast<gpu::BlockIdOp>(op)) {
      replace(op, index(b, loc, lowering_.blockId(b, loc, id.getDimension())));
    } else if (auto dim = dyn_cast<gpu::BlockDimOp>(op)) {
      replace(op, constant(b, loc, dim.getDimension() == gpu::Dimension::x ? threads_ : 1));
    } else if (isa<gpu::LaneIdOp>(op)) {
      Value lane = arith::RemUIOp::create(b, loc, thread(), constant(b, loc, kWarp));
      replace(op, lane);
    } else if (isa<gpu::SubgroupIdOp>(op)) {
      Value warp = arith::DivUIOp::create(b, loc, thread(), constant(b, loc, kWarp));
      replace(op, warp);
    } else if (isa<gpu::BarrierOp>(op)) {
      lowering_.barrier(b, loc);
      op->erase();
    } else if (isa<gpu::ReturnOp>(op)) {
      func::ReturnOp::create(b, loc);
      op->erase();
    } else if (auto mma = dyn_cast<NVVM::MmaOp>(op)) {
      const auto kind = mmaKind(mma);
      if (!kind) return op->emitError("this shape of tensor core step is not served");
      Value result = lowering_.mma(b, mma, *kind);
      if (result != mma.getResult()) replace(op, result);
    } else {
      return op->emitError() << "kernels cannot have " << op->getName();
    }
    return success();
  }

  // gpu's memory spaces become LLVM's numbers; a cast that then changes nothing goes.
  void setSpaces(func::FuncOp function) {
    AttrTypeReplacer replacer;
    replacer.addReplacement([this](BaseMemRefType type) -> std::optional<Type> {
      const auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
      auto ranked = dyn_cast<MemRefType>(type);
      if (!space || !ranked) return std::nullopt;
      const std::int64_t number = numberOf(space);
      const Attribute attribute =
          number == 0 ? Attribute() : IntegerAttr::get(IntegerType::get(type.getContext(), 64), number);
      return MemRefType::get(ranked.getShape(), ranked.getElementType(), ranked.getLayout(), attribute);
    });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    function.walk([](memref::MemorySpaceCastOp cast) {
      if (cast.getSource().getType() != cast.getType()) return;
      cast.getResult().replaceAllUsesWith(cast.getSource());
      cast.erase();
    });
  }

  KernelLowering& lowering_;
  gpu::GPUFuncOp kernel_;
  std::uint32_t threads_;
  LowerToLLVMOptions options_;
  LLVMTypeConverter converter_;
};

}  // namespace

LogicalResult lowerKernels(ModuleOp module, KernelLowering& lowering) {
  SmallVector<gpu::GPUModuleOp> devices(module.getOps<gpu::GPUModuleOp>());
  if (devices.size() != 1) return module.emitError("expected one gpu.module");
  gpu::GPUModuleOp device = devices.front();
  OpBuilder b(device);
  for (Operation& op : llvm::make_early_inc_range(*device.getBody())) {
    if (isa<memref::GlobalOp>(op)) {
      op.moveBefore(device);
      continue;
    }
    auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
    if (!kernel) return op.emitError("a gpu.module holds kernels and constants");
    const auto threads = threadsOf(kernel);
    if (!threads)
      return kernel.emitError() << "expected " << ir::ThreadsAttr::kName << ", a multiple of 32 up to 1024";
    if (failed(Lowerer(lowering, kernel, *threads).run(b))) return failure();
  }
  device.erase();
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  return success();
}

Result<std::vector<MappedKernel>> mappedKernels(ModuleOp module) {
  SmallVector<gpu::GPUModuleOp> devices(module.getOps<gpu::GPUModuleOp>());
  if (devices.size() != 1) return fail(Code::kInternal, "expected one gpu.module of kernels");
  std::vector<MappedKernel> kernels;
  for (gpu::GPUFuncOp kernel : devices.front().getOps<gpu::GPUFuncOp>()) {
    const auto threads = threadsOf(kernel);
    if (!threads)
      return fail(Code::kInternal, fmt::format("kernel {}: {} is not a multiple of 32 up to 1024",
                                               kernel.getName().str(), ir::ThreadsAttr::kName.str()));
    kernels.push_back({kernel.getName().str(), *threads, static_cast<std::uint32_t>(sharedBytes(kernel)),
                       parametersOf(kernel)});
  }
  return kernels;
}

}  // namespace kiln::codegen
