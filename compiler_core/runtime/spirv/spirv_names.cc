#include "compiler_core/runtime/spirv/spirv_names.h"

#include <algorithm>
#include <array>

#include "compiler_core/runtime/spirv/spirv_check.h"

namespace kiln::spirv {
namespace {

struct Capability {
  std::uint32_t number;
  std::string_view name;
};
constexpr Capability kCapabilities[] = {
    {0, "Matrix"},  // implied by Shader
    {1, "Shader"},
    {9, "Float16"},
    {10, "Float64"},
    {11, "Int64"},
    {12, "Int64Atomics"},
    {22, "Int16"},
    {39, "Int8"},
    {61, "GroupNonUniform"},
    {62, "GroupNonUniformVote"},
    {63, "GroupNonUniformArithmetic"},
    {64, "GroupNonUniformBallot"},
    {65, "GroupNonUniformShuffle"},
    {66, "GroupNonUniformShuffleRelative"},
    {4433, "StorageBuffer16BitAccess"},
    {4434, "UniformAndStorageBuffer16BitAccess"},
    {4435, "StoragePushConstant16"},
    {4448, "StorageBuffer8BitAccess"},
    {4449, "UniformAndStorageBuffer8BitAccess"},
    {4450, "StoragePushConstant8"},
    {4464, "DenormPreserve"},
    {4465, "DenormFlushToZero"},
    {4466, "SignedZeroInfNanPreserve"},
    {4467, "RoundingModeRTE"},
    {4468, "RoundingModeRTZ"},
    {5345, "VulkanMemoryModel"},
    {5346, "VulkanMemoryModelDeviceScope"},
    {5347, "PhysicalStorageBufferAddresses"},
    {6016, "DotProductInputAll"},
    {6017, "DotProductInput4x8Bit"},
    {6018, "DotProductInput4x8BitPacked"},
    {6019, "DotProduct"},
};

constexpr std::string_view kExtensions[] = {
    "SPV_KHR_16bit_storage",
    "SPV_KHR_8bit_storage",
    "SPV_KHR_float_controls",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_physical_storage_buffer",
    "SPV_KHR_storage_buffer_storage_class",
    "SPV_KHR_vulkan_memory_model",
};

// A run of opcodes of one layout.
struct Range {
  std::uint32_t first, last;
  std::uint8_t leastWords;
  bool hasType, hasResult;
};
// In the order of their numbers.
constexpr Range kInstructions[] = {
    {0, 0, 1, false, false},      // OpNop
    {1, 1, 3, true, true},        // OpUndef
    {3, 4, 2, false, false},      // OpSource, OpSourceExtension
    {5, 5, 3, false, false},      // OpName
    {6, 6, 4, false, false},      // OpMemberName
    {7, 7, 3, false, true},       // OpString
    {8, 8, 4, false, false},      // OpLine
    {10, 10, 2, false, false},    // OpExtension
    {11, 11, 3, false, true},     // OpExtInstImport
    {12, 12, 5, true, true},      // OpExtInst
    {14, 14, 3, false, false},    // OpMemoryModel
    {15, 15, 4, false, false},    // OpEntryPoint
    {16, 16, 3, false, false},    // OpExecutionMode
    {17, 17, 2, false, false},    // OpCapability
    {19, 20, 2, false, true},     // OpTypeVoid, OpTypeBool
    {21, 21, 4, false, true},     // OpTypeInt
    {22, 22, 3, false, true},     // OpTypeFloat
    {23, 23, 4, false, true},     // OpTypeVector
    {28, 28, 4, false, true},     // OpTypeArray
    {29, 29, 3, false, true},     // OpTypeRuntimeArray
    {30, 30, 2, false, true},     // OpTypeStruct
    {32, 32, 4, false, true},     // OpTypePointer
    {33, 33, 3, false, true},     // OpTypeFunction
    {39, 39, 3, false, false},    // OpTypeForwardPointer
    {41, 42, 3, true, true},      // OpConstantTrue, OpConstantFalse
    {43, 43, 4, true, true},      // OpConstant
    {44, 44, 3, true, true},      // OpConstantComposite
    {46, 46, 3, true, true},      // OpConstantNull
    {54, 54, 5, true, true},      // OpFunction
    {55, 55, 3, true, true},      // OpFunctionParameter
    {56, 56, 1, false, false},    // OpFunctionEnd
    {57, 57, 4, true, true},      // OpFunctionCall
    {59, 59, 4, true, true},      // OpVariable
    {61, 61, 4, true, true},      // OpLoad
    {62, 63, 3, false, false},    // OpStore, OpCopyMemory
    {65, 67, 4, true, true},      // OpAccessChain, OpInBoundsAccessChain, OpPtrAccessChain
    {68, 68, 5, true, true},      // OpArrayLength
    {70, 70, 4, true, true},      // OpInBoundsPtrAccessChain
    {71, 71, 3, false, false},    // OpDecorate
    {72, 72, 4, false, false},    // OpMemberDecorate
    {77, 77, 5, true, true},      // OpVectorExtractDynamic
    {78, 78, 6, true, true},      // OpVectorInsertDynamic
    {79, 79, 5, true, true},      // OpVectorShuffle
    {80, 80, 3, true, true},      // OpCompositeConstruct
    {81, 81, 4, true, true},      // OpCompositeExtract
    {82, 82, 5, true, true},      // OpCompositeInsert
    {83, 83, 4, true, true},      // OpCopyObject
    {109, 116, 4, true, true},    // conversions of numbers, OpQuantizeToF16
    {117, 117, 4, true, true},    // OpConvertPtrToU
    {120, 120, 4, true, true},    // OpConvertUToPtr
    {124, 124, 4, true, true},    // OpBitcast
    {126, 127, 4, true, true},    // negations
    {128, 152, 5, true, true},    // arithmetic
    {154, 157, 4, true, true},    // OpAny, OpAll, OpIsNan, OpIsInf
    {164, 167, 5, true, true},    // logical
    {168, 168, 4, true, true},    // OpLogicalNot
    {169, 169, 6, true, true},    // OpSelect
    {170, 191, 5, true, true},    // comparisons
    {194, 199, 5, true, true},    // shifts and bits
    {200, 200, 4, true, true},    // OpNot
    {201, 201, 7, true, true},    // OpBitFieldInsert
    {202, 203, 6, true, true},    // OpBitFieldSExtract, OpBitFieldUExtract
    {204, 205, 4, true, true},    // OpBitReverse, OpBitCount
    {224, 224, 4, false, false},  // OpControlBarrier
    {225, 225, 3, false, false},  // OpMemoryBarrier
    {227, 227, 6, true, true},    // OpAtomicLoad
    {228, 228, 5, false, false},  // OpAtomicStore
    {229, 229, 7, true, true},    // OpAtomicExchange
    {230, 230, 9, true, true},    // OpAtomicCompareExchange
    {232, 233, 6, true, true},    // OpAtomicIIncrement, OpAtomicIDecrement
    {234, 242, 7, true, true},    // other atomics
    {245, 245, 3, true, true},    // OpPhi
    {246, 246, 4, false, false},  // OpLoopMerge
    {247, 247, 3, false, false},  // OpSelectionMerge
    {248, 248, 2, false, true},   // OpLabel
    {249, 249, 2, false, false},  // OpBranch
    {250, 250, 4, false, false},  // OpBranchConditional
    {251, 251, 3, false, false},  // OpSwitch
    {253, 253, 1, false, false},  // OpReturn
    {254, 254, 2, false, false},  // OpReturnValue
    {255, 255, 1, false, false},  // OpUnreachable
    {317, 317, 1, false, false},  // OpNoLine
    {333, 333, 4, true, true},    // OpGroupNonUniformElect
    {334, 336, 5, true, true},    // OpGroupNonUniformAll, Any, AllEqual
    {337, 337, 6, true, true},    // OpGroupNonUniformBroadcast
    {338, 339, 5, true, true},    // OpGroupNonUniformBroadcastFirst, Ballot
    {345, 348, 6, true, true},    // OpGroupNonUniformShuffle, Xor, Up, Down
    {349, 364, 6, true, true},    // OpGroupNonUniformIAdd to LogicalXor
    {400, 400, 4, true, true},    // OpCopyLogical
    {401, 403, 5, true, true},    // OpPtrEqual, OpPtrNotEqual, OpPtrDiff
    {4450, 4452, 5, true, true},  // OpSDot, OpUDot, OpSUDot
    {4453, 4455, 6, true, true},  // OpSDotAccSat, OpUDotAccSat, OpSUDotAccSat
};

}  // namespace

std::optional<Layout> layoutOf(std::uint32_t opcode) {
  const auto after = std::ranges::upper_bound(kInstructions, opcode, {}, &Range::first);
  if (after == std::begin(kInstructions)) return {};
  const Range& range = *std::prev(after);
  if (opcode > range.last) return {};
  return Layout{opcode, range.leastWords, range.hasType, range.hasResult};
}

bool isAllowedCapability(std::uint32_t capability) {
  return std::ranges::find(kCapabilities, capability, &Capability::number) != std::end(kCapabilities);
}

std::string_view capabilityName(std::uint32_t capability) {
  const auto found = std::ranges::find(kCapabilities, capability, &Capability::number);
  return found == std::end(kCapabilities) ? "unknown" : found->name;
}

bool isAllowedExtension(std::string_view name) {
  return std::ranges::find(kExtensions, name) != std::end(kExtensions);
}

bool isAllowedMode(std::uint32_t mode) {
  return mode == kLocalSize || (mode >= 4459 && mode <= 4463);  // float controls
}

bool isAllowedBuiltIn(std::uint32_t builtIn) {
  constexpr std::array kAllowed = {24u, 25u, 26u, 27u, 28u, 29u,  // blocks and threads
                                   36u, 38u, 40u, 41u};           // subgroups
  return std::ranges::find(kAllowed, builtIn) != kAllowed.end();
}

bool isAllowedStorage(std::uint32_t storage) {
  constexpr std::array<std::uint32_t, 6> kAllowed = {kInput,    kWorkgroup,    kPrivate,
                                                     kFunction, kPushConstant, kPhysicalStorageBuffer};
  return std::ranges::find(kAllowed, storage) != kAllowed.end();
}

}  // namespace kiln::spirv
