#include "compiler_core/codegen/vulkan/function.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace kiln::codegen {

namespace spirv = mlir::spirv;

namespace {

// Of the extended instruction set GLSL.std.450, version 1.0. Those of them that are used are exact.
enum Glsl : std::uint32_t {
  kRoundEven = 2,
  kTrunc = 3,
  kFloor = 8,
  kCeil = 9,
  kFindILsb = 73,
  kFindUMsb = 75
};

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

Id FunctionWriter::isNan(Scalar type, Id value) {
  // By its bits: what a driver makes of a comparison of floats with itself is its own.
  const Scalar bits = integerOf(type);
  const bool isSingle = type == Scalar::kF32;
  const Id magnitude =
      emit(Op::OpBitwiseAnd, bits,
           {cast(type, bits, value), number(bits, isSingle ? 0x7fffffffu : ~std::uint64_t{0} >> 1)});
  return emit(Op::OpUGreaterThan, Scalar::kBool,
              {magnitude, number(bits, isSingle ? 0x7f800000u : std::uint64_t{0x7ff} << 52)});
}

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

// Of equal numbers, which may be zeros of two signs, -0 is the smaller.
Id FunctionWriter::extreme(Scalar type, Id a, Id b, bool largest, bool propagatesNan) {
  const Scalar bits = integerOf(type);
  const Id equal = cast(
      bits, type,
      emit(largest ? Op::OpBitwiseAnd : Op::OpBitwiseOr, bits, {cast(type, bits, a), cast(type, bits, b)}));
  const Op less = largest ? Op::OpFOrdGreaterThan : Op::OpFOrdLessThan;
  Id value = select(type, emit(less, Scalar::kBool, {b, a}), b, equal);
  value = select(type, emit(less, Scalar::kBool, {a, b}), a, value);
  const Id nanA = isNan(type, a), nanB = isNan(type, b);
  value = select(type, nanB, propagatesNan ? b : a, value);
  return select(type, nanA, propagatesNan ? a : b, value);
}

// Of whole words: devices have none of 64 bits.
Id FunctionWriter::leadingZeros(Scalar type, Id value) {
  const auto ofWord = [&](Id word) {
    return emit(Op::OpISub, Scalar::kI32, {number(Scalar::kI32, 31), glsl(kFindUMsb, Scalar::kI32, {word})});
  };
  if (type != Scalar::kI64) {
    const Id zeros = ofWord(resize(type, Scalar::kI32, value, /*isSigned=*/false));
    const unsigned unused = 32 - 8 * bytesOf(type);
    return resize(Scalar::kI32, type, emit(Op::OpISub, Scalar::kI32, {zeros, number(Scalar::kI32, unused)}),
                  false);
  }
  const Id high = resize(type, Scalar::kI32,
                         emit(Op::OpShiftRightLogical, type, {value, number(Scalar::kI32, 32)}), false);
  const Id low = resize(type, Scalar::kI32, value, false);
  const Id inHigh = emit(Op::OpINotEqual, Scalar::kBool, {high, number(Scalar::kI32, 0)});
  const Id behind = emit(Op::OpIAdd, Scalar::kI32, {ofWord(low), number(Scalar::kI32, 32)});
  return resize(Scalar::kI32, type, select(Scalar::kI32, inHigh, ofWord(high), behind), false);
}

Id FunctionWriter::setBits(Scalar type, Id value) {
  const auto ofWord = [&](Id word) { return emit(Op::OpBitCount, Scalar::kI32, {word}); };
  Id count = ofWord(resize(type, Scalar::kI32, value, /*isSigned=*/false));
  if (type == Scalar::kI64) {
    const Id high = emit(Op::OpShiftRightLogical, type, {value, number(Scalar::kI32, 32)});
    count = emit(Op::OpIAdd, Scalar::kI32, {count, ofWord(resize(type, Scalar::kI32, high, false))});
  }
  return resize(Scalar::kI32, type, count, false);
}

// To the nearest whole number, halves away from zero.
Id FunctionWriter::rounded(Scalar type, Id value) {
  const Scalar bits = integerOf(type);
  const bool isSingle = type == Scalar::kF32;
  const std::uint64_t sign = isSingle ? 0x80000000u : std::uint64_t{1} << 63;
  const Id whole = glsl(kTrunc, type, {value});
  const Id rest = emit(Op::OpFSub, type, {value, whole});  // exact
  w_.keepRounding(rest);
  const Id magnitude =
      cast(bits, type, emit(Op::OpBitwiseAnd, bits, {cast(type, bits, rest), number(bits, sign - 1)}));
  const Id up = emit(Op::OpFOrdGreaterThanEqual, Scalar::kBool,
                     {magnitude, number(type, isSingle ? 0x3f000000u : std::uint64_t{0x3fe} << 52)});
  const Id signs = emit(Op::OpBitwiseAnd, bits, {cast(type, bits, value), number(bits, sign)});
  const Id one = cast(bits, type,
                      emit(Op::OpBitwiseOr, bits,
                           {signs, number(bits, isSingle ? 0x3f800000u : std::uint64_t{0x3ff} << 52)}));
  const Id next = emit(Op::OpFAdd, type, {whole, one});
  w_.keepRounding(next);
  return select(type, up, next, whole);
}

// All threads of the block get here, and see what the others have written before.
void FunctionWriter::barrier() {
  using Semantics = spirv::MemorySemantics;
  const auto bit = [](Semantics one) { return static_cast<std::uint64_t>(one); };
  const Id scope = number(Scalar::kI32, static_cast<std::uint64_t>(spirv::Scope::Workgroup));
  const Id semantics = number(Scalar::kI32, bit(Semantics::AcquireRelease) | bit(Semantics::WorkgroupMemory) |
                                                bit(Semantics::UniformMemory) |
                                                bit(Semantics::MakeAvailable) | bit(Semantics::MakeVisible));
  w_.code(Op::OpControlBarrier, {scope, scope, semantics});
}

Status FunctionWriter::intrinsic(const llvm::IntrinsicInst& op) {
  namespace I = llvm::Intrinsic;
  switch (op.getIntrinsicID()) {
    case I::nvvm_read_ptx_sreg_tid_x: {
      const Id value = w_.newId();
      w_.code(Op::OpLoad, {w_.type(Scalar::kI32), value, m_.threadId});
      define(op, value);
      return {};
    }
    case I::nvvm_read_ptx_sreg_ctaid_x: {
      const Id three = w_.vectorType(Scalar::kI32, 3), all = w_.newId(), place = w_.newId();
      const Id number64 = w_.type(Scalar::kI64), first = w_.newId();
      w_.code(Op::OpLoad, {three, all, m_.blockId});
      w_.code(Op::OpAccessChain,
              {w_.pointerType(Storage::PushConstant, number64), place, m_.push, number(Scalar::kI32, 1)});
      w_.code(Op::OpLoad, {number64, first, place});
      const Id x = emit(Op::OpCompositeExtract, Scalar::kI32, {all, 0});
      define(op, emit(Op::OpIAdd, Scalar::kI32, {resize(Scalar::kI64, Scalar::kI32, first, false), x}));
      return {};
    }
    case I::nvvm_barrier_cta_sync_aligned_all:
      barrier();
      return {};
    case I::assume:
    case I::lifetime_start:
    case I::lifetime_end:
    case I::experimental_noalias_scope_decl:
      return {};
    default:
      break;
  }
  KILN_ASSIGN(const Scalar type, scalar(op));
  const Scalar bits = integerOf(type);
  const auto argument = [&](unsigned i) { return id(op.getArgOperand(i)); };
  const auto choose = [&](Op code) {
    const Id first = emit(code, Scalar::kBool, {argument(0), argument(1)});
    define(op, select(type, first, argument(0), argument(1)));
    return Status{};
  };
  const std::uint64_t sign = std::uint64_t{1} << (op.getType()->getScalarSizeInBits() - 1);
  const auto masked = [&](Id value, std::uint64_t mask) {
    return emit(Op::OpBitwiseAnd, bits, {cast(type, bits, value), number(bits, mask)});
  };
  switch (op.getIntrinsicID()) {
    case I::smax:
      return choose(Op::OpSGreaterThan);
    case I::smin:
      return choose(Op::OpSLessThan);
    case I::umax:
      return choose(Op::OpUGreaterThan);
    case I::umin:
      return choose(Op::OpULessThan);
    case I::abs: {
      const Id negative = emit(Op::OpSLessThan, Scalar::kBool, {argument(0), number(type, 0)});
      define(op, select(type, negative, emit(Op::OpSNegate, type, {argument(0)}), argument(0)));
      return {};
    }
    case I::ctlz:
      define(op, leadingZeros(type, argument(0)));
      return {};
    case I::cttz: {
      // Below the lowest set bit.
      const Id less = emit(Op::OpISub, type, {argument(0), number(type, 1)});
      define(op, setBits(type, emit(Op::OpBitwiseAnd, type, {less, emit(Op::OpNot, type, {argument(0)})})));
      return {};
    }
    case I::ctpop:
      define(op, setBits(type, argument(0)));
      return {};
    case I::fshl:
    case I::fshr: {
      // By a number of places below the width; those of 0 stay apart, since no word is shifted by its width.
      const unsigned width = 8 * bytesOf(type);
      const Id by = emit(Op::OpBitwiseAnd, type, {argument(2), number(type, width - 1)});
      const Id rest =
          emit(Op::OpBitwiseAnd, type, {emit(Op::OpSNegate, type, {by}), number(type, width - 1)});
      const bool left = op.getIntrinsicID() == I::fshl;
      const Id high = emit(Op::OpShiftLeftLogical, type, {argument(0), left ? by : rest});
      const Id low = emit(Op::OpShiftRightLogical, type, {argument(1), left ? rest : by});
      const Id none = emit(Op::OpIEqual, Scalar::kBool, {by, number(type, 0)});
      define(op, select(type, none, argument(left ? 0 : 1), emit(Op::OpBitwiseOr, type, {high, low})));
      return {};
    }
    case I::fabs:
      define(op, cast(bits, type, masked(argument(0), sign - 1)));
      return {};
    case I::copysign:
      define(op,
             cast(bits, type,
                  emit(Op::OpBitwiseOr, bits, {masked(argument(0), sign - 1), masked(argument(1), sign)})));
      return {};
    case I::floor:
      define(op, glsl(kFloor, type, {argument(0)}));
      return {};
    case I::ceil:
      define(op, glsl(kCeil, type, {argument(0)}));
      return {};
    case I::trunc:
      define(op, glsl(kTrunc, type, {argument(0)}));
      return {};
    case I::rint:
    case I::nearbyint:
    case I::roundeven:
      define(op, glsl(kRoundEven, type, {argument(0)}));
      return {};
    case I::round:
      define(op, rounded(type, argument(0)));
      return {};
    case I::minimum:
    case I::maximum:
      define(op, extreme(type, argument(0), argument(1), op.getIntrinsicID() == I::maximum, true));
      return {};
    case I::minnum:
    case I::maxnum:
    case I::minimumnum:
    case I::maximumnum:
      define(op, extreme(type, argument(0), argument(1),
                         op.getIntrinsicID() == I::maxnum || op.getIntrinsicID() == I::maximumnum, false));
      return {};
    default:
      return refused(op, "this is not served");
  }
}

}  // namespace kiln::codegen
