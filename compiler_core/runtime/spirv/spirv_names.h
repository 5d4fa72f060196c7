// Numbers of SPIR-V's enumerations (specification 1.6, section 3) that the check knows. Private to this
// folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::spirv {

enum Op : std::uint32_t {
  kOpExtension = 10,
  kOpExtInstImport = 11,
  kOpExtInst = 12,
  kOpMemoryModel = 14,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeVoid = 19,
  kOpTypeBool = 20,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpTypeFunction = 33,
  kOpTypeForwardPointer = 39,
  kOpConstant = 43,
  kOpConstantNull = 46,
  kOpFunction = 54,
  kOpFunctionParameter = 55,
  kOpFunctionEnd = 56,
  kOpFunctionCall = 57,
  kOpVariable = 59,
  kOpLoad = 61,
  kOpStore = 62,
  kOpAccessChain = 65,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpConvertUToPtr = 120,
  kOpIAdd = 128,
  kOpISub = 130,
  kOpLogicalOr = 166,
  kOpSelect = 169,
  kOpULessThan = 176,
  kOpULessThanEqual = 178,
  kOpPhi = 245,
  kOpLoopMerge = 246,
  kOpSelectionMerge = 247,
  kOpLabel = 248,
  kOpBranch = 249,
  kOpBranchConditional = 250,
  kOpSwitch = 251,
  kOpReturn = 253,
  kOpReturnValue = 254,
  kOpUnreachable = 255,
};

enum StorageClass : std::uint32_t {
  kInput = 1,
  kWorkgroup = 4,
  kPrivate = 6,
  kFunction = 7,
  kPushConstant = 9,
  kStorageBuffer = 12,
  kPhysicalStorageBuffer = 5349,
};

enum Decoration : std::uint32_t {
  kSpecId = 1,
  kBuiltIn = 11,
  kBinding = 33,
  kDescriptorSet = 34,
  kOffset = 35,
  kLinkageAttributes = 41,
};

inline constexpr std::uint32_t kMagic = 0x07230203;
inline constexpr std::uint32_t kGlCompute = 5;      // execution model
inline constexpr std::uint32_t kPhysical64 = 5348;  // addressing model PhysicalStorageBuffer64
inline constexpr std::uint32_t kVulkanMemory = 3;   // memory model
inline constexpr std::uint32_t kLocalSize = 17;     // execution mode
inline constexpr std::uint32_t kWorkgroupSizeBuiltIn = 25;

// How an instruction that kernels may hold is laid out.
struct Layout {
  std::uint32_t opcode;
  std::uint8_t leastWords;  // with the first
  bool hasType, hasResult;
};
// Nothing for an instruction that kernels have no use for.
std::optional<Layout> layoutOf(std::uint32_t opcode);

bool isAllowedCapability(std::uint32_t capability);
bool isAllowedExtension(std::string_view name);
bool isAllowedMode(std::uint32_t mode);
bool isAllowedBuiltIn(std::uint32_t builtIn);
bool isAllowedStorage(std::uint32_t storage);

}  // namespace kiln::spirv
