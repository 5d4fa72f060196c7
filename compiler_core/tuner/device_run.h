// One program of a kernel on a device: its launches, timed. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/runtime/elf/elf_map.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/tuner/kernel_inputs.h"

namespace kiln::tuner {

// Where kernels are measured. The calling thread is in a Scope of the device.
struct DeviceRoom {
  std::shared_ptr<const runtime::ComputeDevice> device;
  std::unique_ptr<runtime::DeviceQueue> queue;

  // At least a byte, filled with NaN.
  Result<std::unique_ptr<runtime::DeviceMemory>> allocate(std::uint64_t bytes, const char* what) const;
};

// A copy of what a kernel reads.
struct DevicePointers {
  std::vector<const void*> inputs, weights;
};

class DeviceKernelRun {
 public:
  // Loads the program and runs it once, on the first copy. `room` must outlive it. kInvalidArgument: no
  // program for a device. kInternal: it does not run. Errors of MappedElf::map and of the device.
  static Result<std::unique_ptr<DeviceKernelRun>> load(DeviceRoom& room, const KernelProgram& program,
                                                       const std::vector<KernelTensor>& outputs,
                                                       const std::vector<DevicePointers>& copies);
  DeviceKernelRun(const DeviceKernelRun&) = delete;
  DeviceKernelRun& operator=(const DeviceKernelRun&) = delete;

  // What the outputs hold.
  Result<std::vector<std::vector<std::uint8_t>>> results();
  // Nanoseconds of one run.
  Result<std::uint64_t> sample();
  std::uint64_t runsPerSample() const { return perSample_; }

 private:
  struct Launch {
    std::uint32_t kernel, grid[3], block;
    std::vector<std::uint64_t> arguments;
  };

  explicit DeviceKernelRun(DeviceRoom& room) : room_(room) {}
  runtime::DeviceQueue& queue() const { return *room_.queue; }
  Status loadImage(const KernelProgram& program);
  // What the program launches for these inputs.
  Status collect(const kiln_program& table, const KernelProgram& program, const DevicePointers& pointers);
  std::int32_t note(const kiln_launch& launch);
  Status enqueue(std::size_t copy);
  // So many runs, one after the other.
  Status enqueueRuns(std::uint64_t runs);
  // Nanoseconds between two marks around what `work` enqueues.
  template <class Work>
  Result<double> timed(const Work& work);
  // How many runs a sample has; of CUDA, records them.
  Status prepare();

  DeviceRoom& room_;
  std::size_t kernels_ = 0;
  std::unique_ptr<runtime::KernelModule> module_;
  std::unique_ptr<runtime::DeviceMemory> arena_;
  std::vector<std::unique_ptr<runtime::DeviceMemory>> outputs_;
  std::vector<std::uint64_t> outputBytes_;
  std::vector<std::vector<Launch>> launches_;            // by copy of the inputs
  std::unique_ptr<runtime::DeviceRecording> recording_;  // of CUDA: perSample_ runs
  std::uint64_t perSample_ = 0;
};

}  // namespace kiln::tuner
