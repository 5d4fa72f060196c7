#include "compiler_core/codegen/vulkan/function.h"

#include <fmt/format.h>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Support/raw_ostream.h"

namespace kiln::codegen {

namespace spirv = mlir::spirv;

tl::unexpected<Error> FunctionWriter::refused(const llvm::Instruction& op, std::string_view why) const {
  std::string text;
  llvm::raw_string_ostream(text) << op;
  return fail(Code::kInternal, fmt::format("kernel function {}: {}:{}", f_.getName().str(), why, text));
}

Id FunctionWriter::label(const llvm::BasicBlock* block) {
  Id& found = labels_[block];
  if (found == 0) found = w_.newId();
  return found;
}

Status FunctionWriter::instruction(const llvm::Instruction& op) {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&op)) {
    KILN_ASSIGN(const Scalar type, scalar(op));
    Words operands{w_.type(type), id(phi)};
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      operands.push_back(id(phi->getIncomingValue(i)));
      operands.push_back(label(phi->getIncomingBlock(i)));
    }
    w_.code(Op::OpPhi, operands);
    return {};
  }
  if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&op)) return address(*gep);
  if (const auto* read = llvm::dyn_cast<llvm::LoadInst>(&op)) return load(*read);
  if (const auto* written = llvm::dyn_cast<llvm::StoreInst>(&op)) return store(*written);
  if (const auto* two = llvm::dyn_cast<llvm::BinaryOperator>(&op)) return binary(*two);
  if (const auto* compared = llvm::dyn_cast<llvm::CmpInst>(&op)) return compare(*compared);
  if (const auto* converted = llvm::dyn_cast<llvm::CastInst>(&op)) return convert(*converted);
  if (const auto* called = llvm::dyn_cast<llvm::IntrinsicInst>(&op)) return intrinsic(*called);
  if (llvm::isa<llvm::SelectInst>(op)) {
    KILN_ASSIGN(const Scalar type, scalar(op));
    define(op, select(type, id(op.getOperand(0)), id(op.getOperand(1)), id(op.getOperand(2))));
    return {};
  }
  if (llvm::isa<llvm::FreezeInst>(op)) {
    define(op, id(op.getOperand(0)));
    return {};
  }
  if (op.getOpcode() == llvm::Instruction::FNeg) {
    const llvm::Type* type = op.getType();
    KILN_ASSIGN(const Scalar of, scalar(op));
    const Scalar bits = integerOf(of);
    const std::uint64_t sign = std::uint64_t{1} << (type->getScalarSizeInBits() - 1);
    define(op,
           cast(bits, of,
                emit(Op::OpBitwiseXor, bits, {cast(of, bits, id(op.getOperand(0))), number(bits, sign)})));
    return {};
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&op);
      call && call->getCalledFunction() && m_.functions.contains(call->getCalledFunction())) {
    KILN_ASSIGN(const Scalar type, scalar(op));
    Words operands{m_.functions[call->getCalledFunction()]};
    for (const llvm::Value* argument : call->args()) operands.push_back(id(argument));
    define(op, emit(Op::OpFunctionCall, type, operands));
    return {};
  }
  return refused(op, "this is not served");
}

Status FunctionWriter::terminator(const llvm::BasicBlock& block, const Merges& merges) {
  const llvm::Instruction& end = *block.getTerminator();
  if (const auto found = merges.find(&block); found != merges.end()) {
    const Merge& merge = found->second;
    const auto none = static_cast<std::uint32_t>(spirv::SelectionControl::None);
    if (merge.next != nullptr)
      w_.code(Op::OpLoopMerge, {label(merge.merge), label(merge.next), none});
    else
      w_.code(Op::OpSelectionMerge, {label(merge.merge), none});
  }
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&end)) {
    if (branch->isConditional())
      w_.code(Op::OpBranchConditional,
              {id(branch->getCondition()), label(branch->getSuccessor(0)), label(branch->getSuccessor(1))});
    else
      w_.code(Op::OpBranch, {label(branch->getSuccessor(0))});
    return {};
  }
  if (const auto* back = llvm::dyn_cast<llvm::ReturnInst>(&end)) {
    if (back->getReturnValue() != nullptr)
      w_.code(Op::OpReturnValue, {id(back->getReturnValue())});
    else
      w_.code(Op::OpReturn, Words{});
    return {};
  }
  if (llvm::isa<llvm::UnreachableInst>(end)) {
    w_.code(Op::OpUnreachable, Words{});
    return {};
  }
  return refused(end, "this end of a block is not served");
}

Status FunctionWriter::write(bool isKernel) {
  isKernel_ = isKernel;
  KILN_ASSIGN(const Merges merges, structure(f_));
  Words parameters;
  Id result = w_.voidType();
  if (!isKernel) {
    for (const llvm::Argument& argument : f_.args()) {
      KILN_ASSIGN(const Scalar type, scalar(argument));
      parameters.push_back(w_.type(type));
    }
    const auto returned = scalarOf(f_.getReturnType());
    if (!returned || f_.getReturnType()->isPointerTy())
      return fail(Code::kInternal, fmt::format("function {} returns no number", f_.getName().str()));
    result = w_.type(*returned);
  }
  const Id type = w_.functionType(result, parameters);
  w_.code(Op::OpFunction,
          {result, m_.functions[&f_], static_cast<std::uint32_t>(spirv::FunctionControl::None), type});
  if (!isKernel)
    for (const llvm::Argument& argument : f_.args())
      w_.code(Op::OpFunctionParameter, {parameters[argument.getArgNo()], id(&argument)});
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&f_);
  for (const llvm::BasicBlock* block : order) {
    w_.code(Op::OpLabel, {label(block)});
    if (isKernel && block == &f_.getEntryBlock()) loadArguments();
    for (const llvm::Instruction& op : *block)
      if (!op.isTerminator()) KILN_TRY(instruction(op));
    KILN_TRY(terminator(*block, merges));
  }
  w_.code(Op::OpFunctionEnd, Words{});
  return {};
}

}  // namespace kiln::codegen
