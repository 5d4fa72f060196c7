#include "compiler_core/memory/library_call.h"

#include "compiler_core/ir/ir.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"

namespace kiln::memory {
namespace {

using namespace mlir;

// The library takes dense, row-major buffers; an offset does not matter.
bool isDense(MemRefType type) {
  return type.getLayout().isIdentity() || memref::isStaticShapeAndContiguousRowMajor(type);
}

struct LibraryCallModel
    : bufferization::DstBufferizableOpInterfaceExternalModel<LibraryCallModel, ir::CallOp> {
  bool bufferizesToMemoryRead(Operation* op, OpOperand& operand, const bufferization::AnalysisState&) const {
    auto call = cast<ir::CallOp>(op);
    const auto position = static_cast<std::int64_t>(operand.getOperandNumber()) -
                          static_cast<std::int64_t>(call.getInputs().size());
    return position < 0 || llvm::is_contained(call.getReadsInit(), position);
  }

  LogicalResult bufferize(Operation* op, RewriterBase& rewriter,
                          const bufferization::BufferizationOptions& options,
                          bufferization::BufferizationState& state) const {
    auto call = cast<ir::CallOp>(op);
    const Location loc = op->getLoc();
    const std::size_t inputs = call.getInputs().size();
    SmallVector<Value> buffers, dense;
    for (OpOperand& operand : op->getOpOperands()) {
      auto buffer = bufferization::getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer)) return failure();
      buffers.push_back(*buffer);
      dense.push_back(*buffer);
      auto type = cast<MemRefType>(buffer->getType());
      if (isDense(type)) continue;
      // A view with gaps goes through a buffer of its own.
      SmallVector<Value> extents;
      for (std::int64_t i = 0; i < type.getRank(); ++i)
        if (type.isDynamicDim(i)) extents.push_back(memref::DimOp::create(rewriter, loc, *buffer, i));
      auto copy = options.createAlloc(rewriter, loc, MemRefType::get(type.getShape(), type.getElementType()),
                                      extents);
      if (failed(copy)) return failure();
      dense.back() = *copy;
      if (bufferizesToMemoryRead(op, operand, bufferization::AnalysisState(options)) &&
          failed(options.createMemCpy(rewriter, loc, *buffer, *copy)))
        return failure();
    }
    ir::CallOp::create(rewriter, loc, TypeRange(), call.getCallee(), ValueRange(dense).take_front(inputs),
                       ValueRange(dense).drop_front(inputs), call.getParameters(), call.getReadsInit());
    for (std::size_t i = inputs; i < buffers.size(); ++i)
      if (dense[i] != buffers[i] && failed(options.createMemCpy(rewriter, loc, dense[i], buffers[i])))
        return failure();
    bufferization::replaceOpWithBufferizedValues(rewriter, op, ArrayRef(buffers).drop_front(inputs));
    return success();
  }
};

}  // namespace

void registerLibraryCallBufferization(DialectRegistry& registry) {
  registry.addExtension(+[](MLIRContext* context, ir::KilnDialect*) {
    ir::CallOp::attachInterface<LibraryCallModel>(*context);
  });
}

}  // namespace kiln::memory
