// From a gpu.module of mapped kernels to a cubin, and, on request, to CPU code of the same kernels for the
// emulated device (compiler_core/runtime/emulated). Deterministic: the same module and options give the same
// bytes, in any directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/codegen/cpu/codegen.h"
#include "manifest/base/result.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::codegen {

struct DeviceKernel {
  std::string name;
  std::uint32_t threads = 0;      // of a block
  std::uint32_t registers = 0;    // of a thread
  std::uint32_t sharedBytes = 0;  // of a block, static; there is no dynamic shared memory
  std::uint32_t spillBytes =
      0;  // local memory of a thread: spilled registers, since nothing else may be there
  std::uint32_t occupancyPermille = 0;  // upper bound of resident warps, of what a multiprocessor holds
  std::uint64_t codeBytes = 0;
};

struct DeviceImage {
  std::string cubin;
  std::vector<DeviceKernel> kernels;  // in the order of the gpu.module's functions
  std::string driver;                 // CUDA version that a driver must serve at least: the cubin's, "13.0"
  std::string ptx;                    // with keepIr
  std::string emulation;              // an ELF shared object (emulated_abi.h), with CudaOptions::emulation
};

struct CudaOptions {
  std::string arch;                  // "sm_80", "sm_90a", "sm_100a"
  bool contraction = true;           // as CpuOptions::contraction
  std::vector<std::string> bitcode;  // path of kmath.bc; what it lacks is not called
  std::string ptxas;                 // path; empty or missing: this toolchain has none
  std::string toolchainLib;   // folder of ptxas's loader and libraries; without a loader there: as installed
  std::string workDirectory;  // existing and writable; files lie there during the call
  bool keepIr = false;        // fill DeviceImage::ptx
  std::optional<CpuOptions> emulation;  // how the kernels are compiled for the emulated device
};

// Path of ptxas for a toolchain's lib folder (<toolchain>/bin/ptxas); it need not be there.
std::string ptxasOf(const std::string& toolchainLib);

// `module` holds one gpu.module whose kernel functions take LLVM pointers and integers or floats of at most
// 64 bits, each in a word of its own; it is not changed. Thread safe; leaves nothing in workDirectory.
// kUnimplemented: no ptxas, an unknown arch, or an operation that devices have not. kInternal: a kernel that
// checkPtx (ptx_check.h) or ptxas refuses, by name and line.
Result<DeviceImage> generateDeviceImage(mlir::ModuleOp module, const CudaOptions& options);

// Only the CPU code: the ELF shared object that exports kiln_emulation. `options` as CudaOptions::emulation.
Result<std::string> generateEmulation(mlir::ModuleOp module, const CpuOptions& options);

}  // namespace kiln::codegen
