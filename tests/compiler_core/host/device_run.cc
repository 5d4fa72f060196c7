#include "tests/compiler_core/host/device_run.h"

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/lower/device_kernels.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::testing {

struct DeviceRun::State {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  codegen::DeviceKernels numbers;
  std::optional<EmulatedKernels> kernels;
  emulated::Order order = emulated::Order::kAscending;
  std::string failure;
};

DeviceRun::DeviceRun() : state_(std::make_unique<State>()) {}
DeviceRun::~DeviceRun() = default;

void DeviceRun::prepare(codegen::PipelineOptions& options, const schedule::DeviceOptions& device) {
  options.device = device;
  options.deviceKernels = &state_->numbers;
  options.onDeviceModule = [state = state_.get()](mlir::Operation& op) {
    state->module = mlir::ModuleOp::create(op.getLoc());
    state->module->push_back(op.clone());
  };
}

Status DeviceRun::attach(ProgramHost& host, const codegen::CpuOptions& cpu) {
  if (!state_->module) return fail(Code::kInternal, "the unit has no device module");
  KILN_ASSIGN(const std::string emulation, codegen::generateEmulation(*state_->module, cpu));
  KILN_ASSIGN(EmulatedKernels kernels, EmulatedKernels::load(emulation));
  state_->kernels.emplace(std::move(kernels));
  host.onLaunch([state = state_.get()](const kiln_launch& launch) {
    state->failure = state->kernels->launch(launch, state->order);
    return state->failure.empty();
  });
  return {};
}

void DeviceRun::setOrder(int number) {
  state_->order = number == 1   ? emulated::Order::kAscending
                  : number == 2 ? emulated::Order::kDescending
                                : emulated::Order::kShuffled;
}

const std::string& DeviceRun::failure() const {
  return state_->failure;
}

}  // namespace kiln::testing
