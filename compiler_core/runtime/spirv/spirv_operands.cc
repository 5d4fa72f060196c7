#include "compiler_core/runtime/spirv/spirv_operands.h"

#include <algorithm>
#include <iterator>

#include "compiler_core/runtime/spirv/spirv_names.h"

namespace kiln::spirv {
namespace {

// Instructions of neighbouring numbers whose operands are alike; their names with spaces between.
struct Run {
  std::uint32_t first;
  std::string_view names, operands;
};
// In the order of their numbers. Those of a module's head, which no function holds, are not here.
constexpr Run kRuns[] = {
    {0, "Nop Undef", ""},
    {8, "Line", "inn"},
    {12, "ExtInst", "inI"},
    {19, "TypeVoid TypeBool", ""},
    {21, "TypeInt", "nn"},
    {22, "TypeFloat", "n"},
    {23, "TypeVector", "in"},
    {28, "TypeArray", "ii"},
    {29, "TypeRuntimeArray", "i"},
    {30, "TypeStruct", "I"},
    {32, "TypePointer", "ni"},
    {33, "TypeFunction", "I"},
    {39, "TypeForwardPointer", "in"},
    {41, "ConstantTrue ConstantFalse", ""},
    {43, "Constant", "N"},
    {44, "ConstantComposite", "I"},
    {46, "ConstantNull", ""},
    {54, "Function", "ni"},
    {55, "FunctionParameter FunctionEnd", ""},
    {57, "FunctionCall", "I"},
    {59, "Variable", "nI"},
    {61, "Load", "iM"},
    {62, "Store CopyMemory", "iiM"},
    {65, "AccessChain InBoundsAccessChain PtrAccessChain", "I"},
    {68, "ArrayLength", "in"},
    {70, "InBoundsPtrAccessChain", "I"},
    {77, "VectorExtractDynamic VectorInsertDynamic", "I"},
    {79, "VectorShuffle", "iiN"},
    {80, "CompositeConstruct", "I"},
    {81, "CompositeExtract", "iN"},
    {82, "CompositeInsert", "iiN"},
    {83, "CopyObject", "i"},
    {109,
     "ConvertFToU ConvertFToS ConvertSToF ConvertUToF UConvert SConvert FConvert QuantizeToF16 "
     "ConvertPtrToU",
     "i"},
    {120, "ConvertUToPtr", "i"},
    {124, "Bitcast", "i"},
    {126, "SNegate FNegate", "i"},
    {128,
     "IAdd FAdd ISub FSub IMul FMul UDiv SDiv FDiv UMod SRem SMod FRem FMod VectorTimesScalar "
     "MatrixTimesScalar VectorTimesMatrix MatrixTimesVector MatrixTimesMatrix OuterProduct Dot IAddCarry "
     "ISubBorrow UMulExtended SMulExtended",
     "ii"},
    {154, "Any All IsNan IsInf", "i"},
    {164, "LogicalEqual LogicalNotEqual LogicalOr LogicalAnd", "ii"},
    {168, "LogicalNot", "i"},
    {169, "Select", "iii"},
    {170,
     "IEqual INotEqual UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual ULessThan SLessThan "
     "ULessThanEqual SLessThanEqual FOrdEqual FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan "
     "FUnordLessThan FOrdGreaterThan FUnordGreaterThan FOrdLessThanEqual FUnordLessThanEqual "
     "FOrdGreaterThanEqual FUnordGreaterThanEqual",
     "ii"},
    {194, "ShiftRightLogical ShiftRightArithmetic ShiftLeftLogical BitwiseOr BitwiseXor BitwiseAnd", "ii"},
    {200, "Not", "i"},
    {201, "BitFieldInsert BitFieldSExtract BitFieldUExtract", "I"},
    {204, "BitReverse BitCount", "i"},
    {224, "ControlBarrier MemoryBarrier", "I"},
    {227, "AtomicLoad AtomicStore AtomicExchange AtomicCompareExchange", "I"},
    {232,
     "AtomicIIncrement AtomicIDecrement AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax "
     "AtomicAnd AtomicOr AtomicXor",
     "I"},
    {245, "Phi", "I"},
    {246, "LoopMerge", "iiN"},
    {247, "SelectionMerge", "iN"},
    {248, "Label", ""},
    {249, "Branch", "i"},
    {250, "BranchConditional", "iiiN"},
    {251, "Switch", "S"},
    {253, "Return", ""},
    {254, "ReturnValue", "i"},
    {255, "Unreachable", ""},
    {317, "NoLine", ""},
    {333,
     "GroupNonUniformElect GroupNonUniformAll GroupNonUniformAny GroupNonUniformAllEqual "
     "GroupNonUniformBroadcast GroupNonUniformBroadcastFirst GroupNonUniformBallot",
     "I"},
    {345,
     "GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp GroupNonUniformShuffleDown",
     "I"},
    {349,
     "GroupNonUniformIAdd GroupNonUniformFAdd GroupNonUniformIMul GroupNonUniformFMul GroupNonUniformSMin "
     "GroupNonUniformUMin GroupNonUniformFMin GroupNonUniformSMax GroupNonUniformUMax GroupNonUniformFMax "
     "GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr GroupNonUniformBitwiseXor "
     "GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor",
     "inI"},
    {400, "CopyLogical", "i"},
    {401, "PtrEqual PtrNotEqual PtrDiff", "ii"},
    {4450, "SDot UDot SUDot", "iiN"},
    {4453, "SDotAccSat UDotAccSat SUDotAccSat", "iiiN"},
};

}  // namespace

Wording wordingOf(std::uint32_t opcode) {
  const auto after = std::ranges::upper_bound(kRuns, opcode, {}, &Run::first);
  if (after == std::begin(kRuns)) return {"?", "N"};
  const Run& run = *std::prev(after);
  std::string_view rest = run.names;
  for (std::uint32_t at = run.first; at < opcode; ++at) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return {"?", "N"};
    rest.remove_prefix(space + 1);
  }
  return {rest.substr(0, rest.find(' ')), run.operands};
}

std::string_view storageName(std::uint32_t storage) {
  switch (storage) {
    case kInput:
      return "Input";
    case kWorkgroup:
      return "Workgroup";
    case kPrivate:
      return "Private";
    case kFunction:
      return "Function";
    case kPushConstant:
      return "PushConstant";
    case kPhysicalStorageBuffer:
      return "PhysicalStorageBuffer";
    default:
      return "storage";
  }
}

std::string_view decorationName(std::uint32_t decoration) {
  switch (decoration) {
    case 2:
      return "Block";
    case 6:
      return "ArrayStride";
    case kBuiltIn:
      return "BuiltIn";
    case kOffset:
      return "Offset";
    case 42:
      return "NoContraction";
    default:
      return "";
  }
}

}  // namespace kiln::spirv
