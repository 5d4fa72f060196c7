// From a gpu.module of mapped kernels to one SPIR-V module for Vulkan 1.3. Deterministic: the same module and
// options give the same bytes, in any directory.
//
// The module has no descriptors. A kernel is an entry point of its name with LocalSize (threads, 1, 1); the
// push constants are 16 bytes: the address of its arguments, a word of 64 bits each in the order of the
// kernel's parameters, and the number of its first block. Memory is reached by address
// (PhysicalStorageBuffer64), shared memory is one array of the Workgroup class per kernel, and the memory
// model is Vulkan's. Written after the SPIR-V specification 1.6, revision 2, and the appendix "Vulkan
// Environment for SPIR-V" of Vulkan 1.3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/schedule/passes.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::codegen {

inline constexpr char kSpirvVersion[] = "1.6";
inline constexpr char kVulkanVersion[] = "1.3";
// What every device of Vulkan 1.3 that programs are for has at least: bytes of shared memory of a block.
inline constexpr std::uint64_t kVulkanSharedBytes = 32 << 10;

// What kernels for Vulkan may be made of: a product and its sum round apart on every driver, which the
// numerics allow, nothing is tf32, and there are no tensor cores.
void restrictToVulkan(schedule::DeviceOptions& options);

// What a kernel does with floats, as far as it decides whether its results have the bits of another target's.
// Divisions, roots and the like are of kmath's exact functions, which use integers alone, and count for
// nothing.
struct FloatUse {
  bool sums = false;                // it adds or subtracts, itself or in a function that it calls
  bool ownSums = false;             // itself
  bool productsOfProducts = false;  // itself: what may be a product of many, in some order
  bool onDoubles = false;           // f64 is added or multiplied, which Vulkan does as exactly as f32 alone
};

struct SpirvKernel {
  std::string name;
  std::uint32_t threads = 0;      // of a block
  std::uint32_t sharedBytes = 0;  // of a block
  std::uint64_t codeBytes = 0;    // of the kernel's own function; what it calls is shared with others
  FloatUse floats = {};
};

struct SpirvImage {
  std::string words;                 // the module, little endian
  std::vector<SpirvKernel> kernels;  // in the order of the gpu.module's functions
};

struct VulkanOptions {
  std::vector<std::string> bitcode;  // path of kmath.bc
};

// `module` as generateDeviceImage takes it (codegen/cuda/codegen.h); it is not changed. Thread safe.
// kUnimplemented: a kernel needs more shared memory than kVulkanSharedBytes. kInternal: a kernel has what
// this lowering does not know, by name.
Result<SpirvImage> generateSpirv(mlir::ModuleOp module, const VulkanOptions& options);

}  // namespace kiln::codegen
