#include <fmt/format.h>

#include "compiler_core/codegen/vulkan/function.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Operator.h"

namespace kiln::codegen {

std::optional<Scalar> scalarOf(const llvm::Type* type) {
  if (type->isFloatTy()) return Scalar::kF32;
  if (type->isDoubleTy()) return Scalar::kF64;
  if (type->isHalfTy() || type->isBFloatTy()) return Scalar::kI16;
  if (type->isPointerTy()) return Scalar::kI64;
  if (!type->isIntegerTy()) return std::nullopt;
  switch (type->getIntegerBitWidth()) {
    case 1:
      return Scalar::kBool;
    case 8:
      return Scalar::kI8;
    case 16:
      return Scalar::kI16;
    case 32:
      return Scalar::kI32;
    case 64:
      return Scalar::kI64;
    default:
      return std::nullopt;
  }
}

Result<const llvm::GlobalVariable*> memoryOf(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*> open{pointer};
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  std::optional<const llvm::GlobalVariable*> found;
  while (!open.empty()) {
    const llvm::Value* value = open.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(value)) {
      open.push_back(gep->getPointerOperand());
    } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
      open.append(phi->value_op_begin(), phi->value_op_end());
    } else if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(value)) {
      open.push_back(choice->getTrueValue());
      open.push_back(choice->getFalseValue());
    } else if (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(value)) {
      open.push_back(frozen->getOperand(0));
    } else if (llvm::isa<llvm::UndefValue>(value)) {
      continue;
    } else {
      const auto* root = llvm::dyn_cast<llvm::GlobalVariable>(value);
      if (found && *found != root) return fail(Code::kInternal, "a pointer may be into several memories");
      found = root;
    }
  }
  return found.value_or(nullptr);
}

Result<Scalar> FunctionWriter::scalar(const llvm::Value& value) const {
  const auto type = scalarOf(value.getType());
  if (!type)
    return fail(Code::kInternal,
                fmt::format("kernel function {}: a value of a type that devices of Vulkan have not ({} bits)",
                            f_.getName().str(), value.getType()->getPrimitiveSizeInBits().getFixedValue()));
  if (!value.getType()->isPointerTy()) return *type;
  KILN_ASSIGN(const llvm::GlobalVariable* memory, memoryOf(&value));
  return memory != nullptr ? Scalar::kI32 : Scalar::kI64;
}

Id FunctionWriter::constantOf(const llvm::Constant& value) {
  const Scalar type = scalar(value).value_or(Scalar::kI32);
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&value))
    return number(type, integer->getZExtValue());
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&value))
    return number(type, real->getValueAPF().bitcastToAPInt().getZExtValue());
  // An offset into constant or shared memory.
  if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(&value)) {
    const llvm::DataLayout& layout = f_.getParent()->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(gep->getType()), 0);
    gep->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
    return number(type, offset.getZExtValue());
  }
  // The beginning of such memory, null, or whatever a value may be.
  return number(type, 0);
}

Id FunctionWriter::id(const llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return constantOf(*constant);
  Id& found = ids_[value];
  if (found == 0) found = w_.newId();
  return found;
}

void FunctionWriter::define(const llvm::Instruction& op, Id value) {
  Id& found = ids_[&op];
  if (found == 0) {
    found = value;
    return;
  }
  // A phi in front has named it already.
  const Scalar type = scalar(op).value_or(Scalar::kI32);
  constexpr auto kCopyObject = static_cast<Op>(83);  // MLIR has no name for it
  w_.code(kCopyObject, {w_.type(type), found, value});
}

Id FunctionWriter::emit(Op op, Scalar type, const Words& operands) {
  const Id result = w_.newId();
  Words words{w_.type(type), result};
  words.insert(words.end(), operands.begin(), operands.end());
  w_.code(op, words);
  return result;
}

Id FunctionWriter::glsl(std::uint32_t instruction, Scalar type, const Words& operands) {
  Words words{w_.glsl(), instruction};
  words.insert(words.end(), operands.begin(), operands.end());
  return emit(Op::OpExtInst, type, words);
}

Id FunctionWriter::select(Scalar type, Id condition, Id yes, Id no) {
  return emit(Op::OpSelect, type, {condition, yes, no});
}

Id FunctionWriter::cast(Scalar from, Scalar to, Id value) {
  return from == to ? value : emit(Op::OpBitcast, to, {value});
}

Id FunctionWriter::resize(Scalar from, Scalar to, Id value, bool isSigned) {
  if (from == to) return value;
  if (from == Scalar::kBool)
    return select(to, value, number(to, isSigned ? ~std::uint64_t{0} : 1), number(to, 0));
  if (to == Scalar::kBool)
    return emit(Op::OpINotEqual, to,
                {emit(Op::OpBitwiseAnd, from, {value, number(from, 1)}), number(from, 0)});
  return emit(isSigned ? Op::OpSConvert : Op::OpUConvert, to, {value});
}

}  // namespace kiln::codegen
