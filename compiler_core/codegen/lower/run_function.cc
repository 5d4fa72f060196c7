#include "compiler_core/codegen/lower/run_function.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/schedule/lower/lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::codegen {

using namespace mlir;

std::string symbolFor(DictionaryAttr kernel, const Unit& unit, unsigned index) {
  std::string name = "kiln_" + (unit.profile ? "p" + std::to_string(unit.profile) + "_" : "") +
                     (unit.partition ? "s" + std::to_string(*unit.partition) + "_" : "") + "k" +
                     std::to_string(index);
  if (auto nodes = kernel ? ir::kernel::kNodes.in(kernel) : ArrayAttr())
    for (Attribute node : nodes) {
      if (name.size() > 80) break;
      name += '_';
      for (char c : cast<StringAttr>(node).getValue().take_front(48)) name += llvm::isAlnum(c) ? c : '_';
    }
  return name;
}

SmallVector<scf::ForallOp> parallelLoops(func::FuncOp main) {
  SmallVector<scf::ForallOp> loops;
  main.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
    loops.push_back(loop);
    return WalkResult::skip();
  });
  return loops;
}

RunFunction::RunFunction(func::FuncOp main, const Unit& unit) : main_(main), unit_(unit) {
  addShapes();
  // The buffers follow until everything is replaced.
  auto pointer = LLVM::LLVMPointerType::get(main.getContext());
  for (unsigned i = 0; i < kPointers; ++i) (void)main.insertArgument(i, pointer, {}, main.getLoc());
  for (unsigned i = 0; i < kPointers; ++i) pointers_[i] = main.getArgument(i);
}

// @kiln_shapes_<unit>, which stores the dimensions of the outputs.
void RunFunction::addShapes() {
  const Location loc = main_.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(main_.getContext());
  OpBuilder b(main_);
  shapes_ =
      func::FuncOp::create(b, loc, "kiln_shapes_" + unit_.text(), b.getFunctionType({pointer, pointer}, {}));
  // In output order, which the arguments need not have.
  SmallVector<ir::Shape> outputs;
  for (BlockArgument argument : main_.getArguments())
    if (auto index = ir::OutputAttr::get(main_, argument.getArgNumber())) {
      outputs.resize(std::max<std::size_t>(outputs.size(), index.getInt() + 1));
      ir::Shape& shape = outputs[index.getInt()];
      shape = ir::toShape(cast<MemRefType>(argument.getType()).getShape());
      if (auto map = ir::ShapeAttr::get(main_, argument.getArgNumber()))
        for (auto [dim, expression] : llvm::zip_equal(shape, map.getValue().getResults()))
          dim = ir::Dim(expression);
    }
  Block* entry = shapes_.addEntryBlock();
  b.setInsertionPointToStart(entry);
  std::int32_t at = 0;
  for (const ir::Shape& output : outputs)
    for (const ir::Dim& dim : output) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), entry->getArgument(1),
                                       ArrayRef<LLVM::GEPArg>{at++});
      LLVM::StoreOp::create(b, loc, extentValue(b, loc, dim, main_, entry->getArgument(0)), slot);
    }
  func::ReturnOp::create(b, loc);
}

LogicalResult RunFunction::finish(Operation* top) {
  const Location loc = main_.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(main_.getContext());
  Buffers buffers(main_, pointers_, Value());
  OpBuilder b(main_);
  b.setInsertionPointAfter(top);
  for (BlockArgument argument : llvm::drop_begin(main_.getArguments(), kPointers)) {
    if (argument.use_empty()) continue;
    Value made = buffers.argument(b, loc, argument.getArgNumber());
    if (!made) return main_.emitError("an argument is neither input, weight, output nor symbol");
    argument.replaceAllUsesWith(made);
  }
  SmallVector<memref::AllocOp> allocs;
  main_.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  for (memref::AllocOp alloc : allocs) {
    auto offset = ir::OffsetAttr::get(alloc);
    if (!offset) return alloc.emitError("not planned: run kiln-plan-memory first");
    OpBuilder at(alloc);
    alloc.replaceAllUsesWith(buffers.planned(at, alloc.getLoc(), alloc.getType(), alloc.getDynamicSizes(),
                                             /*inScratch=*/false, offset.getInt()));
    alloc->erase();
  }

  llvm::BitVector drop(main_.getNumArguments(), false);
  drop.set(kPointers, main_.getNumArguments());
  if (failed(main_.eraseArguments(drop))) return failure();
  main_.setType(b.getFunctionType(main_.getArgumentTypes(), b.getI32Type()));
  auto terminator = cast<func::ReturnOp>(main_.front().getTerminator());
  b.setInsertionPoint(terminator);
  // A program of symbolic shape knows its results' dimensions itself.
  if (terminator.getNumOperands() == 0)
    func::CallOp::create(b, loc, shapes_, ValueRange{pointers_[kSymbols], pointers_[kOutputDims]});
  for (auto [i, size] : llvm::enumerate(terminator.getOperands())) {
    Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), pointers_[kOutputDims],
                                     ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(i)});
    LLVM::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), size), slot);
  }
  Value ok = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(KILN_RUN_OK));
  func::ReturnOp::create(b, loc, ok);
  terminator.erase();
  main_.setName("kiln_run_" + unit_.text());
  return success();
}

}  // namespace kiln::codegen
