#include "compiler_core/codegen/cuda/codegen.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler_core/codegen/cuda/assemble.h"
#include "compiler_core/codegen/cuda/cubin.h"
#include "compiler_core/codegen/cuda/internal.h"
#include "compiler_core/codegen/cuda/occupancy.h"
#include "compiler_core/codegen/cuda/passes.h"
#include "compiler_core/codegen/cuda/ptx_check.h"
#include "compiler_core/codegen/lower/passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace kiln::codegen {
namespace {

// What the cubin says of each kernel, in the module's order.
Result<std::vector<DeviceKernel>> describe(const std::vector<CubinKernel>& found,
                                           const std::vector<MappedKernel>& kernels,
                                           const DeviceLimits& limits) {
  if (found.size() != kernels.size())
    return fail(Code::kInternal, fmt::format("ptxas made {} kernels of {}", found.size(), kernels.size()));
  std::vector<DeviceKernel> described;
  for (const MappedKernel& kernel : kernels) {
    const auto facts = std::ranges::find(found, kernel.name, &CubinKernel::name);
    if (facts == found.end())
      return fail(Code::kInternal, fmt::format("kernel {} is not in the cubin", kernel.name));
    if (facts->threads != kernel.threads)
      return fail(Code::kInternal, fmt::format("kernel {}: the cubin is for {} threads, not {}", kernel.name,
                                               facts->threads, kernel.threads));
    DeviceKernel device;
    device.name = kernel.name;
    device.threads = kernel.threads;
    device.registers = facts->registers;
    device.sharedBytes = facts->sharedBytes;
    device.spillBytes = facts->localBytes;
    device.codeBytes = facts->codeBytes;
    device.occupancyPermille =
        occupancyPermille(limits, kernel.threads, facts->registers, facts->sharedBytes);
    if (device.occupancyPermille == 0)
      return fail(
          Code::kInternal,
          fmt::format("kernel {}: a block of {} threads with {} registers each and {} bytes of shared memory "
                      "fits on no multiprocessor of {}",
                      kernel.name, kernel.threads, facts->registers, facts->sharedBytes, limits.arch));
    described.push_back(std::move(device));
  }
  return described;
}

}  // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>> lowerDeviceKernels(mlir::ModuleOp module,
                                                             std::unique_ptr<mlir::Pass> pass,
                                                             bool scalarMath) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    llvm::raw_string_ostream(messages) << diagnostic.getLocation() << ": " << diagnostic << "; ";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  mlir::PassManager passes(module.getContext());
  passes.addPass(std::move(pass));
  addLowerToLlvm(passes, scalarMath);
  if (mlir::failed(passes.run(*copy))) return fail(Code::kInternal, "device kernels: " + messages);
  return copy;
}

std::string ptxasOf(const std::string& toolchainLib) {
  return (std::filesystem::path(toolchainLib).parent_path() / "bin" / "ptxas").string();
}

Result<DeviceImage> generateDeviceImage(mlir::ModuleOp module, const CudaOptions& options) {
  const DeviceLimits* limits = deviceLimits(options.arch);
  if (!limits) return fail(Code::kUnimplemented, fmt::format("no device {} is served", options.arch));
  KILN_ASSIGN(const std::vector<MappedKernel> kernels, mappedKernels(module));
  KILN_ASSIGN(auto functions, lowerDeviceKernels(module, createLowerToNvvmPass(), /*scalarMath=*/true));
  KILN_ASSIGN(std::string ptx, emitPtx(*functions, kernels, options));
  std::set<std::string, std::less<>> names;
  for (const MappedKernel& kernel : kernels) names.insert(kernel.name);
  KILN_TRY(checkPtx(ptx, names));
  DeviceImage image;
  KILN_ASSIGN(image.cubin,
              assemble(ptx, {options.ptxas, options.toolchainLib, options.arch, options.workDirectory}));
  KILN_ASSIGN(const Cubin cubin, readCubin(image.cubin));
  image.driver = fmt::format("{}.{}", cubin.toolkit / 10, cubin.toolkit % 10);
  KILN_ASSIGN(image.kernels, describe(cubin.kernels, kernels, *limits));
  if (options.keepIr) image.ptx = std::move(ptx);
  if (options.emulation) {
    KILN_ASSIGN(image.emulation, generateEmulation(module, *options.emulation));
  }
  return image;
}

Result<std::string> generateEmulation(mlir::ModuleOp module, const CpuOptions& options) {
  KILN_ASSIGN(const std::vector<MappedKernel> kernels, mappedKernels(module));
  KILN_ASSIGN(auto functions, lowerDeviceKernels(module, createLowerToEmulationPass(), /*scalarMath=*/false));
  return emitEmulation(*functions, kernels, options);
}

}  // namespace kiln::codegen
