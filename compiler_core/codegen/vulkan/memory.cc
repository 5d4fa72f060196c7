#include <algorithm>

#include "compiler_core/codegen/vulkan/function.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/DataLayout.h"

namespace kiln::codegen {

namespace spirv = mlir::spirv;

namespace {

// What other threads of the block see after a barrier.
constexpr auto kSeen = static_cast<std::uint32_t>(spirv::MemoryAccess::NonPrivatePointer);
constexpr auto kAligned = static_cast<std::uint32_t>(spirv::MemoryAccess::Aligned) | kSeen;

// As it lies in memory.
Scalar stored(Scalar type) {
  return type == Scalar::kBool ? Scalar::kI8 : type;
}

}  // namespace

Status FunctionWriter::address(const llvm::GetElementPtrInst& op) {
  KILN_ASSIGN(const Scalar type, scalar(op));
  const llvm::DataLayout& layout = f_.getParent()->getDataLayout();
  const unsigned bits = layout.getIndexTypeSizeInBits(op.getType());
  llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> steps;
  llvm::APInt fixed(bits, 0);
  if (!op.collectOffset(layout, bits, steps, fixed)) return refused(op, "this address is not served");
  Id sum = id(op.getPointerOperand());
  for (const auto& [index, scale] : steps) {
    KILN_ASSIGN(const Scalar given, scalar(*index));
    Id step = resize(given, type, id(index), /*isSigned=*/true);
    if (!scale.isOne()) step = emit(Op::OpIMul, type, {step, number(type, scale.getZExtValue())});
    sum = emit(Op::OpIAdd, type, {sum, step});
  }
  if (!fixed.isZero()) sum = emit(Op::OpIAdd, type, {sum, number(type, fixed.getZExtValue())});
  define(op, sum);
  return {};
}

Id FunctionWriter::loadAddress(Scalar type, Id address, std::uint32_t alignment) {
  if (bytesOf(type) == 1) w_.need(SpirvWords::Capability::StorageBuffer8BitAccess);
  if (bytesOf(type) == 2) w_.need(SpirvWords::Capability::StorageBuffer16BitAccess);
  const Id of = w_.type(type), pointer = w_.pointerType(Storage::PhysicalStorageBuffer, of);
  const Id place = w_.newId(), result = w_.newId();
  w_.code(Op::OpConvertUToPtr, {pointer, place, address});
  w_.code(Op::OpLoad, {of, result, place, kAligned, std::max<std::uint32_t>(alignment, bytesOf(type))});
  return result;
}

// The place of a unit, `index` units behind an offset in bytes.
Id FunctionWriter::element(const IndexedMemory& memory, Id offset, unsigned index) {
  const Storage storage = memory.shared ? Storage::Workgroup : Storage::Private;
  const unsigned unit = bytesOf(memory.unit);
  Id at = offset;
  if (unit > 1)
    at = emit(Op::OpShiftRightLogical, Scalar::kI32,
              {offset, number(Scalar::kI32, unit == 2   ? 1
                                            : unit == 4 ? 2
                                                        : 3)});
  if (index > 0) at = emit(Op::OpIAdd, Scalar::kI32, {at, number(Scalar::kI32, index)});
  const Id place = w_.newId();
  w_.code(Op::OpAccessChain, {w_.pointerType(storage, w_.type(memory.unit)), place, memory.variable, at});
  return place;
}

Status FunctionWriter::load(const llvm::LoadInst& op) {
  if (op.isAtomic() || op.isVolatile()) return refused(op, "this access is not served");
  KILN_ASSIGN(const Scalar type, scalar(op));
  KILN_ASSIGN(const llvm::GlobalVariable* root, memoryOf(op.getPointerOperand()));
  const Scalar held = stored(type);
  Id value = 0;
  if (root == nullptr) {
    value = loadAddress(held, id(op.getPointerOperand()), static_cast<std::uint32_t>(op.getAlign().value()));
  } else {
    const IndexedMemory& memory = m_.memory.at(root);
    const Scalar bits = integerOf(held);
    const unsigned unit = bytesOf(memory.unit), units = bytesOf(held) / unit;
    const Id offset = id(op.getPointerOperand());
    for (unsigned i = 0; i < units; ++i) {
      const Id place = element(memory, offset, i), of = w_.type(memory.unit), part = w_.newId();
      if (memory.shared)
        w_.code(Op::OpLoad, {of, part, place, kSeen});
      else
        w_.code(Op::OpLoad, {of, part, place});
      Id wide = resize(memory.unit, bits, part, /*isSigned=*/false);
      if (i > 0) wide = emit(Op::OpShiftLeftLogical, bits, {wide, number(Scalar::kI32, 8 * unit * i)});
      value = i == 0 ? wide : emit(Op::OpBitwiseOr, bits, {value, wide});
    }
    value = cast(bits, held, value);
  }
  define(op, type == Scalar::kBool ? resize(held, type, value, /*isSigned=*/false) : value);
  return {};
}

Status FunctionWriter::store(const llvm::StoreInst& op) {
  if (op.isAtomic() || op.isVolatile()) return refused(op, "this access is not served");
  KILN_ASSIGN(const Scalar type, scalar(*op.getValueOperand()));
  KILN_ASSIGN(const llvm::GlobalVariable* root, memoryOf(op.getPointerOperand()));
  const Scalar held = stored(type);
  Id value = id(op.getValueOperand());
  if (type == Scalar::kBool) value = resize(type, held, value, /*isSigned=*/false);
  if (root == nullptr) {
    if (bytesOf(held) == 1) w_.need(SpirvWords::Capability::StorageBuffer8BitAccess);
    if (bytesOf(held) == 2) w_.need(SpirvWords::Capability::StorageBuffer16BitAccess);
    const Id pointer = w_.pointerType(Storage::PhysicalStorageBuffer, w_.type(held)), place = w_.newId();
    w_.code(Op::OpConvertUToPtr, {pointer, place, id(op.getPointerOperand())});
    w_.code(Op::OpStore,
            {place, value, kAligned,
             std::max<std::uint32_t>(static_cast<std::uint32_t>(op.getAlign().value()), bytesOf(held))});
    return {};
  }
  const IndexedMemory& memory = m_.memory.at(root);
  if (!memory.shared) return refused(op, "a constant is written");
  const Scalar bits = integerOf(held);
  value = cast(held, bits, value);
  const unsigned unit = bytesOf(memory.unit), units = bytesOf(held) / unit;
  const Id offset = id(op.getPointerOperand());
  for (unsigned i = 0; i < units; ++i) {
    Id part = value;
    if (i > 0) part = emit(Op::OpShiftRightLogical, bits, {part, number(Scalar::kI32, 8 * unit * i)});
    part = resize(bits, memory.unit, part, /*isSigned=*/false);
    w_.code(Op::OpStore, {element(memory, offset, i), part, kSeen});
  }
  return {};
}

// The arguments lie behind the address that the push constants hold, a word each.
void FunctionWriter::loadArguments() {
  const Id number64 = w_.type(Scalar::kI64), place = w_.newId(), base = w_.newId();
  w_.code(Op::OpAccessChain,
          {w_.pointerType(Storage::PushConstant, number64), place, m_.push, number(Scalar::kI32, 0)});
  w_.code(Op::OpLoad, {number64, base, place});
  for (const llvm::Argument& argument : f_.args()) {
    if (argument.use_empty()) continue;
    Id at = base;
    if (argument.getArgNo() > 0)
      at = emit(Op::OpIAdd, Scalar::kI64, {base, number(Scalar::kI64, 8 * argument.getArgNo())});
    const Id whole = loadAddress(Scalar::kI64, at, 8);
    const Scalar type = *scalarOf(argument.getType());
    const Scalar bits = type == Scalar::kBool ? type : integerOf(type);
    ids_[&argument] = cast(bits, type, resize(Scalar::kI64, bits, whole, /*isSigned=*/false));
  }
}

}  // namespace kiln::codegen
