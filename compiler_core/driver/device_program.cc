#include "compiler_core/driver/device_program.h"

#include <fmt/format.h>

#include "compiler_core/package/files.h"
#include "manifest/spec/target_device.h"

namespace kiln::driver {
namespace {

struct Architecture {
  std::string_view name, computeCapability;
  bool exact;  // "a": features of this one that no other has
};
constexpr Architecture kArchitectures[] = {
    {"sm_80", "8.0", false}, {"sm_90a", "9.0", true}, {"sm_100a", "10.0", true}};

}  // namespace

DeviceProgram::DeviceProgram(mlir::MLIRContext& context, const Target& target, bool share)
    : target_(target), module_(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))) {
  kernels_.share = share;
  context.loadDialect<mlir::gpu::GPUDialect>();
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(module_->getBody());
  device_ = mlir::gpu::GPUModuleOp::create(b, module_->getLoc(), codegen::kDeviceModule);
}

void DeviceProgram::addTo(codegen::PipelineOptions& options, const CompileRequest& request) {
  options.device = schedule::DeviceOptions{};
  options.device->arch = target_.device;
  options.device->contraction = request.contraction;
  options.device->tf32 = request.tf32;
  if (isVulkan(target_.name)) codegen::restrictToVulkan(*options.device);
  options.space = kSpace;
  options.deviceKernels = &kernels_;
  options.onDeviceModule = [this](mlir::Operation& device) { take(device); };
}

void DeviceProgram::take(mlir::Operation& device) {
  mlir::Block& to = *device_.getBody();
  auto from = mlir::cast<mlir::gpu::GPUModuleOp>(device);
  for (mlir::Operation& op : llvm::make_early_inc_range(from.getBody()->getOperations())) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) continue;
    auto symbol = mlir::dyn_cast<mlir::SymbolOpInterface>(op);
    // Functions are named after their unit; a constant's name stands for its content.
    if (symbol && device_.lookupSymbol(symbol.getName())) continue;
    if (!to.empty() && to.back().hasTrait<mlir::OpTrait::IsTerminator>())
      op.moveBefore(&to.back());
    else
      op.moveBefore(&to, to.end());
  }
}

Result<DeviceProgram::Generated> DeviceProgram::generate(const CompileRequest& request,
                                                         const CompileObserver& observer) {
  return isVulkan(target_.name) ? generateVulkan(request, observer) : generateCubin(request, observer);
}

Status DeviceProgram::checkKernels(const std::vector<codegen::DeviceKernel>& kernels) const {
  if (kernels.size() != kernels_.names.size())
    return fail(Code::kInternal, fmt::format("{} kernels were compiled, the program launches {}",
                                             kernels.size(), kernels_.names.size()));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i].name != kernels_.names[i])
      return fail(Code::kInternal, fmt::format("kernel {} of the image is {}, the program launches {}", i,
                                               kernels[i].name, kernels_.names[i]));
  return {};
}

Result<DeviceProgram::Generated> DeviceProgram::generateVulkan(const CompileRequest& request,
                                                               const CompileObserver& observer) {
  if (!observer.emulation.empty())
    return fail(Code::kUnimplemented,
                "target " + target_.name + " has no emulation: a driver of Vulkan on the processor runs it");
  KILN_ASSIGN(codegen::SpirvImage image,
              codegen::generateSpirv(*module_, {.bitcode = {request.toolchainLib + "/kmath.bc"}}));
  Generated result;
  DeviceEvidence& evidence = result.evidence;
  evidence.target = target_.name;
  evidence.arch = target_.name.substr(target_.name.find(':') + 1);
  evidence.kernels = kernels_.names;
  evidence.driver = codegen::kVulkanVersion;
  evidence.computeCapability = codegen::kSpirvVersion;
  evidence.path = fmt::format("kernels/{}.spv", target_.device);
  for (const codegen::SpirvKernel& kernel : image.kernels) {
    result.kernels.push_back({.name = kernel.name,
                              .threads = kernel.threads,
                              .sharedBytes = kernel.sharedBytes,
                              .codeBytes = kernel.codeBytes});
    result.floats[kernel.name] = kernel.floats;
  }
  KILN_TRY(checkKernels(result.kernels));
  KILN_TRY(package::makeDirectory(request.out + "/kernels"));
  KILN_ASSIGN(evidence.image, package::writeFile(request.out + "/" + evidence.path, asBytes(image.words)));
  return result;
}

Result<DeviceProgram::Generated> DeviceProgram::generateCubin(const CompileRequest& request,
                                                              const CompileObserver& observer) {
  const auto architecture = std::ranges::find(kArchitectures, target_.device, &Architecture::name);
  if (architecture == std::end(kArchitectures))
    return fail(Code::kInternal, "no compute capability of " + target_.device + " is known");
  codegen::CudaOptions options;
  options.arch = target_.device;
  options.contraction = request.contraction;
  options.bitcode = {request.toolchainLib + "/kmath.bc"};
  options.ptxas = codegen::ptxasOf(request.toolchainLib);
  options.toolchainLib = request.toolchainLib;
  options.workDirectory = request.out;
  options.keepIr = !observer.irDirectory.empty();
  if (!observer.emulation.empty()) {
    codegen::CpuOptions host;
    host.target = target_;
    host.contraction = request.contraction;
    host.bitcode = options.bitcode;
    host.builtinsArchive = request.toolchainLib + "/libkiln_builtins-x86_64.a";
    host.workDirectory = request.out;
    host.threads = observer.jobs;
    options.emulation = std::move(host);
  }
  KILN_ASSIGN(codegen::DeviceImage image, codegen::generateDeviceImage(*module_, options));
  Generated result;
  DeviceEvidence& evidence = result.evidence;
  evidence.target = target_.name;
  evidence.arch = target_.device;
  evidence.kernels = kernels_.names;
  evidence.driver = image.driver;
  evidence.computeCapability = architecture->computeCapability;
  evidence.exact = architecture->exact;
  KILN_TRY(checkKernels(image.kernels));
  evidence.path = fmt::format("kernels/{}.cubin", target_.device);
  KILN_TRY(package::makeDirectory(request.out + "/kernels"));
  KILN_ASSIGN(evidence.image, package::writeFile(request.out + "/" + evidence.path, asBytes(image.cubin)));
  if (!observer.emulation.empty())
    KILN_TRY(package::writeFile(fmt::format("{}/{}.so", observer.emulation, evidence.image.hex()),
                                asBytes(image.emulation)));
  result.kernels = std::move(image.kernels);
  result.ptx = std::move(image.ptx);
  return result;
}

}  // namespace kiln::driver
