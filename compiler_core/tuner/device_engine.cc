#include "compiler_core/tuner/device_engine.h"

#include <algorithm>
#include <map>

#include "compiler_core/tuner/device_run.h"

namespace kiln::tuner {
namespace {

using runtime::DeviceContext;

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(DeviceRoom room, std::vector<KernelTensor> outputs)
      : room_(std::move(room)), scope_(*room_.context), outputs_(std::move(outputs)) {}

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
  bool isSpent() const override { return room_.isSpent; }

  std::optional<MeasuredDevice> device() const override {
    const runtime::DeviceInfo& info = room_.context->info();
    return MeasuredDevice{info.name,
                          info.major,
                          info.minor,
                          static_cast<std::uint32_t>(std::max(0, info.multiprocessors)),
                          runtime::cudaVersionText(info.driverVersion),
                          info.emulated};
  }

 private:
  Status put(const void* from, std::uint64_t bytes, std::vector<const void*>& pointers) {
    KILN_ASSIGN(runtime::DeviceBuffer buffer, room_.allocate(bytes, "a kernel's input"));
    pointers.push_back(reinterpret_cast<const void*>(buffer.address()));
    if (bytes != 0)
      KILN_TRY(room_.check(
          room_.context->driver()->memcpyHtoDAsync(buffer.address(), from, bytes, room_.stream.get()),
          "copying a kernel's input to the device"));
    inputs_.push_back(std::move(buffer));
    // Memory that is not pinned may be read later.
    return room_.check(room_.stream.wait(), "copying a kernel's input to the device");
  }

  DeviceRoom room_;
  const DeviceContext::Scope scope_;
  const std::vector<KernelTensor> outputs_;
  std::vector<runtime::DeviceBuffer> inputs_;  // and weights
  std::vector<DevicePointers> copies_;
  std::vector<std::vector<std::uint8_t>> results_;  // of what was loaded last
  std::map<std::uint64_t, std::unique_ptr<DeviceKernelRun>> runs_;
};

}  // namespace

Result<std::unique_ptr<Engine>> openDevice(std::shared_ptr<const DeviceContext> context,
                                           const MeasureSetup& setup) {
  DeviceRoom room;
  room.context = std::move(context);
  KILN_ASSIGN(room.stream, runtime::DeviceStream::create(room.context));
  auto engine = std::make_unique<DeviceEngine>(std::move(room), setup.tensors.outputs);
  KILN_TRY(engine->upload(setup));
  return engine;
}

}  // namespace kiln::tuner
