#include "compiler_core/tuner/device_engine.h"

#include <algorithm>
#include <map>
#include <thread>

#include "compiler_core/tuner/device_run.h"

namespace kiln::tuner {
namespace {

using runtime::ComputeDevice;

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(DeviceRoom room, std::vector<KernelTensor> outputs)
      : room_(std::move(room)), scope_(room_.device->enter()), outputs_(std::move(outputs)) {}

  Status upload(const MeasureSetup& setup) {
    KILN_ASSIGN(KernelInputs host, KernelInputs::make(setup.tensors, setup.seed));
    for (std::size_t copy = 0; copy < host.copies(); ++copy) {
      DevicePointers& pointers = copies_.emplace_back();
      for (std::size_t i = 0; i < setup.tensors.inputs.size(); ++i)
        KILN_TRY(put(host.inputs(copy)[i], setup.tensors.inputs[i].bytes(), pointers.inputs));
      for (std::size_t i = 0; i < setup.tensors.weights.size(); ++i) {
        KILN_ASSIGN(const auto plain, host.weights({{i}}));
        KILN_TRY(put(plain[copy][0], setup.tensors.weights[i].bytes(), pointers.weights));
      }
    }
    return {};
  }

  Result<std::vector<void*>> load(std::uint64_t id, const KernelProgram& program) override {
    runs_.erase(id);
    KILN_ASSIGN(auto run, DeviceKernelRun::load(room_, program, outputs_, copies_));
    KILN_ASSIGN(results_, run->results());
    runs_.emplace(id, std::move(run));
    std::vector<void*> places;
    for (std::vector<std::uint8_t>& result : results_) places.push_back(result.data());
    return places;
  }

  Result<std::uint64_t> sample(std::uint64_t id) override {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return fail(Code::kNotFound, "no such program is loaded");
    return found->second->sample();
  }

  std::uint64_t runsPerSample(std::uint64_t id) const override { return runs_.at(id)->runsPerSample(); }
  void unload(std::uint64_t id) override { runs_.erase(id); }
  bool isSpent() const override { return room_.device->lost().has_value(); }

  std::optional<MeasuredDevice> device() const override {
    const runtime::DeviceInfo& info = room_.device->info();
    const unsigned units = info.type == "software" ? std::thread::hardware_concurrency()
                                                   : static_cast<unsigned>(std::max(0, info.multiprocessors));
    return MeasuredDevice{.name = info.name,
                          .major = info.major,
                          .minor = info.minor,
                          .multiprocessors = units,
                          .api = info.apiName(),
                          .apiVersion = info.apiVersion,
                          .type = info.type,
                          .driver = info.driver,
                          .isEmulated = info.emulated};
  }

 private:
  Status put(const void* from, std::uint64_t bytes, std::vector<const void*>& pointers) {
    KILN_ASSIGN(auto memory, room_.allocate(bytes, "a kernel's input"));
    pointers.push_back(reinterpret_cast<const void*>(memory->address()));
    if (bytes != 0) KILN_TRY(room_.queue->upload(memory->address(), from, bytes));
    inputs_.push_back(std::move(memory));
    // Memory that is not pinned may be read later.
    return room_.queue->wait();
  }

  DeviceRoom room_;
  const std::unique_ptr<ComputeDevice::Scope> scope_;
  const std::vector<KernelTensor> outputs_;
  std::vector<std::unique_ptr<runtime::DeviceMemory>> inputs_;  // and weights
  std::vector<DevicePointers> copies_;
  std::vector<std::vector<std::uint8_t>> results_;  // of what was loaded last
  std::map<std::uint64_t, std::unique_ptr<DeviceKernelRun>> runs_;
};

}  // namespace

Result<std::unique_ptr<Engine>> openDevice(std::shared_ptr<const ComputeDevice> device,
                                           const MeasureSetup& setup) {
  DeviceRoom room;
  room.device = std::move(device);
  const auto scope = room.device->enter();
  KILN_ASSIGN(room.queue, room.device->makeQueue({}));
  auto engine = std::make_unique<DeviceEngine>(std::move(room), setup.tensors.outputs);
  KILN_TRY(engine->upload(setup));
  return engine;
}

}  // namespace kiln::tuner
