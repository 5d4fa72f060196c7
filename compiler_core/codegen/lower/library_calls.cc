#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/ir.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace kiln::codegen {

#define GEN_PASS_DEF_LIBRARYCALLSPASS
#include "compiler_core/codegen/lower/passes.h.inc"

namespace {

using namespace mlir;

struct LibraryCallsPass : impl::LibraryCallsPassBase<LibraryCallsPass> {
  void lower(ir::CallOp call, const LLVMTypeConverter& converter) {
    OpBuilder b(call);
    const Location loc = call.getLoc();
    auto number = [&](std::int64_t value) {
      return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)).getResult();
    };
    SmallVector<Value> arguments;
    for (Value operand : call->getOperands()) {
      auto type = cast<MemRefType>(operand.getType());
      MemRefDescriptor descriptor(
          UnrealizedConversionCastOp::create(b, loc, converter.convertType(type), operand).getResult(0));
      arguments.push_back(descriptor.bufferPtr(b, loc, converter, type));
      for (std::int64_t i = 0; i < type.getRank(); ++i)
        arguments.push_back(type.isDynamicDim(i) ? descriptor.size(b, loc, static_cast<unsigned>(i))
                                                 : number(type.getDimSize(i)));
    }
    for (std::int64_t parameter : call.getParameters()) arguments.push_back(number(parameter));
    SmallVector<Type> types(ValueRange(arguments).getTypes());
    auto signature = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), types);
    ModuleOp module = getOperation();
    if (!module.lookupSymbol(call.getCallee())) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      LLVM::LLVMFuncOp::create(top, module.getLoc(), call.getCallee(), signature);
    }
    LLVM::CallOp::create(b, loc, signature, call.getCallee(), arguments);
    call.erase();
  }

  void runOnOperation() override {
    const LowerToLLVMOptions options(&getContext(), DataLayout(getOperation()));
    const LLVMTypeConverter converter(&getContext(), options);
    SmallVector<ir::CallOp> calls;
    getOperation().walk([&](ir::CallOp call) { calls.push_back(call); });
    for (ir::CallOp call : calls) {
      if (call.getNumResults() != 0) {
        call.emitError("expected buffers");
        return signalPassFailure();
      }
      lower(call, converter);
    }
  }
};

}  // namespace

}  // namespace kiln::codegen
