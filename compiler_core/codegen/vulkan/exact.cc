#include <fmt/format.h>

#include "compiler_core/codegen/vulkan/internal.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace kiln::codegen {
namespace {

class Replacer {
 public:
  explicit Replacer(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  Status run() {
    std::vector<llvm::Instruction*> found;
    for (llvm::Function& function : module_)
      for (llvm::Instruction& instruction : llvm::instructions(function)) found.push_back(&instruction);
    for (llvm::Instruction* instruction : found) KILN_TRY(replace(*instruction));
    return {};
  }

 private:
  static bool isShort(llvm::Type* type) { return type->isHalfTy() || type->isBFloatTy(); }

  llvm::Value* call(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> operands) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* operand : operands) types.push_back(operand->getType());
    auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    auto* made = b_.CreateCall(callee, operands);
    // C passes what is shorter than a word as such a word.
    for (unsigned i = 0; i < operands.size(); ++i)
      if (types[i]->isIntegerTy(16)) made->addParamAttr(i, llvm::Attribute::ZExt);
    return made;
  }
  llvm::Value* exact(llvm::StringRef operation, llvm::ArrayRef<llvm::Value*> operands) {
    llvm::Type* type = operands[0]->getType();
    return call(fmt::format("kiln_exact_{}_f{}", operation.str(), type->isDoubleTy() ? 64 : 32), type,
                operands);
  }

  llvm::Value* widened(llvm::Value* value) {
    llvm::Type* type = value->getType();
    if (!isShort(type)) return value;
    llvm::Value* code = b_.CreateBitCast(value, b_.getInt16Ty());
    if (type->isHalfTy()) return call("kiln_exact_from_half", b_.getFloatTy(), code);
    return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(code, b_.getInt32Ty()), 16), b_.getFloatTy());
  }
  llvm::Value* narrowed(llvm::Value* value, llvm::Type* type) {
    if (!isShort(type)) return value;
    return b_.CreateBitCast(
        call(type->isHalfTy() ? "kiln_exact_to_half" : "kiln_exact_to_bfloat", b_.getInt16Ty(), value), type);
  }

  // In f32 or f64.
  llvm::Value* divided(llvm::Value* x, llvm::Value* y) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(y)) {
      llvm::APFloat inverse(number->getValueAPF());
      if (number->getValueAPF().getExactInverse(&inverse))
        return b_.CreateFMul(x, llvm::ConstantFP::get(y->getType(), inverse));
    }
    return exact("divide", {x, y});
  }

  llvm::Value* scalar(const llvm::Instruction& op, llvm::ArrayRef<llvm::Value*> v, llvm::Type* result) {
    switch (op.getOpcode()) {
      case llvm::Instruction::FAdd:
        return b_.CreateFAdd(v[0], v[1]);
      case llvm::Instruction::FSub:
        return b_.CreateFSub(v[0], v[1]);
      case llvm::Instruction::FMul:
        return b_.CreateFMul(v[0], v[1]);
      case llvm::Instruction::FDiv:
        return divided(v[0], v[1]);
      case llvm::Instruction::FRem:
        return call(v[0]->getType()->isDoubleTy() ? "kiln_remainder_f64" : "kiln_remainder_f32",
                    v[0]->getType(), v);
      case llvm::Instruction::FCmp:
        return b_.CreateFCmp(llvm::cast<llvm::FCmpInst>(op).getPredicate(), v[0], v[1]);
      case llvm::Instruction::FPToSI:
        return b_.CreateFPToSI(v[0], result);
      case llvm::Instruction::FPToUI:
        return b_.CreateFPToUI(v[0], result);
      case llvm::Instruction::SIToFP:
        return b_.CreateSIToFP(v[0], isShort(result) ? b_.getFloatTy() : result);
      case llvm::Instruction::UIToFP:
        return b_.CreateUIToFP(v[0], isShort(result) ? b_.getFloatTy() : result);
      case llvm::Instruction::FPExt:
        return result->isDoubleTy() && v[0]->getType()->isFloatTy() ? b_.CreateFPExt(v[0], result) : v[0];
      case llvm::Instruction::FPTrunc:
        if (isShort(result)) return v[0]->getType()->isFloatTy() ? v[0] : nullptr;
        return b_.CreateFPTrunc(v[0], result);
      case llvm::Instruction::Call:
        break;
      default:
        return nullptr;
    }
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&op);
    if (!intrinsic) return nullptr;
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::fma:
        return exact("fma", v);
      case llvm::Intrinsic::fmuladd:
        return b_.CreateFAdd(b_.CreateFMul(v[0], v[1]), v[2]);
      case llvm::Intrinsic::sqrt:
        return exact("sqrt", v);
      default: {
        if (v.empty() || v.size() > 2) return nullptr;
        llvm::Function* same =
            llvm::Intrinsic::getOrInsertDeclaration(&module_, intrinsic->getIntrinsicID(), v[0]->getType());
        return b_.CreateCall(same, v);
      }
    }
  }

  bool isWanted(const llvm::Instruction& op) const {
    const auto isShortFloat = [](llvm::Type* type) { return isShort(type->getScalarType()); };
    const bool onShort =
        isShortFloat(op.getType()) ||
        llvm::any_of(op.operand_values(), [&](const llvm::Value* v) { return isShortFloat(v->getType()); });
    switch (op.getOpcode()) {
      case llvm::Instruction::FDiv:
      case llvm::Instruction::FRem:
        return true;
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
      case llvm::Instruction::FMul:
      case llvm::Instruction::FCmp:
      case llvm::Instruction::FPToSI:
      case llvm::Instruction::FPToUI:
      case llvm::Instruction::SIToFP:
      case llvm::Instruction::UIToFP:
      case llvm::Instruction::FPExt:
      case llvm::Instruction::FPTrunc:
        return onShort;
      case llvm::Instruction::Call:
        break;
      default:
        return false;
    }
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&op);
    if (!intrinsic) return false;
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fmuladd:
      case llvm::Intrinsic::sqrt:
        return true;
      case llvm::Intrinsic::floor:
      case llvm::Intrinsic::ceil:
      case llvm::Intrinsic::trunc:
      case llvm::Intrinsic::round:
      case llvm::Intrinsic::roundeven:
      case llvm::Intrinsic::rint:
      case llvm::Intrinsic::nearbyint:
      case llvm::Intrinsic::minimum:
      case llvm::Intrinsic::maximum:
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::maxnum:
        return onShort;
      default:
        return false;
    }
  }

  Status replace(llvm::Instruction& op) {
    if (!isWanted(op)) return {};
    b_.SetInsertPoint(&op);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(op.getType());
    llvm::Type* element = op.getType()->getScalarType();
    const unsigned operands =
        llvm::isa<llvm::CallBase>(op) ? llvm::cast<llvm::CallBase>(op).arg_size() : op.getNumOperands();
    llvm::Value* whole = vector ? llvm::PoisonValue::get(op.getType()) : nullptr;
    for (std::uint64_t i = 0; i < (vector ? vector->getNumElements() : 1); ++i) {
      llvm::SmallVector<llvm::Value*> values;
      for (unsigned k = 0; k < operands; ++k) {
        llvm::Value* operand = op.getOperand(k);
        values.push_back(widened(vector ? b_.CreateExtractElement(operand, i) : operand));
      }
      llvm::Value* value = scalar(op, values, element);
      if (!value) return fail(Code::kInternal, fmt::format("no exact form of {}", op.getOpcodeName()));
      if (element->isFloatingPointTy()) value = narrowed(value, element);
      whole = vector ? b_.CreateInsertElement(whole, value, i) : value;
    }
    op.replaceAllUsesWith(whole);
    op.eraseFromParent();
    return {};
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
};

}  // namespace

Status replaceInexact(llvm::Module& module) {
  return Replacer(module).run();
}

}  // namespace kiln::codegen
