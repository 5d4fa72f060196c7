#include "compiler_core/driver/device_program.h"

#include <fmt/format.h>

#include "compiler_core/package/files.h"

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
  if (image.kernels.size() != kernels_.names.size())
    return fail(Code::kInternal, fmt::format("{} kernels were compiled, the program launches {}",
                                             image.kernels.size(), kernels_.names.size()));
  for (std::size_t i = 0; i < image.kernels.size(); ++i)
    if (image.kernels[i].name != kernels_.names[i])
      return fail(Code::kInternal, fmt::format("kernel {} of the image is {}, the program launches {}", i,
                                               image.kernels[i].name, kernels_.names[i]));
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
