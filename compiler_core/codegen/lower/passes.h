// From planned buffers and vector code to the LLVM dialect, in the shape that the program ABI wants.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
class Pass;
}  // namespace mlir

namespace kiln::codegen {

// What a module is for: a profile, or one partition of it. Part of its functions' names.
struct Unit {
  unsigned profile = 0;
  std::optional<unsigned> partition;

  // "0", "1_2"
  std::string text() const {
    return std::to_string(profile) + (partition ? "_" + std::to_string(*partition) : "");
  }
};

// createShareKernelsPass() and createLibraryCallsPass(): passes.td says what all of them do.
#define GEN_PASS_DECL
#include "compiler_core/codegen/lower/passes.h.inc"

std::unique_ptr<mlir::Pass> createOutlineKernelsPass(Unit unit = {});

// `space`: of the device; `kernels`: those of the device so far and, then, of this unit too; it outlives the
// pass.
struct DeviceKernels;
std::unique_ptr<mlir::Pass> createOutlineDeviceKernelsPass(Unit unit = {}, std::uint32_t space = 1,
                                                           DeviceKernels* kernels = nullptr);
inline constexpr char kDeviceModule[] = "kiln_device";

std::unique_ptr<mlir::Pass> createJoinPartitionsPass(unsigned profile = 0);

// onlyScalars: one call for each lane, for devices without vector registers.
std::unique_ptr<mlir::Pass> createMathToCallsPass(bool onlyScalars = false);

// What is left to the LLVM dialect, with upstream's conversions. scalarMath: createMathToCallsPass's
// onlyScalars.
void addLowerToLlvm(mlir::OpPassManager& passes, bool scalarMath = false);

}  // namespace kiln::codegen
