#include "compiler_core/codegen/cuda/kernel_functions.h"
#include "compiler_core/codegen/cuda/passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_LOWERTONVVMPASS
#include "compiler_core/codegen/cuda/passes.h.inc"

namespace {

using namespace mlir;

constexpr unsigned kSharedSpace = 3;  // NVPTX

class DeviceLowering : public KernelLowering {
 public:
  func::FuncOp declare(OpBuilder& b, gpu::GPUFuncOp kernel, std::uint32_t threads) override {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    SmallVector<Type> types;
    for (const Type type : kernel.getArgumentTypes())
      types.push_back(isa<MemRefType>(type) ? Type(pointer) : type.isIndex() ? b.getI64Type() : type);
    OpBuilder detached(b.getContext());
    function_ =
        func::FuncOp::create(detached, kernel.getLoc(), kernel.getName(), b.getFunctionType(types, {}));
    function_.addEntryBlock();
    // What is known of a pointer, such as that nothing else points there.
    for (unsigned i = 0; i < types.size(); ++i)
      if (DictionaryAttr known = kernel.getArgAttrDict(i)) function_.setArgAttrs(i, known);
    threads_ = threads;
    return function_;
  }

  Value parameter(OpBuilder&, Location, unsigned index, Type) override {
    return function_.getArgument(index);
  }

  Value shared(OpBuilder& b, Location loc, std::uint64_t bytes) override {
    OpBuilder module(function_);
    const std::string name = (function_.getName() + "_shared").str();
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes);
    auto global = LLVM::GlobalOp::create(module, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                         name, Attribute(), kSharedAlignment, kSharedSpace);
    return LLVM::AddressOfOp::create(b, loc, global);
  }

  unsigned sharedSpace() const override { return kSharedSpace; }

  Value threadId(OpBuilder& b, Location loc) override {
    auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, threads_);
    return NVVM::ThreadIdXOp::create(b, loc, b.getI32Type(), range);
  }

  Value blockId(OpBuilder& b, Location loc, gpu::Dimension dimension) override {
    switch (dimension) {
      case gpu::Dimension::x:
        return NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
      case gpu::Dimension::y:
        return NVVM::BlockIdYOp::create(b, loc, b.getI32Type());
      case gpu::Dimension::z:
        return NVVM::BlockIdZOp::create(b, loc, b.getI32Type());
    }
    llvm_unreachable("three dimensions");
  }

  void barrier(OpBuilder& b, Location loc) override { NVVM::Barrier0Op::create(b, loc); }

  Value mma(OpBuilder&, NVVM::MmaOp op, MmaKind) override { return op.getResult(); }

 private:
  func::FuncOp function_;
  std::uint32_t threads_ = 0;
};

struct LowerToNvvmPass : impl::LowerToNvvmPassBase<LowerToNvvmPass> {
  void runOnOperation() override {
    DeviceLowering lowering;
    if (failed(lowerKernels(getOperation(), lowering))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::codegen
