#include "compiler_core/codegen/lower/buffers.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace kiln::codegen {

using namespace mlir;

namespace {

bool isGiven(func::FuncOp main, unsigned symbol) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto given = ir::SymbolAttr::get(main, i); given && given.getInt() == symbol) return true;
  return false;
}

// Callers give sizes, which the guards have seen to be multiples.
Value readSymbol(OpBuilder& b, Location loc, func::FuncOp main, Value symbols, std::int64_t symbol) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), symbols,
                                   ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(symbol)});
  Value size = LLVM::LoadOp::create(b, loc, b.getI64Type(), slot);
  const std::int64_t multiple = ir::multipleOf(main->getParentOfType<ModuleOp>(), symbol);
  if (multiple == 1) return size;
  Value divisor = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(multiple));
  return LLVM::SDivOp::create(b, loc, size, divisor);
}

}  // namespace

Value extentValue(OpBuilder& b, Location loc, const ir::Dim& dim, func::FuncOp main, Value symbols) {
  const auto profile = ir::profileOf(main);
  const auto named = ir::symbolsOf(main->getParentOfType<ModuleOp>());
  // A bound names earlier symbols only.
  SmallVector<AffineExpr> largest;
  for (unsigned i = 0; i < profile.size(); ++i) {
    if (isGiven(main, i))
      largest.push_back(b.getAffineSymbolExpr(i));
    else if (i < named.size() && !(named[i].bound == ir::Dim(0)))
      largest.push_back(named[i].bound.expression(b.getContext()).replaceSymbols(largest));
    else
      largest.push_back(b.getAffineConstantExpr(profile[i].max));
  }
  const ir::Dim known(dim.expression(b.getContext()).replaceSymbols(largest));
  if (known.isStatic()) return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(known.value()));
  const AffineExpr expression = known.expression(b.getContext());
  SmallVector<Value> values;
  for (const unsigned symbol : ir::symbolsIn(expression)) {
    values.resize(symbol + 1);
    values.back() =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), readSymbol(b, loc, main, symbols, symbol));
  }
  return arith::IndexCastOp::create(b, loc, b.getI64Type(),
                                    affine::expandAffineExpr(b, loc, expression, {}, values));
}

Buffers::Buffers(func::FuncOp main, std::array<Value, kPointers> pointers, Value scratch)
    : main_(main),
      options_(main.getContext(), DataLayout::closest(main)),
      converter_(main.getContext(), options_),
      pointers_(pointers),
      scratch_(scratch) {}

Value Buffers::pointerTo(OpBuilder& b, Location loc, unsigned index) {
  for (auto [number, table] : {std::pair{ir::InputAttr::get(main_, index), kInputs},
                               {ir::WeightAttr::get(main_, index), kWeights},
                               {ir::OutputAttr::get(main_, index), kOutputs}}) {
    if (!number) continue;
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, pointers_[table],
                                     ArrayRef<LLVM::GEPArg>{static_cast<std::int32_t>(number.getInt())});
    return LLVM::LoadOp::create(b, loc, pointer, slot);
  }
  return {};
}

Value Buffers::argument(OpBuilder& b, Location loc, unsigned index) {
  if (auto symbol = ir::SymbolAttr::get(main_, index))
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      readSymbol(b, loc, main_, pointers_[kSymbols], symbol.getInt()));
  Value pointer = pointerTo(b, loc, index);
  if (!pointer) return {};
  auto type = cast<MemRefType>(main_.getArgument(index).getType());
  SmallVector<Value> sizes;
  if (auto shape = ir::ShapeAttr::get(main_, index))
    for (unsigned i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        sizes.push_back(
            extentValue(b, loc, ir::Dim(shape.getValue().getResult(i)), main_, pointers_[kSymbols]));
  return buffer(b, loc, type, sizes, pointer);
}

Value Buffers::piece(OpBuilder& b, Location loc, unsigned index, MemRefType type, std::int64_t bytes) {
  Value pointer = pointerTo(b, loc, index);
  if (!pointer) return {};
  Value at = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(bytes));
  return buffer(
      b, loc, type, {},
      LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{at}));
}

Value Buffers::planned(OpBuilder& b, Location loc, MemRefType type, ValueRange sizes, bool inScratch,
                       std::int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value at = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(offset));
  Value base = inScratch ? scratch_ : pointers_[kArena];
  SmallVector<Value> wide;
  for (Value size : sizes) wide.push_back(arith::IndexCastOp::create(b, loc, b.getI64Type(), size));
  return buffer(b, loc, type, wide,
                LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{at}));
}

Value Buffers::buffer(OpBuilder& b, Location loc, MemRefType type, ArrayRef<Value> sizes, Value pointer) {
  return bufferAt(b, loc, type, sizes, pointer, converter_);
}

Value bufferAt(OpBuilder& b, Location loc, MemRefType type, ArrayRef<Value> sizes, Value pointer,
               const LLVMTypeConverter& converter) {
  if (type.hasStaticShape()) {
    Value descriptor = MemRefDescriptor::fromStaticShape(b, loc, converter, type, pointer);
    return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
  }
  auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, pointer);
  descriptor.setAlignedPtr(b, loc, pointer);
  descriptor.setConstantOffset(b, loc, 0);
  Value stride = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
  for (unsigned i = static_cast<unsigned>(type.getRank()); i-- > 0;) {
    Value size;
    if (type.isDynamicDim(i)) {
      size = sizes.back();
      sizes = sizes.drop_back();
    } else {
      size = LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(type.getDimSize(i)));
    }
    descriptor.setSize(b, loc, i, size);
    descriptor.setStride(b, loc, i, stride);
    if (i > 0) stride = LLVM::MulOp::create(b, loc, stride, size);
  }
  return UnrealizedConversionCastOp::create(b, loc, type, Value(descriptor)).getResult(0);
}

}  // namespace kiln::codegen
