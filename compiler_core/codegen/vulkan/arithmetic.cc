#include "compiler_core/codegen/vulkan/function.h"

namespace kiln::codegen {

namespace spirv = mlir::spirv;

namespace {

using Op = mlir::spirv::Opcode;
using Predicate = llvm::CmpInst::Predicate;

std::optional<Op> comparison(Predicate predicate) {
  switch (predicate) {
    case Predicate::ICMP_EQ:
      return Op::OpIEqual;
    case Predicate::ICMP_NE:
      return Op::OpINotEqual;
    case Predicate::ICMP_UGT:
      return Op::OpUGreaterThan;
    case Predicate::ICMP_UGE:
      return Op::OpUGreaterThanEqual;
    case Predicate::ICMP_ULT:
      return Op::OpULessThan;
    case Predicate::ICMP_ULE:
      return Op::OpULessThanEqual;
    case Predicate::ICMP_SGT:
      return Op::OpSGreaterThan;
    case Predicate::ICMP_SGE:
      return Op::OpSGreaterThanEqual;
    case Predicate::ICMP_SLT:
      return Op::OpSLessThan;
    case Predicate::ICMP_SLE:
      return Op::OpSLessThanEqual;
    case Predicate::FCMP_OEQ:
      return Op::OpFOrdEqual;
    case Predicate::FCMP_OGT:
      return Op::OpFOrdGreaterThan;
    case Predicate::FCMP_OGE:
      return Op::OpFOrdGreaterThanEqual;
    case Predicate::FCMP_OLT:
      return Op::OpFOrdLessThan;
    case Predicate::FCMP_OLE:
      return Op::OpFOrdLessThanEqual;
    case Predicate::FCMP_ONE:
      return Op::OpFOrdNotEqual;
    case Predicate::FCMP_UEQ:
      return Op::OpFUnordEqual;
    case Predicate::FCMP_UGT:
      return Op::OpFUnordGreaterThan;
    case Predicate::FCMP_UGE:
      return Op::OpFUnordGreaterThanEqual;
    case Predicate::FCMP_ULT:
      return Op::OpFUnordLessThan;
    case Predicate::FCMP_ULE:
      return Op::OpFUnordLessThanEqual;
    case Predicate::FCMP_UNE:
      return Op::OpFUnordNotEqual;
    default:
      return std::nullopt;
  }
}

// false < true; as signed numbers of one bit true is -1.
std::optional<std::pair<bool, bool>> lessOfBools(Predicate predicate) {  // {swapped, or equal}
  switch (predicate) {
    case Predicate::ICMP_ULT:
    case Predicate::ICMP_SGT:
      return {{false, false}};
    case Predicate::ICMP_ULE:
    case Predicate::ICMP_SGE:
      return {{false, true}};
    case Predicate::ICMP_UGT:
    case Predicate::ICMP_SLT:
      return {{true, false}};
    case Predicate::ICMP_UGE:
    case Predicate::ICMP_SLE:
      return {{true, true}};
    default:
      return std::nullopt;
  }
}

}  // namespace

Status FunctionWriter::binary(const llvm::BinaryOperator& op) {
  KILN_ASSIGN(const Scalar type, scalar(op));
  const Id a = id(op.getOperand(0)), b = id(op.getOperand(1));
  const auto same = [&](Op code) { define(op, emit(code, type, {a, b})); };
  const auto real = [&](Op code) {
    const Id value = emit(code, type, {a, b});
    w_.keepRounding(value);
    define(op, value);
  };
  using I = llvm::Instruction;
  if (type == Scalar::kBool) {
    switch (op.getOpcode()) {
      case I::And:
      case I::Mul:
        return same(Op::OpLogicalAnd), Status{};
      case I::Or:
        return same(Op::OpLogicalOr), Status{};
      case I::Xor:
      case I::Add:
      case I::Sub:
        return same(Op::OpLogicalNotEqual), Status{};
      default:
        return refused(op, "this is not served on truth values");
    }
  }
  switch (op.getOpcode()) {
    case I::Add:
      return same(Op::OpIAdd), Status{};
    case I::Sub:
      return same(Op::OpISub), Status{};
    case I::Mul:
      return same(Op::OpIMul), Status{};
    case I::UDiv:
      return same(Op::OpUDiv), Status{};
    case I::SDiv:
      return same(Op::OpSDiv), Status{};
    case I::URem:
      return same(Op::OpUMod), Status{};
    case I::SRem: {
      // Vulkan leaves OpSRem of negative numbers open.
      const Id quotient = emit(Op::OpSDiv, type, {a, b});
      define(op, emit(Op::OpISub, type, {a, emit(Op::OpIMul, type, {quotient, b})}));
      return {};
    }
    case I::And:
      return same(Op::OpBitwiseAnd), Status{};
    case I::Or:
      return same(Op::OpBitwiseOr), Status{};
    case I::Xor:
      return same(Op::OpBitwiseXor), Status{};
    case I::Shl:
      return same(Op::OpShiftLeftLogical), Status{};
    case I::LShr:
      return same(Op::OpShiftRightLogical), Status{};
    case I::AShr:
      return same(Op::OpShiftRightArithmetic), Status{};
    case I::FAdd:
      return real(Op::OpFAdd), Status{};
    case I::FSub:
      return real(Op::OpFSub), Status{};
    case I::FMul:
      return real(Op::OpFMul), Status{};
    default:
      return refused(op, "this is not served");
  }
}

Status FunctionWriter::compare(const llvm::CmpInst& op) {
  KILN_ASSIGN(const Scalar type, scalar(*op.getOperand(0)));
  Id a = id(op.getOperand(0)), b = id(op.getOperand(1));
  const Predicate predicate = op.getPredicate();
  const auto logical = [&](Op code, Id x, Id y) { return emit(code, Scalar::kBool, {x, y}); };
  if (predicate == Predicate::FCMP_TRUE || predicate == Predicate::FCMP_FALSE) {
    define(op, number(Scalar::kBool, predicate == Predicate::FCMP_TRUE ? 1 : 0));
    return {};
  }
  if (predicate == Predicate::FCMP_ORD || predicate == Predicate::FCMP_UNO) {
    Id either = isNan(type, a);
    if (a != b) either = logical(Op::OpLogicalOr, either, isNan(type, b));
    define(op, predicate == Predicate::FCMP_UNO ? either : emit(Op::OpLogicalNot, Scalar::kBool, {either}));
    return {};
  }
  if (type == Scalar::kBool) {
    if (predicate == Predicate::ICMP_EQ || predicate == Predicate::ICMP_NE) {
      define(op, logical(predicate == Predicate::ICMP_EQ ? Op::OpLogicalEqual : Op::OpLogicalNotEqual, a, b));
      return {};
    }
    const auto less = lessOfBools(predicate);
    if (!less) return refused(op, "this is not served");
    if (less->first) std::swap(a, b);
    const Id notA = emit(Op::OpLogicalNot, Scalar::kBool, {a});
    define(op, logical(less->second ? Op::OpLogicalOr : Op::OpLogicalAnd, notA, b));
    return {};
  }
  const auto code = comparison(predicate);
  if (!code) return refused(op, "this is not served");
  define(op, logical(*code, a, b));
  return {};
}

Status FunctionWriter::convert(const llvm::CastInst& op) {
  KILN_ASSIGN(const Scalar from, scalar(*op.getOperand(0)));
  KILN_ASSIGN(const Scalar to, scalar(op));
  const Id value = id(op.getOperand(0));
  using I = llvm::Instruction;
  switch (op.getOpcode()) {
    case I::Trunc:
    case I::ZExt:
      define(op, resize(from, to, value, /*isSigned=*/false));
      return {};
    case I::SExt:
      define(op, resize(from, to, value, /*isSigned=*/true));
      return {};
    case I::FPExt:
    case I::FPTrunc:
      define(op, emit(Op::OpFConvert, to, {value}));
      return {};
    case I::UIToFP:
    case I::SIToFP: {
      const bool isSigned = op.getOpcode() == I::SIToFP;
      if (from == Scalar::kBool) {
        const std::uint64_t one = to == Scalar::kF32 ? 0x3f800000u : std::uint64_t{0x3ff} << 52;
        const std::uint64_t sign = to == Scalar::kF32 ? 0x80000000u : std::uint64_t{1} << 63;
        define(op, select(to, value, number(to, isSigned ? one | sign : one), number(to, 0)));
      } else {
        define(op, emit(isSigned ? Op::OpConvertSToF : Op::OpConvertUToF, to, {value}));
      }
      return {};
    }
    case I::FPToUI:
    case I::FPToSI: {
      const Scalar whole = to == Scalar::kBool ? Scalar::kI32 : to;
      const Id number =
          emit(op.getOpcode() == I::FPToSI ? Op::OpConvertFToS : Op::OpConvertFToU, whole, {value});
      define(op, resize(whole, to, number, /*isSigned=*/false));
      return {};
    }
    case I::BitCast:
    case I::PtrToInt:
    case I::IntToPtr:
      if (bytesOf(from) != bytesOf(to)) return refused(op, "this is not served");
      define(op, cast(from, to, value));
      return {};
    default:
      return refused(op, "this is not served");
  }
}

}  // namespace kiln::codegen
