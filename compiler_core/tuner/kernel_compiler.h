// One planned kernel (its isolated module) as a program of its own, under any schedule of its template. No
// MLIR in this header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/schedule/choice/schedule.h"
#include "compiler_core/tuner/kernel.h"
#include "manifest/base/result.h"
#include "manifest/spec/target.h"

namespace kiln::tuner {

struct Tools {
  std::string toolchainLib;   // folder of kmath.bc, kkernels.bc and libkiln_builtins-<arch>.a
  std::string workDirectory;  // existing, writable
  // Existing and writable, for devices: takes each image's code for the emulated one, <digest of the
  // image>.so. Empty: none.
  std::string emulation = {};
};

// Bytes of the weights of each of these isolated kernels; 0 for what is no module of a kernel.
std::vector<std::uint64_t> weightBytesOf(const std::vector<std::string>& isolated);

class KernelCompiler {
 public:
  // `order`, kOn or kDeterministic, is that of a kernel whose sums may be reassociated: it says what the
  // default schedule may do, which the text leaves open.
  // kInvalidArgument: the text is no module of a kernel. kUnimplemented: it is for a device that the
  // toolchain has no assembler for, or kiln-tile would not isolate it again with the same text.
  static Result<KernelCompiler> open(const std::string& isolated, const Tools& tools,
                                     schedule::Reassociation order = schedule::Reassociation::kOn);
  KernelCompiler(KernelCompiler&& other) noexcept;
  ~KernelCompiler();

  const std::string& signature() const;
  const Target& target() const;
  const schedule::Site& site() const;
  const Schedule& standard() const;
  const KernelTensors& tensors() const;
  // Scalar operations of one run, estimated.
  double work() const;

  // kInvalidArgument as schedule::check; kInternal where a stage fails. Deterministic.
  Result<KernelProgram> compile(const Schedule& schedule) const;

 private:
  struct State;
  explicit KernelCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln::tuner
