#include <cstddef>

#include "compiler_core/codegen/cuda/kernel_functions.h"
#include "compiler_core/codegen/cuda/passes.h"
#include "compiler_core/runtime/emulated/emulated_abi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_LOWERTOEMULATIONPASS
#include "compiler_core/codegen/cuda/passes.h.inc"

namespace {

using namespace mlir;

static_assert(kSharedAlignment == KILN_EMULATED_SHARED_ALIGNMENT);

class EmulatedLowering : public KernelLowering {
 public:
  func::FuncOp declare(OpBuilder& b, gpu::GPUFuncOp kernel, std::uint32_t) override {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    OpBuilder detached(b.getContext());
    function_ = func::FuncOp::create(detached, kernel.getLoc(), kernel.getName(),
                                     b.getFunctionType({pointer, pointer}, {}));
    function_.addEntryBlock();
    collectiveInputs_ = collectiveOutputs_ = {};
    return function_;
  }

  // Parameters are words in memory.
  Value parameter(OpBuilder& b, Location loc, unsigned index, Type type) override {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value place = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), function_.getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(index)});
    if (isa<LLVM::LLVMPointerType>(type)) return LLVM::LoadOp::create(b, loc, type, place);
    Value word = LLVM::LoadOp::create(b, loc, b.getI64Type(), place);
    auto bits = b.getIntegerType(type.getIntOrFloatBitWidth());
    if (bits.getWidth() < 64) word = LLVM::TruncOp::create(b, loc, bits, word);
    return type == bits ? word : LLVM::BitcastOp::create(b, loc, type, word).getResult();
  }

  Value shared(OpBuilder& b, Location loc, std::uint64_t) override {
    return field(b, loc, offsetof(kiln_emulated_thread, shared), LLVM::LLVMPointerType::get(b.getContext()));
  }

  unsigned sharedSpace() const override { return 0; }

  Value threadId(OpBuilder& b, Location loc) override {
    return field(b, loc, offsetof(kiln_emulated_thread, thread), b.getI32Type());
  }

  Value blockId(OpBuilder& b, Location loc, gpu::Dimension dimension) override {
    constexpr std::size_t kAt[] = {offsetof(kiln_emulated_thread, block_x),
                                   offsetof(kiln_emulated_thread, block_y),
                                   offsetof(kiln_emulated_thread, block_z)};
    return field(b, loc, kAt[static_cast<unsigned>(dimension)], b.getI32Type());
  }

  void barrier(OpBuilder& b, Location loc) override {
    call(b, loc, offsetof(kiln_emulated_thread, barrier), {});
  }

  Value mma(OpBuilder& b, NVVM::MmaOp op, MmaKind kind) override {
    const Location loc = op.getLoc();
    if (!collectiveInputs_) {
      collectiveInputs_ = registers(b, loc, KILN_COLLECTIVE_MMA_INPUTS);
      collectiveOutputs_ = registers(b, loc, KILN_COLLECTIVE_MMA_OUTPUTS);
    }
    const Type word = b.getI32Type();
    std::int32_t at = 0;
    for (Value operand : op.getOperands()) {
      Value bits =
          operand.getType() == word ? operand : LLVM::BitcastOp::create(b, loc, word, operand).getResult();
      LLVM::StoreOp::create(b, loc, bits, wordOf(b, loc, collectiveInputs_, at++));
    }
    constexpr std::uint32_t kKinds[] = {KILN_COLLECTIVE_MMA_F16_M16N8K16, KILN_COLLECTIVE_MMA_BF16_M16N8K16,
                                        KILN_COLLECTIVE_MMA_TF32_M16N8K8};
    Value number = LLVM::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<std::int32_t>(kKinds[static_cast<unsigned>(kind)])));
    call(b, loc, offsetof(kiln_emulated_thread, collective), {number, collectiveInputs_, collectiveOutputs_});
    Value result = LLVM::PoisonOp::create(b, loc, op.getType());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(KILN_COLLECTIVE_MMA_OUTPUTS); ++i) {
      Value value = LLVM::LoadOp::create(b, loc, b.getF32Type(), wordOf(b, loc, collectiveOutputs_, i));
      result = LLVM::InsertValueOp::create(b, loc, result, value, i);
    }
    return result;
  }

 private:
  // A field of the thread. It never changes, so it is read once, before anything that may write memory.
  Value field(OpBuilder& b, Location loc, std::size_t offset, Type type) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function_.front());
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value place = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), function_.getArgument(1),
                                      ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(offset)});
    return LLVM::LoadOp::create(b, loc, type, place);
  }

  // A call through the function pointer at `offset`, with the thread in front.
  void call(OpBuilder& b, Location loc, std::size_t offset, ArrayRef<Value> operands) {
    SmallVector<Value> all{field(b, loc, offset, LLVM::LLVMPointerType::get(b.getContext())),
                           function_.getArgument(1)};
    all.append(operands.begin(), operands.end());
    SmallVector<Type> types;
    for (Value value : ArrayRef<Value>(all).drop_front()) types.push_back(value.getType());
    auto signature = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
    LLVM::CallOp::create(b, loc, signature, all);
  }

  // Room on the thread's own stack.
  Value registers(OpBuilder& b, Location loc, unsigned count) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function_.front());
    auto type = LLVM::LLVMArrayType::get(b.getI32Type(), count);
    Value one = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    return LLVM::AllocaOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), type, one);
  }

  Value wordOf(OpBuilder& b, Location loc, Value base, std::int32_t index) {
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI32Type(), base, ArrayRef<LLVM::GEPArg>{index});
  }

  func::FuncOp function_;
  Value collectiveInputs_, collectiveOutputs_;
};

struct LowerToEmulationPass : impl::LowerToEmulationPassBase<LowerToEmulationPass> {
  void runOnOperation() override {
    EmulatedLowering lowering;
    if (failed(lowerKernels(getOperation(), lowering))) signalPassFailure();
  }
};

}  // namespace

}  // namespace kiln::codegen
