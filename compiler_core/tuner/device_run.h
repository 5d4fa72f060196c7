// One program of a kernel on a device: its launches, timed. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/device_context.h"
#include "compiler_core/runtime/elf/elf_map.h"
#include "compiler_core/runtime/program_abi.h"
#include "compiler_core/tuner/kernel_inputs.h"

namespace kiln::tuner {

// Where kernels are measured. The calling thread is in a Scope of the context.
struct DeviceRoom {
  std::shared_ptr<const runtime::DeviceContext> context;
  runtime::DeviceStream stream;
  bool isSpent = false;  // an error has ended the device for this process

  Status check(runtime::cuda::CUresult code, const std::string& what);
  // At least a byte, filled with NaN.
  Result<runtime::DeviceBuffer> allocate(std::uint64_t bytes, const char* what) const;
};

// A copy of what a kernel reads.
struct DevicePointers {
  std::vector<const void*> inputs, weights;
};

class DeviceKernelRun {
 public:
  // Loads the program and runs it once, on the first copy. `room` must outlive it. kInvalidArgument: no
  // program for a device. kInternal: it does not run. Errors of MappedElf::map and of the driver.
  static Result<std::unique_ptr<DeviceKernelRun>> load(DeviceRoom& room, const KernelProgram& program,
                                                       const std::vector<KernelTensor>& outputs,
                                                       const std::vector<DevicePointers>& copies);
  ~DeviceKernelRun();
  DeviceKernelRun(const DeviceKernelRun&) = delete;
  DeviceKernelRun& operator=(const DeviceKernelRun&) = delete;

  // What the outputs hold.
  Result<std::vector<std::vector<std::uint8_t>>> results();
  // Nanoseconds of one run.
  Result<std::uint64_t> sample();
  std::uint64_t runsPerSample() const { return perSample_; }

 private:
  struct Launch {
    runtime::cuda::CUfunction function;
    std::uint32_t grid[3], block;
    std::vector<std::uint64_t> arguments;
  };

  explicit DeviceKernelRun(DeviceRoom& room) : room_(room) {}
  const runtime::cuda::DriverTable& driver() const { return *room_.context->driver(); }
  Status loadImage(const KernelProgram& program);
  // What the program launches for these inputs.
  Status collect(const kiln_program& table, const KernelProgram& program, const DevicePointers& pointers);
  std::int32_t note(const kiln_launch& launch);
  Status enqueue(std::size_t copy);
  // Milliseconds between two events around what `work` enqueues.
  template <class Work>
  Result<double> timed(const Work& work);
  Status record();

  DeviceRoom& room_;
  runtime::cuda::CUmodule module_ = nullptr;
  std::vector<runtime::cuda::CUfunction> functions_;
  runtime::DeviceBuffer arena_;
  std::vector<runtime::DeviceBuffer> outputs_;
  std::vector<std::uint64_t> outputBytes_;
  std::vector<std::vector<Launch>> launches_;  // by copy of the inputs
  runtime::cuda::CUevent events_[2] = {};
  runtime::cuda::CUgraphExec graph_ = nullptr;  // perSample_ runs
  std::uint64_t perSample_ = 0;
};

}  // namespace kiln::tuner
