// The device's side of a program: the kernels of all its units, and the image that is made of them. Private
// to this folder.
#pragma once

#include <map>
#include <string>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/lower/device_kernels.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/codegen/vulkan/codegen.h"
#include "compiler_core/driver/compiler.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::driver {

class DeviceProgram {
 public:
  static constexpr std::uint32_t kSpace = 1;  // an artifact is for at most one device

  // `target` has a device. share: equal kernels are one.
  DeviceProgram(mlir::MLIRContext& context, const Target& target, bool share);

  const Target& target() const { return target_; }
  // Lets a unit be lowered for the device; its kernels come here.
  void addTo(codegen::PipelineOptions& options, const CompileRequest& request);
  mlir::ModuleOp module() { return *module_; }

  struct Generated {
    DeviceEvidence evidence;
    std::vector<codegen::DeviceKernel> kernels;
    std::map<std::string, codegen::FloatUse> floats;  // of Vulkan, by kernel
    std::string ptx;                                  // where the observer wants IR
  };
  // Writes kernels/<arch>.cubin or kernels/vulkan-<version>.spv below request.out and, where the observer
  // wants it, a cubin's emulation. Errors as codegen::generateDeviceImage and codegen::generateSpirv.
  Result<Generated> generate(const CompileRequest& request, const CompileObserver& observer);

 private:
  void take(mlir::Operation& device);
  Result<Generated> generateCubin(const CompileRequest& request, const CompileObserver& observer);
  Result<Generated> generateVulkan(const CompileRequest& request, const CompileObserver& observer);
  // kInternal: the image's kernels are not those that the program launches.
  Status checkKernels(const std::vector<codegen::DeviceKernel>& kernels) const;

  Target target_;
  codegen::DeviceKernels kernels_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::gpu::GPUModuleOp device_;
};

}  // namespace kiln::driver
