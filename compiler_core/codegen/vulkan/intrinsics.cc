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

// Whether a float is of one of the classes of llvm.is.fpclass.
Id FunctionWriter::isOfClass(Scalar type, Id value, std::uint32_t classes) {
  const Scalar bits = integerOf(type);
  const unsigned fraction = type == Scalar::kF32 ? 23 : 52;
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytesOf(type) - 1),
                      leading = std::uint64_t{1} << fraction;
  const std::uint64_t infinity = sign - leading, quiet = infinity | leading >> 1;
  const auto test = [&](Op code, Id a, Id b) { return emit(code, Scalar::kBool, {a, b}); };
  const Id whole = cast(type, bits, value);
  const Id magnitude = emit(Op::OpBitwiseAnd, bits, {whole, number(bits, sign - 1)});
  const Id isNegative = test(Op::OpUGreaterThanEqual, whole, number(bits, sign));
  Id found = number(Scalar::kBool, 0);
  // From `least` to below `end`, of the signs that are asked for.
  const auto add = [&](std::uint64_t least, std::uint64_t end, bool negative, bool positive) {
    if (!negative && !positive) return;
    Id is = test(Op::OpLogicalAnd, test(Op::OpUGreaterThanEqual, magnitude, number(bits, least)),
                 test(Op::OpULessThan, magnitude, number(bits, end)));
    if (!negative || !positive)
      is = test(Op::OpLogicalAnd, is,
                negative ? isNegative : emit(Op::OpLogicalNot, Scalar::kBool, {isNegative}));
    found = test(Op::OpLogicalOr, found, is);
  };
  const auto has = [&](llvm::FPClassTest one) { return (classes & one) != 0; };
  add(infinity + 1, quiet, has(llvm::fcSNan), has(llvm::fcSNan));
  add(quiet, sign, has(llvm::fcQNan), has(llvm::fcQNan));
  add(infinity, infinity + 1, has(llvm::fcNegInf), has(llvm::fcPosInf));
  add(leading, infinity, has(llvm::fcNegNormal), has(llvm::fcPosNormal));
  add(1, leading, has(llvm::fcNegSubnormal), has(llvm::fcPosSubnormal));
  add(0, 1, has(llvm::fcNegZero), has(llvm::fcPosZero));
  return found;
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
    case I::is_fpclass: {
      KILN_ASSIGN(const Scalar tested, scalar(*op.getArgOperand(0)));
      const auto* classes = llvm::cast<llvm::ConstantInt>(op.getArgOperand(1));
      define(op,
             isOfClass(tested, id(op.getArgOperand(0)), static_cast<std::uint32_t>(classes->getZExtValue())));
      return {};
    }
    case I::assume:
    case I::lifetime_start:
    case I::lifetime_end:
    case I::experimental_noalias_scope_decl:
      return {};
    default:
      break;
  }
  KILN_ASSIGN(const Scalar type, scalar(op));
  return isFloat(type) || op.getType()->isHalfTy() || op.getType()->isBFloatTy() ? realIntrinsic(op, type)
                                                                                 : wholeIntrinsic(op, type);
}

// On integers.
Status FunctionWriter::wholeIntrinsic(const llvm::IntrinsicInst& op, Scalar type) {
  namespace I = llvm::Intrinsic;
  const auto argument = [&](unsigned i) { return id(op.getArgOperand(i)); };
  const auto choose = [&](Op code) {
    const Id first = emit(code, Scalar::kBool, {argument(0), argument(1)});
    define(op, select(type, first, argument(0), argument(1)));
    return Status{};
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
    case I::usub_sat: {
      const Id less = emit(Op::OpULessThan, Scalar::kBool, {argument(0), argument(1)});
      define(op, select(type, less, number(type, 0), emit(Op::OpISub, type, {argument(0), argument(1)})));
      return {};
    }
    case I::uadd_sat: {
      const Id sum = emit(Op::OpIAdd, type, {argument(0), argument(1)});
      const Id wraps = emit(Op::OpULessThan, Scalar::kBool, {sum, argument(0)});
      define(op, select(type, wraps, number(type, ~std::uint64_t{0}), sum));
      return {};
    }
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
    default:
      return refused(op, "this is not served");
  }
}

// On floats.
Status FunctionWriter::realIntrinsic(const llvm::IntrinsicInst& op, Scalar type) {
  namespace I = llvm::Intrinsic;
  const Scalar bits = integerOf(type);
  const auto argument = [&](unsigned i) { return id(op.getArgOperand(i)); };
  const std::uint64_t sign = std::uint64_t{1} << (op.getType()->getScalarSizeInBits() - 1);
  const auto masked = [&](Id value, std::uint64_t mask) {
    return emit(Op::OpBitwiseAnd, bits, {cast(type, bits, value), number(bits, mask)});
  };
  switch (op.getIntrinsicID()) {
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
