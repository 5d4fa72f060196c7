// The device's side of a kernel: how it is lowered for a device, and the image that its code there is.
// Private to this folder.
#pragma once

#include "compiler_core/codegen/lower/device_kernels.h"
#include "compiler_core/codegen/lower/pipeline.h"
#include "compiler_core/tuner/kernel_compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kiln::tuner {

// kUnimplemented: the toolchain cannot make code for the target's device.
Status checkAssembler(const Target& target, const Tools& tools);

// Holds the kernels of one compile.
class KernelImage {
 public:
  // `options` have their device; what is lowered with them leaves its kernels here, which must outlive that.
  void addTo(codegen::PipelineOptions& options);
  // The image of what was lowered, into `program`; for the emulated device, too, where `tools` want that.
  // Errors of codegen::generateDeviceImage and generateSpirv.
  Status generate(const Target& target, bool contraction, const Tools& tools, KernelProgram& program) const;

 private:
  Status generateModule(const Tools& tools, KernelProgram& program) const;
  Status generateCubin(const Target& target, bool contraction, const Tools& tools,
                       KernelProgram& program) const;

  codegen::DeviceKernels kernels_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

}  // namespace kiln::tuner
